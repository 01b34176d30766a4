import { describe, expect, it } from 'vitest';
import { reconcileFills } from '../../src/report/compare/reconcile.ts';
import { OrderFold } from '../../src/report/folds/orders.ts';
import { fillRecord, sampleRun } from './sample-run.ts';
import { foldAll } from './whole-run.ts';

const other = { ...fillRecord(9, '1', '64000'), order_id: 'BTC-USD@99' };

describe('reconcileFills', () => {
  it('agrees with a list that has the same fills, whatever else the account traded', async () => {
    const listed = [fillRecord(1, '0.10', '64200'), fillRecord(2, '0.2', '64190'), other, other];
    expect(reconcileFills(foldAll(await sampleRun(), new OrderFold()).orders(), listed)).toMatchObject({
      agreed: 2,
      others: 1,
      different: [],
    });
  });

  it('reports fills that one side lacks, and fields that differ', async () => {
    const entries = await sampleRun();
    const changed = { ...fillRecord(1, '0.1', '64201'), fee: '-0.02' };
    const { ok, notBooked, notListed, different, agreed } = reconcileFills(foldAll(entries, new OrderFold()).orders(), [
      changed,
      fillRecord(3, '0.1', '1'),
    ]);
    expect({ ok, agreed }).toEqual({ ok: false, agreed: 0 });
    expect(notBooked.map(({ id, clientOrderId }) => [id, clientOrderId])).toEqual([['BTC-USD-3', 'k2entry2']]);
    expect(notListed.map(({ id }) => id)).toEqual(['BTC-USD-2']);
    expect(different.map(({ booked, fields }) => [booked.id, fields])).toEqual([['BTC-USD-1', ['price', 'fee']]]);
  });
});

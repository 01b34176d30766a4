/** Tests what the report of a run says is not known of its orders at the end. */
import { expect, it } from 'vitest';
import type { Entry } from '../../src/journal/entry.ts';
import { ResidualFold } from '../../src/report/folds/residual.ts';

const alarmed = (clientOrderId: string) => ({
  type: 'order.alarmed',
  data: { clientOrderId, alarm: 'UnseenAtEnd', detail: {} },
});
const settled = (kind: string, result: unknown) => ({ type: 'call.settled', data: { call: 'settle#1', kind, result } });

it('is an order that no answer has shown since', () => {
  const fold = new ResidualFold();
  const apply = (entries: readonly object[]) => {
    for (const entry of entries) fold.apply(entry as Entry);
    return fold.findResidual([]).unseen;
  };
  expect(apply([alarmed('rba'), alarmed('rbb'), alarmed('rba')])).toEqual(['rba', 'rbb']);
  expect(apply([settled('unresolved', undefined), settled('confirmed', []), settled('confirmed', {})])).toHaveLength(2);
  expect(apply([settled('confirmed', [{ client_order_id: 'rbb' }, null, 'rba'])])).toEqual(['rba']);
});

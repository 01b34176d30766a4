import { describe, expect, it } from 'vitest';
import type { TrackedOrder } from '../../src/journal/orders.ts';
import { ResidualFold, type Uncovered } from '../../src/report/folds/residual.ts';

interface Given {
  readonly side?: 'long' | 'short';
  readonly type?: string;
  readonly size?: string;
  readonly filled?: string;
  readonly state?: string;
  /** The size that the venue reported for a position stop. */
  readonly authorised?: string;
  readonly market?: string;
}

/** An order as the tracker has it, with the fields that the fold reads. */
function order(id: string, { side = 'long', type = 'limit', size = '1', filled = '0', ...rest }: Given): TrackedOrder {
  const { state = 'closed', authorised = type === 'stop_loss' ? undefined : size, market = 'BTC-USD' } = rest;
  return {
    intent: { clientOrderId: id, market, side, type, size, onAmbiguous: 'halt' },
    snapshot: { state, context: { filled, recordFilled: '0', remaining: authorised ?? '0', authorised } },
  } as unknown as TrackedOrder;
}

const left = (...orders: readonly TrackedOrder[]): readonly Uncovered[] =>
  new ResidualFold().findResidual(orders).uncovered;

describe('a position that no stop of the run covers', () => {
  it('is the position its fills left, by market', () => {
    expect(
      left(
        order('a', { filled: '0.25' }),
        order('b', { side: 'short', filled: '0.05', type: 'market' }),
        order('c', { side: 'short', filled: '2', market: 'ETH-USD', type: 'market' }),
      ),
    ).toEqual([
      { market: 'BTC-USD', side: 'long', held: '0.2', bare: '0.2' },
      { market: 'ETH-USD', side: 'short', held: '2', bare: '2' },
    ]);
    expect(left(order('a', { filled: '0.25' }), order('b', { side: 'short', filled: '0.25' }))).toEqual([]);
  });

  it('is empty if a stop on the other side covers all of it, else the uncovered part', () => {
    const entry = order('a', { filled: '0.25' });
    const stop = (more: Given) => order('s', { side: 'short', type: 'stop_loss', state: 'open', ...more });
    expect(left(entry, stop({ size: '1' }))).toEqual([]);
    expect(left(entry, stop({ size: '0.4' }))).toMatchObject([{ held: '0.25', bare: '0.15' }]);
    expect(left(entry, stop({ authorised: '0.25' }))).toEqual([]);
    expect(left(entry, stop({ authorised: '0.1' }))).toMatchObject([{ bare: '0.15' }]);
    expect(left(entry, stop({ size: '0.4', authorised: '0.4' }))).toMatchObject([{ bare: '0.15' }]);
    expect(left(entry, stop({ type: 'stop_market', size: '0.1' }))).toMatchObject([{ bare: '0.15' }]);
  });

  it.each(['processing', 'unknown', 'canceling', 'canceled', 'rejected', 'submitting'])(
    'is uncovered while its stop is %s, with a take-profit alone, and with a stop on its own side',
    (state) => {
      const entry = order('a', { filled: '0.25' });
      const bare = [{ market: 'BTC-USD', side: 'long', held: '0.25', bare: '0.25' }];
      expect(left(entry, order('s', { side: 'short', type: 'stop_loss', state }))).toEqual(bare);
      expect(left(entry, order('t', { side: 'short', type: 'take_profit', state: 'open' }))).toEqual(bare);
      expect(left(entry, order('u', { type: 'stop_market', state: 'open' }))).toEqual(bare);
    },
  );

  it('never comes from reducing orders: they close what was held before', () => {
    expect(left(order('s', { side: 'short', type: 'stop_loss', filled: '0.25' }))).toEqual([]);
    expect(
      left(order('a', { filled: '0.25' }), order('s', { side: 'short', type: 'stop_loss', filled: '0.5' })),
    ).toEqual([]);
  });
});

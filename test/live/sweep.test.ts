import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../src/base/clock.ts';
import { type SweptVenue, sweep } from '../../src/cli/sweep.ts';
import { ORDER_STATUSES, type OrderRecord } from '../../src/venue/records.ts';

interface Told {
  /** Status that an order keeps, whatever is cancelled, until this many cancels by its own id. */
  readonly stubborn?: number;
  readonly mute?: boolean;
}

/** A venue with these orders by status; cancel_all takes the open ones. */
function venueOf(statuses: readonly string[], { stubborn = 0, mute = false }: Told = {}) {
  const clock = new VirtualClock(1_700_000_000_000);
  const orders = statuses.map((status, index) => ({ id: `BTC-USD@${index}`, market_id: 'BTC-USD', status, asked: 0 }));
  const asked: string[] = [];
  const answer = (result: unknown) => ({ kind: 'confirmed', result, notes: [] }) as never;
  const venue: SweptVenue = {
    clock,
    progress: () => {},
    async ask(name, params) {
      await new Promise<void>((resolve) => void clock.after(20, resolve));
      const { status, order_id } = params as { status?: string; order_id?: string };
      asked.push([name, status ?? order_id].filter((each) => each !== undefined).join(' '));
      if (mute) return { kind: 'unanswered', why: 'down' };
      if (name === 'DELETE /orders/cancel_all') {
        for (const order of orders) if (order.status === 'open' && stubborn === 0) order.status = 'canceled';
        return answer([]);
      }
      if (name === 'DELETE /orders') {
        const order = orders.find(({ id }) => id === order_id);
        if (order !== undefined && ++order.asked >= stubborn) order.status = 'canceled';
        return answer([]);
      }
      // A status that the document does not name can not be asked for.
      expect(status === undefined || (ORDER_STATUSES as readonly string[]).includes(status)).toBe(true);
      return answer(
        orders.filter((order) => status === undefined || order.status === status) as unknown as OrderRecord[],
      );
    },
  };
  return { venue, clock, orders, asked };
}

describe('taking away everything', () => {
  it('ends when the venue has shown nothing that could fill for three seconds, under any status', async () => {
    const { venue, clock, asked } = venueOf(['open', 'closed', 'rejected']);
    const started = clock.now();
    expect(await clock.runUntil(sweep(venue))).toEqual({ left: 0 });
    expect(clock.now() - started).toBeGreaterThanOrEqual(3_000);
    for (const status of ['open', 'processing', 'amending', 'canceling', 'cancelingall'])
      expect(asked).toContain(`GET /orders ${status}`);
    expect(asked).toContain('GET /orders');
  });

  it.each(['placed', 'processing', 'amending', 'canceling', 'in_limbo'])(
    'does not end while an order is %s; what outlives cancel_all is cancelled by its id',
    async (status) => {
      const { venue, clock, orders, asked } = venueOf([status], { stubborn: 3 });
      expect(await clock.runUntil(sweep(venue))).toEqual({ left: 0 });
      expect(orders.map((order) => order.status)).toEqual(['canceled']);
      expect(asked.filter((each) => each === 'DELETE /orders/cancel_all').length).toBeGreaterThanOrEqual(3);
    },
  );

  it('goes on for as long as there are ever fewer, and tells what is left when nothing changes any more', async () => {
    const { venue, clock } = venueOf(['placed', 'placed'], { stubborn: Number.POSITIVE_INFINITY });
    const started = clock.now();
    expect(await clock.runUntil(sweep(venue))).toEqual({ left: 2 });
    expect(clock.now() - started).toBeGreaterThanOrEqual(120_000);
  });

  it('knows nothing where the venue never answers', async () => {
    const { venue, clock } = venueOf(['open'], { mute: true });
    expect(await clock.runUntil(sweep(venue))).toEqual({ left: undefined });
  });
});

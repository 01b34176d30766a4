import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../src/base/clock.ts';
import { Cancellation } from '../../src/engine/interruption.ts';
import { OrderWatch } from '../../src/engine/orders/watch.ts';
import { WallTime } from '../../src/engine/wall-time.ts';
import type { TrackedOrder } from '../../src/journal/orders.ts';
import type { CallOutcome, VenueCall, VenuePort } from '../../src/venue/port.ts';

const START = Date.UTC(2026, 0, 5, 8);

/** A watch whose readings wait for so long before they are answered: tokens are scarce. */
function watching(answeredAfterMs: number) {
  const clock = new VirtualClock(START);
  const asked: string[] = [];
  let underWay = 0;
  let most = 0;
  const venue = {
    call(call: VenueCall<'GET /orders'>): Promise<CallOutcome<'GET /orders'>> {
      asked.push(`+${clock.now() - START} ${call.params.order_id ?? 'all'}`);
      underWay += 1;
      most = Math.max(most, underWay);
      return new Promise((resolve) => {
        clock.at(clock.now() + answeredAfterMs, () => {
          underWay -= 1;
          resolve({ kind: 'confirmed', result: [], settledAt: clock.now() });
        });
      });
    },
  } as unknown as VenuePort;
  let calls = 0;
  const watch = new OrderWatch({
    venue,
    clock,
    wall: new WallTime(clock),
    callId: (path) => `${path}#${++calls}`,
  });
  return { clock, watch, asked, most: () => most };
}

function orderOf(id: string): TrackedOrder {
  const [market] = id.split('@');
  return {
    intent: { market, clientOrderId: `rb${id}` },
    createdAt: START,
    snapshot: { state: 'processing', context: { venueId: id } },
  } as unknown as TrackedOrder;
}

/** A watch of a market in which other programs have `newer` orders, all younger than ours, of which `open` rest. */
function crowded({ newer, open }: { readonly newer: number; readonly open: readonly string[] }) {
  const clock = new VirtualClock(START);
  const asked: string[] = [];
  const venue = {
    async call({ params }: VenueCall<'GET /orders'>): Promise<CallOutcome<'GET /orders'>> {
      const { order_id, status, p_page = 0, p_limit = 1 } = params;
      asked.push(order_id ?? `${status ?? 'all'} ${p_page}`);
      const foreign = Math.max(0, Math.min(p_limit, newer - p_page * p_limit));
      const shown = order_id !== undefined ? [order_id] : status === 'open' ? open : [];
      const result = shown.map((id) => ({ id, client_order_id: `rb${id}` }));
      const leftOut = status === undefined && order_id === undefined ? { leftOut: foreign } : {};
      return { kind: 'confirmed', result, settledAt: clock.now(), ...leftOut } as unknown as CallOutcome<'GET /orders'>;
    },
  } as unknown as VenuePort;
  let calls = 0;
  const watch = new OrderWatch({ venue, clock, wall: new WallTime(clock), callId: (path) => `${path}#${++calls}` });
  return { clock, watch, asked };
}

describe('several orders of a market with more newer ones than a page holds', () => {
  it('are read by id, from then on in the list of those that are open, and by id where that does not show them', async () => {
    const { clock, watch, asked } = crowded({ newer: 1000, open: ['BTC-USD@1', 'BTC-USD@2'] });
    const whole = new Cancellation();
    const waits = ['BTC-USD@1', 'BTC-USD@2', 'BTC-USD@3'].map((id) =>
      watch.until(orderOf(id), () => false, whole).catch(() => 'left'),
    );
    await clock.advanceTo(START + 3_000);
    expect(asked).toEqual(['all 0', 'BTC-USD@1', 'BTC-USD@2', 'BTC-USD@3', 'open 0', 'BTC-USD@3']);
    whole.cancel('operator', 'enough');
    await Promise.all(waits);
  });

  it('are read in one page while there is room', async () => {
    const { clock, watch, asked } = crowded({ newer: 900, open: [] });
    const whole = new Cancellation();
    const waits = ['BTC-USD@1', 'BTC-USD@2'].map((id) =>
      watch.until(orderOf(id), () => false, whole).catch(() => 'left'),
    );
    await clock.advanceTo(START + 3_000);
    expect(asked).toEqual(['all 0', 'all 0']);
    whole.cancel('operator', 'enough');
    await Promise.all(waits);
  });

  it('are looked for to the end of the list before one counts as absent', async () => {
    const { watch, asked } = crowded({ newer: 2500, open: [] });
    expect(await watch.lookThroughMarket(orderOf('BTC-USD@1'), 'settle')).toBe(true);
    expect(asked).toEqual(['all 0', 'all 1', 'all 2']);
  });
});

describe('orders that are awaited while tokens are scarce', () => {
  it('have one reading under way or waiting, and the next some time after its answer', async () => {
    const { clock, watch, asked, most } = watching(10_000);
    const whole = new Cancellation();
    const waiting = watch.until(orderOf('BTC-USD@1'), () => false, whole).catch(() => 'left');
    await clock.advanceTo(START + 25_000);
    expect(asked).toEqual(['+500 BTC-USD@1', '+11000 BTC-USD@1', '+21500 BTC-USD@1']);
    expect(most()).toBe(1);
    whole.cancel('operator', 'enough');
    await clock.advanceTo(START + 60_000);
    await waiting;
    await watch.waitForReadings();
    expect(asked).toHaveLength(3);
  });

  it('are read together with later waiters, and do not hold up another market', async () => {
    const { clock, watch, asked, most } = watching(3_000);
    const whole = new Cancellation();
    const wait = (id: string) => watch.until(orderOf(id), () => false, whole).catch(() => 'left');
    const waits = [wait('BTC-USD@1')];
    await clock.advanceTo(START + 1_000);
    waits.push(wait('BTC-USD@2'), wait('ETH-USD@3'));
    await clock.advanceTo(START + 4_000);
    expect(asked).toEqual(['+500 BTC-USD@1', '+1500 ETH-USD@3', '+3500 all']);
    expect(most()).toBe(2);
    whole.cancel('operator', 'enough');
    await Promise.all(waits);
  });
});

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

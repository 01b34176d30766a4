import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../src/base/clock.ts';
import { CancelAllBarrier } from '../../src/gateway/cancel-all-barrier.ts';
import { VenueClient } from '../../src/gateway/client.ts';
import { LimitFactsFold } from '../../src/gateway/limits/facts.ts';
import { Simulator } from '../../src/gateway/simulator/simulator.ts';
import { LocalBudget } from '../../src/gateway/tokens/budget.ts';
import type { Transport } from '../../src/gateway/transport.ts';
import { OrderTracker } from '../../src/journal/orders.ts';
import { RunLog } from '../../src/journal/run-log.ts';
import { MemoryStore } from '../../src/journal/stores/memory.ts';
import { JournalWriter } from '../../src/journal/writer.ts';
import type { VenueCall } from '../../src/venue/port.ts';
import { SIMULATED_PROFILE } from '../../src/venue/profile/profile.ts';
import { budgetSettings } from '../../src/venue/tokens/ledger.ts';

const START = Date.UTC(2026, 0, 5, 8);

/** Two runs of one account in one process, with the times at which their requests were sent. */
function twoRuns(barrier: CancelAllBarrier | undefined) {
  const clock = new VirtualClock(START);
  const simulator = new Simulator({ faults: [{ on: 'DELETE /orders/cancel_all', do: 'delay', ms: 2000 }] }, clock, 1);
  const left: string[] = [];
  const venue = simulator.transport();
  const transport: Transport = {
    send(request, options) {
      left.push(`${clock.now() - START} ${request.endpoint}`);
      return venue.send(request, options);
    },
  };
  const budget = new LocalBudget(budgetSettings(), clock, {}, { random: () => 0.5 });
  const clientOf = (run: string) => {
    const identity = { run, account: 'a', def: '', boot: 'virtual', epoch: 1, actor: 'engine' as const };
    const writer = new JournalWriter(new MemoryStore(), { ...identity, clock, durable: false });
    const tracker = new OrderTracker();
    return new VenueClient({
      profile: SIMULATED_PROFILE,
      transport,
      budget,
      log: new RunLog(writer, tracker, []),
      clock,
      gate: new LimitFactsFold(tracker, simulator.markets),
      feeds: { read: async () => undefined },
      markets: simulator.markets,
      epoch: 1,
      ...(barrier === undefined ? {} : { barrier }),
    });
  };
  return { clock, left, first: clientOf('first'), second: clientOf('second') };
}

const SWEEP: VenueCall<'DELETE /orders/cancel_all'> = {
  id: 's#1',
  step: 's',
  endpoint: 'DELETE /orders/cancel_all',
  params: {},
  class: 'protect',
};
const ORDER: VenueCall<'POST /orders'> = {
  id: 'o#1',
  step: 'o',
  endpoint: 'POST /orders',
  params: { market_id: 'BTC-USD', side: 'long', size: '0.1', type: 'limit', price: '60000', client_order_id: 'rbx' },
  class: 'enter',
  clientOrderId: 'rbx',
  intent: {
    clientOrderId: 'rbx',
    market: 'BTC-USD',
    side: 'long',
    type: 'limit',
    size: '0.1',
    price: '60000',
    onAmbiguous: 'halt',
  },
};

describe('a cancel of all orders of the account', () => {
  it('holds back orders of another run of the process meanwhile, and nothing else', async () => {
    const { clock, left, first, second } = twoRuns(new CancelAllBarrier());
    const sweep = first.call(SWEEP);
    const order = second.call(ORDER);
    const read = second.call({ id: 'r#1', step: 'r', endpoint: 'GET /account', params: {}, class: 'read' });
    expect(await clock.runUntil(Promise.all([sweep, order, read]))).toMatchObject([
      { kind: 'confirmed' },
      { kind: 'confirmed' },
      { kind: 'confirmed' },
    ]);
    expect(left.slice(0, 2).sort()).toEqual(['0 DELETE /orders/cancel_all', '0 GET /account']);
    const [at, ...what] = (left[2] ?? '').split(' ');
    expect([what.join(' '), Number(at) >= 2_000]).toEqual(['POST /orders', true]);
    // With a barrier for each run, as in two processes, nothing is held back.
    const apart = twoRuns(undefined);
    await apart.clock.runUntil(Promise.all([apart.first.call(SWEEP), apart.second.call(ORDER)]));
    expect(apart.left).toContain('0 POST /orders');
  });

  it('without an answer lets orders go once it has been given up', async () => {
    const barrier = new CancelAllBarrier();
    const { clock, left, second } = twoRuns(barrier);
    const lost = barrier.during(new Promise((_, reject) => clock.after(10_000, () => reject(new Error('given up')))));
    lost.catch(() => {});
    await clock.runUntil(second.call(ORDER));
    expect(left).toEqual(['10000 POST /orders']);
  });
});

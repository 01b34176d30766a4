/** Tests cancels: of one order of the run, of every order of the account, and of one of another origin. */
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../src/base/clock.ts';
import { Abandoned, Cancellation } from '../../src/engine/interruption.ts';
import { Cancelling } from '../../src/engine/orders/cancel.ts';
import type { OrderHandle } from '../../src/engine/readings/handles.ts';
import type { OrderManagerParts, OrderRequestContext } from '../../src/engine/readings/parts.ts';
import { OrderWatch } from '../../src/engine/readings/watch.ts';
import { STEP_SWEEP } from '../../src/engine/sweep.ts';
import { WallTime } from '../../src/engine/wall-time.ts';
import type { TrackedOrder } from '../../src/journal/orders.ts';
import type { EndpointName } from '../../src/venue/catalogue.ts';
import { TIMINGS } from '../../src/venue/order/context.ts';
import { REPEAT_DELAYS_MS } from '../../src/venue/order/polling.ts';
import { NOT_RECORDED, SWEEP, type VenueCall, type VenuePort } from '../../src/venue/port.ts';
import type { OrderRecord } from '../../src/venue/records.ts';
import { orderIn, record, terms } from '../venue/order-samples.ts';

const START = Date.UTC(2026, 0, 5, 8);
const OPEN = record('open', { id: 'BTC-USD@9', client_order_id: 'theirs' });
const refused = (failure: string) => ({ kind: 'rejected', failure, definite: true, message: failure });
const LOST = { kind: 'unresolved', message: 'reset' };

/** A run whose venue answers each call at once: with rows, or with an outcome. */
function cancelling(answer: (call: VenueCall, count: number) => unknown, orders: readonly TrackedOrder[] = []) {
  const clock = new VirtualClock(START);
  const calls: VenueCall[] = [];
  const entries: unknown[] = [];
  const venue = {
    async call(call: VenueCall) {
      calls.push(call);
      const found = answer(call, calls.filter(({ endpoint }) => endpoint === call.endpoint).length);
      return Array.isArray(found) ? { kind: 'confirmed', result: found, settledAt: clock.now() } : found;
    },
  } as unknown as VenuePort;
  const callId = (path: string) => `${path}#${calls.length}`;
  const log = { tracker: { unfinished: () => orders }, append: (...entry: unknown[]) => entries.push(entry) };
  const watch = new OrderWatch({ venue, clock, wall: new WallTime(clock), callId });
  const parts = { venue, clock, callId, log } as unknown as OrderManagerParts;
  const at: OrderRequestContext = {
    step: 'steps/0',
    cancel: new Cancellation(),
    memory: new Map(),
    limits: undefined,
    reference: undefined,
  };
  const count = (endpoint: EndpointName) => calls.filter((call) => call.endpoint === endpoint).length;
  return { cancels: new Cancelling(parts, watch), clock, calls, entries, count, at };
}

describe('an order of the run', () => {
  const own = () => ({ snapshot: orderIn('open'), intent: terms(), createdAt: START }) as unknown as TrackedOrder;
  const show = (order: TrackedOrder, state: Parameters<typeof orderIn>[0]) => {
    Object.assign(order, { snapshot: orderIn(state) });
  };
  const rejection = (failure: string, more: object = {}) => ({ ...refused(failure), ...more });

  it('whose cancel is refused is what its record shows', async () => {
    const cases = [
      ['rejected', 'open', undefined, 'rejected'],
      ['rejected', 'open', 'canceled', 'cancelled'],
      ['duplicate', 'open', undefined, 'cancelled'],
      ['transport', 'canceling', undefined, 'transport'],
    ] as const;
    for (const [failure, after, read, expected] of cases) {
      const order = own();
      const { cancels, clock, count, at } = cancelling(({ endpoint }) => {
        if (endpoint === 'GET /orders') {
          if (read !== undefined) show(order, read);
          return failure === 'transport' ? LOST : [];
        }
        show(order, after);
        return rejection(failure);
      });
      const ended = await clock.runUntil(cancels.own(order, 'accepted', at)).then(
        () => 'cancelled',
        (error: unknown) => (error as { kind: string }).kind,
      );
      expect([failure, ended]).toEqual([failure, expected]);
      expect(count('GET /orders')).toBe(failure === 'duplicate' ? 0 : 1);
      expect(count('DELETE /orders')).toBe(failure === 'transport' ? 6 : 1);
    }
  });

  it('is cancelled again while no answer comes, more and more rarely, and not before the venue wants it', async () => {
    const sentAt = async (answer: object, until = 9) => {
      const order = own();
      const times: number[] = [];
      const scene = cancelling((_, count) => {
        times.push(scene.clock.now() - START);
        if (count === until) show(order, 'canceled');
        return answer;
      });
      await scene.clock.runUntil(scene.cancels.send(order, scene.at));
      return times;
    };
    expect(await sentAt(LOST)).toEqual([0, 250, 750, 1_750, 3_750, 7_750]);
    expect(await sentAt(LOST, 2)).toEqual([0, 250]);
    expect(await sentAt(rejection('rate_limited', { retryAfterMs: 5_000 }), 3)).toEqual([0, 5_000, 10_000]);
    expect(await sentAt(rejection('unauthorized'), 2)).toEqual([0, 250]);
    expect(await sentAt(rejection('rejected'))).toEqual([0]);
    expect(await sentAt({ kind: 'denied', code: 'WITHDRAWN', message: 'x' })).toEqual([0]);
  });

  it('is cancelled for an exit with its consent and only once the journal has it; otherwise with neither', async () => {
    const exit = { what: 'the exit' };
    const { cancels, clock, calls, at } = cancelling(() => []);
    await clock.runUntil(cancels.send(own(), { ...at, exit }));
    await clock.runUntil(cancels.send(own(), at));
    expect(calls).toMatchObject([{ recorded: true, consent: exit }, { endpoint: 'DELETE /orders' }]);
    expect(calls[1]).not.toHaveProperty('recorded');
    expect(calls[1]).not.toHaveProperty('consent');
  });

  it('that has ended needs no cancel, and a denied one fails', async () => {
    const ended = own();
    show(ended, 'closed');
    const idle = cancelling(() => []);
    await idle.clock.runUntil(idle.cancels.own(ended, 'terminal', idle.at));
    expect(idle.calls).toEqual([]);
    const { cancels, clock, at } = cancelling(() => ({ kind: 'denied', code: 'KILL_SWITCH_ENGAGED', message: 'x' }));
    await expect(clock.runUntil(cancels.own(own(), 'terminal', at))).rejects.toMatchObject({ kind: 'denied' });
  });
});

describe('cancel_all', () => {
  const inState = (state: Parameters<typeof orderIn>[0], clientOrderId: string) =>
    ({ snapshot: orderIn(state), intent: { clientOrderId } }) as unknown as TrackedOrder;

  it('reads with less urgency than it cancels, and belongs to the sweep once the venue has taken it', async () => {
    const known = [
      inState('unknown', 'doubtful'),
      inState('open', 'rests'),
      inState('draft', 'unsent'),
      inState('quarantined', 'kept'),
    ];
    const { cancels, clock, calls, entries, at } = cancelling(() => [], known);
    expect(await clock.runUntil(cancels.all(at))).toEqual([]);
    const [first, second] = calls;
    expect(first).toMatchObject({ endpoint: 'DELETE /orders/cancel_all', class: 'protect', step: 'steps/0' });
    expect([first?.deadlineAt, first?.purpose]).toEqual([undefined, undefined]);
    expect(second).toMatchObject({
      endpoint: 'GET /orders',
      class: 'resolve',
      deadlineAt: START + STEP_SWEEP.patienceMs,
      purpose: SWEEP,
    });
    const readings = calls.filter(({ deadlineAt }) => deadlineAt !== undefined).length;
    expect(readings).toBe(calls.length - 1);
    expect(entries).toEqual([
      ['account.swept', { cancels: 1, readings: 2, left: [], inDoubt: ['doubtful'] }, 'steps/0'],
    ]);
  });

  it('gives what the venue does not cancel, with the reason of the last refusal', async () => {
    const { cancels, clock, entries, at } = cancelling(({ endpoint }) =>
      endpoint === 'GET /orders' ? [OPEN] : endpoint === 'DELETE /orders' ? refused('rejected') : [],
    );
    expect(await clock.runUntil(cancels.all(at))).toEqual([OPEN]);
    expect(entries).toMatchObject([['account.swept', { left: [{ id: 'BTC-USD@9' }], because: 'rejected' }, 'steps/0']]);
  });

  it('fails where it was not taken, or where no reading is answered after that', async () => {
    const denied = cancelling(() => refused('rejected'));
    await expect(denied.clock.runUntil(denied.cancels.all(denied.at))).rejects.toMatchObject({ kind: 'rejected' });
    expect([denied.calls.length, denied.entries]).toEqual([1, []]);
    const unread = cancelling(({ endpoint }) => (endpoint === 'GET /orders' ? LOST : []));
    await expect(unread.clock.runUntil(unread.cancels.all(unread.at))).rejects.toMatchObject({
      kind: 'transport',
      message: expect.stringContaining('reset'),
    });
    expect(unread.entries).toMatchObject([['account.swept', { because: 'reset' }, 'steps/0']]);
    expect(unread.calls.length).toBeGreaterThan(3);
  });

  it('counts as done in a recording without its readings, and halts where nothing can be journaled', async () => {
    const denies = (code: string) =>
      cancelling(({ endpoint }) => (endpoint === 'GET /orders' ? { kind: 'denied', code, message: code } : []));
    const recorded = denies(NOT_RECORDED);
    expect(await recorded.clock.runUntil(recorded.cancels.all(recorded.at))).toEqual([]);
    expect([recorded.calls.length, recorded.entries]).toEqual([2, []]);
    const halted = denies('JOURNAL');
    await expect(halted.clock.runUntil(halted.cancels.all(halted.at))).rejects.toMatchObject({
      fact: { kind: 'denied' },
    });
    const limited = denies('KILL_SWITCH_ENGAGED');
    await expect(limited.clock.runUntil(limited.cancels.all(limited.at))).rejects.toMatchObject({ kind: 'transport' });
  });
});

describe('an order of another origin', () => {
  function handle(): OrderHandle {
    const seen = {
      id: 'BTC-USD@9',
      market_id: 'BTC-USD',
      status: 'open',
      terminal: false,
      timestamp: { us: START * 1000 },
      touch({ status }: OrderRecord) {
        seen.terminal = status === 'canceled';
        seen.status = status;
      },
    };
    return seen as unknown as OrderHandle;
  }
  const ended = { ...OPEN, status: 'canceled' };

  it('is cancelled by its id, and not read where the answer is enough', async () => {
    const { cancels, clock, calls, at } = cancelling(() => []);
    await clock.runUntil(cancels.external(handle(), 'accepted', at));
    expect(calls).toMatchObject([
      { endpoint: 'DELETE /orders', class: 'protect', params: { order_id: 'BTC-USD@9', market_id: 'BTC-USD' } },
    ]);
  });

  it('is sent no other cancel where its step has ended: the order is not of the run', async () => {
    const { cancels, clock, count, at } = cancelling(() => {
      clock.after(100, () => at.cancel.cancel('operator', 'enough'));
      return LOST;
    });
    await expect(clock.runUntil(cancels.external(handle(), 'terminal', at))).rejects.toBeInstanceOf(Abandoned);
    expect([clock.now() - START, count('DELETE /orders')]).toEqual([100, 1]);
  });

  it('is read, more and more rarely, until its record shows the end', async () => {
    const readAt: number[] = [];
    const scene = cancelling(({ endpoint }, count) => {
      if (endpoint !== 'GET /orders') return [];
      readAt.push(scene.clock.now() - START);
      return [count < 6 ? OPEN : ended];
    });
    await scene.clock.runUntil(scene.cancels.external(handle(), 'terminal', scene.at));
    expect(readAt).toEqual([500, 1_500, 3_500, 7_500, 9_500, 11_500]);
    expect(scene.count('DELETE /orders')).toBe(1);
    expect(scene.calls[1]?.params).toMatchObject({ order_id: 'BTC-USD@9', start_time: (START - 3_600_000) * 1000 });
  });

  it('is asked for again while it works, and given up after the last try', async () => {
    const { cancels, clock, count, at } = cancelling(({ endpoint }) => (endpoint === 'GET /orders' ? [OPEN] : []));
    await expect(clock.runUntil(cancels.external(handle(), 'terminal', at))).rejects.toMatchObject({
      kind: 'rejected',
    });
    expect(count('DELETE /orders')).toBe(TIMINGS.cancelTries);
    // 30 s each: four readings with growing pauses, then one every two seconds.
    expect(count('GET /orders')).toBe(TIMINGS.cancelTries * 16);
  });

  it.each([
    ['rejected', [ended], 'not_found', 1, 1],
    ['rejected', [OPEN], 'rejected', 1, 1],
    ['rejected', [], 'not_found', 1, 1],
    ['rejected', LOST, 'transport', 1, 1],
    ['rate_limited', [ended], 'rate_limited', REPEAT_DELAYS_MS.length + 1, 0],
  ] as const)('that is refused as %s: its record decides', async (failure, rows, kind, sends, readings) => {
    const { cancels, clock, count, at } = cancelling(({ endpoint }) =>
      endpoint === 'GET /orders' ? rows : refused(failure),
    );
    await expect(clock.runUntil(cancels.external(handle(), 'terminal', at))).rejects.toMatchObject({ kind });
    expect([count('DELETE /orders'), count('GET /orders')]).toEqual([sends, readings]);
  });

  it('is asked for again where no answer comes, and what the lost cancel did is done', async () => {
    const { cancels, clock, count, at } = cancelling(({ endpoint }) => {
      if (endpoint === 'GET /orders') return [ended];
      return count('DELETE /orders') === 1 ? LOST : refused('rejected');
    });
    await clock.runUntil(cancels.external(handle(), 'terminal', at));
    expect([count('DELETE /orders'), count('GET /orders')]).toEqual([2, 1]);
  });

  it('fails without an answer', async () => {
    const { cancels, clock, count, at } = cancelling(() => LOST);
    await expect(clock.runUntil(cancels.external(handle(), 'accepted', at))).rejects.toMatchObject({
      kind: 'transport',
    });
    expect(count('DELETE /orders')).toBe(REPEAT_DELAYS_MS.length + 1);
  });
});

/** Confirming alone: what is waited for, what an order that does not show is cancelled for, and which of several errors counts. */
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../src/base/clock.ts';
import { Abandoned, Cancellation } from '../../src/engine/interruption.ts';
import { Confirming } from '../../src/engine/orders/confirm.ts';
import type { OrderManagerParts, OrderRequestContext } from '../../src/engine/readings/parts.ts';
import { isConfirmed, isEnded } from '../../src/engine/readings/status.ts';
import type { TrackedOrder } from '../../src/journal/orders.ts';
import { CONFIRM_WITHIN_MS } from '../../src/venue/order/polling.ts';
import type { OrderState } from '../../src/venue/order/states.ts';
import { failureOf, orderOf, START, setState } from './tracked-orders.ts';

/** Waits on orders whose states change at given times, ms after the start. */
function confirming(
  changes: readonly (readonly [ms: number, order: TrackedOrder, state: OrderState, context?: object])[] = [],
) {
  const clock = new VirtualClock(START);
  const listeners = new Set<() => void>();
  const look = () => {
    for (const listener of [...listeners]) listener();
  };
  for (const [ms, order, state, context = {}] of changes)
    clock.at(START + ms, () => {
      setState(order, state);
      Object.assign(order.snapshot.context, context);
      look();
    });
  const entries: Record<string, unknown>[] = [];
  let concluded: (entry: Record<string, unknown>) => unknown = () => {};
  const waits: [string, number][] = [];
  const cancelled: number[] = [];
  const until = (order: TrackedOrder, isDone: (order: TrackedOrder) => boolean, cancel: Cancellation) =>
    new Promise<void>((resolve, reject) => {
      const stop = cancel.listen((reason) => {
        listeners.delete(check);
        reject(new Abandoned(reason));
      });
      const check = () => {
        if (!isDone(order)) return;
        stop();
        listeners.delete(check);
        resolve();
      };
      listeners.add(check);
      check();
    });
  const watch = {
    until: (order: TrackedOrder, isDone: (order: TrackedOrder) => boolean, { cancel }: OrderRequestContext) =>
      until(order, isDone, cancel),
    async seeWithin(ms: number, order: TrackedOrder, isDone: (order: TrackedOrder) => boolean) {
      const what = isDone === isConfirmed ? 'confirmed' : isDone === isEnded ? 'ended' : '';
      waits.push([what, ms]);
      const scope = new Cancellation();
      const timer = clock.after(ms, () => scope.cancel('timeout', ''));
      return until(order, isDone, scope).then(
        () => {
          timer.cancel();
          return true;
        },
        () => false,
      );
    },
  };
  const cancelling = {
    overdue: new Set<TrackedOrder>(),
    send: async () => void cancelled.push(clock.now() - START),
  };
  const run = {
    clock,
    log: {
      append(type: string, { clientOrderId: _of, because: _why, ...data }: Record<string, unknown>) {
        entries.push({ type, ...data });
        concluded(data);
      },
    },
  } as unknown as OrderManagerParts;
  const made = new Confirming(run, watch as never, cancelling as never);
  const cancel = new Cancellation();
  const at = { step: 's', cancel, memory: new Map() } as unknown as OrderRequestContext;
  const handle = (own: TrackedOrder) => ({ own }) as never;
  return {
    clock,
    cancel,
    entries,
    onConclusion(listener: typeof concluded) {
      concluded = listener;
    },
    waits,
    cancelled,
    overdue: cancelling.overdue,
    since: () => clock.now() - START,
    run: <T>(work: Promise<T>) => clock.runUntil(work),
    reach: (order: TrackedOrder, target: Parameters<Confirming['reach']>[1], endsAtOnce = false) =>
      made.reach(handle(order), target, at, endsAtOnce),
    reachAny: (orders: readonly TrackedOrder[], target: Parameters<Confirming['reach']>[1] = 'filled') =>
      made.reachAny(orders.map(handle), target, at),
    confirm: (order: TrackedOrder, isShown?: typeof isConfirmed) => made.confirm(order, at, isShown),
  };
}
const CLOSED = { filled: '10', recordFilled: '10' };

describe('an order that is awaited', () => {
  it('is confirmed first, but for one that is, and then awaited to its target', async () => {
    const order = orderOf('processing');
    const stage = confirming([
      [2_000, order, 'open'],
      [90_000, order, 'closed', CLOSED],
    ]);
    await stage.run(stage.reach(order, 'filled'));
    expect([stage.since(), stage.waits, stage.cancelled]).toEqual([90_000, [['confirmed', CONFIRM_WITHIN_MS]], []]);
    const open = orderOf('open');
    const known = confirming([[90_000, open, 'closed', CLOSED]]);
    await known.run(known.reach(open, 'filled'));
    expect([known.since(), known.waits]).toEqual([90_000, []]);
  });

  it('is awaited to its end at once where it never rests, and cancelled where none is seen', async () => {
    const order = orderOf('open');
    const stage = confirming([[2_000, order, 'closed', CLOSED]]);
    await stage.run(stage.reach(order, 'live', true));
    expect([stage.since(), stage.waits]).toEqual([2_000, [['ended', CONFIRM_WITHIN_MS]]]);
    const hangs = orderOf('open');
    const late = confirming([[CONFIRM_WITHIN_MS + 1_000, hangs, 'canceled']]);
    expect(await late.run(failureOf(late.reach(hangs, 'live', true)))).toMatchObject({ kind: 'cancelled' });
    expect(late.cancelled).toEqual([CONFIRM_WITHIN_MS]);
    expect(late.waits).toEqual([
      ['ended', CONFIRM_WITHIN_MS],
      ['ended', CONFIRM_WITHIN_MS / 2],
    ]);
  });

  it.each<[string, OrderState, object]>([
    ['a rejection', 'rejected', { name: 'StepFailure', kind: 'rejected' }],
    ['a cancel', 'canceled', { name: 'StepFailure', kind: 'cancelled' }],
    ['a quarantine', 'quarantined', { name: 'Halt', kind: 'unknown_outcome' }],
  ])('that can no longer reach its target fails its step, or halts: %s', async (_name, state, failure) => {
    const order = orderOf('open');
    const stage = confirming([[2_000, order, state]]);
    expect(await stage.run(failureOf(stage.reach(order, 'filled')))).toEqual(failure);
  });

  it('is not waited for where an acknowledgement is enough, and may be rejected where any end is', async () => {
    const stage = confirming();
    await stage.run(stage.reach(orderOf('processing'), 'accepted'));
    expect([stage.since(), stage.waits]).toEqual([0, []]);
    const order = orderOf('open');
    const ended = confirming([[2_000, order, 'rejected']]);
    await ended.run(ended.reach(order, 'terminal'));
    expect(ended.since()).toBe(2_000);
  });

  it("that is rejected fails with the venue's reason", async () => {
    const order = orderOf('open');
    const stage = confirming([[2_000, order, 'rejected', { lastRecord: { reason: 'MARGIN' } }]]);
    const said = stage.reach(order, 'live', true).catch((error: Error) => error.message);
    expect(await stage.run(said)).toContain('MARGIN');
  });

  it('is quarantined where its status stays unknown, and not where it has reached its target', async () => {
    const unknownStatus = { status: 'limbo', since: START - CONFIRM_WITHIN_MS };
    const order = orderOf('open');
    const stage = confirming([[2_000, order, 'open', { unknownStatus }]]);
    await stage.run(failureOf(stage.reach(order, 'filled')));
    expect(stage.entries).toEqual([{ type: 'order.concluded', event: 'T_EXHAUSTED' }]);
    const filled = orderOf('open');
    const reached = confirming([[2_000, filled, 'open', { unknownStatus, filled: '1' }]]);
    await reached.run(reached.reach(filled, 'any_fill'));
    expect(reached.entries).toEqual([]);
  });
});

describe('an order that no record shows', () => {
  it.each<[string, OrderState, object | undefined]>([
    ['fails its step where the cancel ends it', 'canceled', { name: 'StepFailure', kind: 'cancelled' }],
    ['is as it should be where it filled first', 'closed', undefined],
    ['is as it should be where it was rejected', 'rejected', undefined],
  ])('%s', async (_name, state, failure) => {
    const order = orderOf('processing');
    const stage = confirming([[CONFIRM_WITHIN_MS + 5_000, order, state]]);
    expect(await stage.run(failureOf(stage.confirm(order)))).toEqual(failure);
    expect([stage.since(), stage.cancelled]).toEqual([CONFIRM_WITHIN_MS + 5_000, [CONFIRM_WITHIN_MS]]);
    expect(stage.entries).toEqual([{ type: 'order.concluded', event: 'T_CONFIRM' }]);
  });

  it('halts the run where its end is not seen either, and is not cancelled again without success', async () => {
    const order = orderOf('processing');
    const stage = confirming();
    expect(await stage.run(failureOf(stage.confirm(order)))).toMatchObject({ name: 'Halt' });
    expect([stage.since(), [...stage.overdue]]).toEqual([1.5 * CONFIRM_WITHIN_MS, [order]]);
  });

  it('halts the run where its status stays unknown: it is quarantined, and a later step may cancel it again', async () => {
    const order = orderOf('processing', undefined, { unknownStatus: { status: 'limbo', since: START } });
    const stage = confirming();
    stage.onConclusion(({ event }) => event === 'T_EXHAUSTED' && setState(order, 'quarantined'));
    expect(await stage.run(failureOf(stage.confirm(order)))).toMatchObject({ name: 'Halt' });
    expect(stage.entries.map(({ event }) => event)).toEqual(['T_CONFIRM', 'T_CONFIRM', 'T_EXHAUSTED']);
    expect(stage.overdue.size).toBe(0);
  });
});

describe('the first of several orders', () => {
  it('ends the wait for the others, and nothing of it is kept', async () => {
    const [a, b] = [orderOf('open'), orderOf('open')];
    const stage = confirming([[2_000, b, 'closed', CLOSED]]);
    expect(await stage.run(stage.reachAny([a, b]))).toBe(1);
    expect(stage.since()).toBe(2_000);
    expect(stage.cancel).toEqual(new Cancellation());
  });

  it('is awaited although another can no longer get there', async () => {
    const [a, b] = [orderOf('open'), orderOf('open')];
    const stage = confirming([
      [2_000, a, 'canceled'],
      [9_000, b, 'closed', CLOSED],
    ]);
    expect(await stage.run(stage.reachAny([a, b]))).toBe(1);
    const none = confirming([
      [2_000, a, 'rejected'],
      [9_000, b, 'canceled'],
    ]);
    setState(a, 'open');
    setState(b, 'open');
    expect(await none.run(failureOf(none.reachAny([a, b])))).toEqual({ name: 'StepFailure', kind: 'rejected' });
    expect(none.since()).toBe(9_000);
  });

  it('is no longer awaited when the outcome of another is unknown: that halts, whichever failed first', async () => {
    const [a, b, c] = [orderOf('open'), orderOf('open'), orderOf('open')];
    const stage = confirming([
      [1_000, a, 'canceled'],
      [2_000, b, 'quarantined'],
      [9_000, c, 'closed', CLOSED],
    ]);
    expect(await stage.run(failureOf(stage.reachAny([a, b, c])))).toMatchObject({ name: 'Halt' });
    expect(stage.since()).toBe(2_000);
  });

  it('is left to the scope that ends the wait, also where that is only interrupted', async () => {
    for (const end of ['cancel', 'interrupt'] as const) {
      const order = orderOf('open');
      const stage = confirming();
      stage.clock.after(3_000, () => stage.cancel[end]('operator', 'enough'));
      expect(await stage.run(failureOf(stage.reachAny([order])))).toMatchObject({ name: 'Abandoned' });
      expect(stage.since()).toBe(3_000);
    }
  });
});

/** Refused orders alone: what an attempt learns from the first look-up, what a later one waits for, and what is left to the run. */
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../src/base/clock.ts';
import { Cancellation, Halt } from '../../src/engine/interruption.ts';
import { RefusedOrders } from '../../src/engine/orders/refused.ts';
import type { OrderManagerParts } from '../../src/engine/readings/parts.ts';
import type { TrackedOrder } from '../../src/journal/orders.ts';
import { TIMINGS } from '../../src/venue/order/context.ts';
import { terms } from '../venue/order-samples.ts';
import { failureOf, orderOf, START, setState } from './tracked-orders.ts';

/** What the look-ups find after 30 s: the first is answered after 5 s. */
type Found = 'absent' | 'open' | 'unknown';
const halt = () => new Halt('unknown_outcome', 'it is not known', 's');

function watching(found: (order: TrackedOrder) => Found, { horizonMs = 90_000, cancels = async () => {} } = {}) {
  const clock = new VirtualClock(START);
  const sleep = (ms: number) => new Promise<void>((done) => void clock.after(ms, done));
  const waits: [string, number][] = [];
  const entries: object[] = [];
  const offsets: unknown[] = [];
  const cancelled: string[] = [];
  const run = {
    clock,
    heartbeat: { markWaiting: (path: string, until: number) => void waits.push([path, until - START]) },
    setup: { absenceHorizonMs: horizonMs },
    log: { append: (type: string, data: object) => void entries.push({ type, ...data }) },
  } as unknown as OrderManagerParts;
  const resolution = {
    async resolve(order: TrackedOrder, _step: string, how: { offsets: unknown; looked: () => void }) {
      offsets.push(how.offsets);
      await sleep(5_000);
      if (found(order) !== 'open') how.looked();
      else return void setState(order, 'open');
      await sleep(25_000);
      if (found(order) === 'unknown') throw halt();
      setState(order, 'absent');
    },
  };
  const cancelling = {
    async own({ intent }: TrackedOrder) {
      cancelled.push(intent.clientOrderId);
      await cancels();
    },
  };
  const refused = new RefusedOrders(run, resolution as never, cancelling as never);
  const at = <T>(work: Promise<T>) => work.then((result) => [result, clock.now() - START] as const);
  return {
    refused,
    waits,
    entries,
    offsets,
    cancelled,
    clock,
    at,
    begin: (order: TrackedOrder, cancel = new Cancellation()) => at(refused.begin(order, 's', cancel)),
    run: <T>(work: Promise<T>) => clock.runUntil(work),
  };
}
let count = 0;
const unknown = (side: 'long' | 'short' = 'long') =>
  orderOf('unknown', terms({ clientOrderId: `rb${++count}`, side }), { venueId: `BTC-USD@${count}` });

describe('an attempt whose order was refused in words that decide nothing', () => {
  it('fails after the first look-up that finds nothing, while the watch goes on', async () => {
    const { refused, begin, run, at, waits, offsets, entries } = watching(() => 'absent');
    const order = unknown();
    expect(await run(begin(order))).toEqual([false, 5_000]);
    expect([refused.isOpen(order), waits, offsets]).toEqual([true, [['s#refused', 180_000]], [[TIMINGS.closedLagMs]]]);
    expect(await run(at(refused.settle()))).toEqual([undefined, 30_000]);
    expect([refused.isOpen(order), entries]).toEqual([false, []]);
  });

  it('looks within the horizon where that is shorter', async () => {
    const { begin, run, offsets } = watching(() => 'absent', { horizonMs: 1_000 });
    await run(begin(unknown()));
    expect(offsets).toEqual([[1_000]]);
  });

  it('keeps an order that the first look-up finds, and that is said', async () => {
    const { begin, run, entries, cancelled } = watching(() => 'open');
    const order = unknown();
    expect(await run(begin(order))).toEqual([true, 5_000]);
    const { venueId: orderId } = order.snapshot.context;
    expect(entries).toMatchObject([{ alarm: 'RefusedOrderFound', detail: { orderId, then: 'kept' } }]);
    expect(cancelled).toEqual([]);
  });

  it('leaves it when its step ends, and an order that shows then is cancelled', async () => {
    const { refused, begin, run, clock, entries, cancelled } = watching(() => 'open');
    const cancel = new Cancellation();
    clock.after(1_000, () => cancel.cancel('timeout', 'it took too long'));
    const order = unknown();
    expect(await run(failureOf(begin(order, cancel)))).toMatchObject({ name: 'Abandoned' });
    await run(refused.settle());
    expect(entries).toMatchObject([{ alarm: 'RefusedOrderFound', detail: { then: 'cancelled' } }]);
    expect(cancelled).toEqual([order.intent.clientOrderId]);
  });
});

describe('a later attempt', () => {
  it('waits until the order is proven absent, and for no order that is not watched or decided', async () => {
    const { refused, begin, run, at } = watching(() => 'absent');
    const order = unknown();
    const cancel = new Cancellation();
    await run(begin(order));
    expect(await run(at(refused.claim(order, cancel)))).toEqual([false, 30_000]);
    expect(await run(at(refused.claim(order, cancel)))).toEqual([false, 30_000]);
    expect(await run(at(refused.claim(unknown(), cancel)))).toEqual([false, 30_000]);
  });

  it('halts, as the first does, where the fate of the order stays unknown', async () => {
    const { refused, begin, run } = watching(() => 'unknown');
    const order = unknown();
    await run(begin(order));
    expect(await run(failureOf(refused.claim(order, new Cancellation())))).toMatchObject({ name: 'Halt' });
    expect(await run(refused.settle())).toBeInstanceOf(Halt);
    expect(refused.isOpen(order)).toBe(false);
  });

  it('claims the open ones that it chooses, and gets those that are at the venue', async () => {
    const { refused, begin, run, clock, at } = watching((order) =>
      order === absent || order === decided ? 'absent' : 'open',
    );
    const [shown, absent, other, decided] = [unknown(), unknown(), unknown('short'), unknown()] as const;
    await run(begin(decided));
    await run(refused.settle());
    const beganAt = clock.now() - START;
    for (const order of [shown, absent, other]) void begin(order);
    const claimed = refused.claimAll(({ side }) => side === 'long', new Cancellation());
    expect(await run(at(claimed))).toEqual([[shown], beganAt + 30_000]);
    expect(await run(refused.claimAll(() => true, new Cancellation()))).toEqual([]);
  });
});

it('a watch gives the first error of the cancels that it asked for', async () => {
  const errors = [undefined, new Error('first'), new Error('second')];
  const { refused, begin, run, clock } = watching(() => 'open', {
    cancels: async () => {
      const error = errors.shift();
      if (error !== undefined) throw error;
    },
  });
  const cancel = new Cancellation();
  clock.after(1_000, () => cancel.cancel('timeout', 'it took too long'));
  await run(Promise.all([1, 2, 3].map(() => failureOf(begin(unknown(), cancel)))));
  expect(await run(refused.settle())).toMatchObject({ message: 'first' });
});

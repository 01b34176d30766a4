/** Sets up the readings of orders alone: each is noted, and answered as a test says. */
import { VirtualClock } from '../../src/base/clock.ts';
import { Cancellation } from '../../src/engine/interruption.ts';
import { Completing, type CompletingRequest } from '../../src/engine/readings/completing.ts';
import { ExitLook } from '../../src/engine/readings/exit-look.ts';
import { LastLook } from '../../src/engine/readings/last-look.ts';
import type { OrderManagerParts } from '../../src/engine/readings/parts.ts';
import { SeenEnds } from '../../src/engine/readings/seen-ends.ts';
import type { TrackedOrder } from '../../src/journal/orders.ts';
import type { OrderState } from '../../src/venue/order/states.ts';
import type { Wanted } from '../../src/venue/port.ts';
import { terms } from '../venue/order-samples.ts';
import { orderOf, START } from './tracked-orders.ts';

let count = 0;
export function make(market: string, figures: object, state: OrderState = 'closed', createdAt = START): TrackedOrder {
  count += 1;
  const venueId = `${market}@${count}`;
  const order = orderOf(state, terms({ clientOrderId: `rb${count}`, market }), { venueId, ...figures });
  return Object.assign(order, { createdAt });
}
export const lacksFills = (market = 'BTC-USD', state: OrderState = 'closed', createdAt = START) =>
  make(market, { recordFilled: '10' }, state, createdAt);
export const lacksRecord = (market = 'BTC-USD') => make(market, { filled: '10' });
export const isWhole = (market = 'BTC-USD') => make(market, { filled: '10', recordFilled: '10' });
export const nameOf = ({ snapshot }: TrackedOrder) => snapshot.context.venueId;
/** The venue shows what the order lacks. */
export const finish = (order: TrackedOrder) => {
  const { state, context } = order.snapshot;
  return Object.assign(order, { snapshot: { state, context: { ...context, filled: '10', recordFilled: '10' } } });
};

type Limits = { readonly deadlineAt?: number; readonly answerMs?: number; readonly wanted?: Wanted };
interface Sent {
  readonly at: number;
  readonly what: string;
  readonly limits: Limits;
}

/** Completes orders with readings whose answers take 20 ms; `answer` gives what they show, and with `lacks` the orders that they do not. */
export function completing(
  answer: (what: string, nth: number) => object | undefined = () => undefined,
  others: readonly TrackedOrder[] = [],
) {
  const clock = new VirtualClock(START);
  const sent: Sent[] = [];
  const waits: [string, number][] = [];
  const entries: object[] = [];
  const send = async (what: string, { deadlineAt, answerMs, wanted }: Limits): Promise<object> => {
    const limits = {
      ...(deadlineAt === undefined ? {} : { deadlineAt: deadlineAt - START }),
      ...(answerMs === undefined ? {} : { answerMs }),
    };
    sent.push({ at: clock.now() - START, what, limits: Object.assign(limits, wanted && { wanted }) });
    const withdrawn = new Promise<object>((resolve) => {
      wanted?.onWithdrawn(() => resolve({ kind: 'denied', code: 'STEP_ENDED', message: '' }));
    });
    const nth = sent.length;
    const answered = new Promise<void>((done) => void clock.after(20, done));
    return Promise.race([withdrawn, answered.then(() => answer(what, nth) ?? { kind: 'confirmed', result: [] })]);
  };
  const run = {
    clock,
    setup: { fillsWindowMs: 30_000 },
    heartbeat: { markWaiting: (path: string, until: number) => void waits.push([path, until - START]) },
    callId: (path: string) => `${path}#1`,
    venue: {
      call: ({ endpoint, params, ...limits }: Limits & { endpoint: string; params: Record<string, unknown> }) =>
        send(
          endpoint === 'GET /fills'
            ? `fills of ${params['market_id']} since ${params['start_time']}`
            : `fills of ${params['order_id']}`,
          limits,
        ),
    },
    log: {
      append: (type: string, data: object) => void entries.push({ type, ...data }),
      tracker: { unfinished: () => others },
    },
  } as unknown as OrderManagerParts;
  const shown = new Set<TrackedOrder>();
  const endShownAt = new Map<TrackedOrder, number>();
  const read = async (what: string, how: Limits, orders: readonly TrackedOrder[]) => {
    const at = clock.now();
    const outcome = (await send(what, how)) as { readonly kind?: string; readonly lacks?: readonly TrackedOrder[] };
    if (outcome.kind === 'confirmed')
      for (const order of orders) if (outcome.lacks?.includes(order) !== true) endShownAt.set(order, at);
    return outcome;
  };
  const watch = {
    read: (order: TrackedOrder, _step: string, _purpose: string, how: Limits) =>
      read(`record of ${nameOf(order)}`, how, [order]),
    readTogether: (orders: readonly TrackedOrder[], _step: string, how: Limits) =>
      read(`records of ${orders.map(nameOf).join(', ')}`, how, orders),
    check() {},
    hasShownEndSince: (ms: number, order: TrackedOrder) => (endShownAt.get(order) ?? 0) >= ms,
    hasShownSince: (ms: number, order: TrackedOrder) => shown.has(order) || (endShownAt.get(order) ?? 0) >= ms,
    lookFrom: (at: number) => at - START,
  };
  const made = new Completing(run, watch as never);
  const seen = new SeenEnds(run, watch as never, made);
  const looks = new LastLook(run, watch as never, made, seen);
  const exits = new ExitLook(run, watch as never, made, seen);
  const complete = (orders: Iterable<TrackedOrder>, request: Partial<CompletingRequest> = {}) =>
    made.complete(orders, { step: 's', windowMs: 10_000, cancel: new Cancellation(), ...request });
  return {
    clock,
    seen,
    fillsReadAt: made.fillsReadAt,
    looks,
    exits,
    complete,
    sent,
    waits,
    entries,
    shown,
    endShownAt,
    run: <T>(work: Promise<T>) => clock.runUntil(work),
    asked: () => sent.map(({ what }) => what),
  };
}

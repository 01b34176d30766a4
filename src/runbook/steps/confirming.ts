/** The reads that follow a step until its orders are in the state that it waits for: rows that several steps share. */
import { countPolls, POLL_MS, REPEAT_DELAYS_MS } from '../../venue/order/polling.ts';
import { makeOrderFillParams, makeReadParams, type OrderRef } from '../../venue/order/requests.ts';
import type { AwaitTarget, StepName, StepOf } from '../checked.ts';
import { type CallRow, type Counts, call, type Times, type Values } from './row.ts';

/** The order that a read is about. */
type Named<V extends StepName> = <U>(args: StepOf<V>['args'], values: Values<U>) => OrderRef<U>;

/** Reads an order until it is so; `within`: how long at most, ms, Infinity where only the order's own life ends it. */
export function pollOrder<V extends StepName>(
  step: V,
  order: Named<V>,
  within: (step: StepOf<V>, counts: Counts) => number,
  rest: Partial<Omit<CallRow<V>, 'endpoint' | 'params'>> = {},
): CallRow<V, 'GET /orders'> {
  return call(step, 'GET /orders', {
    class: 'reconcile',
    params: (args, values) => makeReadParams(order(args, values), values.since()),
    times: (of, counts): Times => ({ min: 1, max: countPolls(within(of, counts)), words: 'until it is confirmed' }),
    everyMs: POLL_MS,
    ...rest,
  });
}

/** Reads the fills of an order once a record shows some. */
export function readOrderFills<V extends StepName>(
  step: V,
  order: Named<V>,
  rest: Partial<Omit<CallRow<V>, 'endpoint' | 'params'>> = {},
): CallRow<V, 'GET /fills/order'> {
  return call(step, 'GET /fills/order', {
    class: 'reconcile',
    params: (args, values) => makeOrderFillParams(order(args, values).venueId as never),
    times: () => ({ min: 0, max: REPEAT_DELAYS_MS.length + 1 }),
    when: 'the order has fills',
    ...rest,
  });
}

/** Whether a step waits until a record shows its order. */
export function waitsForRecord({ await: target }: { readonly await?: AwaitTarget }): boolean {
  return target !== 'accepted';
}

/** The reads that follow a step until its orders are in the state that it waits for: rows that several steps share. */

import { TIMINGS } from '../../venue/order/context.ts';
import {
  CANCEL_ACTS,
  CANCEL_SENDS,
  COMPLETION_PAUSES_MS,
  CONFIRM_WITHIN_MS,
  countCompletions,
  countLookups,
  countPolls,
  MARKET_PROOFS,
  POLL_MS,
} from '../../venue/order/polling.ts';
import {
  makeCancelParams,
  makeLookupParams,
  makeMarketFillParams,
  makeMarketParams,
  makeOrderFillParams,
  makeReadParams,
  type OrderRef,
} from '../../venue/order/requests.ts';
import type { AwaitTarget, StepName, StepOf } from '../checked.ts';
import { type CallRow, type Counts, call, type Times, type Values } from './row.ts';

/** When the fate of an order is looked up. */
export const LOST_ANSWER = 'no answer comes, or a refusal in unknown words';

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

/** Reads the fills of an order once a record shows some. Where they do not agree at once, the rows of `completeOrder` follow. */
export function readOrderFills<V extends StepName>(
  step: V,
  order: Named<V>,
  rest: Partial<Omit<CallRow<V>, 'endpoint' | 'params'>> = {},
): CallRow<V, 'GET /fills/order'> {
  return call(step, 'GET /fills/order', {
    class: 'complete',
    params: (args, values) => makeOrderFillParams(order(args, values).venueId ?? ''),
    times: () => ({ min: 0, max: 1 }),
    when: 'the order has fills',
    ...rest,
  });
}

/**
 * Reads an order until its record and its fills agree: one by one, or in a page of its market where several are behind. `rounds`:
 * how often orders are read so at most, one unless given.
 */
export function completeOrder<V extends StepName>(
  step: V,
  order: Named<V>,
  {
    rounds = () => 1,
    ...rest
  }: {
    readonly rounds?: (step: StepOf<V>, counts: Counts) => number;
    readonly applies?: (step: StepOf<V>) => boolean;
  } = {},
): readonly CallRow<V>[] {
  const columns = {
    ...rest,
    class: 'complete',
    times: (of: StepOf<V>, counts: Counts): Times => ({
      min: 0,
      max: rounds(of, counts) * countCompletions(counts.fillsWindowMs),
    }),
    everyMs: COMPLETION_PAUSES_MS[0],
    when: 'its record and its fills do not agree yet',
  } as const;
  return [
    call(step, 'GET /orders', {
      ...columns,
      params: (args, values) => makeReadParams(order(args, values), values.since()),
    }),
    call(step, 'GET /orders', {
      ...columns,
      params: (args, values) => makeMarketParams(order(args, values).market, values.since()),
      // Counted with those of one order.
      times: () => ({ min: 0, max: 0 }),
    }),
    call(step, 'GET /fills/order', {
      ...columns,
      params: (args, values) => makeOrderFillParams(order(args, values).venueId as never),
    }),
    call(step, 'GET /fills', {
      ...columns,
      params: (args, values) => makeMarketFillParams(order(args, values).market, values.since()),
    }),
  ] as readonly unknown[] as readonly CallRow<V>[];
}

/**
 * The requests about an order that is placed, where its answer is lost, it is refused in unknown words, or no record shows it in
 * time: look-ups by client order id, then a page of the market and its fills (orders.md, Unknown outcomes), and cancels.
 */
export function doubtOrder<V extends StepName>(
  step: V,
  order: Named<V>,
  posts: (step: StepOf<V>) => number,
  applies: (step: StepOf<V>) => boolean = () => true,
): readonly CallRow<V>[] {
  const unseen = 'no record shows it in time';
  const most = (max: number) => (): Times => ({ min: 0, max });
  return [
    call(step, 'GET /orders', {
      class: 'resolve',
      applies,
      params: (args, values) => makeLookupParams(order(args, values), values.since()),
      times: (of, { absenceHorizonMs }) => ({ min: 0, max: posts(of) * countLookups(absenceHorizonMs) }),
      everyMs: POLL_MS,
      when: LOST_ANSWER,
    }),
    call(step, 'GET /orders', {
      class: 'resolve',
      applies,
      params: (args, values) => makeMarketParams(order(args, values).market, values.since()),
      times: (of) => ({ min: 0, max: posts(of) * MARKET_PROOFS }),
      when: LOST_ANSWER,
    }),
    call(step, 'GET /fills', {
      class: 'resolve',
      applies,
      params: (args, values) => makeMarketFillParams(order(args, values).market, values.since()),
      times: (of) => ({ min: 0, max: posts(of) }),
      when: LOST_ANSWER,
    }),
    call(step, 'DELETE /orders', {
      class: 'protect',
      applies,
      params: (args, values) => makeCancelParams(order(args, values)),
      times: most(CANCEL_ACTS * CANCEL_SENDS),
      when: unseen,
    }),
    call(step, 'DELETE /orders', {
      class: 'protect',
      applies,
      params: (args, values) => makeCancelParams({ ...order(args, values), venueId: undefined }),
      // Counted with those by its id.
      times: most(0),
      when: 'its id never arrived',
    }),
    call(step, 'GET /orders', {
      class: 'reconcile',
      applies,
      params: (args, values) => makeReadParams(order(args, values), values.since()),
      times: most(CANCEL_ACTS * TIMINGS.cancelTries * (1 + countPolls(CONFIRM_WITHIN_MS))),
      everyMs: POLL_MS,
      when: unseen,
    }),
    // In its step, when it is undone or a failure has been handled, and at the end of the run.
    ...completeOrder(step, order, { applies, rounds: (of) => posts(of) + CANCEL_ACTS }),
  ] as readonly unknown[] as readonly CallRow<V>[];
}

/** Reads an order by our own id, where the venue's never arrived. The row that reads it by the venue's id counts these too. */
export function readByOwnId<V extends StepName>(
  step: V,
  order: Named<V>,
  applies: (step: StepOf<V>) => boolean = () => true,
): CallRow<V, 'GET /orders'> {
  return call(step, 'GET /orders', {
    class: 'reconcile',
    applies,
    params: (args, values) => makeLookupParams(order(args, values), values.since()),
    times: () => ({ min: 0, max: 0 }),
    when: 'its id never arrived',
  });
}

/** Whether a step waits until a record shows its order. */
export function waitsForRecord({ await: target }: { readonly await?: AwaitTarget }): boolean {
  return target !== 'accepted';
}

/** The reads that follow a step until its orders are in the state that it waits for: rows that several steps share. */

import { TIMINGS } from '../../venue/order/context.ts';
import {
  CANCEL_ACTS,
  CANCEL_SENDS,
  CONFIRM_WITHIN_MS,
  countLookups,
  countPolls,
  MARKET_PROOFS,
  POLL_MS,
  REPEAT_DELAYS_MS,
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
    params: (args, values) => makeOrderFillParams(order(args, values).venueId ?? ''),
    times: () => ({ min: 0, max: REPEAT_DELAYS_MS.length + 1 }),
    when: 'the order has fills',
    ...rest,
  });
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
  const lost = 'no answer comes, or a refusal in unknown words';
  const unseen = 'no record shows it in time';
  const most = (max: number) => (): Times => ({ min: 0, max });
  return [
    call(step, 'GET /orders', {
      class: 'resolve',
      applies,
      params: (args, values) => makeLookupParams(order(args, values), values.since()),
      times: (of, { absenceHorizonMs }) => ({ min: 0, max: posts(of) * countLookups(absenceHorizonMs) }),
      everyMs: POLL_MS,
      when: lost,
    }),
    call(step, 'GET /orders', {
      class: 'resolve',
      applies,
      params: (args, values) => makeMarketParams(order(args, values).market, values.since()),
      times: (of) => ({ min: 0, max: posts(of) * MARKET_PROOFS }),
      when: lost,
    }),
    call(step, 'GET /fills', {
      class: 'resolve',
      applies,
      params: (args, values) => makeMarketFillParams(order(args, values).market, values.since()),
      times: (of) => ({ min: 0, max: posts(of) }),
      when: lost,
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
    call(step, 'GET /fills/order', {
      class: 'reconcile',
      applies,
      params: (args, values) => makeOrderFillParams(order(args, values).venueId ?? ''),
      times: most(CANCEL_ACTS * TIMINGS.cancelTries * (REPEAT_DELAYS_MS.length + 1)),
      when: unseen,
    }),
  ];
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

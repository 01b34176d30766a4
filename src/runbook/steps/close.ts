/** The row of `close`: what the run holds in a market is closed by market orders, and nothing of it is left working. */

import { TIMINGS } from '../../venue/order/context.ts';
import { CANCEL_SENDS, CONFIRM_WITHIN_MS, countPolls, countPosts } from '../../venue/order/polling.ts';
import { makeCancelParams, makePlaceParams, type OrderDraft } from '../../venue/order/requests.ts';
import type { Side } from '../../venue/records.ts';
import type { StepName, StepOf } from '../checked.ts';
import { form, MARKET, may, NUMBER, need, PRICE } from '../shapes.ts';
import { completeOrder, doubtOrder, pollOrder, readByOwnId, readOrderFills } from './confirming.ts';
import { MOST_EXITS, MOST_PUT_BACK, putStopsBack } from './exit.ts';
import { type CallRow, type Counts, call, READ, type StepRow, type Values } from './row.ts';

type Args = StepOf<'close'>['args'];

/** The orders that it places at most. */
const MOST_ORDERS = MOST_EXITS + MOST_PUT_BACK;

const placed = <U>(_args: Args, values: Values<U>) => values.placed('exit');
const each = <U>({ market }: Args, values: Values<U>) => values.each(market);
const closingSide = <U>(_args: Args, values: Values<U>) => values.later('the opposite of the position') as Side | U;

function draftExit<U>(args: Args, values: Values<U>): OrderDraft<U> {
  const { market, feed } = args;
  return {
    market: values.text(market),
    side: closingSide(args, values),
    type: 'market',
    size: values.later('what the run holds'),
    ...(feed === undefined ? {} : { price: values.later('the price of the market then, with its slip') }),
    timeInForce: 'immediate_or_cancel',
  };
}

/** The rows of one order, made for each order that the step places. */
function forEachOrder(rows: readonly CallRow<'close'>[]): readonly CallRow<'close'>[] {
  return rows.map((row) => ({
    ...row,
    times: (step, counts) => {
      const one = row.times?.(step, counts) ?? { min: 1, max: 1 };
      return { ...one, min: 0, max: one.max * MOST_ORDERS };
    },
  }));
}

/** The orders of the run that it may have to cancel. */
const countCancels = ({ placed: before }: Counts) => before + MOST_ORDERS;

export const CLOSE_STEPS = {
  close: {
    group: 'venue',
    summary:
      'Closes what the run holds in a market by market orders, after its own orders there are cancelled. Where that fails, the stops that covered it are placed again.',
    takes: {
      kind: 'choice',
      scalar: MARKET,
      maps: [
        form('market', {
          market: need(MARKET, 'market id'),
          feed: may(
            PRICE,
            'the price of the market',
            'the only price feed of the runbook, or its price of this market',
          ),
          slip: may(NUMBER, 'distance of the worst price of each market order from the price of the market then', '1%'),
        }),
      ],
      accepts: 'a market or {market: MARKET, slip: RATIO}',
    },
    calls: [
      call('close', 'DELETE /orders', {
        class: 'protect',
        params: (args, values) => makeCancelParams(each(args, values)),
        times: (_step, counts) => ({ min: 0, max: countCancels(counts), words: 'for each open order of this run' }),
        sends: () => CANCEL_SENDS,
      }),
      call('close', 'POST /orders', {
        class: 'enter',
        params: (args, values) => makePlaceParams(draftExit(args, values), values.placed('exit').clientOrderId),
        draft: draftExit,
        leg: 'exit',
        times: () => ({ min: 0, max: MOST_EXITS, words: 'until the position is gone' }),
        when: 'the run holds a position in the market',
        sends: () => countPosts(false),
      }),
      ...putStopsBack('close', { side: closingSide, exits: 1 }),
    ],
    confirms: [
      pollOrder('close', each, () => CONFIRM_WITHIN_MS, {
        times: (_step, counts) => ({
          min: 0,
          // Of the step, and again before the run ends.
          max: countCancels(counts) * 2 * TIMINGS.cancelTries * (1 + countPolls(CONFIRM_WITHIN_MS)),
          words: 'until it has ended',
          when: 'it was cancelled',
        }),
      }),
      readOrderFills('close', each, { times: (_step, counts) => ({ min: 0, max: countCancels(counts) }) }),
      ...forEachOrder([pollOrder('close', placed, () => CONFIRM_WITHIN_MS), readOrderFills('close', placed)]),
    ],
    otherwise: [
      ...forEachOrder(doubtOrder('close', placed, () => countPosts(false))),
      ...completeOrder('close', each, { rounds: (_step, counts) => 2 * countCancels(counts) }),
      readByOwnId('close', each),
    ],
    readsFeeds: true,
    retry: 'write',
    risk: 'reduces',
    yields: 'nothing',
    yieldsDoc: 'nothing: `position`, `realized` and `fees` of the market say what is left and what it brought',
    modifiers: READ,
    say: ({ market }: Args) => market.text,
  },
} as const satisfies Partial<Record<StepName, StepRow>>;

/** The row of `manage`: a position is held between its barriers until it is gone. */

import { TIMINGS } from '../../venue/order/context.ts';
import { CANCEL_SENDS, CONFIRM_WITHIN_MS, countPolls, countPosts, POLL_MS } from '../../venue/order/polling.ts';
import {
  makeCancelParams,
  makeMarketParams,
  makePlaceParams,
  makeReadParams,
  type OrderDraft,
} from '../../venue/order/requests.ts';
import type { Side } from '../../venue/records.ts';
import type { StepName, StepOf } from '../checked.ts';
import { MANAGED } from '../functions/records.ts';
import { DURATION, fields, MARKET, may, NUMBER, need, PRICE, SIDE } from '../shapes.ts';
import { completeOrder, doubtOrder, pollOrder, readByOwnId, readOrderFills } from './confirming.ts';
import { countPutBack, MOST_EXITS, MOST_PUT_BACK, putStopsBack } from './exit.ts';
import { draftLeg } from './orders.ts';
import { type CallRow, type Counts, call, type StepRow, type Times, type Values, WRITE } from './row.ts';

type Manage = StepOf<'manage'>;
type Args = Manage['args'];

/** Pause between two looks at the position, its orders and the market, ms. */
export const HOLD_EVERY_MS = POLL_MS;
/** A stop that tightens is replaced at most this often, ms: each time takes two orders' worth of requests. */
export const MOVE_EVERY_MS = 5000;
/** Its exits at most: one that its barriers ask for, and one behind the failure of the step. */
const EXITS = 2;
/** How long a position is held beyond its time limit at most, ms, while the market has no price to bound its exit. */
export const PRICE_PATIENCE_MS = 60_000;

const LEG = fields({
  fraction: may(NUMBER, 'fraction of the position, above 0, at most 1; of the stop-loss always 1', '1'),
  trigger: need(PRICE, 'price that triggers it, quote currency'),
  price: need(PRICE, 'limit price once triggered, quote currency'),
});

/** The most looks in the time that a position may be held, ms. */
export function countLooks(heldMs: number): number {
  return Math.floor((heldMs + PRICE_PATIENCE_MS) / HOLD_EVERY_MS) + 3;
}

/** How long a position is held at most, ms; Infinity where nothing bounds it. */
function limitHeldMs({ args, timeout }: Manage, counts: Pick<Counts, 'duration'>): number {
  const limits = [counts.duration(args.timeLimit), counts.duration(timeout)];
  return Math.min(...limits.map((ms) => ms ?? Number.POSITIVE_INFINITY));
}

/** How often the stop is replaced at most. */
function countMoves(step: Manage, counts: Counts): number {
  if (!tightens(step)) return 0;
  return Math.floor((limitHeldMs(step, counts) + PRICE_PATIENCE_MS) / MOVE_EVERY_MS) + 1;
}

function tightens({ args }: Manage): boolean {
  return args.stopLoss !== undefined && (args.trail !== undefined || args.breakEven !== undefined);
}

/** Whether it may have to close the position by market orders. */
export function mayExit({ args }: Manage): boolean {
  return args.timeLimit !== undefined || args.escalate !== undefined;
}

/** The orders that put stops back at most: its own, or where that does not work those of other steps. */
function countBack({ args }: Manage, { stopsElsewhere }: Counts): number {
  const own = args.stopLoss === undefined ? 0 : countPutBack(1);
  return EXITS * (stopsElsewhere ? MOST_PUT_BACK : own);
}

/** The orders that it places at most: its legs, the stops that replace one, stops that are put back, and those of the exit. */
function countOrders(step: Manage, counts: Counts): number {
  const { stopLoss, takeProfit } = step.args;
  const legs = (stopLoss === undefined ? 0 : 1) + (takeProfit === undefined ? 0 : 1);
  return legs + countMoves(step, counts) + (mayExit(step) ? MOST_EXITS + countBack(step, counts) : 0);
}

/** The rows of one order, made for each order of the step. */
function forEachOrder(rows: readonly CallRow<'manage'>[]): readonly CallRow<'manage'>[] {
  return rows.map((row) => ({
    ...row,
    times: (step, counts): Times => {
      const one = row.times?.(step, counts) ?? { min: 1, max: 1 };
      return { ...one, max: one.max === 0 ? 0 : one.max * countOrders(step, counts) };
    },
  }));
}

const closingSide = <U>({ side }: Args, values: Values<U>) => values.text(side) as Side | U;

type Draft = <U>(args: Args, values: Values<U>) => OrderDraft<U>;
const DRAFTS = {
  stop_loss: (args, values) => draftLeg(args, values, 'stop_loss'),
  take_profit: (args, values) => draftLeg(args, values, 'take_profit'),
  'tighter stop_loss': (args, values) => ({
    ...draftLeg(args, values, 'stop_loss'),
    price: values.later('the limit of the tighter stop'),
    trigger: values.later('the trigger of the tighter stop'),
  }),
  exit: (args, values) => ({
    market: values.text(args.market),
    side: closingSide(args, values),
    type: 'market',
    size: values.later('what is left of the position'),
    ...(args.feed === undefined ? {} : { price: values.later('the price of the market then, with its slip') }),
    timeInForce: 'immediate_or_cancel',
  }),
} as const satisfies Record<string, Draft>;
type Leg = keyof typeof DRAFTS;

function placeLeg(leg: Leg, rest: Partial<CallRow<'manage', 'POST /orders'>>): CallRow<'manage', 'POST /orders'> {
  const draft: Draft = DRAFTS[leg];
  return call('manage', 'POST /orders', {
    class: 'enter',
    params: (args, values) => makePlaceParams(draft(args, values), values.placed(leg).clientOrderId),
    draft,
    leg,
    sends: () => countPosts(false),
    ...rest,
  });
}

const named = <U>(_args: Args, values: Values<U>) => values.placed('stop_loss');
const beside = <U>({ market }: Args, values: Values<U>) => values.each(market);

/** Of the orders of other steps: an exit ends those that could close the position as well. */
const BESIDE = { applies: mayExit, when: 'an exit ends the other orders of this run that could close the position' };

export const MANAGE_STEPS = {
  manage: {
    group: 'venue',
    summary:
      'Holds the position of the run in a market between its stop-loss, take-profit and time limit until it is gone; what is left of its orders is cancelled then.',
    takes: fields(
      {
        market: need(MARKET, 'market id'),
        side: need(SIDE, 'side of the closing orders: the opposite of the position'),
        stop_loss: may(LEG, 'the order that limits the loss'),
        take_profit: may(LEG, 'the order that takes the profit'),
        feed: may(
          PRICE,
          'the price of the market',
          'that of trail, else the only price feed of the runbook, or its price of this market',
        ),
        trail: may(
          fields({
            feed: may(PRICE, 'the price that the stop follows'),
            by: need(NUMBER, 'distance of the trigger from the best price since the step began, as a ratio of it'),
            step: need(NUMBER, 'smallest move of the trigger, as a ratio of it'),
          }),
          'the stop follows the best price, and never goes back',
        ),
        break_even: may(
          fields({
            after: need(NUMBER, 'gain from the average entry, as a ratio of it'),
            offset: need(NUMBER, 'distance of the trigger from the average entry, on the side of the gain'),
          }),
          'once the gain is there, the stop moves to the average entry',
        ),
        time_limit: may(DURATION, 'after which the position is closed by market orders'),
        escalate: may(
          fields({
            after: need(DURATION, 'how long a stop that has triggered may rest unfilled'),
            slip: need(NUMBER, 'distance of the worst price of a market exit from the price of the market then'),
          }),
          'when a stop that does not fill is replaced by a market exit, and how far that may go; without it 1%',
        ),
      },
      {
        atLeastOne: [['stop_loss', 'take_profit', 'time_limit']],
        together: { trail: 'stop_loss', break_even: 'stop_loss' },
      },
    ),
    calls: [
      placeLeg('stop_loss', { applies: ({ args }) => args.stopLoss !== undefined }),
      placeLeg('take_profit', { applies: ({ args }) => args.takeProfit !== undefined }),
      placeLeg('tighter stop_loss', {
        applies: tightens,
        times: (step, counts) => ({ min: 0, max: countMoves(step, counts), words: 'each time that the stop tightens' }),
        everyMs: MOVE_EVERY_MS,
      }),
      placeLeg('exit', {
        applies: mayExit,
        times: () => ({ min: 0, max: MOST_EXITS, words: 'until the position is gone' }),
        when: 'its time is over, or the stop does not fill or cannot be placed',
      }),
      placeLeg('tighter stop_loss', {
        applies: (step) => mayExit(step) && step.args.stopLoss !== undefined,
        times: () => ({ min: 0, max: EXITS * countPutBack(1) }),
        when: 'the exit is refused, and the stop is put back',
      }),
      ...putStopsBack('manage', { side: closingSide, exits: EXITS, applies: mayExit }),
      call('manage', 'DELETE /orders', {
        class: 'protect',
        params: (args, values) => makeCancelParams(named(args, values)),
        times: (step, counts) => ({
          min: 0,
          max: countOrders(step, counts) + countMoves(step, counts),
          words: 'for each order that is not needed any more',
        }),
        everyMs: MOVE_EVERY_MS,
        sends: () => CANCEL_SENDS,
      }),
      call('manage', 'DELETE /orders', {
        ...BESIDE,
        class: 'protect',
        params: (args, values) => makeCancelParams(beside(args, values)),
        times: (_step, { placed }) => ({ min: 0, max: placed }),
        sends: () => CANCEL_SENDS,
      }),
    ],
    confirms: [
      call('manage', 'GET /orders', {
        class: 'reconcile',
        params: (args, values) => makeReadParams(named(args, values), values.since()),
        times: (step, counts) => ({
          min: 0,
          // A full page is followed by a reading of each order that it does not show.
          max: 3 * countLooks(limitHeldMs(step, counts)),
          words: 'while the position is held',
        }),
        everyMs: HOLD_EVERY_MS,
        waits: () => true,
        alone: true,
      }),
      call('manage', 'GET /orders', {
        class: 'reconcile',
        params: (_args, values) => makeMarketParams(values.placed('stop_loss').market, values.since()),
        // Counted with those of one order.
        times: () => ({ min: 0, max: 0 }),
        when: 'several of its orders work',
      }),
      ...forEachOrder([
        pollOrder('manage', named, () => CONFIRM_WITHIN_MS),
        pollOrder('manage', named, () => CONFIRM_WITHIN_MS, {
          times: () => ({
            min: 0,
            max: 2 * TIMINGS.cancelTries * (1 + countPolls(CONFIRM_WITHIN_MS)),
            words: 'until it has ended',
            when: 'it was cancelled',
          }),
        }),
        readOrderFills('manage', named),
      ]),
      pollOrder('manage', beside, () => CONFIRM_WITHIN_MS, {
        ...BESIDE,
        times: (_step, { placed }) => ({
          min: 0,
          max: placed * 2 * TIMINGS.cancelTries * (1 + countPolls(CONFIRM_WITHIN_MS)),
          words: 'until it has ended',
        }),
      }),
      readOrderFills('manage', beside, { ...BESIDE, times: (_step, { placed }) => ({ min: 0, max: placed }) }),
    ],
    otherwise: [
      ...forEachOrder([
        ...doubtOrder('manage', named, () => countPosts(false)),
        ...completeOrder('manage', named, { rounds: () => 2 }),
      ]),
      readByOwnId('manage', named),
    ],
    overlaps: true,
    readsFeeds: true,
    retry: 'write',
    risk: 'reduces',
    yields: MANAGED,
    yieldsDoc: 'how the position ended, at which average price, and what that realized',
    modifiers: WRITE,
    undo: { words: ['cancel', 'keep'], default: 'keep' },
    say: ({ stopLoss, takeProfit, timeLimit, trail }: Args) =>
      [
        ['stop_loss', stopLoss],
        ['take_profit', takeProfit],
        ['trail', trail],
        ['time_limit', timeLimit],
      ]
        .flatMap(([name, given]) => (given === undefined ? [] : [name]))
        .join(', '),
  },
} as const satisfies Partial<Record<StepName, StepRow>>;

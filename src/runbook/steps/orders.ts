/** The rows of the steps about orders: place, protect, amend, cancel, cancel_all, refresh. */
import { decimal, FINEST_STEP, formatDecimal, roundToStep } from '../../base/decimal.ts';
import { TIMINGS } from '../../venue/order/context.ts';
import {
  AMEND_WITHIN_MS,
  CANCEL_SENDS,
  CANCEL_WITHIN_MS,
  CONFIRM_WITHIN_MS,
  countPolls,
  countPosts,
  POLL_MS,
  RESENDS,
  SENDS_UNANSWERED,
  SWEEP_CANCELS,
  SWEEP_READINGS,
} from '../../venue/order/polling.ts';
import {
  LIVE_STATUSES,
  makeAccountOrderParams,
  makeAmendParams,
  makeCancelParams,
  makeLookupParams,
  makeMarketParams,
  makePlaceParams,
  makeReadParams,
  type OrderDraft,
} from '../../venue/order/requests.ts';
import { type Side, TIMES_IN_FORCE } from '../../venue/records.ts';
import type { AwaitTarget, StepName, StepOf } from '../checked.ts';
import { makeRecordType, ORDER } from '../functions/records.ts';
import {
  type Field,
  type Fields,
  fields,
  form,
  MARKET,
  may,
  NUMBER,
  need,
  PRICE,
  type Shape,
  SIDE,
  SIZE,
  value,
  word,
} from '../shapes.ts';
import { AWAITED, endsAtOnce, findAwaited } from './awaited.ts';
import { completeOrder, doubtOrder, pollOrder, readByOwnId, readOrderFills, waitsForRecord } from './confirming.ts';
import { type Counts, call, given, READ, READING, type StepRow, type Values, WRITE } from './row.ts';

type Args<V extends StepName> = StepOf<V>['args'];

/** Orders, as an expression or one by one. */
export const ORDERS = value({ kind: 'list', of: ORDER }, 'list');
export const ORDER_VALUE = value(ORDER, 'order');
export const LIST = { kind: 'value', type: 'any', spelling: 'list' } as const satisfies Shape;
const SWEPT = makeRecordType('Swept', { left: { kind: 'list', of: ORDER } });

const tif = may(word(...TIMES_IN_FORCE), 'time in force', 'good_till_cancel; immediate_or_cancel for a market order');
const orderFields = {
  type: need(word('limit', 'market', 'stop_limit', 'stop_market'), 'kind of order'),
  market: need(MARKET, 'market id, BASE-QUOTE'),
  side: need(SIDE, 'long or short'),
  size: need(SIZE, 'base currency, above 0'),
  price: may(PRICE, 'limit price, quote currency'),
  trigger: may(PRICE, 'price that triggers a stop, quote currency'),
  tif,
  tag: may(
    { kind: 'text', pattern: '^[A-Za-z0-9_-]{1,26}$', accepts: '1 to 26 letters, digits, dashes and underscores' },
    'goes into the client order id',
  ),
  on_ambiguous: may(
    word('halt', 'resend'),
    'when it is not known whether the order exists: halt the run, or send it again once its absence is proven (only good-till-cancel and post-only limit orders)',
    'halt',
  ),
} as const satisfies Fields;
const { trigger: _trigger, ...withoutTrigger } = orderFields;
const price = need(orderFields.price.shape, orderFields.price.doc);
const trigger = need(orderFields.trigger.shape, orderFields.trigger.doc);
const typed = (type: string): Field => need(word(type), 'kind of order');

const PLACE: Shape = {
  kind: 'variants',
  by: 'type',
  variants: {
    limit: fields({ ...withoutTrigger, type: typed('limit'), price }),
    market: fields({
      ...withoutTrigger,
      type: typed('market'),
      price: may(
        PRICE,
        'worst acceptable price, quote currency; the venue document does not say whether it may be absent',
      ),
    }),
    stop_limit: fields({ ...orderFields, type: typed('stop_limit'), price, trigger }),
    stop_market: fields({ ...orderFields, type: typed('stop_market'), trigger }),
  },
};

const LEG = fields({
  fraction: need(NUMBER, 'fraction of the position, above 0, at most 1'),
  trigger: need(PRICE, 'price that triggers it, quote currency'),
  price: need(PRICE, 'limit price once triggered, quote currency'),
});

/** The terms of the order that `place` asks for. */
function draftPlaced<U>(args: Args<'place'>, values: Values<U>): OrderDraft<U> {
  return {
    market: values.text(args.market),
    side: values.text(args.side) as Side | U,
    type: args.type,
    size: values.decimal(args.size),
    price: given(args.price, (expr) => values.decimal(expr)),
    trigger: given(args.trigger, (expr) => values.decimal(expr)),
    timeInForce: args.tif,
  };
}

/** The legs of `protect`, by the type of their orders. */
const LEGS = { stop_loss: 'stopLoss', take_profit: 'takeProfit' } as const;
type Leg = keyof typeof LEGS;
const LEG_NAMES: readonly Leg[] = ['stop_loss', 'take_profit'];

/** The terms of a leg of `protect` or `manage`. */
export function draftLeg<U>(
  args: Pick<Args<'protect'>, 'market' | 'side' | 'stopLoss' | 'takeProfit'>,
  values: Values<U>,
  type: Leg,
): OrderDraft<U> {
  const leg = args[LEGS[type]];
  if (leg === undefined) throw new Error(`the step has no ${type}`);
  const fraction = values.decimal(leg.fraction);
  return {
    market: values.text(args.market),
    side: values.text(args.side) as Side | U,
    type,
    // A fraction has no lot. A third is sent as a little less than a third: an order must not close more than it says.
    size: typeof fraction === 'string' ? formatDecimal(roundToStep(decimal(fraction), FINEST_STEP, 'down')) : fraction,
    price: values.decimal(leg.price),
    trigger: values.decimal(leg.trigger),
  };
}

/** The request for one leg of `protect`. */
function placeLeg(type: Leg) {
  const draft = <U>(args: Args<'protect'>, values: Values<U>): OrderDraft<U> => draftLeg(args, values, type);
  return call('protect', 'POST /orders', {
    class: 'enter',
    applies: ({ args }) => args[LEGS[type]] !== undefined,
    params: (args, values) => makePlaceParams(draft(args, values), values.placed(type).clientOrderId),
    draft,
    leg: type,
    sends: () => countPosts(false),
  });
}

/** How often the POST of `place` is sent at most. */
function countPlaceSends({ args }: StepOf<'place'>): number {
  return countPosts(args.onAmbiguous === 'resend');
}

/** Targets of `await` that are reached once a record shows the order. */
const CONFIRMED: ReadonlySet<AwaitTarget> = new Set(['accepted', 'live']);

/** The requests before a run ends about the POSTs before the last one of an order that was sent again: one that shows late is cancelled. */
function cancelNamesakes() {
  const applies = ({ args }: StepOf<'place'>) => args.onAmbiguous === 'resend';
  const earlier = <U>(values: Values<U>) => ({
    ...values.placed(''),
    venueId: values.later('its id, from the look-up'),
  });
  const found = 'the look-up finds an earlier one of it';
  const most = RESENDS * TIMINGS.cancelTries;
  return [
    call('place', 'GET /orders', {
      class: 'resolve',
      applies,
      params: (_args, values) => makeLookupParams(values.placed(''), values.since()),
      times: () => ({ min: 0, max: 1 }),
      when: 'it was sent again, before the run ends',
    }),
    call('place', 'DELETE /orders', {
      class: 'protect',
      applies,
      params: (_args, values) => makeCancelParams(earlier(values)),
      times: () => ({ min: 0, max: most }),
      when: found,
    }),
    call('place', 'GET /orders', {
      class: 'reconcile',
      applies,
      params: (_args, values) => makeReadParams(earlier(values), values.since()),
      times: () => ({ min: 0, max: most * (1 + countPolls(CANCEL_WITHIN_MS)) }),
      everyMs: POLL_MS,
      when: found,
    }),
  ] as const;
}

/** How long `place` reads its order when nothing fails, ms: until a record shows it, or until it is as `await` asks. */
function limitPlaceMs(step: StepOf<'place'>, counts: Counts): number {
  if (!waitsForMarket(step)) return CONFIRM_WITHIN_MS;
  return counts.duration(step.timeout) ?? Number.POSITIVE_INFINITY;
}

/** Whether `place` waits until the market has decided about its order. Of one that never rests that takes a moment. */
function waitsForMarket(step: StepOf<'place'>): boolean {
  return !CONFIRMED.has(findAwaited(step)) && !(step.await === undefined && endsAtOnce(step.args));
}

/** How often a request about one of several orders is made. */
function countTargets({ args }: StepOf<'cancel'>, counts: Counts) {
  if (args.kind === 'order') return { min: 0, max: 1, when: 'the order has not ended' };
  const max = args.kind === 'mine' ? counts.placed : (counts.items(args.ids) ?? Number.POSITIVE_INFINITY);
  return {
    min: 0,
    max,
    words: args.kind === 'mine' ? 'for each open order of this run' : 'for each order of the list',
  };
}

function nameCancelled<U>(args: Args<'cancel'>, values: Values<U>) {
  if (args.kind === 'order') return values.order(args.order);
  return args.kind === 'mine' ? values.each(args.market) : values.each(undefined, args.ids);
}

/** The order that a request of `refresh` is about. */
function nameRefreshed<U>(args: Args<'refresh'>, values: Values<U>) {
  return args.kind === 'order' ? values.order(args.order) : values.each(undefined, args.orders);
}

/** How many orders `refresh` reads at most. */
function countRefreshed({ args }: StepOf<'refresh'>, counts: Counts): number {
  return args.kind === 'order' ? 1 : (counts.items(args.orders) ?? Number.POSITIVE_INFINITY);
}

/** Reads the orders that `cancel_all` has left: by status, then the whole list, which alone shows unknown statuses. */
function readLeft(of: Parameters<typeof makeAccountOrderParams>[1]) {
  return call('cancel_all', 'GET /orders', {
    class: 'resolve',
    params: (_args, values) => makeAccountOrderParams(values.since(), of),
    times: () => ({ min: 2, max: SWEEP_READINGS, words: 'until none has been left for 3 s' }),
  });
}

export const ORDER_STEPS = {
  place: {
    group: 'venue',
    summary: 'Places an order and waits until the venue shows it.',
    takes: PLACE,
    calls: [
      call('place', 'POST /orders', {
        class: 'enter',
        params: (args, values) => makePlaceParams(draftPlaced(args, values), values.placed('').clientOrderId),
        draft: draftPlaced,
        leg: '',
        sends: countPlaceSends,
      }),
    ],
    confirms: [
      pollOrder('place', (_args, values) => values.placed(''), limitPlaceMs, {
        applies: waitsForRecord,
        waits: waitsForMarket,
      }),
      readOrderFills('place', (_args, values) => values.placed(''), { applies: waitsForRecord }),
    ],
    otherwise: [...doubtOrder('place', (_args, values) => values.placed(''), countPlaceSends), ...cancelNamesakes()],
    retry: 'write',
    risk: 'increases',
    yields: ORDER,
    yieldsDoc: 'the order as it was when the step ended',
    modifiers: [...WRITE, 'await', 'allow'],
    await: { allowed: ['accepted', 'live', 'any_fill', 'filled', 'terminal'], default: AWAITED.place },
    undo: { words: ['cancel', 'keep'], default: 'cancel' },
    say: (args: Args<'place'>) => `${args.type} ${args.side.text}`,
  },
  protect: {
    group: 'venue',
    summary: 'Places a stop-loss, a take-profit or both, each for a fraction of the position.',
    takes: fields(
      {
        market: need(MARKET, 'market id'),
        side: need(SIDE, 'side of the closing order: the opposite of the position'),
        stop_loss: may(LEG, 'the order that limits the loss'),
        take_profit: may(LEG, 'the order that takes the profit'),
      },
      { atLeastOne: [['stop_loss', 'take_profit']] },
    ),
    calls: [placeLeg('stop_loss'), placeLeg('take_profit')],
    confirms: LEG_NAMES.flatMap((leg) => {
      const applies = (step: StepOf<'protect'>) => step.args[LEGS[leg]] !== undefined && waitsForRecord(step);
      return [
        pollOrder(
          'protect',
          (_args, values) => values.placed(leg),
          () => CONFIRM_WITHIN_MS,
          { applies },
        ),
        readOrderFills('protect', (_args, values) => values.placed(leg), { applies }),
      ];
    }),
    otherwise: LEG_NAMES.flatMap((leg) =>
      doubtOrder(
        'protect',
        (_args, values) => values.placed(leg),
        () => countPosts(false),
        ({ args }) => args[LEGS[leg]] !== undefined,
      ),
    ),
    retry: 'write',
    risk: 'reduces',
    yields: 'computed',
    yieldsDoc: '`stop_loss` and `take_profit`: the orders placed',
    modifiers: [...WRITE, 'await'],
    await: { allowed: ['accepted', 'live'], default: AWAITED.protect },
    undo: { words: ['cancel', 'keep'], default: 'keep' },
    say: ({ stopLoss, takeProfit }: Args<'protect'>) =>
      [stopLoss === undefined ? '' : 'stop_loss', takeProfit === undefined ? '' : 'take_profit']
        .filter((leg) => leg !== '')
        .join(' and '),
  },
  amend: {
    group: 'venue',
    summary: 'Changes the price, and the size if given, of a resting order.',
    takes: fields({
      order: need(ORDER_VALUE, 'the order'),
      price: need(PRICE, 'new price, quote currency'),
      size: may(SIZE, 'new size, base currency'),
    }),
    calls: [
      call('amend', 'PUT /orders', {
        class: 'enter',
        params: (args, values) =>
          makeAmendParams(
            values.order(args.order),
            values.decimal(args.price),
            given(args.size, (expr) => values.decimal(expr)),
          ),
        times: () => ({ min: 0, max: 1, when: 'its terms are others' }),
      }),
    ],
    confirms: [
      pollOrder(
        'amend',
        (args, values) => values.order(args.order),
        () => AMEND_WITHIN_MS + CONFIRM_WITHIN_MS,
        {
          times: () => ({
            min: 0,
            max: countPolls(AMEND_WITHIN_MS + CONFIRM_WITHIN_MS),
            words: 'until the terms are known',
            when: 'it was amended',
          }),
        },
      ),
      readOrderFills('amend', (args, values) => values.order(args.order)),
    ],
    otherwise: [
      readByOwnId('amend', (args, values) => values.order(args.order)),
      ...completeOrder('amend', (args, values) => values.order(args.order)),
    ],
    retry: 'write',
    risk: 'increases',
    yields: ORDER,
    yieldsDoc: 'the order after the change took effect',
    modifiers: [...WRITE, 'await'],
    await: { allowed: ['accepted', 'live'] },
    say: (args: Args<'amend'>) => args.order.text,
  },
  cancel: {
    group: 'venue',
    summary: 'Cancels one order, a list of orders, or all orders of this run in a market.',
    takes: {
      kind: 'choice',
      scalar: ORDER_VALUE,
      list: ORDERS,
      maps: [
        form('mine', { mine: need(MARKET, 'the market in which all orders of this run are cancelled') }),
        form('ids', { ids: need(LIST, 'orders or order ids') }),
      ],
      accepts: 'an order, a list of orders, {mine: MARKET} or {ids: LIST}',
    },
    calls: [
      call('cancel', 'DELETE /orders', {
        class: 'protect',
        params: (args, values) => makeCancelParams(nameCancelled(args, values)),
        times: countTargets,
        sends: () => CANCEL_SENDS,
      }),
    ],
    // With `await: accepted` the end is read before the run ends.
    confirms: [
      pollOrder('cancel', nameCancelled, () => CONFIRM_WITHIN_MS, {
        times: (step, counts) => {
          const { max } = countTargets(step, counts);
          // Of the step, and again before the run ends.
          const rounds = 2 * TIMINGS.cancelTries * (1 + countPolls(CONFIRM_WITHIN_MS));
          return { min: 0, max: max * rounds, words: 'until it has ended', when: 'a cancel was sent' };
        },
      }),
      readOrderFills('cancel', nameCancelled, {
        times: (step, counts) => ({ min: 0, max: countTargets(step, counts).max }),
      }),
    ],
    // Either names the order by the venue's id or by our own: those above count both.
    otherwise: [
      call('cancel', 'DELETE /orders', {
        class: 'protect',
        params: (args, values) => makeCancelParams({ ...nameCancelled(args, values), venueId: undefined }),
        times: () => ({ min: 0, max: 0 }),
        when: 'its id never arrived',
      }),
      readByOwnId('cancel', nameCancelled),
      ...completeOrder('cancel', nameCancelled, { rounds: (step, counts) => countTargets(step, counts).max }),
    ],
    retry: 'write',
    risk: 'reduces',
    yields: 'computed',
    yieldsDoc: 'the order, when one order is cancelled',
    modifiers: [...READ, 'await'],
    await: { allowed: ['accepted', 'terminal'], default: AWAITED.cancel },
    say: (args: Args<'cancel'>) =>
      args.kind === 'order' ? args.order.text : args.kind === 'mine' ? `mine in ${args.market.text}` : args.ids.text,
  },
  cancel_all: {
    group: 'venue',
    summary:
      'Cancels every open order of the account, including those of other programs, until the venue has shown none for 3 s. Needs the capability cancel_all.',
    takes: fields(
      {
        everyone: need(
          { kind: 'flag', only: true, code: 'cancel-all-not-explicit' },
          'confirms that orders of other programs are cancelled too',
        ),
      },
      { codes: { everyone: 'cancel-all-not-explicit' } },
    ),
    calls: [
      call('cancel_all', 'DELETE /orders/cancel_all', {
        class: 'protect',
        params: () => ({}),
        sends: () => SENDS_UNANSWERED,
        times: () => ({ min: 1, max: SWEEP_READINGS, words: 'until no order is left' }),
      }),
    ],
    confirms: [...LIVE_STATUSES.map((status) => readLeft({ status })), readLeft({ page: 0 })],
    otherwise: [
      call('cancel_all', 'DELETE /orders', {
        class: 'protect',
        params: (_args, values) => makeCancelParams(values.each(undefined)),
        times: () => ({ min: 0, max: SWEEP_CANCELS * SWEEP_READINGS }),
        when: 'cancel_all leaves orders',
      }),
      ...completeOrder('cancel_all', (_args, values) => values.each(undefined), {
        rounds: (_step, { placed }) => placed,
      }),
    ],
    retry: 'write',
    risk: 'reduces',
    yields: SWEPT,
    yieldsDoc: '`left`: the orders that could still fill when it gave up; empty if there are none',
    modifiers: READ,
  },
  refresh: {
    ...READING,
    summary: 'Reads an order again, or each order of a list.',
    takes: { kind: 'choice', scalar: ORDER_VALUE, list: ORDERS, accepts: 'an order or a list of orders' },
    calls: [
      call('refresh', 'GET /orders', {
        class: 'reconcile',
        params: (args, values) => makeReadParams(nameRefreshed(args, values), values.since()),
        times: (step, counts) =>
          step.args.kind === 'order'
            ? { min: 0, max: 1, when: 'the order has not ended' }
            : // A page of each market first, which may not show all of them.
              {
                min: 0,
                max: 2 * countRefreshed(step, counts),
                words: 'for each order of the list',
                when: 'it has not ended',
              },
      }),
      call('refresh', 'GET /orders', {
        class: 'reconcile',
        applies: ({ args }) => args.kind === 'list',
        params: (args, values) => makeMarketParams(nameRefreshed(args, values).market, values.since()),
        // Counted with those of one order.
        times: () => ({ min: 0, max: 0 }),
        when: 'several orders of a market are read',
      }),
    ],
    confirms: [
      readOrderFills('refresh', nameRefreshed, {
        times: (step, counts) => ({ min: 0, max: countRefreshed(step, counts) }),
      }),
    ],
    otherwise: [
      readByOwnId('refresh', nameRefreshed),
      ...completeOrder('refresh', nameRefreshed, { rounds: countRefreshed }),
    ],
    yields: 'computed',
    yieldsDoc: 'the order as it is now, or the list of them',
    say: (args: Args<'refresh'>) => (args.kind === 'order' ? args.order.text : args.orders.text),
  },
} as const satisfies Partial<Record<StepName, StepRow>>;

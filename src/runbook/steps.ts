/**
 * The step table: for every step of the language the values it takes, the endpoints it may call, the value it yields and
 * the modifiers it takes. The JSON Schema of runbooks, the checks, the types of step ids, the static token bound, editor
 * completion and the step reference use it. The engine has one function for each row.
 */

import type { EndpointName } from '../venue/catalogue.ts';
import { ORDER_STATUSES, TIMES_IN_FORCE } from '../venue/records.ts';
import type { AwaitTarget, StepName } from './checked.ts';
import { ACCOUNT, DEADMAN, FILL, makeRecordType, ORDER, TIER } from './functions/records.ts';
import {
  ANYTHING,
  CONDITION,
  choiceOfText,
  DURATION,
  type Field,
  type Fields,
  FREE_NAME_PATTERN,
  fields,
  INTEGER,
  list,
  MARKET,
  may,
  NAME_SHAPE,
  NUMBER,
  need,
  PRICE,
  record,
  type Shape,
  SIDE,
  SIZE,
  STEPS_SHAPE,
  TEXT,
  TIME,
  word,
} from './shape/shape.ts';
import type { ValueType } from './values.ts';

export const MODIFIER_NAMES = [
  'id',
  'if',
  'retry',
  'timeout',
  'catch',
  'on_timeout',
  'undo',
  'await',
  'allow',
  'because',
  'note',
] as const;
export type Modifier = (typeof MODIFIER_NAMES)[number];

export interface StepRow {
  readonly group: 'venue' | 'control';
  readonly summary: string;
  /** The shape of the value after the step's name. */
  readonly takes: Shape;
  /** The only endpoints the step may call. */
  readonly endpoints: readonly EndpointName[];
  /** Class of the default retry (language.md, decision 9). */
  readonly retry: 'read' | 'write' | 'none';
  /** `reduces`: allowed in `finally` and `undo`; `inner`: as its inner steps; `none`: does not change exposure. */
  readonly risk: 'increases' | 'reduces' | 'none' | 'inner';
  /** The type of the step's id: a type, `nothing`, or `computed` from the step itself (see `yieldsDoc`). */
  readonly yields: ValueType | 'nothing' | 'computed';
  readonly yieldsDoc: string;
  readonly modifiers: readonly Modifier[];
  readonly await?: { readonly allowed: readonly AwaitTarget[]; readonly default?: AwaitTarget };
  /** The words that `undo` takes besides a list of steps. */
  readonly undoWords?: readonly ('cancel' | 'keep')[];
}

const ORDER_VALUE = record(ORDER, 'order');
const ORDERS = makeRecordType('Orders', { orders: { kind: 'list', of: ORDER } });
const SWEPT = makeRecordType('Swept', { left: { kind: 'list', of: ORDER } });
const FILLS = makeRecordType('Fills', { fills: { kind: 'list', of: FILL } });
const LIST = { kind: 'value', type: 'any', spelling: 'list' } as const satisfies Shape;
const ORDER_OR_ID = { kind: 'value', type: 'any', spelling: 'order or order id' } as const satisfies Shape;
const NOTHING = fields({});
const CHANNEL: Shape = {
  kind: 'text',
  pattern: FREE_NAME_PATTERN,
  accepts: 'a name of letters, digits, dots, dashes and underscores',
};

const EVERY_STEP = ['id', 'if', 'timeout', 'catch', 'on_timeout', 'because', 'note'] as const;
const READ = [...EVERY_STEP, 'retry'] as const;
const WRITE = [...READ, 'undo'] as const;
const PLAIN = ['id', 'if', 'because', 'note'] as const;

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

const period = {
  since: may(TIME, 'earliest time; without it the venue reads its whole history, up to ten times slower'),
  until: may(TIME, 'latest time'),
  limit: may(INTEGER, 'most rows, 1 to 1000'),
  page: may(INTEGER, 'page, from 0'),
  sort: may(word('asc', 'desc'), 'order by time', 'desc'),
  all_pages: may({ kind: 'flag' }, 'read further pages until one is not full', 'false'),
} as const satisfies Fields;

const onFail = may(
  word('cancel_others', 'let_others_finish'),
  'what happens to the other branches when one fails',
  'cancel_others',
);
const body = need(STEPS_SHAPE, 'steps');

export const STEPS = {
  place: {
    group: 'venue',
    summary: 'Places an order and waits until the venue shows it.',
    takes: PLACE,
    endpoints: ['POST /orders', 'GET /orders', 'GET /fills/order', 'DELETE /orders'],
    retry: 'write',
    risk: 'increases',
    yields: ORDER,
    yieldsDoc: 'the order as it was when the step ended',
    modifiers: [...WRITE, 'await', 'allow'],
    await: { allowed: ['accepted', 'live', 'any_fill', 'filled', 'terminal'], default: 'live' },
    undoWords: ['cancel', 'keep'],
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
    endpoints: ['POST /orders', 'GET /orders', 'GET /fills/order', 'DELETE /orders'],
    retry: 'write',
    risk: 'reduces',
    yields: 'computed',
    yieldsDoc: '`stop_loss` and `take_profit`: the orders placed',
    modifiers: [...WRITE, 'await'],
    await: { allowed: ['accepted', 'live'], default: 'live' },
    undoWords: ['cancel', 'keep'],
  },
  amend: {
    group: 'venue',
    summary: 'Changes the price, and the size if given, of a resting order.',
    takes: fields({
      order: need(ORDER_VALUE, 'the order'),
      price: need(PRICE, 'new price, quote currency'),
      size: may(SIZE, 'new size, base currency'),
    }),
    endpoints: ['PUT /orders', 'GET /orders', 'GET /fills/order'],
    retry: 'write',
    risk: 'increases',
    yields: ORDER,
    yieldsDoc: 'the order after the change took effect',
    modifiers: [...WRITE, 'await'],
    await: { allowed: ['accepted', 'live'] },
  },
  cancel: {
    group: 'venue',
    summary: 'Cancels one order, a list of orders, or all orders of this run in a market.',
    takes: {
      kind: 'choice',
      scalar: ORDER_VALUE,
      maps: [
        {
          by: 'mine',
          shape: fields({ mine: need(MARKET, 'the market in which all orders of this run are cancelled') }),
        },
        { by: 'ids', shape: fields({ ids: need(LIST, 'orders or order ids') }) },
      ],
      accepts: 'an order, {mine: MARKET} or {ids: LIST}',
    },
    endpoints: ['DELETE /orders', 'GET /orders', 'GET /fills/order'],
    retry: 'write',
    risk: 'reduces',
    yields: 'computed',
    yieldsDoc: 'the order, when one order is cancelled',
    modifiers: [...READ, 'await'],
    await: { allowed: ['accepted', 'terminal'] },
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
    endpoints: ['DELETE /orders/cancel_all', 'DELETE /orders', 'GET /orders'],
    retry: 'write',
    risk: 'reduces',
    yields: SWEPT,
    yieldsDoc: '`left`: the orders that could still fill when it gave up; empty if there are none',
    modifiers: READ,
  },
  set_leverage: {
    group: 'venue',
    summary: 'Sets the leverage of a market.',
    takes: fields({ market: need(MARKET, 'market id'), leverage: need(INTEGER, 'whole number, 1 to 20') }),
    endpoints: ['PUT /account/leverage'],
    retry: 'write',
    risk: 'increases',
    yields: ACCOUNT,
    yieldsDoc: 'the account record after the change',
    modifiers: WRITE,
  },
  read_account: {
    group: 'venue',
    summary: 'Reads the account record.',
    takes: NOTHING,
    endpoints: ['GET /account'],
    retry: 'read',
    risk: 'none',
    yields: ACCOUNT,
    yieldsDoc: 'the account record',
    modifiers: READ,
  },
  read_tier: {
    group: 'venue',
    summary: 'Reads the volume tier.',
    takes: NOTHING,
    endpoints: ['GET /profile'],
    retry: 'read',
    risk: 'none',
    yields: TIER,
    yieldsDoc: 'the tier status record',
    modifiers: READ,
  },
  list_orders: {
    group: 'venue',
    summary: 'Lists orders of the account.',
    takes: fields(
      {
        market: may(MARKET, 'only this market'),
        status: may(choiceOfText(ORDER_STATUSES), 'only this status'),
        order: may(ORDER_OR_ID, 'only this order'),
        client_order_id: may(TEXT, 'only this client order id; needs market'),
        ...period,
      },
      { together: { client_order_id: 'market' }, codes: { client_order_id: 'lookup-without-market' } },
    ),
    endpoints: ['GET /orders'],
    retry: 'read',
    risk: 'none',
    yields: ORDERS,
    yieldsDoc: '`orders`: the list',
    modifiers: READ,
  },
  list_fills: {
    group: 'venue',
    summary: 'Lists fills of the account, or those of one order.',
    takes: fields({ market: may(MARKET, 'only this market'), order: may(ORDER_OR_ID, 'only this order'), ...period }),
    endpoints: ['GET /fills', 'GET /fills/order'],
    retry: 'read',
    risk: 'none',
    yields: FILLS,
    yieldsDoc: '`fills`: the list',
    modifiers: READ,
  },
  refresh: {
    group: 'venue',
    summary: 'Reads an order again.',
    takes: ORDER_VALUE,
    endpoints: ['GET /orders', 'GET /fills/order'],
    retry: 'read',
    risk: 'none',
    yields: ORDER,
    yieldsDoc: 'the order as it is now',
    modifiers: READ,
  },
  arm_deadman: {
    group: 'venue',
    summary: 'Arms the deadman switch once, without keep-alive; prefer the deadman block.',
    takes: fields({
      market: need(MARKET, 'market id'),
      timeout: need(DURATION, 'time without an order request until all orders are cancelled'),
    }),
    endpoints: ['POST /cancel_all_after'],
    retry: 'write',
    risk: 'none',
    yields: DEADMAN,
    yieldsDoc: 'the deadman switch record',
    modifiers: WRITE,
  },
  read_deadman: {
    group: 'venue',
    summary: 'Reads the deadman switch.',
    takes: fields({ market: need(MARKET, 'market id') }),
    endpoints: ['GET /cancel_all_after'],
    retry: 'read',
    risk: 'none',
    yields: { kind: 'optional', of: DEADMAN },
    yieldsDoc: 'the deadman switch record; absent when the switch is not armed',
    modifiers: READ,
  },
  disarm_deadman: {
    group: 'venue',
    summary: 'Disarms the deadman switch.',
    takes: fields({ market: need(MARKET, 'market id') }),
    endpoints: ['DELETE /cancel_all_after'],
    retry: 'write',
    risk: 'none',
    yields: 'nothing',
    yieldsDoc: 'nothing',
    modifiers: READ,
  },
  refresh_session: {
    group: 'venue',
    summary: 'Obtains a new JWT. The engine also does this by itself when it is needed.',
    takes: NOTHING,
    endpoints: ['POST /jwt'],
    retry: 'read',
    risk: 'none',
    yields: 'nothing',
    yieldsDoc: 'nothing',
    modifiers: READ,
  },
  request: {
    group: 'venue',
    summary: 'Calls a read-only endpoint that the profile declares.',
    takes: fields({
      name: need(
        { kind: 'text', pattern: FREE_NAME_PATTERN, accepts: 'the name of a request of the profile' },
        'name of the request in the profile',
      ),
      with: may({ kind: 'names', of: ANYTHING }, 'its parameters'),
    }),
    endpoints: [],
    retry: 'read',
    risk: 'none',
    yields: 'computed',
    yieldsDoc: 'the result, of the type the profile declares',
    modifiers: READ,
  },
  let: {
    group: 'control',
    summary: 'Names values for the steps after it in the same block.',
    takes: { kind: 'names', of: ANYTHING },
    endpoints: [],
    retry: 'none',
    risk: 'none',
    yields: 'nothing',
    yieldsDoc: 'nothing; its names are visible to the steps after it in the same block',
    modifiers: PLAIN,
  },
  set: {
    group: 'control',
    summary: 'Changes variables declared in vars.',
    takes: { kind: 'names', of: ANYTHING },
    endpoints: [],
    retry: 'none',
    risk: 'none',
    yields: 'nothing',
    yieldsDoc: 'nothing',
    modifiers: PLAIN,
  },
  assert: {
    group: 'control',
    summary: 'Fails with kind assertion unless the condition is true.',
    takes: CONDITION,
    endpoints: [],
    retry: 'none',
    risk: 'none',
    yields: 'nothing',
    yieldsDoc: 'nothing',
    modifiers: EVERY_STEP,
  },
  wait: {
    group: 'control',
    summary: 'Waits for a length of time or until an instant.',
    takes: {
      kind: 'choice',
      scalar: DURATION,
      maps: [
        { by: 'for', shape: fields({ for: need(DURATION, 'how long') }) },
        { by: 'until', shape: fields({ until: need(TIME, 'until when') }) },
      ],
      accepts: 'a duration, {for: DURATION} or {until: TIME}',
    },
    endpoints: [],
    retry: 'none',
    risk: 'none',
    yields: 'nothing',
    yieldsDoc: 'nothing',
    modifiers: EVERY_STEP,
  },
  wait_for: {
    group: 'control',
    summary: 'Waits until an order has reached a state, or until a read meets a condition; fails with kind timeout.',
    takes: {
      kind: 'choice',
      maps: [
        {
          by: 'order',
          shape: fields({
            order: need(ORDER_VALUE, 'the order'),
            is: need(word('live', 'any_fill', 'filled', 'terminal'), 'the state it must have reached'),
            within: need(DURATION, 'how long to wait at most'),
          }),
        },
        {
          by: 'read',
          shape: fields({
            read: need({ kind: 'step' }, 'the reading step, with an id'),
            until: need(CONDITION, 'evaluated after each read'),
            every: need(DURATION, 'time between reads'),
            within: need(DURATION, 'how long to wait at most'),
          }),
        },
      ],
      accepts: '{order, is, within} or {read, until, every, within}',
    },
    endpoints: ['GET /orders', 'GET /fills/order'],
    retry: 'none',
    risk: 'inner',
    yields: 'computed',
    yieldsDoc: 'the order, or what the read yields',
    modifiers: EVERY_STEP,
  },
  for_each: {
    group: 'control',
    summary: 'Runs its steps once for each item of a list, in the order of the list.',
    takes: fields({
      each: need(NAME_SHAPE, 'name of the item'),
      in: need(LIST, 'the list'),
      at: may(NAME_SHAPE, 'name of the index, from 0'),
      do: body,
      collect: may(
        { kind: 'names', of: ANYTHING },
        "values kept from each round; the step's id is then the list of them",
      ),
    }),
    endpoints: [],
    retry: 'none',
    risk: 'inner',
    yields: 'computed',
    yieldsDoc: 'the list of values that `collect` keeps from each round',
    modifiers: EVERY_STEP,
  },
  repeat: {
    group: 'control',
    summary: 'Repeats its steps, at most `max` times or for at most `for`.',
    takes: fields(
      {
        every: may(DURATION, 'time from the start of one round to the start of the next'),
        for: may(DURATION, 'no round begins later than this after the start of the first'),
        max: may(INTEGER, 'most rounds'),
        while: may(CONDITION, 'evaluated before each round'),
        until: may(CONDITION, 'evaluated after each round'),
        do: body,
      },
      { atLeastOne: [['for', 'max']], atMostOne: [['while', 'until']], codes: { atLeastOne: 'loop-without-bound' } },
    ),
    endpoints: [],
    retry: 'none',
    risk: 'inner',
    yields: 'nothing',
    yieldsDoc: 'nothing',
    modifiers: EVERY_STEP,
  },
  parallel: {
    group: 'control',
    summary: 'Runs branches at the same time, or the same steps for each item of a list at the same time.',
    takes: {
      kind: 'choice',
      maps: [
        {
          by: 'branches',
          shape: fields({
            branches: need({ kind: 'names', of: STEPS_SHAPE, free: true }, 'steps of each branch'),
            join: may(word('all', 'any'), 'continue when all branches are done, or the first one', 'all'),
            on_fail: onFail,
          }),
        },
        {
          by: 'each',
          shape: fields({
            each: need(NAME_SHAPE, 'name of the item'),
            in: need(LIST, 'the list'),
            max: need(INTEGER, 'most items at the same time'),
            on_fail: onFail,
            do: body,
          }),
        },
      ],
      accepts: '{branches, join, on_fail} or {each, in, max, on_fail, do}',
    },
    endpoints: [],
    retry: 'none',
    risk: 'inner',
    yields: 'nothing',
    yieldsDoc: 'nothing; the ids of joined branches are visible afterwards',
    modifiers: EVERY_STEP,
  },
  switch: {
    group: 'control',
    summary: 'Runs the steps of the first case whose condition is true.',
    takes: {
      kind: 'list',
      of: {
        kind: 'choice',
        maps: [
          { by: 'when', shape: fields({ when: need(CONDITION, 'condition of the case'), do: body }) },
          { by: 'else', shape: fields({ else: need(STEPS_SHAPE, 'steps if no case was true; must be last') }) },
        ],
        accepts: '{when, do} or {else}',
      },
    },
    endpoints: [],
    retry: 'none',
    risk: 'inner',
    yields: 'nothing',
    yieldsDoc: 'nothing',
    modifiers: EVERY_STEP,
  },
  call: {
    group: 'control',
    summary: 'Runs another runbook, NAME.yaml beside this one.',
    takes: fields({
      runbook: need(
        {
          kind: 'text',
          pattern: '^[A-Za-z0-9][A-Za-z0-9_-]*$',
          accepts: 'the name of a file NAME.yaml beside this one, without .yaml',
        },
        'its file name without .yaml',
      ),
      with: may({ kind: 'names', of: ANYTHING }, 'its inputs'),
    }),
    endpoints: [],
    retry: 'none',
    risk: 'inner',
    yields: 'computed',
    yieldsDoc: 'the outputs of the runbook called',
    modifiers: [...EVERY_STEP, 'undo'],
  },
  approve: {
    group: 'control',
    summary: 'Asks a person for approval; fails with kind approval_rejected if it is refused.',
    takes: fields({
      ask: need(TEXT, 'the question'),
      by: need(
        list({ kind: 'text', pattern: FREE_NAME_PATTERN, accepts: 'a role' }),
        'who is asked: labels shown with the question; anyone who can reach the store may answer, under a name',
      ),
      within: need(DURATION, 'how long to wait for the answer'),
      on_timeout: may(
        word('reject', 'fail'),
        'the meaning of no answer: a refusal, or a failure of kind timeout',
        'reject',
      ),
    }),
    endpoints: [],
    retry: 'none',
    risk: 'none',
    yields: 'nothing',
    yieldsDoc: 'nothing',
    modifiers: EVERY_STEP,
  },
  notify: {
    group: 'control',
    summary: 'Sends a text to a channel of the profile.',
    takes: fields({ to: need(CHANNEL, 'name of the channel in the profile'), text: need(TEXT, 'the text') }),
    endpoints: [],
    retry: 'none',
    risk: 'none',
    yields: 'nothing',
    yieldsDoc: 'nothing',
    modifiers: EVERY_STEP,
  },
  stop: {
    group: 'control',
    summary: 'Ends the run early as stopped, with an outcome word of its own.',
    takes: fields({
      outcome: need(
        { kind: 'text', pattern: FREE_NAME_PATTERN, accepts: 'one word' },
        'one word: the reason of the run',
      ),
      because: may(TEXT, 'for the reviewer'),
    }),
    endpoints: [],
    retry: 'none',
    risk: 'none',
    yields: 'nothing',
    yieldsDoc: 'nothing',
    modifiers: ['id', 'if', 'note'],
  },
  fail: {
    group: 'control',
    summary: 'Fails the run.',
    takes: fields({ because: need(TEXT, 'for the reviewer') }),
    endpoints: [],
    retry: 'none',
    risk: 'none',
    yields: 'nothing',
    yieldsDoc: 'nothing',
    modifiers: ['id', 'if', 'note'],
  },
} as const satisfies Record<StepName, StepRow>;

export const STEP_NAMES = Object.keys(STEPS) as readonly StepName[];

/** The row of a step, typed as `StepRow` instead of its literal type. */
export function getStepRow(name: StepName): StepRow {
  return STEPS[name];
}

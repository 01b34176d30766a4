/**
 * The records that a runbook can read, as types of the language: the venue's records of venue-api.md with units, and derived
 * fields. Expressions cannot read a field that is not listed, even if the object has it.
 *
 * Units: `price` for prices and `money` for other amounts in the quote currency, `size` for amounts in the base currency.
 * Fields that the document does not explain (health, account_leverage, account_margin) are plain numbers.
 */
import { ORDER_STATUSES, ORDER_TYPES, TIMES_IN_FORCE } from '../../venue/records.ts';
import { ERROR_KINDS } from '../checked.ts';
import type { ValueType } from '../values.ts';
import { BOOLEAN, INTEGER, MARKET, MONEY, NUMBER, PRICE, SIDE, SIZE, TEXT, TIME } from './typing.ts';

type RecordType = Extract<ValueType, { kind: 'record' }>;

/** A record type; without a prototype, so that `constructor` is not a field of it. */
export function makeRecordType(name: string, fields: Readonly<Record<string, ValueType>>): RecordType {
  return { kind: 'record', name, fields: Object.assign(Object.create(null), fields) };
}

const optional = (of: ValueType): ValueType => ({ kind: 'optional', of });

/** Order record (GET /orders) with fields derived from its fills; the fields of `OrderFields`. */
export const ORDER = makeRecordType('Order', {
  id: TEXT,
  client_order_id: TEXT,
  market_id: MARKET,
  order_type: { kind: 'text', usual: ORDER_TYPES },
  side: SIDE,
  price: PRICE,
  size: SIZE,
  initial_size: SIZE,
  total_filled_size: SIZE,
  status: { kind: 'text', usual: ORDER_STATUSES },
  reason: TEXT,
  timestamp: TIME,
  time_in_force: { kind: 'text', usual: TIMES_IN_FORCE },
  filled: SIZE,
  remaining: SIZE,
  avg_price: optional(PRICE),
  open: BOOLEAN,
  terminal: BOOLEAN,
});

/** Fill record (GET /fills, GET /fills/order). A negative fee is a rebate. */
export const FILL = makeRecordType('Fill', {
  id: TEXT,
  trade_id: TEXT,
  order_id: TEXT,
  market_id: MARKET,
  side: SIDE,
  price: PRICE,
  size: SIZE,
  fee: MONEY,
  is_maker: BOOLEAN,
  liquidation: BOOLEAN,
  timestamp: TIME,
});

/** Account record (GET /account). */
export const ACCOUNT = makeRecordType('Account', {
  id: INTEGER,
  status: TEXT,
  profile_type: TEXT,
  wallet: TEXT,
  balance: MONEY,
  withdrawable_balance: MONEY,
  account_equity: MONEY,
  account_leverage: NUMBER,
  account_margin: NUMBER,
  health: NUMBER,
  cum_trading_volume: MONEY,
  cum_unrealized_pnl: MONEY,
  total_notional: MONEY,
  total_order_margin: MONEY,
  total_position_margin: MONEY,
  last_liq_check: INTEGER,
  last_update: TIME,
  /** The leverage by market; a market without a set leverage is not in the map. */
  leverage: { kind: 'map', of: NUMBER },
});

const TIER_STEP = makeRecordType('TierStep', { tier: INTEGER, title: TEXT, min_volume: MONEY });
const TIER_STATUS = makeRecordType('TierStatus', { current: TIER_STEP, next: TIER_STEP, needed_volume: MONEY });

/** Tier status record (GET /profile). */
export const TIER = makeRecordType('Tier', { tier_status: TIER_STATUS });

/** Deadman switch record; its timeout is in milliseconds, as at the venue. The step's value is absent when no switch is active. */
export const DEADMAN = makeRecordType('Deadman', {
  market_id: optional(MARKET),
  timeout: INTEGER,
  last_updated: TIME,
  status: TEXT,
});

/** The kinds of errors: those of `catch`, and the one that nothing catches. */
const KINDS_OF_ERROR = [...ERROR_KINDS, 'internal'];

/** The value of `wait_for` with `any`. */
export const FIRST_ORDER = makeRecordType('FirstOrder', { which: INTEGER, order: ORDER });

/** How a position that `manage` held came to its end. */
export const MANAGE_ENDS = [
  'take_profit',
  'stop_loss',
  'trail',
  'break_even',
  'time_limit',
  'escalated',
  'cancelled',
] as const;
export type ManageEnd = (typeof MANAGE_ENDS)[number];

/** The value of `manage`. */
export const MANAGED = makeRecordType('Managed', {
  how: { kind: 'text', of: MANAGE_ENDS },
  exit_price: optional(PRICE),
  filled: SIZE,
  realized: MONEY,
});

/** `error` inside `catch`, `on_error` and `undo`. */
export const STEP_ERROR = makeRecordType('StepError', {
  kind: { kind: 'text', of: KINDS_OF_ERROR },
  message: TEXT,
  step: TEXT,
});

/** `run`. */
export const RUN = makeRecordType('Run', { id: TEXT, started_at: TIME });

/** A record of the reference: where it comes from, and the meaning of fields whose names do not show it. */
export interface RecordRow {
  readonly type: RecordType;
  readonly about: string;
  readonly fields?: Readonly<Record<string, string>>;
}

/** The records that expressions can read, in the order of the reference. */
export const RECORDS: readonly RecordRow[] = [
  {
    type: ORDER,
    about:
      'The value of place, amend, cancel, refresh and wait_for, of an item of list_orders, and of a leg of protect: the order as it was when the step ended',
    fields: {
      price: 'limit price, quote currency',
      size: 'what remains to be filled, as the venue reports it',
      initial_size: 'the size asked for; for a leg of protect the fraction of the position',
      total_filled_size: 'as the venue counts',
      status: ORDER_STATUSES.join(', '),
      order_type: ORDER_TYPES.join(', '),
      reason: 'why the venue ended it',
      timestamp: 'the time of its last change at the venue',
      filled: 'the sum of its fills',
      remaining: 'what can still fill',
      avg_price: 'average price of its fills; absent before the first',
      open: 'whether it can still fill',
      terminal: 'whether it has ended: closed, canceled or rejected',
    },
  },
  {
    type: FIRST_ORDER,
    about: 'The value of wait_for with `any`: the order that was there first',
    fields: { which: 'its place in the list, from 0' },
  },
  {
    type: MANAGED,
    about: 'The value of manage: how the position ended',
    fields: {
      how: `what closed the last of it, by its last fill: ${MANAGE_ENDS.join(', ')}; cancelled where other orders of the run have closed it`,
      exit_price: 'average price of the fills of its orders; absent where they have none',
      filled: 'what its orders have closed',
      realized: 'what the run has realized in the market since the step began, without fees',
    },
  },
  {
    type: FILL,
    about: 'An item of list_fills',
    fields: { fee: 'quote currency; a negative one is a rebate', is_maker: 'whether the order rested in the book' },
  },
  {
    type: ACCOUNT,
    about: 'The value of read_account and set_leverage',
    fields: {
      leverage: "by market: `acct.leverage[?'BTC-USD'].orValue(1)`; a market without a set leverage is not in the map",
    },
  },
  { type: TIER, about: 'The value of read_tier' },
  { type: TIER_STATUS, about: 'Part of the tier', fields: { needed_volume: 'volume missing to the next tier' } },
  { type: TIER_STEP, about: 'Part of the tier status' },
  {
    type: DEADMAN,
    about: 'The value of arm_deadman and read_deadman; for read_deadman absent when no switch is armed',
    fields: { timeout: 'milliseconds', market_id: 'absent when the venue does not report it' },
  },
  {
    type: STEP_ERROR,
    about: '`error`, inside catch, on_error and undo',
    fields: { kind: KINDS_OF_ERROR.join(', '), step: 'path of the step that failed' },
  },
  { type: RUN, about: '`run`, available everywhere, as is `now`, the time at which the attempt of the step began' },
];

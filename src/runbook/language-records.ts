/**
 * The records a runbook can read, as types of the language: the venue's records of venue-api.md with units, and what is
 * derived from them. A field that is not listed can not be read, whatever the object behind it has.
 *
 * Units: prices and everything counted in the quote currency apart (`price`, `money`), sizes in the base currency. What
 * the document does not explain (health, account_leverage, account_margin) is a plain number.
 */
import { ERROR_KINDS } from './checked.ts';
import { BOOLEAN, INTEGER, MARKET, MONEY, NUMBER, PRICE, SIDE, SIZE, TEXT, TIME } from './typing.ts';
import type { ValueType } from './values.ts';

type RecordType = Extract<ValueType, { kind: 'record' }>;

/** A record type; without a prototype, so that `constructor` is not a field of it. */
export function recordType(name: string, fields: Readonly<Record<string, ValueType>>): RecordType {
  return { kind: 'record', name, fields: Object.assign(Object.create(null), fields) };
}

const optional = (of: ValueType): ValueType => ({ kind: 'optional', of });

/** Order record (GET /orders) with what is derived from its fills; the fields of `OrderFields`. */
export const ORDER = recordType('Order', {
  id: TEXT,
  client_order_id: TEXT,
  market_id: MARKET,
  order_type: TEXT,
  side: SIDE,
  price: PRICE,
  size: SIZE,
  initial_size: SIZE,
  total_filled_size: SIZE,
  status: TEXT,
  reason: TEXT,
  timestamp: TIME,
  time_in_force: TEXT,
  filled: SIZE,
  remaining: SIZE,
  avg_price: optional(PRICE),
  open: BOOLEAN,
  terminal: BOOLEAN,
});

/** Fill record (GET /fills, GET /fills/order). A negative fee is a rebate. */
export const FILL = recordType('Fill', {
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
export const ACCOUNT = recordType('Account', {
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
  /** By market, the leverage set for it; a market nobody has set is not in it. */
  leverage: { kind: 'map', of: NUMBER },
});

const TIER_STEP = recordType('TierStep', { tier: INTEGER, title: TEXT, min_volume: MONEY });
const TIER_STATUS = recordType('TierStatus', { current: TIER_STEP, next: TIER_STEP, needed_volume: MONEY });

/** Tier status record (GET /profile). */
export const TIER = recordType('Tier', { tier_status: TIER_STATUS });

/** Deadman switch record; its timeout is in milliseconds, as the venue counts. The step's value is absent when none is active. */
export const DEADMAN = recordType('Deadman', {
  market_id: optional(MARKET),
  timeout: INTEGER,
  last_updated: TIME,
  status: TEXT,
});

/** `error` inside `catch`, `on_error` and `undo`: `kind` is one of the words of `catch`. */
export const STEP_ERROR = recordType('StepError', {
  kind: { kind: 'text', of: ERROR_KINDS },
  message: TEXT,
  step: TEXT,
});

/** `run`. */
export const RUN = recordType('Run', { id: TEXT, started_at: TIME });

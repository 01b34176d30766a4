/**
 * The records and words of venue-api.md, spelled as the venue spells them. Decimals are strings; instants are whole
 * microseconds since the epoch. `wire/records.ts` reads answers tolerantly into these types, so the rest of the program may
 * rely on them.
 */
import type { DecimalString } from '../base/decimal.ts';
import { mapFields } from '../base/json.ts';

export const SIDES = ['long', 'short'] as const;
export type Side = (typeof SIDES)[number];

export const TIMES_IN_FORCE = ['good_till_cancel', 'post_only', 'immediate_or_cancel', 'fill_or_kill'] as const;
export type TimeInForce = (typeof TIMES_IN_FORCE)[number];

/** POST /orders, `type`. The first four are orders of a size; the last two close a fraction of a position. */
export const ORDER_TYPES = ['limit', 'market', 'stop_limit', 'stop_market', 'stop_loss', 'take_profit'] as const;
export type OrderType = (typeof ORDER_TYPES)[number];

/** Order statuses (venue-api.md, States and transitions): the filter values of GET /orders. */
export const ORDER_STATUSES = [
  'open',
  'closed',
  'canceled',
  'rejected',
  'processing',
  'amending',
  'cancelingall',
  'canceling',
] as const;

const TERMINAL_STATUSES: ReadonlySet<string> = new Set(['closed', 'canceled', 'rejected']);

/** Whether a record's status is terminal. An unknown status is not: such an order may still fill. */
export function isTerminalStatus(status: string): boolean {
  return TERMINAL_STATUSES.has(status);
}

export interface TierStep {
  readonly tier: number;
  readonly title: string;
  readonly min_volume: DecimalString;
}

/** GET /profile. */
interface TierStatus {
  readonly current: TierStep;
  readonly next: TierStep;
  readonly needed_volume: DecimalString;
}

/** How a field is read; `missing` is the value of an absent, null or empty one. Without `missing` the field is required. */
export type FieldRule =
  | { readonly as: 'text'; readonly missing?: string; readonly known?: readonly string[] }
  /** `unsigned`: one below zero is refused. */
  | { readonly as: 'decimal'; readonly missing?: DecimalString; readonly unsigned?: true }
  | { readonly as: 'integer'; readonly missing?: number }
  | { readonly as: 'boolean'; readonly missing?: boolean }
  | { readonly as: 'order_id' | 'fill_id' | 'side' | 'decimals' | 'tier' }
  | { readonly as: 'trade_id'; readonly missing: string }
  /** Derived from the record's own id where it is absent. */
  | { readonly as: 'market' }
  | { readonly as: 'optional market' };

const decimal = { as: 'decimal' } as const;
/** The side is a field of its own: a venue that signs sizes as well would turn the position around. */
const unsigned = { as: 'decimal', unsigned: true } as const;
/** Counts and ids that no decision depends on. */
const incidental = { as: 'integer', missing: 0 } as const;
const status = (missing?: string) =>
  ({ as: 'text', known: ORDER_STATUSES, ...(missing === undefined ? {} : { missing }) }) as const;
const timeInForce = { as: 'text', missing: '', known: TIMES_IN_FORCE } as const;

/** The records of the venue's answers: every field, and how it is read. Their types follow. */
export const RECORD_FIELDS = {
  /** GET /account, PUT /account/leverage. */
  account: {
    id: incidental,
    status: { as: 'text', missing: '' },
    profile_type: { as: 'text', missing: '' },
    wallet: { as: 'text', missing: '' },
    balance: decimal,
    withdrawable_balance: decimal,
    account_equity: decimal,
    account_leverage: decimal,
    account_margin: decimal,
    health: decimal,
    cum_trading_volume: decimal,
    cum_unrealized_pnl: decimal,
    total_notional: decimal,
    total_order_margin: decimal,
    total_position_margin: decimal,
    last_liq_check: incidental,
    last_update: incidental,
    /** By market id. */
    leverage: { as: 'decimals' },
  },
  /** GET /orders. Status and type are open texts: an unknown one must never crash the program. */
  order: {
    id: { as: 'order_id' },
    client_order_id: { as: 'text', missing: '' },
    market_id: { as: 'market' },
    order_type: { as: 'text', missing: '', known: ORDER_TYPES },
    side: { as: 'side' },
    price: { as: 'decimal', missing: '0' },
    /** Remaining size, base currency. */
    size: decimal,
    initial_size: unsigned,
    total_filled_size: unsigned,
    status: status(),
    reason: { as: 'text', missing: '' },
    profile_id: incidental,
    timestamp: { as: 'integer' },
    time_in_force: timeInForce,
  },
  /** POST /orders. */
  placement: {
    id: { as: 'order_id' },
    is_liquidation: { as: 'boolean', missing: false },
    market_id: { as: 'market' },
    price: { as: 'decimal', missing: '0' },
    profile_id: incidental,
    side: { as: 'side' },
    size: decimal,
    status: status('processing'),
    client_order_id: { as: 'text', missing: '' },
    type: { as: 'text', missing: '', known: ORDER_TYPES },
    time_in_force: timeInForce,
  },
  /** DELETE /orders. */
  cancel: {
    id: { as: 'order_id' },
    market_id: { as: 'market' },
    profile_id: incidental,
    status: status('canceling'),
  },
  /** PUT /orders. */
  amend: {
    id: { as: 'order_id' },
    market_id: { as: 'market' },
    price: decimal,
    profile_id: incidental,
    size: decimal,
    status: status('amending'),
  },
  /** GET /fills, GET /fills/order. */
  fill: {
    id: { as: 'fill_id' },
    trade_id: { as: 'trade_id', missing: '' },
    order_id: { as: 'order_id' },
    market_id: { as: 'market' },
    profile_id: incidental,
    side: { as: 'side' },
    price: unsigned,
    size: unsigned,
    /** Quote currency; negative is a rebate. */
    fee: decimal,
    is_maker: { as: 'boolean', missing: false },
    liquidation: { as: 'boolean', missing: false },
    timestamp: { as: 'integer' },
  },
  tier: { tier_status: { as: 'tier' } },
  /** The deadman switch; the market comes with the activation answer only. */
  deadman: {
    market_id: { as: 'optional market' },
    profile_id: incidental,
    /** Milliseconds. */
    timeout: { as: 'integer' },
    /** When the venue last saw a qualifying request of the account. */
    last_updated: incidental,
    status: { as: 'text' },
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, FieldRule>>>>;

/** The types of the fields that are no texts. */
interface FieldTypes {
  readonly decimal: DecimalString;
  readonly integer: number;
  readonly boolean: boolean;
  readonly side: Side;
  readonly decimals: Readonly<Record<string, DecimalString>>;
  readonly tier: TierStatus;
}
type ValueOf<R> = R extends { as: keyof FieldTypes } ? FieldTypes[R['as']] : string;

/** Decimals are texts, instants µs since the epoch, as safe integers. */
export type VenueRecord<N extends keyof typeof RECORD_FIELDS, F = (typeof RECORD_FIELDS)[N]> = {
  readonly [K in keyof F as F[K] extends { as: 'optional market' } ? never : K]: ValueOf<F[K]>;
} & { readonly [K in keyof F as F[K] extends { as: 'optional market' } ? K : never]?: string };

const BLANK: Partial<FieldTypes> = { decimal: '0', integer: 0, boolean: false, side: 'long', decimals: {} };

/** A record of which only the given fields are known: other numbers are 0, other texts empty. */
export function makeRecord<N extends keyof typeof RECORD_FIELDS>(
  name: N,
  given: Partial<VenueRecord<N>>,
): VenueRecord<N> {
  const blank = mapFields<FieldRule, unknown>(RECORD_FIELDS[name], ({ as }) => BLANK[as as keyof FieldTypes] ?? '');
  return { ...blank, ...given } as VenueRecord<N>;
}

export type AccountRecord = VenueRecord<'account'>;
export type OrderRecord = VenueRecord<'order'>;
export type PlacementAck = VenueRecord<'placement'>;
export type CancelAck = VenueRecord<'cancel'>;
export type AmendAck = VenueRecord<'amend'>;
export type FillRecord = VenueRecord<'fill'>;
export type TierRecord = VenueRecord<'tier'>;
export type DeadmanRecord = VenueRecord<'deadman'>;

/**
 * The records and words of venue-api.md, spelled as the venue spells them. Decimals are strings; instants are whole
 * microseconds since the epoch. `wire/records.ts` reads answers tolerantly into these types, so the rest of the program may
 * rely on them.
 */
import type { DecimalString } from '../base/decimal.ts';

export type Side = 'long' | 'short';
export const SIDES = ['long', 'short'] as const satisfies readonly Side[];

export type TimeInForce = 'good_till_cancel' | 'post_only' | 'immediate_or_cancel' | 'fill_or_kill';
export const TIMES_IN_FORCE = [
  'good_till_cancel',
  'post_only',
  'immediate_or_cancel',
  'fill_or_kill',
] as const satisfies readonly TimeInForce[];

/** POST /orders, `type`. The first four are orders of a size; the last two close a fraction of a position. */
export type OrderType = 'limit' | 'market' | 'stop_limit' | 'stop_market' | 'stop_loss' | 'take_profit';
export const ORDER_TYPES = [
  'limit',
  'market',
  'stop_limit',
  'stop_market',
  'stop_loss',
  'take_profit',
] as const satisfies readonly OrderType[];

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

/** Microseconds since the epoch, a safe integer. */
type TimestampUs = number;

/** Account record (GET /account, PUT /account/leverage). */
export interface AccountRecord {
  readonly id: number;
  readonly status: string;
  readonly profile_type: string;
  readonly wallet: string;
  readonly balance: DecimalString;
  readonly withdrawable_balance: DecimalString;
  readonly account_equity: DecimalString;
  readonly account_leverage: DecimalString;
  readonly account_margin: DecimalString;
  readonly health: DecimalString;
  readonly cum_trading_volume: DecimalString;
  readonly cum_unrealized_pnl: DecimalString;
  readonly total_notional: DecimalString;
  readonly total_order_margin: DecimalString;
  readonly total_position_margin: DecimalString;
  readonly last_liq_check: number;
  readonly last_update: TimestampUs;
  /** Market id to the leverage set for it. */
  readonly leverage: Readonly<Record<string, DecimalString>>;
}

/** Order record (GET /orders). `status` and `order_type` are open texts: an unknown one must never crash the program. */
export interface OrderRecord {
  readonly id: string;
  readonly client_order_id: string;
  readonly market_id: string;
  readonly order_type: string;
  readonly side: Side;
  readonly price: DecimalString;
  /** Remaining size, base currency. */
  readonly size: DecimalString;
  readonly initial_size: DecimalString;
  readonly total_filled_size: DecimalString;
  readonly status: string;
  readonly reason: string;
  readonly profile_id: number;
  readonly timestamp: TimestampUs;
  readonly time_in_force: string;
}

/** Placement acknowledgement (POST /orders). */
export interface PlacementAck {
  readonly id: string;
  readonly is_liquidation: boolean;
  readonly market_id: string;
  readonly price: DecimalString;
  readonly profile_id: number;
  readonly side: Side;
  readonly size: DecimalString;
  readonly status: string;
  readonly client_order_id: string;
  readonly type: string;
  readonly time_in_force: string;
}

/** Cancel acknowledgement (DELETE /orders). */
export interface CancelAck {
  readonly id: string;
  readonly market_id: string;
  readonly profile_id: number;
  readonly status: string;
}

/** Amend acknowledgement (PUT /orders). */
export interface AmendAck {
  readonly id: string;
  readonly market_id: string;
  readonly price: DecimalString;
  readonly profile_id: number;
  readonly size: DecimalString;
  readonly status: string;
}

/** Fill record (GET /fills, GET /fills/order). */
export interface FillRecord {
  readonly id: string;
  readonly trade_id: string;
  readonly order_id: string;
  readonly market_id: string;
  readonly profile_id: number;
  readonly side: Side;
  readonly price: DecimalString;
  readonly size: DecimalString;
  /** Quote currency; negative is a rebate. */
  readonly fee: DecimalString;
  readonly is_maker: boolean;
  readonly liquidation: boolean;
  readonly timestamp: TimestampUs;
}

export interface TierStep {
  readonly tier: number;
  readonly title: string;
  readonly min_volume: DecimalString;
}

/** Tier status record (GET /profile). */
export interface TierRecord {
  readonly tier_status: {
    readonly current: TierStep;
    readonly next: TierStep;
    readonly needed_volume: DecimalString;
  };
}

/** Deadman switch record. `market_id` comes with the activation answer only. */
export interface DeadmanRecord {
  readonly market_id?: string;
  readonly profile_id: number;
  /** Milliseconds. */
  readonly timeout: number;
  /** When the venue last saw a qualifying request of the account. */
  readonly last_updated: TimestampUs;
  readonly status: string;
}

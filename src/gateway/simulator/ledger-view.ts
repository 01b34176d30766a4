/**
 * The venue's own books, as plain data: what a test or a person compares the engine's account of events with. Read-only
 * copies; nothing in them is subject to visibility lag. All times are epoch ms, all decimals texts.
 */
import type { DecimalString } from '../../base/decimal.ts';
import type { AccountRecord, FillRecord, Side } from '../../venue/records.ts';
import type { ArmedSwitch, DeadmanEvent, DeadmanSwitch } from './market/deadman.ts';
import { isTerminal, type OrderLedger, type SimOrder, type Snapshot } from './market/ledger.ts';
import type { TokenWindow } from './tokens.ts';

export interface BookedOrder {
  readonly id: string;
  readonly client_order_id: string;
  readonly market_id: string;
  readonly side: Side;
  readonly type: string;
  readonly time_in_force: string;
  readonly price?: DecimalString;
  readonly trigger_price?: DecimalString;
  /** Remaining. */
  readonly size: DecimalString;
  readonly initial_size: DecimalString;
  readonly filled: DecimalString;
  readonly status: string;
  readonly reason: string;
  readonly arrivedAt: number;
  /** When GET /orders begins to show it; absent for one that it never shows. */
  readonly visibleAt?: number;
  readonly terminal: boolean;
  /** Every look it ever had, the first at its arrival. */
  readonly history: readonly Snapshot[];
}

/** A request that somebody sent; `arrivedAt` is absent where it never arrived, the rest where nothing was said. */
export interface SeenRequest {
  readonly sentAt: number;
  readonly arrivedAt?: number;
  readonly method: string;
  readonly path: string;
  readonly params: Readonly<Record<string, string>>;
  /** Tokens it was charged. */
  readonly tokens: number;
  readonly status?: number;
  readonly success?: boolean;
  readonly error?: string;
  /** Code of the refusal, when it was refused for what it is. */
  readonly refusal?: string;
  /** The fault it met. */
  readonly fault?: string;
}

export interface Books {
  readonly at: number;
  readonly orders: readonly BookedOrder[];
  readonly fills: readonly FillRecord[];
  readonly deadman: {
    readonly armed: readonly ArmedSwitch[];
    readonly lastActivityAt: number;
    readonly events: readonly DeadmanEvent[];
  };
  readonly tokens: { readonly used: number; readonly peak: number; readonly refused: number };
  readonly requests: readonly SeenRequest[];
  /** Requests that were answered, but not with success. */
  readonly refusals: readonly SeenRequest[];
  readonly account: AccountRecord;
}

export function buildBooks(parts: {
  ledger: OrderLedger;
  deadman: DeadmanSwitch;
  tokens: TokenWindow;
  seen: readonly SeenRequest[];
  account: AccountRecord;
  at: number;
}): Books {
  const { ledger, deadman, tokens, seen, account, at } = parts;
  return {
    at,
    orders: ledger.orders.map(toBookedOrder),
    fills: ledger.fills.map((fill) => fill.record),
    deadman: { armed: deadman.listArmed(), lastActivityAt: deadman.lastActivityAt, events: [...deadman.events] },
    tokens: { used: Math.ceil(tokens.used(at)), peak: tokens.peak, refused: tokens.refused },
    requests: [...seen],
    refusals: seen.filter((each) => each.success === false),
    account,
  };
}

function toBookedOrder(order: SimOrder): BookedOrder {
  const now = order.history.at(-1) as Snapshot;
  return {
    id: order.id,
    client_order_id: order.clientOrderId,
    market_id: order.marketId,
    side: order.side,
    type: order.type,
    time_in_force: order.timeInForce,
    ...(order.price === undefined ? {} : { price: now.price }),
    ...(order.trigger === undefined ? {} : { trigger_price: order.trigger.toFixed() }),
    size: now.size,
    initial_size: now.initial_size,
    filled: now.total_filled_size,
    status: now.status,
    reason: now.reason,
    arrivedAt: order.arrivedAt,
    ...(Number.isFinite(order.visibleAt) ? { visibleAt: order.visibleAt } : {}),
    terminal: isTerminal(order),
    history: [...order.history],
  };
}

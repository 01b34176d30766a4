/**
 * Copies the venue's own books to plain data, with which a test or a person compares what the engine recorded. The books show
 * everything without visibility lag. All times are epoch ms, all decimals are texts.
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
  /** Remaining size. */
  readonly size: DecimalString;
  readonly initial_size: DecimalString;
  readonly filled: DecimalString;
  readonly status: string;
  readonly reason: string;
  readonly arrivedAt: number;
  /** When GET /orders begins to show the order; absent if it never does. */
  readonly visibleAt?: number;
  readonly terminal: boolean;
  /** Every state that the order has shown, the first at its arrival. */
  readonly history: readonly Snapshot[];
}

/** A request that was sent. `arrivedAt` is absent if it never arrived, the fields of the answer if there was none. */
export interface SeenRequest {
  readonly sentAt: number;
  readonly arrivedAt?: number;
  readonly method: string;
  readonly path: string;
  readonly params: Readonly<Record<string, string>>;
  /** Tokens that were charged. */
  readonly tokens: number;
  readonly status?: number;
  readonly success?: boolean;
  readonly error?: string;
  /** Code of the refusal if the request was refused for its content or its session. */
  readonly refusal?: string;
  /** The fault that was injected. */
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
  /** Requests whose answer was not a success. */
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

/**
 * Folds the orders of a run: every intended order with its last state, its fills and its moves. The engine's own order
 * tracker derives the states, so a report cannot differ from the engine.
 */
import { type DecimalString, decimal, formatDecimal } from '../../base/decimal.ts';
import type { Entry, JsonObject } from '../../journal/entry.ts';
import { OrderTracker, type OrderTrackerOptions, type TrackedOrder, type TrackerChange } from '../../journal/orders.ts';
import { isPositionStop } from '../../venue/order/context.ts';
import { computeAveragePrice, pickLarger } from '../../venue/order/fills.ts';
import { isGone, isOrderState, type OrderState } from '../../venue/order/states.ts';
import type { OrderType, Side } from '../../venue/records.ts';
import { formatIsoTime } from '../format.ts';

export interface OrderRow {
  readonly clientOrderId: string;
  /** The venue's id; absent while it is unknown. */
  readonly orderId?: string;
  /** Path of the step that placed it. */
  readonly step: string;
  /** When it was intended, ISO 8601. */
  readonly at: string;
  readonly market: string;
  readonly side: Side;
  readonly type: OrderType;
  /** Quote currency; absent if none was given. */
  readonly price?: DecimalString;
  /** Of a stop or take-profit, quote currency. */
  readonly trigger?: DecimalString;
  /** Current size, base currency; for stop_loss and take_profit the fraction of the position. */
  readonly size: DecimalString;
  /** Base currency: the sum of its fills, or the figure of its record if that is more. */
  readonly filled: DecimalString;
  /** Quote currency, to 18 places; absent without fills. */
  readonly averagePrice?: DecimalString;
  /** The venue's final status, or a state of the engine: `unknown`, `absent`, `denied`, `quarantined`. */
  readonly state: string;
}

export interface OrderHistory extends OrderRow {
  readonly history: readonly {
    readonly at: string;
    readonly from: string;
    readonly to: string;
    readonly event: string;
  }[];
}

/** A change of an order's state; `at`: epoch ms. */
type StateChange = Pick<TrackerChange, 'from' | 'to' | 'event'> & { readonly at: number };

/** An order as the engine's tracker has it, with every change of its state, oldest first. */
export interface FollowedOrder {
  readonly order: TrackedOrder;
  readonly history: readonly StateChange[];
}

export class OrderFold {
  private folded = new OrderTracker();
  private readonly changes = new WeakMap<TrackedOrder, StateChange[]>();

  /** The engine's tracker of the orders; another one once the run's first entry is applied. */
  get tracker(): OrderTracker {
    return this.folded;
  }

  /** The orders that the entry changed, and how. */
  apply(entry: Entry): readonly TrackerChange[] {
    if (entry.type === 'run.started') this.folded = new OrderTracker(readTrackerOptions(entry.data.settings));
    const applied = this.tracker.apply(entry);
    for (const { order, from, to, event } of applied) {
      if (from === to) continue;
      const known = this.changes.get(order) ?? [];
      this.changes.set(order, known);
      known.push({ at: entry.at, from, to, event });
    }
    return applied;
  }

  orders(): readonly TrackedOrder[] {
    return this.tracker.orders();
  }

  followed(): readonly FollowedOrder[] {
    return this.tracker.orders().map((order) => ({ order, history: this.changes.get(order) ?? [] }));
  }

  rows(): readonly OrderRow[] {
    return this.tracker.orders().map(makeOrderRow);
  }

  /** Of orders that may be at the venue. */
  unsettledRows(): readonly OrderRow[] {
    return this.tracker
      .orders()
      .filter(({ snapshot }) => !isGone(snapshot.state))
      .map(makeOrderRow);
  }

  histories(): readonly OrderHistory[] {
    return this.followed().map(({ order, history }) => ({
      ...makeOrderRow(order),
      history: history.map(({ at, from, to, event }) => ({ at: new Date(at).toISOString(), from, to, event })),
    }));
  }
}

/** How long "not found" does not yet mean absent, from the run's first entry; else the tracker's default. */
function readTrackerOptions(settings: JsonObject): OrderTrackerOptions {
  const { absenceHorizonMs } = settings;
  return typeof absenceHorizonMs === 'number' ? { absenceHorizonMs } : {};
}

function makeOrderRow({ intent, snapshot, step, createdAt }: TrackedOrder): OrderRow {
  const { state, context } = snapshot;
  const average = computeAveragePrice(context.fills.values());
  return {
    clientOrderId: intent.clientOrderId,
    ...(context.venueId === undefined ? {} : { orderId: context.venueId }),
    step,
    at: formatIsoTime(createdAt),
    market: intent.market,
    side: intent.side,
    type: intent.type,
    // The venue shows 0 for an order without a price, and may write any price with zeros behind it.
    ...(context.price === undefined || context.price === '0' ? {} : { price: formatDecimal(decimal(context.price)) }),
    ...(intent.trigger === undefined ? {} : { trigger: intent.trigger }),
    size: isPositionStop(intent) ? intent.size : context.size,
    filled: formatDecimal(decimal(pickLarger(context.filled, context.recordFilled))),
    ...(average === undefined ? {} : { averagePrice: average }),
    // The venue may have its own status for a working order, such as `placed` for a stop that waits.
    state: state === 'open' ? (context.lastRecord?.status ?? state) : state,
  };
}

/** The state of a row; a row of an open order may hold the venue's own status instead. */
export function getOrderState({ state }: Pick<OrderRow, 'state'>): OrderState {
  return isOrderState(state) ? state : 'open';
}

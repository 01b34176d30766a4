/**
 * The orders of a run as a reviewer reads them: every one that was meant, with its last state, its fills and how it got
 * there. The states are folded by the book that the engine itself uses; nothing is decided anew here.
 */
import type { DecimalString } from '../../base/decimal.ts';
import type { Entry, JsonObject } from '../../journal/entry.ts';
import { OrderTracker, type OrderTrackerOptions, type TrackedOrder, type TrackerChange } from '../../journal/orders.ts';
import { averagePrice, largerDecimal } from '../../venue/order/fills.ts';
import { isOrderState, type OrderState } from '../../venue/order/states.ts';
import type { OrderType, Side } from '../../venue/records.ts';

export interface OrderRow {
  readonly clientOrderId: string;
  /** The venue's id; absent while none is known. */
  readonly orderId?: string;
  readonly market: string;
  readonly side: Side;
  readonly type: OrderType;
  /** Quote currency; absent where none was given. */
  readonly price?: DecimalString;
  /** In force, base currency; for stop_loss and take_profit the fraction until the venue has said a size. */
  readonly size: DecimalString;
  /** Base currency: the sum of its fills, or what its record says where that is more. */
  readonly filled: DecimalString;
  /** Quote currency, to 18 places; absent without fills. */
  readonly averagePrice?: DecimalString;
  /** The venue's final status, or what is known instead: `unknown`, `absent`, `denied`, `quarantined`. */
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

/** `audit orders RUN --json`. */
interface OrdersDocument {
  readonly orders: readonly OrderHistory[];
}

export function ordersDocument(entries: Iterable<Entry>): OrdersDocument {
  const fold = new OrderFold();
  for (const entry of entries) fold.apply(entry);
  return { orders: fold.histories() };
}

/** The run's orders as the engine's own book has them, in the order they were meant. */
export function foldOrders(entries: Iterable<Entry>): readonly TrackedOrder[] {
  const fold = new OrderFold();
  for (const entry of entries) fold.apply(entry);
  return fold.orders();
}

export class OrderFold {
  private tracker = new OrderTracker();

  /** What the entry did to which orders. */
  apply(entry: Entry): readonly TrackerChange[] {
    if (entry.type === 'run.started') this.tracker = new OrderTracker(trackerOptions(entry.data.settings));
    return this.tracker.apply(entry);
  }

  orders(): readonly TrackedOrder[] {
    return this.tracker.orders();
  }

  rows(): readonly OrderRow[] {
    return this.tracker.orders().map(orderRow);
  }

  histories(): readonly OrderHistory[] {
    return this.tracker.orders().map((order) => ({
      ...orderRow(order),
      history: order.history.map(({ at, from, to, event }) => ({ at: new Date(at).toISOString(), from, to, event })),
    }));
  }
}

/** What the run's first entry says of how long "not found" does not yet mean absent; the book's own default where it says nothing. */
function trackerOptions(settings: JsonObject): OrderTrackerOptions {
  const { absenceHorizonMs } = settings;
  return typeof absenceHorizonMs === 'number' ? { absenceHorizonMs } : {};
}

function orderRow({ intent, snapshot }: TrackedOrder): OrderRow {
  const { state, context } = snapshot;
  const average = averagePrice(context.fills.values());
  return {
    clientOrderId: intent.clientOrderId,
    ...(context.venueId === undefined ? {} : { orderId: context.venueId }),
    market: intent.market,
    side: intent.side,
    type: intent.type,
    ...(context.price === undefined ? {} : { price: context.price }),
    size: context.size,
    filled: largerDecimal(context.filled, context.recordFilled),
    ...(average === undefined ? {} : { averagePrice: average }),
    // The venue may call a working order by a name of its own, such as `placed` for a stop that waits.
    state: state === 'open' ? (context.lastRecord?.status ?? state) : state,
  };
}

/** The state that a row's word stands for: an open order may have the venue's own word for it. */
export function stateOf({ state }: Pick<OrderRow, 'state'>): OrderState {
  return isOrderState(state) ? state : 'open';
}

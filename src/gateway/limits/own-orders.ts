/**
 * Keeps what the limits need of a run's orders, order by order as they change: those that work, the position that they filled,
 * their notional, and what an approved plan counts. A write costs what has changed since the last one, not the orders before.
 */
import { Decimal, type DecimalString, formatDecimal } from '../../base/decimal.ts';
import { flatRange, type OwnFilled, shiftRange, signSize, spanRange } from '../../journal/held-positions.ts';
import type { OrderTracker, TrackedOrder } from '../../journal/orders.ts';
import type { WorkingOrder } from '../../venue/limits/check.ts';
import { isPositionStop, showsPrice } from '../../venue/order/context.ts';
import { computeShortfall } from '../../venue/order/fills.ts';
import { isFilledUnseen } from '../../venue/order/guards.ts';
import { getExposure } from '../../venue/order/life.ts';
import { isInDoubt, isWorking } from '../../venue/order/states.ts';
import { addUpDays, type NotionalByDay, type SentNotional, type SummedNotional } from './notional.ts';
import { PlannedOrders } from './plan-bounds.ts';

const ZERO = new Decimal(0);
const DAY_MS = 86_400_000;
const NOTHING: NotionalByDay = [];

/** Sums over orders, with the number of those that count for none and of those that may have brought more. */
interface Total {
  readonly value: Decimal;
  readonly orders: number;
  readonly unknown: number;
  readonly atLeast: number;
}
const NO_ORDERS: Total = { value: ZERO, orders: 0, unknown: 0, atLeast: 0 };

interface MarketOrders {
  /** Σ filled, long positive. */
  filled: Decimal;
  /** Orders that may have filled unseen before they ended. */
  readonly unseen: Map<string, TrackedOrder>;
}

export class OwnOrders {
  private tracker: OrderTracker;
  private changed: Set<TrackedOrder>;
  private readonly sent: SentNotional;
  private readonly lastPrice: (market: string) => DecimalString | undefined;
  private readonly working = new Map<string, TrackedOrder>();
  private readonly byMarket = new Map<string, MarketOrders>();
  private readonly filled = new Map<string, DecimalString>();
  private planned = new PlannedOrders();
  private readonly unmeasured = new Set<TrackedOrder>();
  /** Those whose notional follows the last price of their market. */
  private readonly floating = new Set<TrackedOrder>();
  private readonly measured = new Map<string, NotionalByDay>();
  /** By UTC day, counted from 1970; and of all days. */
  private readonly totals = new Map<number, Total>();
  private total = NO_ORDERS;
  /** How many orders were looked at: the cost of the checks, for tests. */
  visits = 0;

  constructor(tracker: OrderTracker, sent: SentNotional, lastPrice: (market: string) => DecimalString | undefined) {
    this.tracker = tracker;
    this.changed = tracker.watchOrders();
    this.sent = sent;
    this.lastPrice = lastPrice;
  }

  /** Reads the orders of another tracker from now on: that of a resumed run. */
  useTracker(tracker: OrderTracker): void {
    this.tracker.unwatchOrders(this.changed);
    this.tracker = tracker;
    this.changed = tracker.watchOrders();
    for (const each of [this.working, this.byMarket, this.filled, this.measured, this.totals]) each.clear();
    for (const each of [this.unmeasured, this.floating]) each.clear();
    this.planned = new PlannedOrders();
    this.total = NO_ORDERS;
  }

  /** The orders that have not ended, those of unknown state included; with `summed`, each with its notional. */
  listWorking(summed = false): readonly WorkingOrder[] {
    this.update();
    return [...this.working.values()].map((order) => this.describeWorking(order, summed));
  }

  /** What the orders filled, by market. */
  listFilled(): ReadonlyMap<string, OwnFilled> {
    this.update();
    return new Map(
      [...this.byMarket].map(([market, orders]) => {
        const { net, byStops } = this.tracker.getOpened(market);
        return [market, { ...rangeOf(orders), closedOfOthers: net.minus(orders.filled), byStops }];
      }),
    );
  }

  /**
   * Notional of the run's orders, without the one that is named; undefined when one of them cannot be measured. `day`: only what was
   * sent on that UTC day, counted from 1970.
   */
  sumNotional(except: string | undefined, day?: number): SummedNotional | undefined {
    this.remeasure();
    const counted = this.measured.get(except ?? '') ?? NOTHING;
    const left = addUpDays(day === undefined ? counted : counted.filter(([of]) => of === day));
    const { value, unknown, atLeast } = day === undefined ? this.total : (this.totals.get(day) ?? NO_ORDERS);
    if (unknown > (left === undefined ? 1 : 0)) return undefined;
    return { value: value.minus(left?.value ?? ZERO), atLeast: atLeast > (left?.atLeast === true ? 1 : 0) };
  }

  /** Orders that count as sent, and their notional, by UTC day: `2026-01-05`. */
  sumDays(): ReadonlyMap<string, { readonly orders: number; readonly notional: Decimal | undefined }> {
    this.remeasure();
    return new Map(
      [...this.totals]
        .filter(([, { orders }]) => orders > 0)
        .map(([day, { value, orders, unknown }]) => [
          new Date(day * DAY_MS).toISOString().slice(0, 10),
          { orders, notional: unknown === 0 ? value : undefined },
        ]),
    );
  }

  /** What an approved plan counts of them. */
  getPlanned(): PlannedOrders {
    this.update();
    return this.planned;
  }

  private update(): void {
    for (const order of this.changed) {
      this.visits += 1;
      const { clientOrderId } = order.intent;
      if (isWorking(order.snapshot.state)) this.working.set(clientOrderId, order);
      else this.working.delete(clientOrderId);
      this.updateFilled(order);
      this.planned.update(order);
      this.unmeasured.add(order);
    }
    this.changed.clear();
  }

  private updateFilled(order: TrackedOrder): void {
    const { market, side, clientOrderId } = order.intent;
    const known = this.byMarket.get(market) ?? { filled: ZERO, unseen: new Map<string, TrackedOrder>() };
    this.byMarket.set(market, known);
    const { filled } = getExposure(order.snapshot);
    const before = this.filled.get(clientOrderId) ?? '0';
    if (filled !== before) {
      known.filled = known.filled.plus(signSize(side, filled)).minus(signSize(side, before));
      this.filled.set(clientOrderId, filled);
    }
    if (isFilledUnseen(order.snapshot)) known.unseen.set(clientOrderId, order);
    else known.unseen.delete(clientOrderId);
  }

  private remeasure(): void {
    this.update();
    for (const order of [...this.floating, ...this.unmeasured]) this.measure(order);
    this.unmeasured.clear();
  }

  private measure(order: TrackedOrder): void {
    this.visits += 1;
    const { clientOrderId, market } = order.intent;
    this.count(this.measured.get(clientOrderId) ?? NOTHING, -1);
    const now = this.sent.measure(order, this.lastPrice(market));
    this.measured.set(clientOrderId, now);
    this.count(now, 1);
    if (this.sent.followsLast(clientOrderId)) this.floating.add(order);
    else this.floating.delete(order);
  }

  private count(days: NotionalByDay, by: 1 | -1): void {
    for (const [day, notional] of days) this.totals.set(day, addTo(this.totals.get(day) ?? NO_ORDERS, notional, by));
    this.total = addTo(this.total, addUpDays(days), by);
  }

  private describeWorking(order: TrackedOrder, summed: boolean): WorkingOrder {
    this.visits += 1;
    const { intent, snapshot } = order;
    const counted = summed ? addUpDays(this.sent.measure(order, this.lastPrice(intent.market))) : undefined;
    return {
      clientOrderId: intent.clientOrderId,
      orderId: snapshot.context.venueId,
      market: intent.market,
      side: intent.side,
      type: intent.type,
      price: showsPrice(intent) ? snapshot.context.price : intent.price,
      trigger: intent.trigger,
      timeInForce: intent.timeInForce,
      size: snapshot.context.size,
      worstRemaining: getExposure(snapshot).worstRemaining,
      ...(isPositionStop(intent) ? { fraction: this.sent.maxFraction(order) } : {}),
      ...(counted === undefined ? {} : { counted: formatDecimal(counted.value) }),
      quarantined: snapshot.state === 'quarantined',
      ...(isInDoubt(snapshot.state) || snapshot.context.cancel !== undefined ? { doubtful: true } : {}),
    };
  }
}

/** A sum with an order more, or less; without a notional, the order cannot be measured. */
function addTo({ value, orders, unknown, atLeast }: Total, notional: SummedNotional | undefined, by: 1 | -1): Total {
  const counts = notional === undefined || !notional.value.isZero();
  return {
    value: value.plus((notional?.value ?? ZERO).times(by)),
    orders: orders + (counts ? by : 0),
    unknown: unknown + (notional === undefined ? by : 0),
    atLeast: atLeast + (notional?.atLeast === true ? by : 0),
  };
}

/** The net size that may be filled: what certainly is, and what may have filled unseen before its order ended. */
function rangeOf({ filled, unseen }: MarketOrders): OwnFilled {
  let range = shiftRange(flatRange(), filled);
  const unread: string[] = [];
  for (const { intent, snapshot } of unseen.values()) {
    const { context } = snapshot;
    unread.push(context.venueId ?? intent.clientOrderId);
    // A position stop closes at most the whole position: it only moves the position towards zero.
    const to =
      context.authorised === undefined
        ? flatRange()
        : shiftRange(range, signSize(intent.side, computeShortfall(context.authorised, getExposure(snapshot).filled)));
    range = spanRange(range, to);
  }
  return { range, unread };
}

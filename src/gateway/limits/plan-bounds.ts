/**
 * Holds a run to the bounds of the plan that a person approved (`run --plan HASH`). Only what adds risk is denied: a cancel, a
 * heartbeat or a look-up beyond its bound is sent, because leaving it out would be the worse mistake.
 */
import { Decimal, decimal, formatDecimal } from '../../base/decimal.ts';
import type { ApprovedBounds } from '../../journal/entry.ts';
import type { TrackedOrder } from '../../journal/orders.ts';
import { getAction } from '../../venue/catalogue.ts';
import { isPositionStop, showsPrice } from '../../venue/order/context.ts';
import { countsAsSent } from '../../venue/order/states.ts';
import type { OrderTerms, VenueCall } from '../../venue/port.ts';

export interface BeyondPlan {
  readonly figure: string;
  readonly value: string;
  readonly max: string;
}

/** A call as far as its bounds depend on it; `opens`: whether it may add to the position. */
interface PlannedCall extends Pick<VenueCall, 'endpoint' | 'clientOrderId' | 'intent' | 'params'> {
  readonly opens: boolean;
}

/** What a plan counts of one order. */
interface Counted {
  readonly order: TrackedOrder;
  readonly sent: number;
  /** What it may open, quote currency. */
  readonly notional: Decimal;
}

/** The orders of a run as a plan counts them, kept up order by order. */
export class PlannedOrders {
  private readonly orders = new Map<string, Counted>();
  private sent = 0;
  /** By market and side. */
  private readonly notional = new Map<string, Decimal>();

  /** Takes in an order as it is now. */
  update(order: TrackedOrder): void {
    const { intent, snapshot } = order;
    const sent = countsAsSent(snapshot.state);
    const opens = sent && !isPositionStop(intent) && intent.allow !== 'reduce';
    const counted = { order, sent: sent ? 1 : 0, notional: opens ? computeLargest(order) : new Decimal(0) };
    const before = this.orders.get(intent.clientOrderId);
    this.orders.set(intent.clientOrderId, counted);
    this.sent += counted.sent - (before?.sent ?? 0);
    const key = nameSide(intent);
    const change = counted.notional.minus(before?.notional ?? 0);
    this.notional.set(key, (this.notional.get(key) ?? new Decimal(0)).plus(change));
  }

  find(clientOrderId: string | undefined): Counted | undefined {
    return clientOrderId === undefined ? undefined : this.orders.get(clientOrderId);
  }
  countSent(): number {
    return this.sent;
  }
  sumNotional(): Decimal {
    return [...this.notional.values()].reduce((sum, each) => sum.plus(each), new Decimal(0));
  }
  sumSide(terms: Pick<OrderTerms, 'market' | 'side'>): Decimal {
    return this.notional.get(nameSide(terms)) ?? new Decimal(0);
  }
}

/** The bound that a call would exceed; undefined where it exceeds none, or adds no risk. `orders`: those of the run. */
export function findBeyondPlan(
  call: PlannedCall,
  orders: PlannedOrders,
  { orders: mostOrders, notional: mostNotional, exposure = {} }: ApprovedBounds,
): BeyondPlan | undefined {
  // The order itself, which the journal may have already.
  const known = orders.find(call.clientOrderId ?? call.intent?.clientOrderId);
  const before = known?.order;
  const terms = findTerms(call, before);
  if (terms === undefined || !call.opens || isPositionStop(terms)) return undefined;
  const worth = computeNotional(terms);
  const isNew = getAction(call.endpoint) === 'place';
  // An amend that opens no more than the order does already adds no risk.
  if (!isNew && before !== undefined && worth.lte(computeNotional(before.intent))) return undefined;
  const sent = orders.countSent() - (known?.sent ?? 0) + 1;
  if (isNew && mostOrders !== undefined && sent > mostOrders)
    return { figure: 'orders', value: String(sent), max: String(mostOrders) };
  const notional = orders
    .sumNotional()
    .minus(known?.notional ?? 0)
    .plus(worth);
  if (mostNotional !== undefined && notional.gt(mostNotional))
    return { figure: 'notional', value: formatDecimal(notional), max: mostNotional };
  const { market } = terms;
  const here = orders
    .sumSide(terms)
    .minus(known?.notional ?? 0)
    .plus(worth);
  // A market that the plan does not name is one that no order of it is in.
  const most = Object.hasOwn(exposure, market) ? exposure[market] : Object.hasOwn(exposure, '') ? exposure[''] : '0';
  if (most !== null && most !== undefined && here.gt(most))
    return { figure: `exposure ${market}`, value: formatDecimal(here), max: most };
  return undefined;
}

/** The terms that the order of a call will have; undefined for a call that is about no order of the run. */
function findTerms(
  { endpoint, intent, params }: PlannedCall,
  before: TrackedOrder | undefined,
): OrderTerms | undefined {
  if (getAction(endpoint) === 'place') return intent;
  if (getAction(endpoint) !== 'amend' || before === undefined) return undefined;
  const { price, size } = params as { readonly price?: string; readonly size?: string };
  const { context } = before.snapshot;
  return { ...before.intent, size: size ?? context.size, ...(price === undefined ? {} : { price }) };
}

/** By the order's own price, as a plan counts (interface.md, JSON), with the terms in force where it was amended. */
function computeLargest({ intent, snapshot: { context } }: TrackedOrder): Decimal {
  const shown = showsPrice(intent) ? context.price : undefined;
  const amended = { ...intent, size: context.size, price: shown ?? intent.price ?? intent.trigger ?? '0' };
  return Decimal.max(computeNotional(intent), computeNotional(amended));
}

function nameSide({ market, side }: Pick<OrderTerms, 'market' | 'side'>): string {
  return `${market} ${side}`;
}

/** A market order without a price counts as nothing here: the caps of the limits are for it. */
function computeNotional({ size, price, trigger }: Pick<OrderTerms, 'size' | 'price' | 'trigger'>): Decimal {
  return decimal(size).times(decimal(price ?? trigger ?? '0'));
}

/**
 * Holds a run to the bounds of the plan that a person approved (`run --plan HASH`). Only what adds risk is denied: a cancel, a
 * heartbeat or a look-up beyond its bound is sent, because leaving it out would be the worse mistake.
 */
import { Decimal, decimal, formatDecimal } from '../../base/decimal.ts';
import type { ApprovedBounds } from '../../journal/entry.ts';
import type { TrackedOrder } from '../../journal/orders.ts';
import { getAction } from '../../venue/catalogue.ts';
import { isPositionStop } from '../../venue/order/context.ts';
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

/** The bound that a call would exceed; undefined where it exceeds none, or adds no risk. `orders`: those of the run. */
export function findBeyondPlan(
  call: PlannedCall,
  orders: readonly TrackedOrder[],
  { orders: mostOrders, notional: mostNotional, exposure = {} }: ApprovedBounds,
): BeyondPlan | undefined {
  const before = orders.find(({ intent }) => intent.clientOrderId === call.clientOrderId);
  const terms = findTerms(call, before);
  if (terms === undefined || !call.opens || isPositionStop(terms)) return undefined;
  const worth = computeNotional(terms);
  const isNew = getAction(call.endpoint) === 'place';
  // An amend that opens no more than the order does already adds no risk.
  if (!isNew && before !== undefined && worth.lte(computeNotional(before.intent))) return undefined;
  const sent = orders.filter((order) => countsAsSent(order.snapshot.state) && order !== before);
  if (isNew && mostOrders !== undefined && sent.length + 1 > mostOrders)
    return { figure: 'orders', value: String(sent.length + 1), max: String(mostOrders) };
  const opening = sent.filter(({ intent }) => !isPositionStop(intent) && intent.allow !== 'reduce');
  const notional = sumNotional(opening).plus(worth);
  if (mostNotional !== undefined && notional.gt(mostNotional))
    return { figure: 'notional', value: formatDecimal(notional), max: mostNotional };
  const { market, side } = terms;
  const here = sumNotional(opening.filter(({ intent }) => intent.market === market && intent.side === side)).plus(
    worth,
  );
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

/** By the orders' own prices, as a plan counts (interface.md, JSON), with the terms in force where they were amended. */
function sumNotional(orders: readonly TrackedOrder[]): Decimal {
  return orders.reduce((sum, { intent, snapshot: { context } }) => {
    const amended = { ...intent, size: context.size, price: context.price ?? intent.price ?? intent.trigger ?? '0' };
    return sum.plus(Decimal.max(computeNotional(intent), computeNotional(amended)));
  }, new Decimal(0));
}

/** A market order without a price counts as nothing here: the caps of the limits are for it. */
function computeNotional({ size, price, trigger }: Pick<OrderTerms, 'size' | 'price' | 'trigger'>): Decimal {
  return decimal(size).times(decimal(price ?? trigger ?? '0'));
}

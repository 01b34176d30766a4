/**
 * Holds a run to the bounds of the plan that a person approved (`run --plan HASH`). Only what adds risk is denied: a cancel, a
 * heartbeat or a look-up beyond its bound is sent, because leaving it out would be the worse mistake.
 */
import { Decimal, decimal, formatDecimal } from '../../base/decimal.ts';
import type { ApprovedBounds } from '../../journal/entry.ts';
import type { TrackedOrder } from '../../journal/orders.ts';
import { getAction } from '../../venue/catalogue.ts';
import { countsAsSent } from '../../venue/order/states.ts';
import type { OrderTerms, VenueCall } from '../../venue/port.ts';

export interface BeyondPlan {
  readonly figure: string;
  readonly value: string;
  readonly max: string;
}

/** The bound that a call would exceed; undefined where it exceeds none, or adds no risk. `orders`: those of the run. */
export function findBeyondPlan(
  call: Pick<VenueCall, 'endpoint' | 'clientOrderId' | 'intent' | 'params'>,
  orders: readonly TrackedOrder[],
  { orders: mostOrders, notional: mostNotional, exposure = {} }: ApprovedBounds,
): BeyondPlan | undefined {
  const terms = findTerms(call, orders);
  if (terms === undefined || terms.allow === 'reduce' || isPositionStop(terms)) return undefined;
  const isNew = getAction(call.endpoint) === 'place';
  const sent = orders.filter(
    ({ intent, snapshot }) => countsAsSent(snapshot.state) && intent.clientOrderId !== call.clientOrderId,
  );
  const opening = [...sent.map(({ intent }) => intent).filter((intent) => !isPositionStop(intent)), terms];
  const count = sent.length + 1;
  if (isNew && mostOrders !== undefined && count > mostOrders)
    return { figure: 'orders', value: String(count), max: String(mostOrders) };
  const notional = sumNotional(opening);
  if (mostNotional !== undefined && notional.gt(mostNotional))
    return { figure: 'notional', value: formatDecimal(notional), max: mostNotional };
  const here = sumNotional(opening.filter(({ market, side }) => market === terms.market && side === terms.side));
  const most = exposure[terms.market];
  if (most !== undefined && here.gt(most))
    return { figure: `exposure ${terms.market}`, value: formatDecimal(here), max: most };
  return undefined;
}

/** The terms that the order of a call will have; undefined for a call that is about no order of the run. */
function findTerms(
  { endpoint, clientOrderId, intent, params }: Pick<VenueCall, 'endpoint' | 'clientOrderId' | 'intent' | 'params'>,
  orders: readonly TrackedOrder[],
): OrderTerms | undefined {
  if (getAction(endpoint) === 'place') return intent;
  if (getAction(endpoint) !== 'amend') return undefined;
  const before = orders.find((order) => order.intent.clientOrderId === clientOrderId)?.intent;
  const { price, size } = params as { readonly price?: string; readonly size?: string };
  return before && { ...before, ...(price === undefined ? {} : { price }), ...(size === undefined ? {} : { size }) };
}

/** By the orders' own prices, as a plan counts (plan --json, bounds). */
function sumNotional(orders: readonly OrderTerms[]): Decimal {
  return orders.reduce(
    (sum, { size, price, trigger }) => sum.plus(decimal(size).times(decimal(price ?? trigger ?? '0'))),
    new Decimal(0),
  );
}

function isPositionStop({ type }: OrderTerms): boolean {
  return type === 'stop_loss' || type === 'take_profit';
}

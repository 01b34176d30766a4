/**
 * What an order is worth at most, before anybody knows what it will fill at. A long order fills at its price or lower; a
 * short one at its price or higher, so that its own price is the least it can be worth and says nothing of the most.
 */
import { Decimal, type DecimalString, decimalText } from '../../base/decimal.ts';
import {
  type Case,
  Exact,
  exact,
  isFraction,
  ofMarket,
  othersIn,
  type Proposal,
  referenceOf,
  type WriteTerms,
} from './case.ts';

/** What is known of where the market stands. */
interface PricesSeen {
  /** Of the price band. */
  readonly reference?: DecimalString | undefined;
  /** How far the band lets a price be from it: a ratio. */
  readonly within?: DecimalString | undefined;
  /** At what something last traded or rested there. */
  readonly last?: DecimalString | undefined;
  /** Of an amend: the price at which the order rests, which the market has not reached. */
  readonly resting?: DecimalString | undefined;
}

type Priced = Pick<WriteTerms, 'side' | 'price' | 'trigger' | 'timeInForce'>;

/**
 * The price an order's notional is measured with; undefined where none can be told.
 * - with a trigger: a stop fills behind it, so a short counts with the higher of trigger and price;
 * - long: its price;
 * - short: the higher of its price and the market, by the reference, else by what was last seen there. Without either it is
 *   measured by its price where it is `post_only`, for such an order never trades elsewhere, and else not at all;
 * - without a price: the reference at the far edge of the band.
 */
export function measuredPrice(terms: Priced, seen: PricesSeen): DecimalString | undefined {
  const { side, price, trigger, timeInForce } = terms;
  if (trigger !== undefined) return side === 'short' ? highest(price, trigger) : (price ?? trigger);
  if (price === undefined) return seen.reference === undefined ? undefined : edge(seen.reference, seen.within);
  if (side === 'long') return price;
  const market = seen.reference ?? highest(seen.last, seen.resting);
  return market === undefined && timeInForce !== 'post_only' ? undefined : highest(price, market);
}

/** Quote currency an order is worth at most; undefined for a fraction of a position, and without a price. */
export function notionalOf(terms: WriteTerms, seen: PricesSeen = {}): DecimalString | undefined {
  const price = measuredPrice(terms, seen);
  return isFraction(terms.type) || price === undefined ? undefined : decimalText(exact(terms.size).times(exact(price)));
}

/** The price the order of a case is measured with. */
export function priceOf(at: Case): DecimalString | undefined {
  const { order, rules, facts, market } = at;
  if (order === undefined) return undefined;
  return measuredPrice(order, {
    reference: referenceOf(at)?.price,
    within: rules.priceBandWithin,
    last: ofMarket(facts.lastPrices, market),
    resting: order.before?.price,
  });
}

/** Worth of a market's position and of what works in it, at worst; undefined where something has no price. */
export function heldNotional(at: Case, market: string): Decimal | undefined {
  const position = ofMarket(at.facts.positions, market);
  const reference = market === at.market ? referenceOf(at)?.price : undefined;
  const last = ofMarket(at.facts.lastPrices, market);
  const size = Decimal.max(exact(position?.least ?? '0').abs(), exact(position?.most ?? '0').abs());
  let sum: Decimal = new Exact(0);
  if (!size.isZero()) {
    if (position?.notional !== undefined) sum = exact(position.notional).abs();
    else if (reference !== undefined) sum = new Exact(size).times(exact(reference));
    else return undefined;
  }
  for (const each of othersIn(at, market)) {
    const rest = exact(each.worstRemaining);
    if (rest.isZero()) continue;
    // It was measured when it was sent; where it rests by now is at least as far as the market has come.
    const price = measuredPrice(each, { reference, within: at.rules.priceBandWithin, last, resting: each.price });
    if (price === undefined) return undefined;
    sum = sum.plus(rest.times(exact(price)));
  }
  return sum;
}

/**
 * An amend that keeps the size and does not go through the reference: a quote that follows the market must not be stopped for
 * having come too far with it. Without a reference nothing but the run's notional stands against the new price.
 */
export function followsMarket(at: Case, { before, resizes, side, price }: Proposal): boolean {
  const reference = referenceOf(at)?.price;
  if (before === undefined || resizes || reference === undefined || price === undefined) return false;
  return side === 'long' ? exact(price).lte(exact(reference)) : exact(price).gte(exact(reference));
}

/** Quote currency for which the run's sum has an amended order down already. */
export function countedBefore({ before, target }: Proposal): Decimal {
  const counted = target?.counted ?? (before === undefined ? undefined : notionalOf(before, { last: before.price }));
  return exact(counted ?? '0');
}

function highest(a: DecimalString | undefined, b: DecimalString | undefined): DecimalString | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return exact(a).gte(exact(b)) ? a : b;
}

function edge(reference: DecimalString, within: DecimalString | undefined): DecimalString {
  return within === undefined ? reference : decimalText(exact(reference).times(exact(within).plus(1)));
}

/**
 * Chooses the price with which an order is measured for a limit, and computes its notional at worst. A long order fills at its
 * price or lower. A short order fills at its price or higher, so its own price gives its least notional, not its largest.
 */
import { Decimal, type DecimalString, formatDecimal } from '../../base/decimal.ts';
import {
  type CheckedCase,
  Exact,
  exact,
  getForMarket,
  getReference,
  isFraction,
  listOthersIn,
  type Proposal,
  type WriteTerms,
} from './case.ts';

/** Known prices of the market. */
interface PricesSeen {
  /** The reference of the price band. */
  readonly reference?: DecimalString | undefined;
  /** The largest distance from the reference that the band allows, as a ratio. */
  readonly within?: DecimalString | undefined;
  /** The last price at which the run saw a trade or a resting order. */
  readonly last?: DecimalString | undefined;
  /** For an amend: the price at which the order rests, which the market has not reached. */
  readonly resting?: DecimalString | undefined;
}

type Priced = Pick<WriteTerms, 'side' | 'price' | 'trigger' | 'timeInForce'>;

/**
 * The price with which an order's notional is measured; undefined where none is known.
 * - with a trigger: a stop fills beyond its trigger, so a short counts with the higher of trigger and price;
 * - long: its price;
 * - short: the higher of its price and the market's, which is the reference or else the last price seen. Without either, a
 *   `post_only` order is measured with its price, because it trades nowhere else; any other short cannot be measured;
 * - without a price: the reference at the far edge of the band.
 */
export function measuredPrice(terms: Priced, seen: PricesSeen): DecimalString | undefined {
  const { side, price, trigger, timeInForce } = terms;
  if (trigger !== undefined) return side === 'short' ? pickHighest(price, trigger) : (price ?? trigger);
  if (price === undefined)
    return seen.reference === undefined ? undefined : computeBandEdge(seen.reference, seen.within);
  if (side === 'long') return price;
  const market = seen.reference ?? pickHighest(seen.last, seen.resting);
  return market === undefined && timeInForce !== 'post_only' ? undefined : pickHighest(price, market);
}

/** The largest notional of an order, quote currency; undefined for a fraction of a position, and without a price. */
export function notionalOf(terms: WriteTerms, seen: PricesSeen = {}): DecimalString | undefined {
  const price = measuredPrice(terms, seen);
  return isFraction(terms.type) || price === undefined
    ? undefined
    : formatDecimal(exact(terms.size).times(exact(price)));
}

/** The price with which the order of a case is measured. */
export function choosePrice(at: CheckedCase): DecimalString | undefined {
  const { order, rules, facts, market } = at;
  if (order === undefined) return undefined;
  return measuredPrice(order, {
    reference: getReference(at)?.price,
    within: rules.priceBandWithin,
    last: getForMarket(facts.lastPrices, market),
    resting: order.before?.price,
  });
}

/** Notional of a market's position and working orders at worst, quote currency; undefined where a price is missing. */
export function computeHeldNotional(at: CheckedCase, market: string): Decimal | undefined {
  const position = getForMarket(at.facts.positions, market);
  const reference = market === at.market ? getReference(at)?.price : undefined;
  const last = getForMarket(at.facts.lastPrices, market);
  const size = Decimal.max(exact(position?.least ?? '0').abs(), exact(position?.most ?? '0').abs());
  let sum: Decimal = new Exact(0);
  if (!size.isZero()) {
    if (position?.notional !== undefined) sum = exact(position.notional).abs();
    else if (reference !== undefined) sum = new Exact(size).times(exact(reference));
    else return undefined;
  }
  for (const each of listOthersIn(at, market)) {
    const rest = exact(each.worstRemaining);
    if (rest.isZero()) continue;
    // It was measured when it was sent; by now the market has come at most as far as its resting price.
    const price = measuredPrice(each, { reference, within: at.rules.priceBandWithin, last, resting: each.price });
    if (price === undefined) return undefined;
    sum = sum.plus(rest.times(exact(price)));
  }
  return sum;
}

/**
 * Whether an amend keeps the size and does not cross the reference: the notional of a run must not stop a quote that follows
 * the market. Without a reference only that notional limits the new price.
 */
export function followsMarket(at: CheckedCase, { before, resizes, side, price }: Proposal): boolean {
  const reference = getReference(at)?.price;
  if (before === undefined || resizes || reference === undefined || price === undefined) return false;
  return side === 'long' ? exact(price).lte(exact(reference)) : exact(price).gte(exact(reference));
}

/** Quote currency that the notional of the run already counts for an amended order. */
export function computeCountedBefore({ before, target }: Proposal): Decimal {
  const counted = target?.counted ?? (before === undefined ? undefined : notionalOf(before, { last: before.price }));
  return exact(counted ?? '0');
}

function pickHighest(a: DecimalString | undefined, b: DecimalString | undefined): DecimalString | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return exact(a).gte(exact(b)) ? a : b;
}

function computeBandEdge(reference: DecimalString, within: DecimalString | undefined): DecimalString {
  return within === undefined ? reference : formatDecimal(exact(reference).times(exact(within).plus(1)));
}

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
import { getBandWidth } from './rules.ts';

/** Known prices of the market. */
interface PricesSeen {
  /** The reference of the price band. */
  readonly reference?: DecimalString | undefined;
  /** The largest distance from the reference that the band allows, as a ratio. */
  readonly within?: DecimalString | undefined;
  /** A recent reading of the profile's price feed. */
  readonly market?: DecimalString | undefined;
  /** The last price at which the run saw a trade or a resting order. */
  readonly last?: DecimalString | undefined;
  /** For an amend: the price at which the order rests, which the market has not reached. */
  readonly resting?: DecimalString | undefined;
}

type Priced = Pick<WriteTerms, 'side' | 'type' | 'price' | 'trigger' | 'timeInForce'>;

/** A price that measures an order. */
export interface Measure {
  readonly price: DecimalString;
  /** The market is not known: the price is the order's own, and it may fill at a higher one. */
  readonly atLeast: boolean;
}

/**
 * The price with which an order's notional is measured; undefined where none is known.
 * - with a trigger: a stop fills beyond its trigger, so a short counts with the higher of trigger and price;
 * - long: its price;
 * - short: the higher of its price and the market's, which is the reference, else the price feed, else the last price seen.
 *   Without any, the price of a limit order is the least that it can bring; for a `post_only` order it is all, because it trades
 *   nowhere else. That of a market order is a protection far from the market, and measures nothing;
 * - without a price: the reference at the far edge of the band, else the price feed.
 */
export function measurePrice(terms: Priced, seen: PricesSeen): Measure | undefined {
  const { side, type, price, trigger, timeInForce } = terms;
  const exactly = (found: DecimalString | undefined) =>
    found === undefined ? undefined : { price: found, atLeast: false };
  if (trigger !== undefined) return exactly(side === 'short' ? pickHighest(price, trigger) : (price ?? trigger));
  if (price === undefined)
    return exactly(seen.reference === undefined ? seen.market : computeBandEdge(seen.reference, seen.within));
  if (side === 'long') return exactly(price);
  const market = seen.reference ?? seen.market ?? pickHighest(seen.last, seen.resting);
  if (market !== undefined) return exactly(pickHighest(price, market));
  return type === 'limit' ? { price, atLeast: timeInForce !== 'post_only' } : undefined;
}

/** Whether only the market's price gives the notional of an order: a reading of the price feed would measure it. */
export function needsMarketPrice({
  side,
  price,
  trigger,
  timeInForce,
}: {
  readonly [K in keyof Priced]: unknown;
}): boolean {
  return trigger === undefined && (price === undefined || (side === 'short' && timeInForce !== 'post_only'));
}

/** A notional in quote currency; `atLeast`: the market may bring more. */
export interface Notional {
  readonly value: DecimalString;
  readonly atLeast: boolean;
}

/** The largest notional of an order; undefined for a fraction of a position, and without a price. */
export function notionalOf(terms: WriteTerms, seen: PricesSeen = {}): Notional | undefined {
  const measure = measurePrice(terms, seen);
  if (isFraction(terms.type) || measure === undefined) return undefined;
  return { value: formatDecimal(exact(terms.size).times(exact(measure.price))), atLeast: measure.atLeast };
}

/** The price with which the order of a case is measured; undefined where its limits take none for known. */
export function choosePrice(at: CheckedCase): Measure | undefined {
  const { order, rules, facts, market } = at;
  if (order === undefined) return undefined;
  const measure = measurePrice(order, {
    reference: getReference(at)?.price,
    within: getBandWidth(rules, market),
    market: facts.marketPrice,
    last: getForMarket(facts.lastPrices, market),
    resting: order.before?.price,
  });
  return measure?.atLeast === true && rules.unknownPrice === 'deny' ? undefined : measure;
}

/** Notional of a market's position and working orders at worst, quote currency; undefined where a price is missing. */
export function computeHeldNotional(at: CheckedCase, market: string): Decimal | undefined {
  const position = getForMarket(at.facts.positions, market);
  const own = market === at.market;
  const reference = own ? getReference(at)?.price : undefined;
  const feed = own ? at.facts.marketPrice : undefined;
  const last = getForMarket(at.facts.lastPrices, market);
  const size = Decimal.max(exact(position?.least ?? '0').abs(), exact(position?.most ?? '0').abs());
  let sum: Decimal = new Exact(0);
  if (!size.isZero()) {
    if (position?.notional !== undefined) sum = exact(position.notional).abs();
    else {
      const price = reference ?? feed;
      if (price === undefined) return undefined;
      sum = new Exact(size).times(exact(price));
    }
  }
  for (const each of listOthersIn(at, market)) {
    const rest = exact(each.worstRemaining);
    if (rest.isZero()) continue;
    // It was measured when it was sent; by now the market has come at most as far as its resting price.
    const seen = { reference, within: getBandWidth(at.rules, market), market: feed, last, resting: each.price };
    const measure = measurePrice(each, seen);
    if (measure === undefined) return undefined;
    sum = sum.plus(rest.times(exact(measure.price)));
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
  const counted =
    target?.counted ?? (before === undefined ? undefined : notionalOf(before, { last: before.price })?.value);
  return exact(counted ?? '0');
}

function pickHighest(a: DecimalString | undefined, b: DecimalString | undefined): DecimalString | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return exact(a).gte(exact(b)) ? a : b;
}

function computeBandEdge(reference: DecimalString, within: DecimalString | undefined): DecimalString {
  return within === undefined ? reference : formatDecimal(exact(reference).times(exact(within).plus(1)));
}

/**
 * Computes a position from fills by average cost: what is held, what it cost, what closing it realised, and the fees. The
 * expressions of a runbook, its report, the account's ledger and the exports all show the figures of this fold. Pure and exact:
 * only a division is rounded, to the 60 digits of base/decimal.ts; what is printed has 18 places.
 */
import { Decimal, type DecimalString, decimal, formatDecimal } from '../../base/decimal.ts';
import type { FillRecord } from '../records.ts';

/** Places of a printed quotient: the most that an author may write. */
const PLACES = 18;

export interface Position {
  /** Net size, base currency, long positive. */
  readonly size: Decimal;
  /** What the net size was bought for (long) or brought (short, negative): size × average entry, quote currency. */
  readonly cost: Decimal;
  /** Gain of everything closed, without fees, quote currency. */
  readonly realized: Decimal;
  /** Quote currency; negative where rebates exceed the fees. */
  readonly fees: Decimal;
  /** What it cost is not known: a person stated the size alone. Closing such a position realises nothing. */
  readonly unpriced?: true;
}

/** A position that a person states, base currency, long positive; `price`: its average entry, if known. */
export interface StatedPosition {
  readonly size: DecimalString;
  readonly price?: DecimalString | undefined;
}

const ZERO = new Decimal(0);
export const FLAT: Position = { size: ZERO, cost: ZERO, realized: ZERO, fees: ZERO };

/** What the fold reads of a fill. */
export type Traded = Pick<FillRecord, 'side' | 'size' | 'price' | 'fee'>;

/**
 * Adds a fill. On the side of the position it raises the cost; against it, it realises the share of the cost that it closes; what
 * goes through zero opens the other side at its own price.
 */
export function addTrade(position: Position, fill: Traded): Position {
  const price = decimal(fill.price);
  const traded = fill.side === 'long' ? decimal(fill.size) : decimal(fill.size).negated();
  const fees = position.fees.plus(decimal(fill.fee));
  const { size, cost, realized } = position;
  if (position.unpriced) {
    const rest = size.plus(traded);
    const goesThrough = rest.isZero() || rest.isNegative() !== size.isNegative();
    return goesThrough
      ? { size: rest, cost: rest.times(price), realized, fees }
      : { size: rest, cost: ZERO, realized, fees, unpriced: true };
  }
  if (size.isZero() || traded.isZero() || size.isNegative() === traded.isNegative())
    return { size: size.plus(traded), cost: cost.plus(traded.times(price)), realized, fees };
  // Closing the whole position takes its whole cost, so no digits of a quotient are left behind.
  if (traded.abs().gte(size.abs())) {
    const rest = size.plus(traded);
    return { size: rest, cost: rest.times(price), realized: realized.plus(size.times(price)).minus(cost), fees };
  }
  const closedCost = cost.times(traded).div(size).negated();
  return {
    size: size.plus(traded),
    cost: cost.minus(closedCost),
    realized: realized.minus(traded.times(price)).minus(closedCost),
    fees,
  };
}

/** Replaces the position by what a person states. Realised PnL and fees stay; without a price the entry on the same side stays. */
export function statePosition({ size, cost, realized, fees, unpriced }: Position, stated: StatedPosition): Position {
  const now = decimal(stated.size);
  if (stated.price !== undefined || now.isZero())
    return { size: now, cost: now.times(decimal(stated.price ?? '0')), realized, fees };
  const keeps = unpriced === undefined && !size.isZero() && size.isNegative() === now.isNegative();
  return keeps
    ? { size: now, cost: cost.times(now).div(size), realized, fees }
    : { size: now, cost: ZERO, realized, fees, unpriced: true };
}

/** Average price at which the net size was opened, quote currency, to 18 places; undefined without a position. */
export function getAverageEntry({ size, cost, unpriced }: Position): DecimalString | undefined {
  return size.isZero() || unpriced ? undefined : formatRounded(cost.div(size));
}

/** Gain of the net size if it were closed at a price, quote currency, exact. */
export function computeUnrealized({ size, cost }: Position, price: Decimal): Decimal {
  return size.times(price).minus(cost);
}

/** A quotient, or a sum of quotients, as it is printed. */
export function formatRounded(value: Decimal): DecimalString {
  return formatDecimal(value.toDecimalPlaces(PLACES));
}

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

/** Average price at which the net size was opened, quote currency, to 18 places; undefined without a position. */
export function getAverageEntry({ size, cost }: Position): DecimalString | undefined {
  return size.isZero() ? undefined : formatRounded(cost.div(size));
}

/** Gain of the net size if it were closed at a price, quote currency, exact. */
export function computeUnrealized({ size, cost }: Position, price: Decimal): Decimal {
  return size.times(price).minus(cost);
}

/** A quotient, or a sum of quotients, as it is printed. */
export function formatRounded(value: Decimal): DecimalString {
  return formatDecimal(value.toDecimalPlaces(PLACES));
}

/**
 * Separates readings that are prices of a market from those of other feeds (a rate, a volume), whose types the journal does not have:
 * by comparing them with a price at which the market's orders are.
 */
import type { Decimal } from '../../base/decimal.ts';

/** A reading that differs from the orders' prices by more than this factor is not a price of the market. */
const FAR = 4;

export function isPriceNear(value: Decimal | undefined, price: Decimal | undefined): boolean {
  if (value === undefined || price === undefined || !value.isPositive() || value.isZero() || price.isZero())
    return false;
  return value.lt(price.times(FAR)) && value.times(FAR).gt(price);
}

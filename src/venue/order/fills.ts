/**
 * Adds up fills: exposure is their sum, each counted once by its id. Status plays no part: any order may have fills, even one
 * that was cancelled or rejected (venue-notes.md, surprise 3).
 */
import { Decimal, type DecimalString, decimal, formatDecimal } from '../../base/decimal.ts';
import type { FillRecord } from '../records.ts';

/** Whether two decimals are the same number, as `0.10` and `0.1` are. */
export function isSameDecimal(a: DecimalString, b: DecimalString): boolean {
  return a === b || decimal(a).eq(decimal(b));
}

export function isZeroDecimal(text: DecimalString): boolean {
  return text === '0' || decimal(text).isZero();
}

export function pickLarger(a: DecimalString, b: DecimalString): DecimalString {
  return exceeds(b, a) ? b : a;
}

/** Whether a > b. */
export function exceeds(a: DecimalString, b: DecimalString): boolean {
  return a !== b && decimal(a).gt(decimal(b));
}

/** a − b, but never below zero. */
export function computeShortfall(a: DecimalString, b: DecimalString): DecimalString {
  if (b === '0') return a;
  if (a === b) return '0';
  const difference = decimal(a).minus(decimal(b));
  return difference.isNegative() ? '0' : formatDecimal(difference);
}

/** Σ size, base currency, unsigned. */
export function sumFills(fills: Iterable<FillRecord>): DecimalString {
  let sum = new Decimal(0);
  for (const fill of fills) sum = sum.plus(decimal(fill.size));
  return formatDecimal(sum);
}

/** Σ size × price / Σ size, quote currency, to 18 places, the most that an author may write. Undefined without fills. */
export function computeAveragePrice(fills: Iterable<FillRecord>): DecimalString | undefined {
  let size = new Decimal(0);
  let value = new Decimal(0);
  for (const fill of fills) {
    size = size.plus(decimal(fill.size));
    value = value.plus(decimal(fill.size).times(decimal(fill.price)));
  }
  return size.isZero() ? undefined : formatDecimal(value.div(size).toDecimalPlaces(18));
}

/** Σ size, long positive, base currency: the change of the position. */
export function sumNetSize(fills: Iterable<FillRecord>): DecimalString {
  let net = new Decimal(0);
  for (const fill of fills) net = fill.side === 'long' ? net.plus(decimal(fill.size)) : net.minus(decimal(fill.size));
  return formatDecimal(net);
}

/** The result of adding a fill: a repeated one changes nothing, a corrected one counts with its larger size. */
export interface Booking {
  readonly fills: ReadonlyMap<string, FillRecord>;
  readonly filled: DecimalString;
  readonly kind: 'added' | 'repeated' | 'corrected';
}

/** Whether a fill counts in place of one with its id: a correction does, but exposure must not be understated. */
export function replacesFill(known: FillRecord | undefined, fill: FillRecord): boolean {
  if (known === undefined || exceeds(fill.size, known.size)) return true;
  return isSameDecimal(known.size, fill.size) && !isSameDecimal(known.price, fill.price);
}

/** Adds a fill to fills whose sum is `filled`. */
export function bookFill(fills: ReadonlyMap<string, FillRecord>, filled: DecimalString, fill: FillRecord): Booking {
  const known = fills.get(fill.id);
  if (known === undefined) {
    return {
      fills: new Map(fills).set(fill.id, fill),
      filled: formatDecimal(decimal(filled).plus(decimal(fill.size))),
      kind: 'added',
    };
  }
  if (isSameDecimal(known.size, fill.size) && isSameDecimal(known.price, fill.price))
    return { fills, filled, kind: 'repeated' };
  if (!replacesFill(known, fill)) return { fills, filled, kind: 'corrected' };
  const corrected = new Map(fills).set(fill.id, fill);
  return { fills: corrected, filled: sumFills(corrected.values()), kind: 'corrected' };
}

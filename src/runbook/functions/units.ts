/**
 * The algebra of units: which quantities may be multiplied, divided, added and compared, and what comes out. Works on
 * units alone; it never sees a value, so a run is not slower for it.
 */
import type { Unit } from '../values.ts';

/** price × size = money, in either order; a plain number scales anything; the rest means nothing at a venue. */
export function multiplyUnits(left: Unit, right: Unit): Unit | undefined {
  if (left === 'number') return right;
  if (right === 'number') return left;
  if ((left === 'price' && right === 'size') || (left === 'size' && right === 'price')) return 'money';
  return undefined;
}

/** money / price = size, money / size = price, like / like = number; nothing is divided by what it is not made of. */
export function divideUnits(left: Unit, right: Unit): Unit | undefined {
  if (right === 'number') return left;
  if (left === right) return 'number';
  if (left === 'money' && right === 'price') return 'size';
  if (left === 'money' && right === 'size') return 'price';
  return undefined;
}

/** What multiplies `left` into a unit the result has; for hints. */
export function explainProduct(left: Unit, right: Unit): string {
  return `${left} and ${right} have no product; price × size = money, and a plain number scales anything`;
}

export function explainQuotient(left: Unit, right: Unit): string {
  return `${left} can not be divided by ${right}; money / price = size, money / size = price, like by like is a number`;
}

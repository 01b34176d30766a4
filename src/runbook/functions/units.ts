/**
 * The algebra of units: which quantities may be multiplied and divided, and the unit of the result. Works on units during the
 * check, so it costs a run nothing.
 */
import type { Unit } from '../values.ts';

/** price × size = money, in either order; a plain number scales anything; other products have no meaning at a venue. */
export function multiplyUnits(left: Unit, right: Unit): Unit | undefined {
  if (left === 'number') return right;
  if (right === 'number') return left;
  if ((left === 'price' && right === 'size') || (left === 'size' && right === 'price')) return 'money';
  return undefined;
}

/** money / price = size, money / size = price, a unit divided by itself = number; other quotients have no meaning. */
export function divideUnits(left: Unit, right: Unit): Unit | undefined {
  if (right === 'number') return left;
  if (left === right) return 'number';
  if (left === 'money' && right === 'price') return 'size';
  if (left === 'money' && right === 'size') return 'price';
  return undefined;
}

/**
 * The relations between types: which type fits another, the common type of two branches, which types may be compared, and
 * the name of a type in a message.
 *
 * The type of a text literal is the set of that one text, so `'short'` fits a side and `'lnog'` does not. A bare number
 * literal has the unit `number`; term.ts adapts it to the wanted unit.
 */
import { ORDER_STATUSES, SIDES } from '../../venue/records.ts';
import type { Unit, ValueType } from '../values.ts';

export const NUMBER: ValueType = { kind: 'decimal', unit: 'number' };
export const INTEGER: ValueType = { kind: 'decimal', unit: 'number', integer: true };
export const PRICE: ValueType = { kind: 'decimal', unit: 'price' };
export const SIZE: ValueType = { kind: 'decimal', unit: 'size' };
export const MONEY: ValueType = { kind: 'decimal', unit: 'money' };
export const BOOLEAN: ValueType = { kind: 'boolean' };
export const TEXT: ValueType = { kind: 'text' };
export const MARKET: ValueType = { kind: 'text', market: true };
export const SIDE: ValueType = { kind: 'text', of: SIDES };
export const DURATION: ValueType = { kind: 'duration' };
export const TIME: ValueType = { kind: 'time' };

/** The name of a type in messages. */
export function formatType(type: ValueType): string {
  switch (type.kind) {
    case 'decimal':
      return type.integer === true && type.unit === 'number' ? 'integer' : type.unit;
    case 'text':
      if (type.market === true) return 'market';
      if (type.of === undefined) return 'text';
      if (type.of === SIDES) return 'side';
      if (type.of === ORDER_STATUSES) return 'order status';
      return (
        type.of
          .slice(0, 6)
          .map((each) => `'${each}'`)
          .join(' or ') + (type.of.length > 6 ? ' …' : '')
      );
    case 'list':
    case 'map':
      return `${type.kind}<${formatType(type.of)}>`;
    case 'record':
      return type.name;
    case 'optional':
      return `optional ${formatType(type.of)}`;
    case 'boolean':
    case 'duration':
    case 'time':
      return type.kind;
    default:
      return type satisfies never;
  }
}

/** Why a value of type `found` does not fit type `wanted`. Bare literals have been adapted before. */
export type Misfit = 'type' | 'unit' | 'integer' | 'member' | 'optional';

export function findMisfit(found: ValueType, wanted: ValueType): Misfit | undefined {
  if (wanted.kind === 'optional') return findMisfit(found.kind === 'optional' ? found.of : found, wanted.of);
  if (found.kind === 'optional') return findMisfit(found.of, wanted) === undefined ? 'optional' : 'type';
  switch (wanted.kind) {
    case 'decimal':
      if (found.kind !== 'decimal') return 'type';
      if (found.unit !== wanted.unit) return 'unit';
      return wanted.integer === true && found.integer !== true ? 'integer' : undefined;
    case 'text':
      if (found.kind !== 'text') return 'type';
      if (wanted.of === undefined) return undefined;
      if (found.of === undefined) return 'type';
      return found.of.every((each) => wanted.of?.includes(each)) ? undefined : 'member';
    case 'list':
    case 'map':
      return found.kind === wanted.kind ? findMisfit(found.of, wanted.of) : 'type';
    case 'record':
      return found.kind === 'record' && found.name === wanted.name ? undefined : 'type';
    case 'boolean':
    case 'duration':
    case 'time':
      return found.kind === wanted.kind ? undefined : 'type';
    default:
      return wanted satisfies never;
  }
}

/** The common type of two types, for the arms of `?:` and the items of a list; undefined if there is none. */
export function unifyTypes(left: ValueType, right: ValueType): ValueType | undefined {
  if (left.kind === 'optional' || right.kind === 'optional') {
    const of = unifyTypes(left.kind === 'optional' ? left.of : left, right.kind === 'optional' ? right.of : right);
    return of === undefined ? undefined : { kind: 'optional', of };
  }
  switch (left.kind) {
    case 'decimal':
      if (right.kind !== 'decimal' || left.unit !== right.unit) return undefined;
      return left.integer === true ? right : left;
    case 'text': {
      if (right.kind !== 'text') return undefined;
      if (left.market === true && right.market === true) return left;
      if (left.of === undefined || right.of === undefined) return TEXT;
      const rest = right.of.filter((each) => !left.of?.includes(each));
      return rest.length === 0 ? left : { kind: 'text', of: [...left.of, ...rest] };
    }
    case 'list':
    case 'map': {
      if (right.kind !== left.kind) return undefined;
      const of = unifyTypes(left.of, right.of);
      return of === undefined ? undefined : { kind: left.kind, of };
    }
    case 'record':
      return right.kind === 'record' && right.name === left.name ? left : undefined;
    case 'boolean':
    case 'duration':
    case 'time':
      return right.kind === left.kind ? left : undefined;
    default:
      return left satisfies never;
  }
}

/** Why `==` is not allowed between two types. Records change, so they are compared by a field, never as a whole. */
export function findComparisonMisfit(left: ValueType, right: ValueType): Misfit | undefined {
  if (left.kind === 'optional' || right.kind === 'optional') return 'optional';
  if (left.kind === 'decimal' && right.kind === 'decimal') return left.unit === right.unit ? undefined : 'unit';
  if (left.kind === 'text' && right.kind === 'text')
    return left.of === undefined || right.of === undefined || left.of.some((each) => right.of?.includes(each))
      ? undefined
      : 'member';
  if ((left.kind === 'list' && right.kind === 'list') || (left.kind === 'map' && right.kind === 'map'))
    return findComparisonMisfit(left.of, right.of);
  return left.kind === right.kind && left.kind !== 'record' ? undefined : 'type';
}

/** The same type with another unit for all its numbers, for a bare literal that adapts. */
export function replaceUnit(type: ValueType, unit: Unit): ValueType {
  switch (type.kind) {
    case 'decimal':
      return type.unit === unit
        ? type
        : { kind: 'decimal', unit, ...(type.integer === true && unit === 'number' ? { integer: true } : {}) };
    case 'list':
    case 'map':
    case 'optional':
      return { kind: type.kind, of: replaceUnit(type.of, unit) };
    default:
      return type;
  }
}

/** The unit of the numbers in a type, if it has numbers. */
export function findUnit(type: ValueType): Unit | undefined {
  if (type.kind === 'decimal') return type.unit;
  return type.kind === 'list' || type.kind === 'map' || type.kind === 'optional' ? findUnit(type.of) : undefined;
}

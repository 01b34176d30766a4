/**
 * Runs compiled expressions: the frame of one evaluation, the budget that bounds it, and the operations on values that can
 * fail. Evaluation uses no clock, no randomness and no host function. It fails only with an EvaluationFailure, or with an
 * error that the scope throws (NotKnown, a stale feed).
 */
import { Decimal, formatDecimal } from '../../base/decimal.ts';
import {
  Duration,
  durationText,
  EvaluationFailure,
  formatTime,
  LONGEST_DURATION_MS,
  type RecordValue,
  type Scope,
  Time,
  type Value,
} from '../values.ts';

export interface Frame {
  readonly scope: Scope;
  /** Loop variables of `map`, `filter`, `exists` and `all`, by nesting. */
  readonly locals: Value[];
  /** Values of the roots read so far: a root has one value throughout an evaluation, and is made when it is read. */
  roots: Map<string, Value> | undefined;
}

/** A compiled part of an expression. */
export type Run = (frame: Frame) => Value;

/** The value of a record's declared field; undefined of an absent record. */
export function readRecordField({ scope }: Frame, record: RecordValue | undefined, name: string): Value {
  if (record === undefined) return undefined;
  return scope.readField === undefined ? record[name] : scope.readField(record, name);
}

/**
 * What one evaluation may spend, with the `def`s it reads: a unit for each part evaluated, each item and each 64 bytes compared or
 * built, and more for what takes longer (`COST`). No clock is read, so a replay decides the same. Spent to the last unit it takes
 * about 50 ms: more would hold back heartbeats of the deadman switch.
 */
const FUEL = 1_000_000;

/** Units of an operation beyond its part, by how long it takes with sixty digits. */
export const COST = { item: 4, comparison: 6, sum: 16, product: 20, division: 180, calendar: 300 } as const;

/** The largest values: an entry of the journal holds them, and a page shows them. */
export const LONGEST_TEXT = 65_536;
export const LONGEST_LIST = 10_000;
const DEEPEST_VALUE = 64;
const DEEPEST_DEF = 100;
const BYTES_PER_UNIT = 64;

// Evaluation is synchronous, so one counter serves an expression and everything it evaluates through its scope.
let depth = 0;
let spent = 0;
let most = FUEL;

/** Runs one compiled expression; an evaluation inside another (a `def`, a market) spends the outer one's fuel. */
export function evaluateIn(scope: Scope, run: Run, weight: number, text: string): Value {
  if (depth === 0) {
    spent = 0;
    most = scope.fuel ?? FUEL;
  }
  depth += 1;
  try {
    if (depth > DEEPEST_DEF) throw new EvaluationFailure(`more than ${DEEPEST_DEF} names refer to each other`, text);
    spend(weight, text);
    const value = run({ scope, locals: [], roots: undefined });
    if (depth === 1) measure(value, text, 1);
    return value;
  } finally {
    depth -= 1;
  }
}

/** A value made of several evaluations, held to the bounds of one. Throws EvaluationFailure. */
export function requireBoundedValue(value: Value, text: string): void {
  evaluateIn({ get: () => undefined, rules: () => undefined }, () => value, 1, text);
}

export function spend(count: number, text: string): void {
  spent += count;
  if (spent > most) throw new EvaluationFailure(`the evaluation spends more than ${most} units`, text);
}

/** Spends what reading or comparing a text of this length takes. */
export function spendOnText(length: number, text: string): void {
  spend(1 + Math.floor(length / BYTES_PER_UNIT), text);
}

/** A text that was built, within its bound. */
export function requireShort(built: string, text: string): string {
  spendOnText(built.length, text);
  // UTF-8 takes at most three bytes for a unit of the text.
  const isLong =
    built.length > LONGEST_TEXT || (built.length * 3 > LONGEST_TEXT && Buffer.byteLength(built) > LONGEST_TEXT);
  if (isLong) throw new EvaluationFailure(`a text has at most ${LONGEST_TEXT} bytes`, text);
  return built;
}

/** Holds the value of an evaluation to its bounds: its parts may be shared, and cheap to make where they are long to write. */
function measure(value: Value, text: string, level: number): void {
  if (typeof value === 'string') {
    requireShort(value, text);
    return;
  }
  // A record comes from the venue, or holds values that were measured when they were evaluated.
  const isList = Array.isArray(value);
  if (!isList && !(value instanceof Map)) return;
  const items = isList ? (value as readonly Value[]) : [...(value as ReadonlyMap<string, Value>).values()];
  if (level > DEEPEST_VALUE) throw new EvaluationFailure(`a value is at most ${DEEPEST_VALUE} levels deep`, text);
  if (items.length > LONGEST_LIST)
    throw new EvaluationFailure(`a ${isList ? 'list' : 'map'} has at most ${LONGEST_LIST} items`, text);
  spend(items.length, text);
  for (const item of items) measure(item, text, level + 1);
}

/** Sixty digits are exact up to this exponent; no price, size or amount is near it. */
const LARGEST_EXPONENT = 60;
const SMALLEST_EXPONENT = -200;

/** Returns a result that is finite and within sixty digits; throws for any other. */
export function requireBounded(value: Decimal, text: string): Decimal {
  if (!value.isFinite() || value.e > LARGEST_EXPONENT || (value.e < SMALLEST_EXPONENT && !value.isZero()))
    throw new EvaluationFailure('the result is too large or too small a number', text);
  return value;
}

export function divide(left: Decimal, right: Decimal, text: string): Decimal {
  if (right.isZero()) throw new EvaluationFailure('division by zero', text);
  return requireBounded(left.div(right), text);
}

export function computeRemainder(left: Decimal, right: Decimal, text: string): Decimal {
  if (right.isZero()) throw new EvaluationFailure('division by zero', text);
  return requireBounded(left.mod(right), text);
}

/** A duration in whole milliseconds, rounded to the nearest. */
export function toDuration(ms: Decimal | number, text: string): Duration {
  const whole = typeof ms === 'number' ? Math.round(ms) : Number(ms.toFixed(0));
  if (!(Math.abs(whole) <= LONGEST_DURATION_MS)) throw new EvaluationFailure('the duration is too long', text);
  return new Duration(whole === 0 ? 0 : whole);
}

export function toTime(us: number, text: string): Time {
  if (!Number.isSafeInteger(us)) throw new EvaluationFailure('the time is too far away', text);
  return new Time(us);
}

/** Whether two values are equal; the check has found them comparable. Spends by what is compared. */
export function areEqual(left: Value, right: Value, text: string): boolean {
  if (typeof left === 'string' && typeof right === 'string') {
    spendOnText(left.length === right.length ? left.length : 0, text);
    return left === right;
  }
  spend(COST.comparison, text);
  if (left instanceof Decimal) return left.eq(right as Decimal);
  if (left instanceof Duration) return left.ms === (right as Duration).ms;
  if (left instanceof Time) return left.us === (right as Time).us;
  if (Array.isArray(left)) {
    const other = right as readonly Value[];
    if (left.length !== other.length) return false;
    for (let index = 0; index < left.length; index += 1) if (!areEqual(left[index], other[index], text)) return false;
    return true;
  }
  if (left instanceof Map) {
    const other = right as ReadonlyMap<string, Value>;
    if (left.size !== other.size) return false;
    for (const [key, each] of left) {
      spendOnText(key.length, text);
      if (!other.has(key) || !areEqual(each, other.get(key), text)) return false;
    }
    return true;
  }
  return left === right;
}

/** Compares numbers, durations or times: below zero, zero or above zero. */
export function compare(left: Value, right: Value): number {
  if (left instanceof Duration) return left.ms - (right as Duration).ms;
  if (left instanceof Time) return left.us - (right as Time).us;
  return (left as Decimal).cmp(right as Decimal);
}

/** The text of a value inside a text with `${…}`. Spends by its items and its length. */
export function toText(value: Value, text: string): string {
  if (value === undefined) return '(absent)';
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return String(value);
  spend(COST.product, text);
  if (Decimal.isDecimal(value)) return formatDecimal(value as Decimal);
  if (value instanceof Duration) return durationText(value);
  if (value instanceof Time) return formatTime(value);
  return Array.isArray(value) ? joinTexts(value, (each) => toText(each, text), ', ', text) : '';
}

/** Joins texts; a result that is too long is refused before it is built. */
export function joinTexts<T>(parts: readonly T[], write: (part: T) => string, between: string, text: string): string {
  const written: string[] = [];
  let length = 0;
  for (const part of parts) {
    spend(1, text);
    const piece = write(part);
    length += piece.length + between.length;
    if (length > LONGEST_TEXT + between.length)
      throw new EvaluationFailure(`a text has at most ${LONGEST_TEXT} bytes`, text);
    written.push(piece);
  }
  return requireShort(written.join(between), text);
}

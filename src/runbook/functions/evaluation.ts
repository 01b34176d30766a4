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
  type RecordValue,
  type Scope,
  Time,
  type Value,
} from '../values.ts';

export interface Frame {
  readonly scope: Scope;
  /** Loop variables of `map`, `filter`, `exists` and `all`, by nesting. */
  readonly locals: Value[];
}

/** A compiled part of an expression. */
export type Run = (frame: Frame) => Value;

/** The value of a record's declared field; undefined of an absent record. */
export function readRecordField({ scope }: Frame, record: RecordValue | undefined, name: string): Value {
  if (record === undefined) return undefined;
  return scope.readField === undefined ? record[name] : scope.readField(record, name);
}

/** The most iterations and list items of one evaluation, including those of the `def`s it reads. */
const MAX_STEPS = 100_000;

// Evaluation is synchronous, so one counter serves an expression and everything it evaluates through its scope.
let depth = 0;
let steps = 0;

/** Runs one compiled expression; an evaluation inside another (a `def`, a market) shares the outer one's budget. */
export function evaluateIn(scope: Scope, run: Run, weight: number, text: string): Value {
  if (depth === 0) steps = 0;
  depth += 1;
  try {
    spend(weight, text);
    return run({ scope, locals: [] });
  } finally {
    depth -= 1;
  }
}

export function spend(count: number, text: string): void {
  steps += count;
  if (steps > MAX_STEPS || depth > 100)
    throw new EvaluationFailure(`the evaluation takes more than ${MAX_STEPS} steps`, text);
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
  if (!Number.isSafeInteger(whole)) throw new EvaluationFailure('the duration is too long', text);
  return new Duration(whole === 0 ? 0 : whole);
}

export function toTime(us: number, text: string): Time {
  if (!Number.isSafeInteger(us)) throw new EvaluationFailure('the time is too far away', text);
  return new Time(us);
}

/** Whether two values are equal; the check has found them comparable. */
export function areEqual(left: Value, right: Value): boolean {
  if (Decimal.isDecimal(left)) return (left as Decimal).eq(right as Decimal);
  if (left instanceof Duration) return left.ms === (right as Duration).ms;
  if (left instanceof Time) return left.us === (right as Time).us;
  if (Array.isArray(left)) {
    const other = right as readonly Value[];
    return left.length === other.length && left.every((each, index) => areEqual(each, other[index]));
  }
  if (left instanceof Map) {
    const other = right as ReadonlyMap<string, Value>;
    return (
      left.size === other.size && [...left].every(([key, each]) => other.has(key) && areEqual(each, other.get(key)))
    );
  }
  return left === right;
}

/** Compares numbers, durations or times: below zero, zero or above zero. */
export function compare(left: Value, right: Value): number {
  if (left instanceof Duration) return left.ms - (right as Duration).ms;
  if (left instanceof Time) return left.us - (right as Time).us;
  return (left as Decimal).cmp(right as Decimal);
}

/** The text of a value inside a text with `${…}`. */
export function toText(value: Value): string {
  if (value === undefined) return '(absent)';
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return String(value);
  if (Decimal.isDecimal(value)) return formatDecimal(value as Decimal);
  if (value instanceof Duration) return durationText(value);
  if (value instanceof Time) return formatTime(value);
  if (Array.isArray(value)) return value.map(toText).join(', ');
  return '';
}

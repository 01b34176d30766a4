/**
 * What evaluating an expression rests on: the frame a compiled expression runs in, the budget that bounds it, and the few
 * operations on values that can fail. Evaluation has no clock, no randomness and no host behind it; it fails with an
 * EvaluationFailure, or with whatever the scope itself throws (NotKnown, a stale feed), and with nothing else.
 */
import { Decimal, decimalText } from '../../base/decimal.ts';
import { Duration, durationText, EvaluationFailure, type Scope, Time, timeText, type Value } from '../values.ts';

export interface Frame {
  readonly scope: Scope;
  /** Loop variables of `map`, `filter`, `exists` and `all`, by nesting. */
  readonly locals: Value[];
}

/** A compiled piece of an expression. */
export type Run = (frame: Frame) => Value;

/** Iterations and list items that one evaluation may go through, those of the `def`s it reads among them. */
const MAX_STEPS = 100_000;

// Evaluation is synchronous, so that one counter serves an expression and all it sets off through its scope.
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
    throw new EvaluationFailure(`more than ${MAX_STEPS} steps to work it out`, text);
}

/** Sixty digits are exact up to here; far beyond it lies no price, size or amount. */
const LARGEST_EXPONENT = 60;
const SMALLEST_EXPONENT = -200;

/** A result as it may be kept: finite and of a size that sixty digits hold. */
export function requireBounded(value: Decimal, text: string): Decimal {
  if (!value.isFinite() || value.e > LARGEST_EXPONENT || (value.e < SMALLEST_EXPONENT && !value.isZero()))
    throw new EvaluationFailure('the result is a number out of all proportion', text);
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

/** A duration of whole milliseconds, to the nearest. */
export function toDuration(ms: Decimal | number, text: string): Duration {
  const whole = typeof ms === 'number' ? Math.round(ms) : Number(ms.toFixed(0));
  if (!Number.isSafeInteger(whole)) throw new EvaluationFailure('the duration is out of all proportion', text);
  return new Duration(whole === 0 ? 0 : whole);
}

export function toTime(us: number, text: string): Time {
  if (!Number.isSafeInteger(us)) throw new EvaluationFailure('the time is out of all proportion', text);
  return new Time(us);
}

/** Equality of values that the checker found comparable. */
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

/** Below, at or above zero; of numbers, durations and times. */
export function compare(left: Value, right: Value): number {
  if (left instanceof Duration) return left.ms - (right as Duration).ms;
  if (left instanceof Time) return left.us - (right as Time).us;
  return (left as Decimal).cmp(right as Decimal);
}

/** A value inside a text with `${…}`, as a person would write it. */
export function toText(value: Value): string {
  if (value === undefined) return '(absent)';
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return String(value);
  if (Decimal.isDecimal(value)) return decimalText(value as Decimal);
  if (value instanceof Duration) return durationText(value);
  if (value instanceof Time) return timeText(value);
  if (Array.isArray(value)) return value.map(toText).join(', ');
  return '';
}

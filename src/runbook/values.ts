/**
 * What expressions compute with: the types the checker knows and the values the engine holds. One number type, exact;
 * no null: what may be absent has an optional type and is `undefined` while it is absent.
 */
import { Decimal, type DecimalString, decimalText } from '../base/decimal.ts';
import { durationWord } from '../base/duration.ts';
import { formatMicros } from '../base/format.ts';

/** `ratio` is a number without dimension that came from pct or bps; it mixes with plain numbers freely. */
export type Unit = 'price' | 'size' | 'money' | 'number';

export type ValueType =
  | { readonly kind: 'decimal'; readonly unit: Unit; readonly integer?: true }
  | { readonly kind: 'boolean' }
  /** `of`: the closed set of an enum (side); `usual`: words it has as far as is known (status); `market`: a market id. */
  | {
      readonly kind: 'text';
      readonly of?: readonly string[];
      readonly usual?: readonly string[];
      readonly market?: true;
    }
  | { readonly kind: 'duration' }
  | { readonly kind: 'time' }
  | { readonly kind: 'list'; readonly of: ValueType }
  | { readonly kind: 'map'; readonly of: ValueType }
  | { readonly kind: 'record'; readonly name: string; readonly fields: Readonly<Record<string, ValueType>> }
  | { readonly kind: 'optional'; readonly of: ValueType };

/** A length of time in whole milliseconds; its own class so that it can not be taken for a number. */
export class Duration {
  readonly ms: number;
  constructor(ms: number) {
    if (!Number.isSafeInteger(ms)) throw new RangeError(`a duration is a whole number of milliseconds, found ${ms}`);
    this.ms = ms;
  }
}

/** An instant in whole microseconds since the epoch, as the venue counts. */
export class Time {
  readonly us: number;
  constructor(us: number) {
    if (!Number.isSafeInteger(us)) throw new RangeError(`a time is a whole number of microseconds, found ${us}`);
    this.us = us;
  }
  static ofMs(ms: number): Time {
    return new Time(ms * 1000);
  }
  get ms(): number {
    return Math.floor(this.us / 1000);
  }
}

/** A record's fields are read by name; a class with getters (an order that changes) is a record too. */
export interface RecordValue {
  readonly [field: string]: Value;
}
export type Value =
  | Decimal
  | boolean
  | string
  | Duration
  | Time
  | readonly Value[]
  | ReadonlyMap<string, Value>
  | RecordValue
  | undefined;

/** Thrown by a value that is not known yet: a plan prints "(known after run)" in its place. */
export class NotKnown extends Error {
  readonly what: string;
  constructor(what: string) {
    super(`${what} is known after the run only`);
    this.what = what;
  }
}

/** The author's expression met a value it can not work with: a division by zero, a missing map key, a number too large. */
export class EvaluationFailure extends Error {
  readonly expression: string;
  constructor(message: string, expression: string) {
    super(message);
    this.name = 'EvaluationFailure';
    this.expression = expression;
  }
}

/** What an expression may read. Names are the roots only: `inputs`, `feeds`, `now`, `run`, `error`, lets, vars, step ids. */
export interface Scope {
  /** The value of a root; undefined for an optional that is absent. */
  get(root: string): Value;
  /** Tick and lot of a market, for `tick` and `lot`; undefined where the deployment does not describe it. */
  rules(market: string): { readonly tick: DecimalString; readonly lot: DecimalString } | undefined;
}

/**
 * A checked field of a runbook: an expression, a text with `${…}`, or a literal; the engine need not know which.
 * `T` is what `evaluate` gives.
 */
export interface Expr<T extends Value = Value> {
  /** As the author wrote it. */
  readonly text: string;
  readonly type: ValueType;
  /** The roots it reads, and for feeds `feeds.<name>`; sorted, without doubles. */
  readonly reads: readonly string[];
  /** Known without any scope. */
  readonly constant: boolean;
  /** Throws EvaluationFailure or NotKnown, nothing else. */
  evaluate(scope: Scope): T;
}

/** JSON of a value for journal, report and page: decimals as strings, times ISO 8601, durations in ISO 8601, absent as null. */
export function valueJson(value: Value): JsonValue {
  if (value === undefined) return null;
  if (typeof value === 'string' || typeof value === 'boolean') return value;
  if (Decimal.isDecimal(value)) return decimalText(value as Decimal);
  if (value instanceof Duration) return durationText(value);
  if (value instanceof Time) return timeText(value);
  if (Array.isArray(value)) return value.map(valueJson);
  if (value instanceof Map) return Object.fromEntries([...value].map(([key, each]) => [key, valueJson(each)]));
  const record = value as RecordValue & { toJSON?: unknown };
  const fields: RecordValue = typeof record.toJSON === 'function' ? (record.toJSON as () => RecordValue)() : record;
  return Object.fromEntries(Object.entries(fields).map(([key, each]) => [key, valueJson(each)]));
}
type JsonValue = null | boolean | string | number | readonly JsonValue[] | { readonly [key: string]: JsonValue };

/** `2026-01-05T08:00:00.000Z`; six digits when the microseconds matter. */
export function timeText(time: Time): string {
  return formatMicros(time.us);
}

/** `4h`, `1h30m`, `250ms`: the language's own spelling. */
export function durationText(duration: Duration): string {
  return duration.ms === 0 ? '0s' : durationWord(duration.ms);
}

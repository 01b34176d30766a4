/**
 * The types and values of expressions. There is one number type, and it is exact. There is no null: a value that may be
 * absent has an optional type and is `undefined` while it is absent.
 */
import { Decimal, type DecimalString, formatDecimal } from '../base/decimal.ts';
import { writeDuration } from '../base/duration.ts';
import { formatMicros } from '../base/format.ts';
import { mapFields } from '../base/json.ts';

/** The unit of a number; ratios from pct and bps are plain numbers. */
export type Unit = 'price' | 'size' | 'money' | 'number';

export type ValueType =
  | { readonly kind: 'decimal'; readonly unit: Unit; readonly integer?: true }
  | { readonly kind: 'boolean' }
  /** `of`: the closed set of an enum (side); `usual`: the words known so far (status); `market`: a market id. */
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

/** The longest duration, ms: a hundred years. The end of a longer one may be no date, and could not be shown. */
export const LONGEST_DURATION_MS = 36_525 * 86_400_000;

/** A length of time in whole milliseconds; a class of its own, so that it cannot be mistaken for a number. */
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

/** A record, whose fields are read by name; a class with getters (an order that changes) is also a record. */
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

/** Thrown when a value is not known yet: a plan prints "(known after run)" instead. */
export class NotKnown extends Error {
  readonly what: string;
  constructor(what: string) {
    // A plan asks for thousands of values that it cannot know; a stack of each would be a tenth of a check while someone types.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(`${what} is only known after the run`);
    Error.stackTraceLimit = stackTraceLimit;
    this.what = what;
  }
}

/** Thrown when an expression cannot be evaluated: a division by zero, a missing map key, a number too large. */
export class EvaluationFailure extends Error {
  readonly expression: string;
  constructor(message: string, expression: string) {
    super(message);
    this.name = 'EvaluationFailure';
    this.expression = expression;
  }
}

/** What a run holds in a market, by its own fills (docs/language.md, Values and expressions). */
export interface HeldPosition {
  /** Base currency, long positive. */
  readonly size: Decimal;
  /** Quote currency; absent without a position. */
  readonly averageEntry?: Decimal;
  /** Gain of what was closed, without fees, quote currency. */
  readonly realized: Decimal;
  /** Quote currency; negative where rebates exceed the fees. */
  readonly fees: Decimal;
}

/** The values that an expression may read, by root name: `inputs`, `feeds`, `now`, `run`, `error`, lets, vars, step ids. */
export interface Scope {
  /** The value of a root; undefined for an optional that is absent. */
  get(root: string): Value;
  /** The value of a record's declared field, where that depends on who reads it; absent: what the record holds. */
  readField?(record: RecordValue, name: string): Value;
  /** What the run holds in a market, by the fills known so far; absent where there is no run. */
  position?(market: string): HeldPosition;
  /** What the account holds in a market, as last read; undefined where that is not proven. Absent where there is no run. */
  accountPosition?(market: string): Decimal | undefined;
  /** What an evaluation may spend; as much as any may where absent. */
  readonly fuel?: number;
  /** Tick and lot of a market, for `tick` and `lot`; undefined if the deployment does not describe the market. */
  rules(market: string): { readonly tick: DecimalString; readonly lot: DecimalString } | undefined;
}

/** The scope of what is the same in every run. */
export const NOWHERE: Scope = { get: () => undefined, rules: () => undefined };

/**
 * A checked field of a runbook: an expression, a text with `${…}`, or a literal; the engine does not need to know which.
 * `T` is the type of value that `evaluate` returns.
 */
export interface Expr<T extends Value = Value> {
  /** As the author wrote it. */
  readonly text: string;
  readonly type: ValueType;
  /** The roots it reads, and `feeds.<name>` for feeds; sorted, without duplicates. */
  readonly reads: readonly string[];
  /** Whether the value is known without a scope. */
  readonly constant: boolean;
  /** Throws EvaluationFailure or NotKnown, nothing else. */
  evaluate(scope: Scope): T;
}

/** JSON of a value for journal, report and page: decimals as strings, times ISO 8601, durations in ISO 8601, absent as null. */
export function toJson(value: Value): JsonValue {
  if (value === undefined) return null;
  if (typeof value === 'string' || typeof value === 'boolean') return value;
  if (Decimal.isDecimal(value)) return formatDecimal(value as Decimal);
  if (value instanceof Duration) return durationText(value);
  if (value instanceof Time) return formatTime(value);
  if (Array.isArray(value)) return value.map(toJson);
  if (value instanceof Map) return Object.fromEntries([...value].map(([key, each]) => [key, toJson(each)]));
  const record = value as RecordValue & { toJSON?: unknown };
  if (typeof record.toJSON === 'function') return (record.toJSON as () => JsonValue)();
  return mapFields(record as RecordValue, toJson);
}
export type JsonValue = null | boolean | string | number | readonly JsonValue[] | { readonly [key: string]: JsonValue };

/** `2026-01-05T08:00:00.000Z`; six fractional digits if the microseconds are not zero. */
export function formatTime(time: Time): string {
  return formatMicros(time.us);
}

/** `4h`, `1h30m`, `250ms`: the language's own spelling. */
export function durationText(duration: Duration): string {
  return duration.ms === 0 ? '0s' : writeDuration(duration.ms);
}

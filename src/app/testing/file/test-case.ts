/**
 * The content of a test file: cases, their venue rules, crashes and expectations, each with its position in the file, so that a
 * failure can name the line. Data only; other files read, run and judge it.
 */
import type { Decimal, DecimalString } from '../../../base/decimal.ts';
import type { SourceText, Span } from '../../../base/diagnostic.ts';
import type { SimulatorConfig } from '../../../gateway/simulator/config/config.ts';
import type { ScalarNode } from '../../../runbook/document/nodes.ts';
import type { EndpointName } from '../../../venue/catalogue.ts';

export interface TestFile {
  readonly source: SourceText;
  /** Name of the runbook: NAME.yaml beside the test file. */
  readonly runbook: string;
  readonly cases: readonly TestCase[];
}

export interface TestCase {
  readonly name: string;
  readonly span: Span;
  /** By name, in the form of `--input`. */
  readonly inputs: Readonly<Record<string, { readonly text: string; readonly span: Span; readonly keySpan: Span }>>;
  /** Epoch ms at which the run starts. */
  readonly clock: number;
  readonly seed: number;
  readonly simulator: SimulatorConfig;
  /** Answers requests that match no rule. */
  readonly venueDefault: 'simulated' | 'none';
  readonly rules: readonly VenueRule[];
  /** Fields that replace those of the simulated venue's account record. */
  readonly account: Readonly<Record<string, unknown>> | undefined;
  readonly feeds: Readonly<Record<string, FeedScript & { readonly keySpan: Span }>>;
  /** By step id or path; `*` for every other step. */
  readonly approvals: Readonly<Record<string, ApprovalScript & { readonly keySpan: Span }>>;
  readonly crashes: readonly Crash[];
  /** Texts of expressions that must hold at every instant: those of the file, then its own. */
  readonly always: readonly ScalarNode[];
  readonly expect: Expectations;
}

/** A request in a test: an endpoint, for POST /orders optionally with the type of the order. */
export interface RequestPattern {
  readonly endpoint: EndpointName;
  readonly type: string | undefined;
}

/** Counted from 1, inclusive at both ends. */
export interface CallRange {
  readonly first: number;
  readonly last: number;
}

export interface VenueRule {
  readonly on: RequestPattern;
  /** Required parameters: a decimal is compared by value, anything else as text. */
  readonly match: Readonly<Record<string, string>>;
  /** Range among the matching requests; undefined for all. */
  readonly call: CallRange | undefined;
  readonly reply: Reply | undefined;
  readonly http: number | undefined;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly error: string | undefined;
  readonly lost: 'before' | 'after' | undefined;
  readonly delayMs: number;
  /** The body to send instead; an empty text sends the real one cut off. */
  readonly malformed: string | undefined;
  /** By which fraction what rests of the run fills, as the request is sent or just before it is answered. */
  readonly fills: { readonly before?: DecimalString; readonly after?: DecimalString } | undefined;
  /** The price of each market from the request on. */
  readonly jump: Readonly<Record<string, DecimalString>>;
  readonly span: Span;
}

/** The reply of a rule: records to be completed, or a verbatim result. */
export type Reply =
  | { readonly kind: 'records'; readonly records: readonly Readonly<Record<string, unknown>>[] }
  | { readonly kind: 'result'; readonly result: unknown };

/** One script for all markets, or one for each. */
export type FeedScript =
  | { readonly kind: 'points'; readonly points: readonly FeedPoint[] }
  | { readonly kind: 'markets'; readonly markets: Readonly<Record<string, readonly FeedPoint[]>> };

export interface FeedPoint {
  /** Start of validity, ms since the start of the run. */
  readonly afterMs: number;
  /** Undefined: the feed cannot be read. */
  readonly value: string | undefined;
  /** Age of the value when it is read, ms. */
  readonly ageMs: number;
}

export interface ApprovalScript {
  readonly answer: 'approve' | 'reject';
  /** Delay of the answer, ms. */
  readonly afterMs: number;
}

export interface Crash {
  readonly when: 'before' | 'after';
  readonly on: RequestPattern;
  readonly call: number;
  /** Whether the answer was journaled before the process died. */
  readonly answer: 'lost' | 'kept';
  /** How long no process runs, ms. */
  readonly downMs: number;
}

/** An expectation with its position. */
export interface Expected<T> {
  readonly value: T;
  readonly span: Span;
}

/** A request of a sequence, with the number of repetitions in a row. */
export interface RequestRun {
  readonly pattern: RequestPattern;
  readonly times: number;
  readonly text: string;
}

/** How often a request is sent. */
interface RequestCount {
  readonly pattern: RequestPattern;
  readonly count: number;
  readonly text: string;
}

/** A word of a sequence; `many` for one or more in a row. */
export interface WordRun {
  readonly word: string;
  readonly many: boolean;
}

export interface Bound<T> {
  readonly operator: '<' | '<=' | '>' | '>=' | '=';
  readonly value: T;
  readonly text: string;
}

export type Plain = null | boolean | string | readonly Plain[] | { readonly [key: string]: Plain };

/** Sums over the markets of the run, quote currency. */
export const MONEY_SUMS = ['realized', 'unrealized', 'fees', 'net', 'slippage'] as const;
export type MoneySum = (typeof MONEY_SUMS)[number];

export interface Expectations extends Readonly<Partial<Record<MoneySum, Expected<readonly Bound<Decimal>[]>>>> {
  /** That the run holds to what must hold of every run. */
  readonly sound?: Expected<string>;
  readonly outcome?: Expected<string>;
  readonly reason?: Expected<string>;
  readonly error?: Expected<{ readonly kind?: string; readonly message?: string; readonly step?: string }>;
  readonly steps?: Expected<readonly WordRun[]>;
  readonly requests?: Expected<readonly RequestRun[]>;
  readonly requestsExactly?: readonly Expected<RequestCount>[];
  readonly atLeast?: readonly Expected<RequestCount>[];
  readonly never?: readonly Expected<{ readonly pattern: RequestPattern; readonly text: string }>[];
  readonly outputs?: readonly Expected<{ readonly name: string; readonly value: Plain }>[];
  readonly orders?: readonly Expected<Readonly<Record<string, string>>>[];
  readonly notified?: readonly Expected<{ readonly to?: string; readonly text: string }>[];
  readonly elapsed?: Expected<readonly Bound<number>[]>;
  readonly tokens?: Expected<readonly Bound<number>[]>;
  readonly deadman?: Expected<readonly WordRun[]>;
  /** Net size by market, base currency. */
  readonly position?: readonly Expected<{ readonly market: string; readonly bounds: readonly Bound<Decimal>[] }>[];
}

/** Whether a request matches a pattern. */
export function isMeant(pattern: RequestPattern, name: string, type: string | undefined): boolean {
  return pattern.endpoint === name && (pattern.type === undefined || pattern.type === type);
}

/** Whether a value fits every bound; `compare` gives its order to the value of a bound: below 0, 0, or above. */
export function fitsBounds<T>(bounds: readonly Bound<T>[], compare: (bound: T) => number): boolean {
  return bounds.every(({ operator, value }) => {
    const order = compare(value);
    return { '<': order < 0, '<=': order <= 0, '>': order > 0, '>=': order >= 0, '=': order === 0 }[operator];
  });
}

export function formatBounds<T>(bounds: readonly Bound<T>[]): string {
  return bounds.map(({ text }) => text).join(', ');
}

export function isInRange(range: CallRange | undefined, call: number): boolean {
  return range === undefined || (call >= range.first && call <= range.last);
}

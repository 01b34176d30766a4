/**
 * What a test file holds once it has been read: cases, their venue rules, crashes and expectations, each part with its
 * place in the file, so that a failure can name the line. Data alone; reading, running and judging are elsewhere.
 */
import type { SourceText, Span } from '../../../base/diagnostic.ts';
import type { SimulatorConfig } from '../../../gateway/simulator/config/config.ts';
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
  /** By name, as `--input` would have it. */
  readonly inputs: Readonly<Record<string, { readonly text: string; readonly span: Span; readonly keySpan: Span }>>;
  /** Epoch ms at which the run starts. */
  readonly clock: number;
  readonly seed: number;
  readonly simulator: SimulatorConfig;
  /** What answers a request that no rule answers. */
  readonly venueDefault: 'simulated' | 'none';
  readonly rules: readonly VenueRule[];
  /** Laid over the account record that the simulated venue gives. */
  readonly account: Readonly<Record<string, unknown>> | undefined;
  readonly feeds: Readonly<Record<string, FeedScript>>;
  /** By step id or path; `*` for every other step. */
  readonly approvals: Readonly<Record<string, ApprovalScript>>;
  readonly crashes: readonly Crash[];
  readonly expect: Expectations;
}

/** A request as a test names it: an endpoint, and for POST /orders perhaps the type of the order. */
export interface RequestPattern {
  readonly endpoint: EndpointName;
  readonly type: string | undefined;
}

/** Counted from 1, both ends belong to it. */
export interface CallRange {
  readonly first: number;
  readonly last: number;
}

export interface VenueRule {
  readonly on: RequestPattern;
  /** Parameters that must be there: a decimal by its value, anything else by its text. */
  readonly match: Readonly<Record<string, string>>;
  /** Which of the requests that match; undefined for all. */
  readonly call: CallRange | undefined;
  readonly reply: Reply | undefined;
  readonly http: number | undefined;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly error: string | undefined;
  readonly lost: 'before' | 'after' | undefined;
  readonly delayMs: number;
  /** The body that is sent instead; empty text: the true one without its end. */
  readonly malformed: string | undefined;
  readonly span: Span;
}

/** What a rule answers: records to be completed, or a result that is what it is. */
export type Reply =
  | { readonly kind: 'records'; readonly records: readonly Readonly<Record<string, unknown>>[] }
  | { readonly kind: 'result'; readonly result: unknown };

/** One script for all markets, or one for each. */
export type FeedScript =
  | { readonly kind: 'points'; readonly points: readonly FeedPoint[] }
  | { readonly kind: 'markets'; readonly markets: Readonly<Record<string, readonly FeedPoint[]>> };

export interface FeedPoint {
  /** Milliseconds since the start from which it holds. */
  readonly afterMs: number;
  /** Undefined: the feed cannot be read. */
  readonly value: string | undefined;
  /** How old the value is when it is read. */
  readonly ageMs: number;
}

export interface ApprovalScript {
  readonly answer: 'approve' | 'reject';
  /** How long after it was asked. */
  readonly afterMs: number;
}

export interface Crash {
  readonly when: 'before' | 'after';
  readonly on: RequestPattern;
  readonly call: number;
  /** Whether the answer was written down before the process died. */
  readonly answer: 'lost' | 'kept';
  /** How long nobody runs. */
  readonly downMs: number;
}

/** An expectation with the place it stands at. */
export interface Expected<T> {
  readonly value: T;
  readonly span: Span;
}

/** A request of a sequence, so many times in a row. */
export interface RequestRun {
  readonly pattern: RequestPattern;
  readonly times: number;
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

export interface Expectations {
  readonly outcome?: Expected<string>;
  readonly reason?: Expected<string>;
  readonly error?: Expected<{ readonly kind?: string; readonly message?: string; readonly step?: string }>;
  readonly steps?: Expected<readonly WordRun[]>;
  readonly requests?: Expected<readonly RequestRun[]>;
  readonly requestsExactly?: readonly Expected<{
    readonly pattern: RequestPattern;
    readonly count: number;
    readonly text: string;
  }>[];
  readonly atLeast?: readonly Expected<{
    readonly pattern: RequestPattern;
    readonly count: number;
    readonly text: string;
  }>[];
  readonly never?: readonly Expected<{ readonly pattern: RequestPattern; readonly text: string }>[];
  readonly outputs?: readonly Expected<{ readonly name: string; readonly value: Plain }>[];
  readonly orders?: readonly Expected<Readonly<Record<string, string>>>[];
  readonly notified?: readonly Expected<{ readonly to?: string; readonly text: string }>[];
  readonly elapsed?: Expected<readonly Bound<number>[]>;
  readonly tokens?: Expected<readonly Bound<number>[]>;
  readonly deadman?: Expected<readonly WordRun[]>;
}

/** Whether a request is one that a test speaks of. */
export function isMeant(pattern: RequestPattern, name: string, type: string | undefined): boolean {
  return pattern.endpoint === name && (pattern.type === undefined || pattern.type === type);
}

export function inRange(range: CallRange | undefined, call: number): boolean {
  return range === undefined || (call >= range.first && call <= range.last);
}

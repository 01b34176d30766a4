/**
 * The columns of the step table. A row says everything about a step: what an author writes, what its id names, the requests it
 * makes with their parameters, the reads that follow until it is done, and its words. A run evaluates the parameters with values,
 * a plan with placeholders where a value is not known yet. Requests that belong to no step are planned beside the table: those of
 * the deadman block, the reading at the start of a run, those of a resume, the cancels of a default `undo`, and the readings before
 * an order where the switch may have fired.
 */
import type { Decimal, DecimalString } from '../../base/decimal.ts';
import type { EndpointName, WireParams } from '../../venue/catalogue.ts';
import type { OrderDraft, OrderRef } from '../../venue/order/requests.ts';
import type { CallClass } from '../../venue/port.ts';
import type { AwaitTarget, StepName, StepOf } from '../checked.ts';
import type { Fields, Shape } from '../shapes.ts';
import type { Duration, Expr, Time, Value, ValueType } from '../values.ts';

export const MODIFIER_NAMES = [
  'id',
  'if',
  'retry',
  'timeout',
  'catch',
  'on_timeout',
  'undo',
  'await',
  'allow',
  'because',
  'note',
] as const;
export type Modifier = (typeof MODIFIER_NAMES)[number];

/** The values of a step's arguments in the form of the wire. `U` stands for a value that is not known yet; a run has none. */
export interface Values<U = never> {
  decimal(expr: Expr<Decimal>): DecimalString | U;
  /** A whole number. */
  whole(expr: Expr<Decimal>): number | U;
  text(expr: Expr<string>): string | U;
  /** ms */
  duration(expr: Expr<Duration>): number | U;
  /** µs since the epoch */
  time(expr: Expr<Time>): number | U;
  /** The order that an argument names. */
  order(expr: Expr): OrderRef<U>;
  /** The venue's id of the order that an argument names; a text is taken as an id. */
  orderId(expr: Expr): string | U;
  /** The order that this request is about, where a step makes one for each order of a market, or of a list. */
  each(market: Expr<string> | undefined, list?: Expr<readonly Value[]>): OrderRef<U>;
  /** The order that the step itself has placed; `leg` distinguishes several. */
  placed(leg: string): OrderRef<U>;
  /** Start of a reading that has to find an order, µs. */
  since(): number | U;
  /** A figure that the step itself works out while it runs; a plan names it by these words. */
  later(what: string): DecimalString | U;
  /** Number of the page that is read, from 0. */
  page(): number | U;
}

/** How often a request is made when nothing fails; `max` is Infinity where nothing bounds it. */
export interface Times {
  readonly min: number;
  readonly max: number;
  /** In words, where it is not simply once: `for each order of the list`. */
  readonly words?: string;
  /** Why it may not be made at all. */
  readonly when?: string;
}

/** What the count of a request may depend on. */
export interface Counts {
  /** Items of a list; undefined where only the run will know. */
  items(expr: Expr<readonly Value[]>): number | undefined;
  /** ms; undefined where only the run will know. */
  duration(expr: Expr<Duration> | undefined): number | undefined;
  /** The most orders that the run can have placed before this step. */
  readonly placed: number;
  /** Whether another step of the run places stops. */
  readonly stopsElsewhere: boolean;
  /** After this long "not found" proves an order absent, ms (profile: ambiguity.window). */
  readonly absenceHorizonMs: number;
  /** How long the fills of an order are read at most until they agree with its record, ms (profile: fills.window). */
  readonly fillsWindowMs: number;
}

/** A stop by what the parameters of its request are. */
export interface PlacedStop {
  readonly type: 'stop_loss' | 'stop_limit' | 'stop_market';
  readonly hasPrice: boolean;
}

/** One request of a step. */
export interface CallRow<V extends StepName = StepName, E extends EndpointName = EndpointName> {
  readonly endpoint: E;
  readonly class: CallClass;
  /** Whether the step makes it, by what its author wrote; absent: it does. */
  readonly applies?: (step: StepOf<V>) => boolean;
  /** It places a stop of another step again: it is made only in a runbook in which one places such a stop. */
  readonly ofStops?: PlacedStop;
  readonly params: <U>(args: StepOf<V>['args'], values: Values<U>) => WireParams<E, U>;
  /** Absent: once. */
  readonly times?: (step: StepOf<V>, counts: Counts) => Times;
  /** Why it may not be made, where that depends on the venue. */
  readonly when?: string;
  /** For POST /orders: the order and its leg. */
  readonly draft?: <U>(args: StepOf<V>['args'], values: Values<U>) => OrderDraft<U>;
  readonly leg?: string;
  /** Pause between two of these reads, ms, where they are repeated until something is so. */
  readonly everyMs?: number;
  /** Whether these reads go on for as long as the step waits for the market; others take a moment. */
  readonly waits?: (step: StepOf<V>) => boolean;
  /** Whether these reads are the step's own: no other wait in the market is served by them. */
  readonly alone?: true;
  /** How often it is sent at most while it gets no answer; absent: once. */
  readonly sends?: (step: StepOf<V>) => number;
}

/** The requests of a step, in sequence, typed by the step and by each endpoint. */
export function call<V extends StepName, E extends EndpointName>(
  _step: V,
  endpoint: E,
  row: Omit<CallRow<V, E>, 'endpoint'>,
): CallRow<V, E> {
  return { endpoint, ...row };
}

export interface StepRow {
  readonly group: 'venue' | 'control';
  readonly summary: string;
  /** The shape of the value after the step's name. */
  readonly takes: Shape;
  /** Keys of the step beside its name: `do` and `else` of `if`; absent: none. */
  readonly beside?: Fields;
  /** The requests of one attempt, in sequence; absent: none. */
  readonly calls?: readonly AnyCall[];
  /** The reads that follow the calls until the step is done; absent: none. */
  readonly confirms?: readonly AnyCall[];
  /** The requests that follow only where an answer is lost or an order is not confirmed in time; absent: none. */
  readonly otherwise?: readonly AnyCall[];
  /** Its requests overlap for as long as it lasts: their rates add up. */
  readonly overlaps?: true;
  /** It reads the feeds of its arguments itself: one that is stale does not keep it from beginning. */
  readonly readsFeeds?: true;
  /** Class of the default retry (language.md, decision 9). */
  readonly retry: 'read' | 'write' | 'none';
  /** `reduces`: allowed in `finally` and `undo`; `inner`: as its inner steps; `none`: does not change exposure. */
  readonly risk: 'increases' | 'reduces' | 'none' | 'inner';
  /** The type of the step's id: a type, `nothing`, or `computed` from the step itself (see `yieldsDoc`). */
  readonly yields: ValueType | 'nothing' | 'computed';
  readonly yieldsDoc: string;
  readonly modifiers: readonly Modifier[];
  readonly await?: { readonly allowed: readonly AwaitTarget[]; readonly default?: AwaitTarget };
  /** The words that `undo` takes besides a list of steps, and what holds where the author says nothing. */
  readonly undo?: { readonly words: readonly ('cancel' | 'keep')[]; readonly default: 'cancel' | 'keep' };
  /** The argument that shows a reader what it is about: in the chart, the timeline and the page; absent: none does. */
  readonly say?: (args: never) => string;
}

/** A call of any step, for code that walks the table; `bindCalls` binds it to its step. */
export type AnyCall = Omit<CallRow, 'applies' | 'params' | 'times' | 'draft' | 'waits' | 'sends'> & {
  readonly applies?: (step: never) => boolean;
  readonly params: (args: never, values: never) => object;
  readonly times?: (step: never, counts: Counts) => Times;
  readonly draft?: (args: never, values: never) => OrderDraft<unknown>;
  readonly waits?: (step: never) => boolean;
  readonly sends?: (step: never) => number;
};

export const EVERY_STEP = ['id', 'if', 'timeout', 'catch', 'on_timeout', 'because', 'note'] as const;
/** Of the step whose name is itself the modifier `if`. */
export const BLOCK = ['id', 'timeout', 'catch', 'on_timeout', 'because', 'note'] as const;
export const READ = [...EVERY_STEP, 'retry'] as const;
export const WRITE = [...READ, 'undo'] as const;
export const PLAIN = ['id', 'if', 'because', 'note'] as const;
/** What holds for a step that only reads. */
export const READING = { group: 'venue', retry: 'read', risk: 'none', modifiers: READ } as const;

/** Reads an argument that may be left out. */
export function given<T, R>(expr: T | undefined, read: (expr: T) => R): R | undefined {
  return expr === undefined ? undefined : read(expr);
}

/**
 * The arithmetic of bounds: how much a part of a runbook asks for at least and at most, and which decisions lead to the most.
 * Parts that follow each other add up, of alternatives one is taken, repetitions multiply, branches run at the same time.
 */
import { Decimal } from '../../../base/decimal.ts';
import type { EndpointName } from '../../../venue/catalogue.ts';
import {
  choosePaces,
  joinPaces,
  makePace,
  type Pace,
  repeatPace,
  type Segment,
  type Steady,
  sequencePaces,
} from './pace.ts';

/** A request that the profile declares, as the journal names it. */
export type DeclaredName = `request ${string}`;

/** `max` is Infinity where nothing bounds it. */
export interface Range {
  readonly min: Decimal;
  readonly max: Decimal;
  /** The decisions on the path that attains `max`: conditions, cases, failures. */
  readonly path: readonly string[];
}

/** What is counted: requests by endpoint, readings by feed, orders, their notional (quote currency), the same by market and side, ms. */
export type Figure =
  | `requests ${EndpointName | DeclaredName}`
  | `feed ${string}`
  /** Items that are added to a list variable. */
  | `list ${string}`
  | 'orders'
  | 'writes'
  | 'notional'
  /** Orders whose notional the market may raise above that of their own price. */
  | 'open notionals'
  /** Of `notional`, that of exits, which pass the caps where they are proven to reduce. */
  | 'reducing'
  /** Notional of the orders that an approved plan holds a run to: an exit counts as far as it could open. */
  | 'opening'
  /** Of `notional`, that of amends, which pass the cap of the run where they only follow the market. */
  | 'following'
  | `long ${string}`
  | `short ${string}`
  | 'duration';

export interface Load extends Pace {
  readonly figures: ReadonlyMap<Figure, Range>;
}

const ZERO = new Decimal(0);
const NONE: Range = { min: ZERO, max: ZERO, path: [] };
export const UNBOUNDED = new Decimal(Number.POSITIVE_INFINITY);
export const EMPTY: Load = { figures: new Map(), ...makePace() };
/** More decisions than this would not help a reader. */
const LONGEST_PATH = 12;

export function getRange({ figures }: Load, figure: Figure): Range {
  return figures.get(figure) ?? NONE;
}

export function makeLoad(
  figures: Readonly<Partial<Record<Figure, Partial<Range>>>>,
  segment?: Segment,
  steady?: Steady,
): Load {
  const entries = Object.entries(figures).map(([name, range]) => [name as Figure, { ...NONE, ...range }] as const);
  return { figures: new Map(entries), ...makePace(segment, steady) };
}

/** Parts that follow each other. */
export function sequence(all: readonly Load[]): Load {
  const parts = all.filter((part) => part !== EMPTY);
  const [only = EMPTY] = parts;
  if (parts.length <= 1) return only;
  const figures = new Map<Figure, Range>();
  for (const part of parts)
    for (const [figure, range] of part.figures) {
      const sum = figures.get(figure);
      figures.set(figure, sum === undefined ? range : addRanges(sum, range));
    }
  return { figures, ...sequencePaces(parts) };
}

export interface Alternative {
  readonly load: Load;
  /** The decision that leads here. */
  readonly when?: string | undefined;
}

/** Parts of which one is taken. */
export function choose(alternatives: readonly Alternative[]): Load {
  if (alternatives.length === 0) return EMPTY;
  const labelled = alternatives.map(({ load, when }) =>
    when === undefined ? load : mapFigures(load, (range) => ({ ...range, path: [when, ...range.path] })),
  );
  return {
    figures: combine(labelled, (ranges) => {
      const most = ranges.reduce((best, range) => (range.max.gt(best.max) ? range : best));
      return { ...most, min: ranges.reduce((least, { min }) => Decimal.min(least, min), most.min) };
    }),
    ...choosePaces(alternatives.map(({ load }) => load)),
  };
}

/** A part that may be left out. */
export function maybe(load: Load, when: string): Load {
  return choose([{ load: EMPTY }, { load, when }]);
}

/** A part that is repeated; each repetition takes at least `everyMs`. */
export function repeat(load: Load, times: { readonly min: number; readonly max: number }, everyMs = 0): Load {
  return {
    figures: mapFigures(load, (range) => multiply(range, times)).figures,
    ...repeatPace(load, times, everyMs),
  };
}

/** Parts that run at the same time. */
export function together(parts: readonly Load[]): Load {
  return { figures: sequence(parts).figures, ...joinPaces(parts) };
}

/** The same that may end early: it spends as much, in any time from `leastMs`. */
export function endAnyTime(load: Load, leastMs = 0): Load {
  const [first, ...rest] = load.segments.map((segment) => ({ ...segment, minMs: 0 }));
  return { ...load, leastMs, segments: first === undefined ? [] : [{ ...first, minMs: leastMs }, ...rest] };
}

function combine(parts: readonly Load[], of: (ranges: readonly Range[]) => Range): ReadonlyMap<Figure, Range> {
  const names = new Set(parts.flatMap(({ figures }) => [...figures.keys()]));
  return new Map([...names].map((name) => [name, of(parts.map((part) => getRange(part, name)))]));
}

function mapFigures(load: Load, change: (range: Range) => Range): Load {
  return { ...load, figures: new Map([...load.figures].map(([name, range]) => [name, change(range)])) };
}

function multiply({ min, max, path }: Range, times: { readonly min: number; readonly max: number }): Range {
  const product = (one: Decimal, other: number) => (one.isZero() || other === 0 ? ZERO : one.times(other));
  return { min: product(min, times.min), max: product(max, times.max), path };
}

function addRanges(one: Range, other: Range): Range {
  return {
    min: other.min.isZero() ? one.min : one.min.plus(other.min),
    max: other.max.isZero() ? one.max : one.max.plus(other.max),
    path: joinPaths(one, other),
  };
}

function joinPaths(...ranges: readonly Range[]): readonly string[] {
  const decisive = ranges.filter(({ path, max }) => path.length > 0 && max.gt(0));
  if (decisive.length === 0) return [];
  return [...new Set(decisive.flatMap(({ path }) => path))].slice(0, LONGEST_PATH);
}

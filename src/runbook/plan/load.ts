/**
 * The arithmetic of bounds: how much a part of a runbook asks for at least and at most, and which decisions lead to the most.
 * Parts that follow each other add up, of alternatives one is taken, repetitions multiply, branches run at the same time.
 */
import { Decimal } from '../../base/decimal.ts';
import type { EndpointName } from '../../venue/catalogue.ts';

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

/** A part of a run for the rate: tokens that it spends however short it is, and what more it spends while it takes longer. */
export interface Segment {
  readonly tokens: number;
  /** Of `tokens`, those that a loop around does not count as its rate: reads that confirm, and rounds of a loop with a pace of its own. */
  readonly apart?: number;
  /** The shortest time it takes, ms. */
  readonly minMs: number;
  /** Tokens per ms of longer duration: the reads of a wait. */
  readonly rate: number;
  /** Of `rate`: reads of orders in this market, which all waits in the market share. */
  readonly market?: string;
}

/**
 * Tokens of a minute that the most expensive wait or loop spends for as long as it lasts. Steps that run once are not in it: the
 * token ledger spreads them over time.
 */
export interface Steady {
  readonly own: number;
  /** Reads of orders by market, which all waits in the market share. Without a known market each counts. */
  readonly polls: ReadonlyMap<string, number>;
}

export interface Load {
  readonly figures: ReadonlyMap<Figure, Range>;
  readonly segments: readonly Segment[];
  /** The shortest time that all of it takes, ms: less than its segments where some of them may be left out. */
  readonly leastMs: number;
  readonly steady: Steady;
}

const ZERO = new Decimal(0);
const NONE: Range = { min: ZERO, max: ZERO, path: [] };
export const UNBOUNDED = new Decimal(Number.POSITIVE_INFINITY);
const IDLE: Steady = { own: 0, polls: new Map() };
export const EMPTY: Load = { figures: new Map(), segments: [], leastMs: 0, steady: IDLE };
export const WINDOW_MS = 60_000;
/** More decisions than this would not help a reader. */
const LONGEST_PATH = 12;
/** More segments are merged: a sum is never less than what it sums up. */
const MOST_SEGMENTS = 4000;

export function getRange({ figures }: Load, figure: Figure): Range {
  return figures.get(figure) ?? NONE;
}

export function makeLoad(
  figures: Readonly<Partial<Record<Figure, Partial<Range>>>>,
  segment?: Segment,
  steady: Steady = IDLE,
): Load {
  const entries = Object.entries(figures).map(([name, range]) => [name as Figure, { ...NONE, ...range }] as const);
  const segments = segment === undefined ? [] : [segment];
  return { figures: new Map(entries), segments, leastMs: segment?.minMs ?? 0, steady };
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
  return {
    figures,
    segments: limitSegments(parts.flatMap(({ segments }) => segments)),
    leastMs: parts.reduce((sum, { leastMs }) => sum + leastMs, 0),
    steady: pickHighest(parts.map(({ steady }) => steady)),
  };
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
    segments: [mergeAlternatives(alternatives.map(({ load }) => load))],
    leastMs: Math.min(...alternatives.map(({ load }) => load.leastMs)),
    steady: pickHighest(alternatives.map(({ load }) => load.steady)),
  };
}

/** A part that may be left out. */
export function maybe(load: Load, when: string): Load {
  return choose([{ load: EMPTY }, { load, when }]);
}

/** A part that is repeated; each repetition takes at least `everyMs`. */
export function repeat(load: Load, times: { readonly min: number; readonly max: number }, everyMs = 0): Load {
  const roundMs = Math.max(everyMs, load.leastMs);
  // A window of a minute sees no more rounds than this.
  const seen = roundMs > 0 ? Math.ceil(WINDOW_MS / roundMs) + 1 : Number.POSITIVE_INFINITY;
  const rounds = Math.min(times.max, seen);
  const pause = everyMs > load.leastMs ? [{ tokens: 0, minMs: everyMs - load.leastMs, rate: 0 }] : [];
  const round = [...load.segments, ...pause];
  const apart = roundMs > 0 ? setApart(round) : round;
  return {
    figures: mapFigures(load, (range) => multiply(range, times)).figures,
    segments:
      rounds * round.length <= MOST_SEGMENTS
        ? Array.from({ length: rounds }, () => apart).flat()
        : [mergeRounds(apart, rounds)],
    // No pause follows the last round.
    leastMs: times.min === 0 ? 0 : (times.min - 1) * roundMs + load.leastMs,
    steady: repeatSteadily(load, times.max, roundMs),
  };
}

/** Parts that run at the same time. */
export function together(parts: readonly Load[]): Load {
  const tokens = parts.reduce((sum, part) => sum + countWindowTokens(part.segments, { polls: false }), 0);
  const segments: Segment = {
    tokens,
    apart: subtract(
      tokens,
      parts.reduce((sum, part) => sum + sumCalls(part.segments), 0),
    ),
    minMs: Math.max(0, ...parts.map(({ leastMs }) => leastMs)),
    rate: combineRates(parts.map((part) => part.segments)),
  };
  return {
    figures: sequence(parts).figures,
    segments: parts.length === 0 ? [] : [segments],
    leastMs: segments.minMs,
    steady: addSteadily(parts.map(({ steady }) => steady)),
  };
}

/** The most tokens in any window of a minute. */
export function countWindowTokens(segments: readonly Segment[], { polls = true } = {}): number {
  if (segments.some(({ tokens, rate }) => !Number.isFinite(tokens + rate))) return Number.POSITIVE_INFINITY;
  let most = 0;
  let from = 0;
  let tokens = 0;
  let inside = 0;
  // The segments of the window that have a higher rate than all after them: the first has the highest.
  const steepest: { readonly at: number; readonly rate: number }[] = [];
  for (const [to, segment] of segments.entries()) {
    tokens += segment.tokens;
    // The first and the last segment may lie in the window with one instant only.
    if (to > from) inside += segments[to - 1]?.minMs ?? 0;
    while (from < to && inside - (segments[from]?.minMs ?? 0) >= WINDOW_MS) {
      tokens -= segments[from]?.tokens ?? 0;
      inside -= segments[from]?.minMs ?? 0;
      from += 1;
    }
    const spare = Math.max(0, WINDOW_MS - Math.max(0, inside - (segments[from]?.minMs ?? 0)));
    while ((steepest.at(-1)?.rate ?? Number.POSITIVE_INFINITY) <= segment.rate) steepest.pop();
    steepest.push({ at: to, rate: segment.rate });
    while ((steepest[0]?.at ?? from) < from) steepest.shift();
    most = Math.max(most, tokens + (polls ? spare * (steepest[0]?.rate ?? 0) : 0));
  }
  return most;
}

export function sumSteady({ own, polls }: Steady): number {
  return [...polls.values()].reduce((sum, each) => sum + each, own);
}

function pickHighest(all: readonly Steady[]): Steady {
  return all.reduce((best, each) => (sumSteady(each) > sumSteady(best) ? each : best), IDLE);
}

/** What parts spend that run at the same time. */
function addSteadily(all: readonly Steady[]): Steady {
  const polls = new Map<string, number>();
  let own = 0;
  for (const each of all) {
    own += each.own;
    for (const [market, tokens] of each.polls)
      if (market === '') own += tokens;
      else polls.set(market, Math.max(polls.get(market) ?? 0, tokens));
  }
  return { own, polls };
}

/** What a loop spends: its body in a minute of rounds, or a wait inside it if that is more. */
function repeatSteadily({ segments, steady }: Load, most: number, roundMs: number): Steady {
  const tokens = sumCalls(segments);
  if (tokens === 0) return steady;
  // Without a pause the loop is as fast as the network.
  const rounds = roundMs > 0 ? Math.min(WINDOW_MS / roundMs, most) : Number.isFinite(most) ? 0 : most;
  return pickHighest([steady, { own: rounds * tokens, polls: new Map() }]);
}

/** Rounds that take their time: the rate of a loop around them is that of its own calls. */
function setApart(round: readonly Segment[]): readonly Segment[] {
  return round.map((segment) => ({ ...segment, apart: segment.tokens }));
}

function sumCalls(segments: readonly Segment[]): number {
  return segments.reduce((sum, { tokens, apart = 0 }) => sum + subtract(tokens, apart), 0);
}
function sumTokens(segments: readonly Segment[]): number {
  return segments.reduce((sum, { tokens }) => sum + tokens, 0);
}
/** The same that may end early: it spends as much, in any time from `leastMs`. */
export function endAnyTime(load: Load, leastMs = 0): Load {
  const [first, ...rest] = load.segments.map((segment) => ({ ...segment, minMs: 0 }));
  return { ...load, leastMs, segments: first === undefined ? [] : [{ ...first, minMs: leastMs }, ...rest] };
}

/** Waits at the same time each read on their own, but all waits in one market share their reads. */
function combineRates(parts: readonly (readonly Segment[])[]): number {
  const shared = new Map<string, number>();
  let own = 0;
  for (const segments of parts) {
    const ofPart = segments.reduce<Segment | undefined>(
      (best, each) => (best === undefined || each.rate > best.rate ? each : best),
      undefined,
    );
    if (ofPart === undefined) continue;
    if (ofPart.market === undefined) own += ofPart.rate;
    else shared.set(ofPart.market, Math.max(shared.get(ofPart.market) ?? 0, ofPart.rate));
  }
  return own + [...shared.values()].reduce((sum, rate) => sum + rate, 0);
}

function mergeAlternatives(all: readonly Load[]): Segment {
  const tokens = Math.max(0, ...all.map(({ segments }) => countWindowTokens(segments, { polls: false })));
  return {
    tokens,
    apart: subtract(tokens, Math.max(0, ...all.map(({ segments }) => sumCalls(segments)))),
    minMs: Math.min(...all.map(({ leastMs }) => leastMs)),
    rate: Math.max(0, ...all.flatMap(({ segments }) => segments.map(({ rate }) => rate))),
  };
}

function mergeRounds(round: readonly Segment[], rounds: number): Segment {
  return {
    tokens: multiplyCount(rounds, sumTokens(round)),
    apart: multiplyCount(rounds, subtract(sumTokens(round), sumCalls(round))),
    minMs: 0,
    rate: Math.max(0, ...round.map(({ rate }) => rate)),
  };
}

/** What is left of a count; nothing where both have no bound. */
function subtract(all: number, part: number): number {
  return part >= all ? 0 : all - part;
}

function multiplyCount(one: number, other: number): number {
  return one === 0 || other === 0 ? 0 : one * other;
}

function limitSegments(segments: readonly Segment[]): readonly Segment[] {
  if (segments.length <= MOST_SEGMENTS) return segments;
  const half = MOST_SEGMENTS / 2;
  const rest = segments.slice(half);
  return [
    ...segments.slice(0, half),
    { tokens: sumTokens(rest), minMs: 0, rate: Math.max(...rest.map(({ rate }) => rate)) },
  ];
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

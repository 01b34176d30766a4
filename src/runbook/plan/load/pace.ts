/**
 * The arithmetic of paces: how fast a part of a runbook spends tokens. It gives the most of any minute, and what a wait or a loop spends
 * for as long as it lasts.
 */

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

/** How fast a part spends tokens. */
export interface Pace {
  readonly segments: readonly Segment[];
  /** The shortest time that all of it takes, ms: less than its segments where some of them may be left out. */
  readonly leastMs: number;
  readonly steady: Steady;
}

const NOTHING: Steady = { own: 0, polls: new Map() };
export const WINDOW_MS = 60_000;
/** More segments are merged: a sum is never less than what it sums up. */
const MOST_SEGMENTS = 4000;

export function makePace(segment?: Segment, steady: Steady = NOTHING): Pace {
  return { segments: segment === undefined ? [] : [segment], leastMs: segment?.minMs ?? 0, steady };
}

/** Of parts that follow each other. */
export function sequencePaces(parts: readonly Pace[]): Pace {
  return {
    segments: limitSegments(parts.flatMap(({ segments }) => segments)),
    leastMs: parts.reduce((sum, { leastMs }) => sum + leastMs, 0),
    steady: pickHighest(parts.map(({ steady }) => steady)),
  };
}

/** Of parts of which one is taken. */
export function choosePaces(parts: readonly Pace[]): Pace {
  const tokens = Math.max(0, ...parts.map(({ segments }) => countWindowTokens(segments, { polls: false })));
  const segment = {
    tokens,
    apart: subtract(tokens, Math.max(0, ...parts.map(({ segments }) => sumCalls(segments)))),
    minMs: Math.min(...parts.map(({ leastMs }) => leastMs)),
    rate: Math.max(0, ...parts.flatMap(({ segments }) => segments.map(({ rate }) => rate))),
  };
  return makePace(segment, pickHighest(parts.map(({ steady }) => steady)));
}

/** Of a part that is repeated; each repetition takes at least `everyMs`. */
export function repeatPace(pace: Pace, times: { readonly min: number; readonly max: number }, everyMs: number): Pace {
  const roundMs = Math.max(everyMs, pace.leastMs);
  // A window of a minute sees no more rounds than this.
  const seen = roundMs > 0 ? Math.ceil(WINDOW_MS / roundMs) + 1 : Number.POSITIVE_INFINITY;
  const rounds = Math.min(times.max, seen);
  const pause = everyMs > pace.leastMs ? [{ tokens: 0, minMs: everyMs - pace.leastMs, rate: 0 }] : [];
  const round = [...pace.segments, ...pause];
  const apart = roundMs > 0 ? setApart(round) : round;
  return {
    segments:
      rounds * round.length <= MOST_SEGMENTS
        ? Array.from({ length: rounds }, () => apart).flat()
        : [mergeRounds(apart, rounds)],
    // No pause follows the last round.
    leastMs: times.min === 0 ? 0 : (times.min - 1) * roundMs + pace.leastMs,
    steady: repeatSteadily(pace, times.max, roundMs),
  };
}

/** Of parts that run at the same time. */
export function joinPaces(parts: readonly Pace[]): Pace {
  const tokens = parts.reduce((sum, part) => sum + countWindowTokens(part.segments, { polls: false }), 0);
  const segment = {
    tokens,
    apart: subtract(
      tokens,
      parts.reduce((sum, part) => sum + sumCalls(part.segments), 0),
    ),
    minMs: Math.max(0, ...parts.map(({ leastMs }) => leastMs)),
    rate: combineRates(parts.map((part) => part.segments)),
  };
  return makePace(parts.length === 0 ? undefined : segment, addSteadily(parts.map(({ steady }) => steady)));
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
  return all.reduce((best, each) => (sumSteady(each) > sumSteady(best) ? each : best), NOTHING);
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
function repeatSteadily({ segments, steady }: Pace, most: number, roundMs: number): Steady {
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

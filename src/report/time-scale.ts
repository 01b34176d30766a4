/**
 * Computes positions on a time axis: times to pixels and back, round ticks, and the value of each column of a lane. The HTML
 * report and the review page draw with it; the page runs this file in the browser, so it imports nothing.
 */

interface TimeScale {
  x(at: number): number;
  at(x: number): number;
}

/** Times in ms, `width` in pixels. An empty span counts as 1 ms. */
export function createTimeScale(from: number, until: number, width: number): TimeScale {
  const span = Math.max(until - from, 1);
  return {
    x: (at) => ((at - from) / span) * width,
    at: (x) => from + (x / Math.max(width, 1)) * span,
  };
}

const SECOND = 1000;
const WEEK = 604_800 * SECOND;
const TICKS_MS = [
  1,
  2,
  5,
  10,
  20,
  50,
  100,
  200,
  500,
  ...[1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14_400, 21_600, 43_200, 86_400, 172_800].map(
    (seconds) => seconds * SECOND,
  ),
  WEEK,
];

interface TimeTicks {
  readonly ticks: readonly number[];
  readonly step: number;
  /** Digits after the second that distinguish neighbouring ticks. */
  readonly digits: number;
}

/** Round times between `from` and `until`, ms; about `most` of them at most. */
export function chooseTicks(from: number, until: number, most: number): TimeTicks {
  const span = Math.max(until - from, 1);
  const step = TICKS_MS.find((each) => span / each <= most) ?? Math.ceil(span / most / WEEK) * WEEK;
  const ticks: number[] = [];
  for (let at = Math.ceil(from / step) * step; at <= until; at += step) ticks.push(at);
  return { ticks, step, digits: step >= SECOND ? 0 : step >= 100 ? 1 : step >= 10 ? 2 : 3 };
}

/** The first position in an ascending list whose element is not below `value`. */
export function findLowerBound(list: readonly number[], value: number): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((list[middle] as number) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The element nearest to `value` in an ascending list, as its position; -1 in an empty one. */
export function findNearest(list: readonly number[], value: number): number {
  const after = findLowerBound(list, value);
  if (after === 0) return list.length === 0 ? -1 : 0;
  if (after === list.length) return list.length - 1;
  return value - (list[after - 1] as number) <= (list[after] as number) - value ? after - 1 : after;
}

/** Requests in the order they were sent: time in ms, and cost in tokens. */
interface TokenMarks {
  readonly at: readonly number[];
  readonly tokens: readonly number[];
  /** Where a mark is of several requests: the most tokens within a window that ends with one of them. */
  readonly peak?: readonly number[];
}

/** For each of `columns` equal spans: the most tokens within one window at any time in the span. */
export function computeTokenColumns(
  { at, tokens, peak }: TokenMarks,
  windowMs: number,
  from: number,
  until: number,
  columns: number,
): readonly number[] {
  const span = Math.max(until - from, 1);
  const most = new Array<number>(columns).fill(0);
  let oldest = findLowerBound(at, from - windowMs + 1);
  let next = oldest;
  let inWindow = 0;
  const drain = (time: number) => {
    while (oldest < next && (at[oldest] as number) <= time - windowMs) {
      inWindow -= tokens[oldest] as number;
      oldest += 1;
    }
  };
  /** Adds the requests sent up to `end`; returns the most tokens that were within a window meanwhile. */
  const take = (end: number): number => {
    let highest = 0;
    for (; next < at.length && (at[next] as number) <= end; next += 1) {
      drain(at[next] as number);
      inWindow += tokens[next] as number;
      highest = Math.max(highest, Math.min(inWindow, peak?.[next] ?? inWindow));
    }
    return highest;
  };
  for (let column = 0; column < columns; column += 1) {
    const start = from + (column / columns) * span;
    take(start);
    drain(start);
    const before = Math.min(inWindow, peak?.[next - 1] ?? inWindow);
    most[column] = Math.max(before, take(from + ((column + 1) / columns) * span));
  }
  return most;
}

/** Times of the requests that renew the deadman switch, and the spans in which it was armed; ms. */
interface SilenceMarks {
  readonly heartbeats: readonly number[];
  readonly armed: readonly { readonly from: number; readonly until?: number; readonly timeoutMs: number }[];
}

/**
 * For each of `columns` equal spans: the longest silence towards the venue while the switch was armed, as a share of its
 * time-out. `knownUntil`: the time up to which the run is known, ms.
 */
export function computeSilenceColumns(
  { heartbeats, armed }: SilenceMarks,
  from: number,
  until: number,
  columns: number,
  knownUntil: number,
): readonly number[] {
  const perColumn = Math.max(until - from, 1) / columns;
  const shares = new Array<number>(columns).fill(0);
  for (const stretch of armed) {
    const end = Math.min(stretch.until ?? knownUntil, knownUntil);
    const first = Math.max(0, Math.floor((stretch.from - from) / perColumn));
    const last = Math.min(columns - 1, Math.floor((end - from) / perColumn));
    for (let column = first; column <= last; column += 1) {
      const columnEnd = Math.min(from + (column + 1) * perColumn, end);
      const columnStart = Math.max(from + column * perColumn, stretch.from);
      const before = heartbeats[findLowerBound(heartbeats, columnStart) - 1];
      let silentSince = Math.max(before ?? stretch.from, stretch.from);
      let longest = 0;
      for (let index = findLowerBound(heartbeats, columnStart); index < heartbeats.length; index += 1) {
        const heartbeat = heartbeats[index] as number;
        if (heartbeat > columnEnd) break;
        longest = Math.max(longest, heartbeat - silentSince);
        silentSince = heartbeat;
      }
      longest = Math.max(longest, columnEnd - silentSince);
      shares[column] = Math.max(shares[column] as number, stretch.timeoutMs > 0 ? longest / stretch.timeoutMs : 0);
    }
  }
  return shares;
}

/** `value`, limited to the range from `low` to `high`. */
export function clamp(value: number, low: number, high: number): number {
  return Math.min(Math.max(value, low), high);
}

/** Rounds to a tenth of a pixel: the eye sees nothing finer. */
export function roundToTenth(value: number): number {
  return Math.round(value * 10) / 10;
}

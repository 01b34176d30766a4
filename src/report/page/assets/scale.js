/**
 * Where things are on a drawing. The only place that makes a number of a price, and only to find its place: what comes out of
 * `position` is a pixel's business and never becomes a text again; labels are the texts the journal holds.
 */

/** A price's place on an axis, in no unit at all. NaN for what is no number. */
export function position(priceText) {
  return Number(priceText);
}

/** From times to pixels and back. */
export function timeScale(from, until, width) {
  const span = Math.max(until - from, 1);
  return {
    x: (at) => ((at - from) / span) * width,
    at: (x) => from + (x / Math.max(width, 1)) * span,
    perPixel: span / Math.max(width, 1),
  };
}

const SECOND = 1000;
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
  ...[
    1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14_400, 21_600, 43_200, 86_400, 172_800, 604_800,
  ].map((seconds) => seconds * SECOND),
];

/** Round times between two, at most `most` of them, and how many digits after the second tell them apart. */
export function timeTicks(from, until, most) {
  const span = Math.max(until - from, 1);
  const step = TICKS_MS.find((each) => span / each <= most) ?? Math.ceil(span / most / 604_800_000) * 604_800_000;
  const ticks = [];
  for (let at = Math.ceil(from / step) * step; at <= until; at += step) ticks.push(at);
  return { ticks, step, digits: step >= SECOND ? 0 : step >= 100 ? 1 : step >= 10 ? 2 : 3 };
}

/** The first position in an ascending list whose element is not below `value`. */
export function lowerBound(list, value) {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The element nearest to `value` in an ascending list, as its position; -1 in an empty one. */
export function nearest(list, value) {
  const after = lowerBound(list, value);
  if (after === 0) return list.length === 0 ? -1 : 0;
  if (after === list.length) return list.length - 1;
  return value - list[after - 1] <= list[after] - value ? after - 1 : after;
}

/** For each of `columns` stretches: the most tokens that were within one window at any time in it. */
export function tokenColumns({ at, tokens }, windowMs, from, until, columns) {
  const perColumn = Math.max(until - from, 1) / columns;
  const most = new Array(columns).fill(0);
  let oldest = lowerBound(at, from - windowMs + 1);
  let next = oldest;
  let inWindow = 0;
  const drain = (time) => {
    while (oldest < next && at[oldest] <= time - windowMs) {
      inWindow -= tokens[oldest];
      oldest += 1;
    }
  };
  for (let column = 0; column < columns; column += 1) {
    const start = from + column * perColumn;
    const end = start + perColumn;
    while (next < at.length && at[next] <= start) {
      drain(at[next]);
      inWindow += tokens[next];
      next += 1;
    }
    drain(start);
    let peak = inWindow;
    while (next < at.length && at[next] <= end) {
      drain(at[next]);
      inWindow += tokens[next];
      peak = Math.max(peak, inWindow);
      next += 1;
    }
    most[column] = peak;
  }
  return most;
}

/**
 * For each of `columns` stretches: the longest silence towards the venue in it while the switch was armed, as a share of the
 * time-out. `until`: how far anything is known.
 */
export function silenceColumns({ beats, armed }, from, until, columns, knownUntil) {
  const perColumn = Math.max(until - from, 1) / columns;
  const shares = new Array(columns).fill(0);
  for (const stretch of armed) {
    const end = Math.min(stretch.until ?? knownUntil, knownUntil);
    const first = Math.max(0, Math.floor((stretch.from - from) / perColumn));
    const last = Math.min(columns - 1, Math.floor((end - from) / perColumn));
    for (let column = first; column <= last; column += 1) {
      const columnEnd = Math.min(from + (column + 1) * perColumn, end);
      const columnStart = Math.max(from + column * perColumn, stretch.from);
      let index = lowerBound(beats, columnStart) - 1;
      let silentSince = index >= 0 ? Math.max(beats[index], stretch.from) : stretch.from;
      let longest = 0;
      for (index += 1; index < beats.length && beats[index] <= columnEnd; index += 1) {
        longest = Math.max(longest, beats[index] - silentSince);
        silentSince = beats[index];
      }
      longest = Math.max(longest, columnEnd - silentSince);
      shares[column] = Math.max(shares[column], stretch.timeoutMs > 0 ? longest / stretch.timeoutMs : 0);
    }
  }
  return shares;
}

/** A place between two numbers. */
export function clamp(value, low, high) {
  return Math.min(Math.max(value, low), high);
}

/** To a tenth of a pixel: what is finer nobody sees. */
export function tenth(value) {
  return Math.round(value * 10) / 10;
}

/**
 * Four venues that count tokens in the four ways venue-api.md leaves open ("described as a one-minute sliding window"), and
 * nothing else. They share no code with the ledger they judge.
 */

export interface CountingVenue {
  /** Counts a request that reaches it at `atMs`, in order of time; refused ones are not counted. */
  count(weight: number, atMs: number): { readonly granted: boolean; readonly remaining: number };
}

export interface CountingRule {
  readonly name: 'sliding log' | 'fixed window' | 'token bucket' | 'sliding counter';
  readonly open: (limit: number, windowMs: number) => CountingVenue;
}

export const COUNTING_RULES: readonly CountingRule[] = [
  { name: 'sliding log', open: slidingLog },
  { name: 'fixed window', open: fixedWindow },
  { name: 'token bucket', open: tokenBucket },
  { name: 'sliding counter', open: slidingCounter },
];

function verdict(limit: number, used: number, weight: number): { granted: boolean; remaining: number } {
  const granted = used + weight <= limit;
  return { granted, remaining: Math.max(0, Math.floor(limit - used - (granted ? weight : 0))) };
}

/** Every request is remembered for exactly one window. */
function slidingLog(limit: number, windowMs: number): CountingVenue {
  const log: { at: number; weight: number }[] = [];
  let used = 0;
  return {
    count(weight, atMs) {
      for (let first = log[0]; first !== undefined && first.at <= atMs - windowMs; first = log[0]) {
        used -= first.weight;
        log.shift();
      }
      const said = verdict(limit, used, weight);
      if (said.granted) {
        log.push({ at: atMs, weight });
        used += weight;
      }
      return said;
    },
  };
}

/** Windows follow one another, each begins with nothing used. */
function fixedWindow(limit: number, windowMs: number): CountingVenue {
  let window = -1;
  let used = 0;
  return {
    count(weight, atMs) {
      const current = Math.floor(atMs / windowMs);
      if (current !== window) used = 0;
      window = current;
      const said = verdict(limit, used, weight);
      if (said.granted) used += weight;
      return said;
    },
  };
}

/** Full at first, regains evenly, never above the limit. */
function tokenBucket(limit: number, windowMs: number): CountingVenue {
  let level = limit;
  let last = 0;
  return {
    count(weight, atMs) {
      level = Math.min(limit, level + ((atMs - last) * limit) / windowMs);
      last = atMs;
      const said = verdict(limit, limit - level, weight);
      if (said.granted) level -= weight;
      return said;
    },
  };
}

/** The window before counts in proportion to what of it the sliding window still covers. */
function slidingCounter(limit: number, windowMs: number): CountingVenue {
  let window = 0;
  let before = 0;
  let used = 0;
  return {
    count(weight, atMs) {
      const current = Math.floor(atMs / windowMs);
      if (current !== window) {
        before = current === window + 1 ? used : 0;
        used = 0;
        window = current;
      }
      const share = 1 - (atMs - current * windowMs) / windowMs;
      const said = verdict(limit, before * share + used, weight);
      if (said.granted) used += weight;
      return said;
    },
  };
}

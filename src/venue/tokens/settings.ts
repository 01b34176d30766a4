/** The figures of the token budget, with defaults for those that a profile does not set (budget.md). */

export interface BudgetSettings {
  /** Tokens per window (Limits, Rate limit); X-RateLimit-Limit takes precedence. */
  readonly tokens: number;
  readonly windowMs: number;
  /** Tokens that ordinary requests may use in one burst. */
  readonly burst: number;
  /** Tokens that they regain per second. */
  readonly refillPerSecond: number;
  /** Tokens that ordinary requests leave to urgent ones. */
  readonly reserve: number;
  /** Held on top of the window: covers the difference between the venue's counting and the grain of our clock. */
  readonly marginMs: number;
  /** How long after it was given up a request may still reach the venue: 10 s, or the life of a signature. */
  readonly inTransitMs: number;
  /** No request is in flight for longer than this; the tokens of a process that died are freed that much later. */
  readonly longestRequestMs: number;
}

/** The profile's `rate_limit`, with everything scaled to its tokens and window (interface.md, Settled points). */
export function budgetSettings(given: Partial<BudgetSettings> = {}): BudgetSettings {
  const tokens = given.tokens ?? 1200;
  const windowMs = given.windowMs ?? 60_000;
  return {
    tokens,
    windowMs,
    burst: tokens / 10,
    refillPerSecond: (tokens / windowMs) * 1000,
    reserve: Math.round(tokens / 20),
    marginMs: 50,
    inTransitMs: 10_000,
    longestRequestMs: 60_000,
    ...given,
  };
}

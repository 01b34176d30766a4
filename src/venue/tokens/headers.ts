/**
 * Reads the token headers of an answer: X-RateLimit-* and Retry-After (venue-api.md, Rate limit response headers). A header
 * that makes no sense counts as absent, and no header stops the program for more than two minutes (fault-matrix.md, row 11
 * and row 14).
 */

/** Lower-case names, as a transport gives them. */
export type Headers = Readonly<Record<string, string>>;

interface RateHeaders {
  /** Tokens allowed in the window. */
  readonly limit?: number;
  readonly remaining?: number;
  /** Epoch ms at which the bucket resets. */
  readonly resetAt?: number;
  /** From now, 0 to 120,000. */
  readonly retryAfterMs?: number;
}

/** The unit of X-RateLimit-Reset; `auto` goes by its magnitude. */
export const RESET_UNITS = ['auto', 's', 'ms', 'us', 'iso'] as const;
export type ResetUnit = (typeof RESET_UNITS)[number];

/** The longest wait and the farthest reset that are believed. */
const FARTHEST_MS = 120_000;

/** `now` is epoch ms. A field that is absent, garbage or out of range is left out. */
export function readRateHeaders(headers: Headers, now: number, resetUnit: ResetUnit = 'auto'): RateHeaders {
  const resetAt = readReset(headers['x-ratelimit-reset'], now, resetUnit);
  const retryAfterMs = readRetryAfter(headers, now);
  const { limit, remaining } = readTokenCounts(headers);
  return {
    ...(limit === undefined ? {} : { limit }),
    ...(remaining === undefined ? {} : { remaining }),
    ...(resetAt === undefined ? {} : { resetAt }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
}

/** Reads only the limit and the remaining tokens. */
export function readTokenCounts(headers: Headers): {
  readonly limit?: number | undefined;
  readonly remaining: number | undefined;
} {
  const limit = parseCount(headers['x-ratelimit-limit']);
  return { limit: limit === 0 ? undefined : limit, remaining: parseCount(headers['x-ratelimit-remaining']) };
}

/**
 * Milliseconds to wait: X-RateLimit-Retry-After in seconds, else a plain Retry-After in seconds or, where `now` (epoch ms)
 * is given, as a date. Clamped to 0 to 120 s; undefined for what is not a number.
 */
export function readRetryAfter(headers: Headers, now?: number): number | undefined {
  return (
    parseSecondsMs(headers['x-ratelimit-retry-after']) ??
    parseSecondsMs(headers['retry-after']) ??
    parseDateMs(headers['retry-after'], now)
  );
}

/** X-RateLimit-Reset in epoch ms; only within two minutes of `now`: beyond that the unit was guessed wrong or the venue's clock is off. */
export function readReset(text: string | undefined, now: number, unit: ResetUnit = 'auto'): number | undefined {
  const at = text === undefined ? undefined : parseInstant(text.trim(), unit);
  return at !== undefined && Math.abs(at - now) <= FARTHEST_MS ? at : undefined;
}

const MS_PER_UNIT = { s: 1000, ms: 1, us: 0.001 } as const;

function parseInstant(text: string, unit: ResetUnit): number | undefined {
  if (/^\d{1,19}(?:\.\d{1,9})?$/.test(text)) {
    if (unit === 'iso') return undefined;
    const number = Number(text);
    // Seconds have ten digits until 2286, milliseconds thirteen, microseconds sixteen.
    const by = unit === 'auto' ? (number < 1e11 ? 's' : number < 1e14 ? 'ms' : 'us') : unit;
    return Math.round(number * MS_PER_UNIT[by]);
  }
  return unit === 'auto' || unit === 'iso' ? parseIsoInstant(text) : undefined;
}

function parseIsoInstant(text: string): number | undefined {
  if (!/^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?$/i.test(text)) return undefined;
  // The document says UTC; a date without a zone would be read in the zone of this machine.
  const at = Date.parse(/(?:Z|[+-]\d\d:?\d\d)$/i.test(text) ? text : `${text}Z`);
  return Number.isNaN(at) ? undefined : at;
}

function parseCount(text: string | undefined): number | undefined {
  if (text === undefined || !/^\d{1,9}$/.test(text.trim())) return undefined;
  return Number(text);
}

function parseSecondsMs(text: string | undefined): number | undefined {
  if (text === undefined || !/^[+-]?\d{1,20}(?:\.\d{1,9})?(?:e\+?\d{1,3})?$/i.test(text.trim())) return undefined;
  return clampMs(Number(text) * 1000);
}

function parseDateMs(text: string | undefined, now: number | undefined): number | undefined {
  if (
    text === undefined ||
    now === undefined ||
    !/^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/.test(text)
  )
    return undefined;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : clampMs(at - now);
}

function clampMs(ms: number): number {
  return Math.round(Math.min(FARTHEST_MS, Math.max(0, ms)));
}

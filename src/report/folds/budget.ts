/**
 * Folds a run's token use over time and by endpoint, against the limit in force and the tokens the venue reported as left.
 * Tokens are counted at the attempt, as the budget counts them; requests of other programs at the same address show only in
 * the venue's figure.
 */

import { parseDurationMs } from '../../base/duration.ts';
import { mapFields } from '../../base/json.ts';
import { PassingMap } from '../../base/passing-map.ts';
import type { Entry, Json, JsonObject } from '../../journal/entry.ts';
import { readRateHeaders } from '../../venue/tokens/headers.ts';
import { formatIsoTime } from '../format.ts';
import { type Merging, PointSeries } from '../results/point-series.ts';
import { listOtherRequests } from '../results/run-rows.ts';
import { TokenWindow } from '../results/token-window.ts';

/** `audit budget RUN --json`. */
export interface BudgetDocument {
  readonly used: number;
  /** The most tokens spent within any window. */
  readonly peak: number;
  /** Tokens allowed in a window; absent if the run's settings do not say. */
  readonly limit?: number;
  readonly windowMs: number;
  readonly requests: number;
  /** Requests that had to wait for tokens. */
  readonly waits: { readonly count: number; readonly totalMs: number; readonly longestMs: number };
  /** How often the venue reported that its rate limit was reached. */
  readonly limited: number;
  /** Calls denied because the budget could not grant their tokens in time. */
  readonly refused: number;
  /** The fewest tokens that the venue reported as left. */
  readonly leastRemaining?: number;
  readonly endpoints: readonly { readonly endpoint: string; readonly requests: number; readonly tokens: number }[];
  readonly bucketMs: number;
  /** Spans of equal length from the run's start; those without requests are left out. */
  readonly buckets: readonly BudgetBucket[];
}

export interface BudgetBucket {
  readonly at: string;
  readonly requests: number;
  readonly tokens: number;
  /** The most tokens within any window that ends in this span. */
  readonly peak: number;
  /** Tokens left, as the venue last reported in this span. */
  readonly remaining?: number;
}

/** Tokens over time, for a drawing: a point for each request, until there are too many to draw. */
export interface SpentTokens {
  readonly at: number;
  readonly tokens: number;
  /** The most tokens within any window that ends with a request of the point. */
  readonly peak: number;
}

/** A request that has no answer yet. */
interface Spending {
  readonly place: number;
  readonly at: number;
}

interface Bucket {
  requests: number;
  tokens: number;
  peak: number;
  remaining: number | undefined;
  /** The place of the request that says what remained. */
  place: number;
}

const DEFAULT_WINDOW_MS = 60_000;

export class BudgetFold {
  private readonly series = new PointSeries<SpentTokens>(MOST_POINTS, MERGED_TOKENS);
  private readonly waiting = new PassingMap<string, Spending>();
  private buckets = new Map<number, Bucket>();
  private bucketMs = FINEST_MS;
  private readonly endpoints = new Map<string, { requests: number; tokens: number }>();
  private readonly waits = { count: 0, totalMs: 0, longestMs: 0 };
  private startedAt: number | undefined;
  private endedAt = 0;
  private limit: number | undefined;
  private windowMs = DEFAULT_WINDOW_MS;
  private used = 0;
  private limited = 0;
  private refused = 0;
  private requests = 0;
  private peak = 0;
  private leastRemaining: number | undefined;
  private window = new TokenWindow(DEFAULT_WINDOW_MS);

  apply(entry: Entry): void {
    this.startedAt ??= entry.at;
    this.endedAt = Math.max(this.endedAt, entry.at);
    if (entry.type === 'run.started') {
      const rate = readRateSettings(entry.data.settings);
      this.limit = rate.limit;
      this.windowMs = rate.windowMs;
      this.window = new TokenWindow(rate.windowMs);
    } else if (entry.type === 'call.attempted') {
      const { call, method, path, tokens, waitedMs } = entry.data;
      this.waiting.set(call, this.spend(entry.at, tokens));
      this.count(`${method} ${path}`, tokens);
      if (waitedMs > 0) this.wait(waitedMs);
    } else if (entry.type === 'call.settled') {
      const { call, kind, failure, code, headers } = entry.data;
      if (failure === 'rate_limited') this.limited += 1;
      // One that was attempted had its tokens, and waited for the journal.
      if (kind === 'denied' && code === 'DEADLINE' && !this.waiting.has(call)) this.refused += 1;
      this.settle(call, headers, entry.at);
    } else if (entry.type === 'call.answered') this.settle(entry.data.call, entry.data.headers, entry.at);
    else
      for (const { row } of listOtherRequests(entry)) {
        // Journaled when it was answered, some seconds later: it is counted in the window of its answer.
        this.spend(entry.at, row.tokens);
        this.count(`${row.method} ${row.path}`, row.tokens);
      }
  }

  /** Oldest first. */
  get spent(): readonly SpentTokens[] {
    return this.series.points;
  }

  document(): BudgetDocument {
    const start = this.startedAt ?? 0;
    const bucketMs = chooseBucketLength(this.endedAt - start, SHOWN_BUCKETS);
    const { leastRemaining } = this;
    return {
      used: this.used,
      peak: this.peak,
      ...(this.limit === undefined ? {} : { limit: this.limit }),
      windowMs: this.windowMs,
      requests: this.requests,
      waits: { ...this.waits },
      limited: this.limited,
      refused: this.refused,
      ...(leastRemaining === undefined ? {} : { leastRemaining }),
      endpoints: [...this.endpoints]
        .map(([endpoint, counts]) => ({ endpoint, ...counts }))
        .sort((a, b) => b.tokens - a.tokens),
      bucketMs,
      buckets: [...groupBuckets(this.buckets, bucketMs / this.bucketMs)].map(
        ([index, { requests, tokens, peak, remaining }]) => ({
          at: formatIsoTime(start + index * bucketMs),
          requests,
          tokens,
          peak,
          ...(remaining === undefined ? {} : { remaining }),
        }),
      ),
    };
  }

  private settle(call: string, headers: JsonObject | undefined, at: number): void {
    const spending = this.waiting.get(call);
    this.waiting.delete(call);
    const { remaining } = readRateHeaders(mapFields(headers ?? {}, String), at);
    if (spending === undefined || remaining === undefined) return;
    this.leastRemaining = Math.min(this.leastRemaining ?? remaining, remaining);
    const bucket = this.findBucket(spending.at);
    if (spending.place < bucket.place) return;
    bucket.remaining = remaining;
    bucket.place = spending.place;
  }

  private spend(at: number, tokens: number): Spending {
    this.used += tokens;
    const peak = this.window.add(at, tokens);
    this.peak = Math.max(this.peak, peak);
    this.series.add({ at, tokens, peak });
    const bucket = this.findBucket(at);
    bucket.requests += 1;
    bucket.tokens += tokens;
    bucket.peak = Math.max(bucket.peak, peak);
    const place = this.requests;
    this.requests += 1;
    return { place, at };
  }

  private findBucket(at: number): Bucket {
    const start = this.startedAt ?? at;
    const bucketMs = chooseBucketLength(this.endedAt - start, MOST_BUCKETS);
    if (bucketMs > this.bucketMs) {
      this.buckets = groupBuckets(this.buckets, bucketMs / this.bucketMs);
      this.bucketMs = bucketMs;
    }
    const index = Math.floor((at - start) / this.bucketMs);
    const known = this.buckets.get(index);
    if (known !== undefined) return known;
    const bucket = { requests: 0, tokens: 0, peak: 0, remaining: undefined, place: -1 };
    this.buckets.set(index, bucket);
    return bucket;
  }

  private count(endpoint: string, tokens: number): void {
    const counts = this.endpoints.get(endpoint) ?? { requests: 0, tokens: 0 };
    counts.requests += 1;
    counts.tokens += tokens;
    this.endpoints.set(endpoint, counts);
  }

  private wait(waitedMs: number): void {
    this.waits.count += 1;
    this.waits.totalMs += waitedMs;
    this.waits.longestMs = Math.max(this.waits.longestMs, waitedMs);
  }
}

/** The rate limit in the run's settings (profile, `rate_limit`). */
function readRateSettings(settings: JsonObject): { readonly limit: number | undefined; readonly windowMs: number } {
  const rate = (settings.rate_limit ?? {}) as { readonly tokens?: Json; readonly window?: Json };
  const windowMs = typeof rate.window === 'string' ? parseDurationMs(rate.window) : undefined;
  const limit = Number(rate.tokens ?? Number.NaN);
  return {
    limit: Number.isSafeInteger(limit) && limit > 0 ? limit : undefined,
    windowMs: windowMs ?? DEFAULT_WINDOW_MS,
  };
}

/** Each is a multiple of the one before, so that spans of one length are made of shorter ones. */
const LENGTHS_MS = [1, 5, 10, 30, 60, 300, 600, 1800, 3600, 21_600, 43_200, 86_400].map((seconds) => seconds * 1000);
const [FINEST_MS = 1000] = LENGTHS_MS;
/** The length of the spans of a document is chosen so that there are at most this many. */
const SHOWN_BUCKETS = 40;
/** Spans that are kept; beyond it they are made longer. */
const MOST_BUCKETS = 2000;
/** Points that are kept one by one. */
const MOST_POINTS = 12_000;

/** A round length that divides `spanMs` into at most `most` parts. */
function chooseBucketLength(spanMs: number, most: number): number {
  const day = 86_400_000;
  return LENGTHS_MS.find((length) => spanMs < length * most) ?? Math.ceil(spanMs / most / day) * day;
}

/** Buckets of `times` the length. */
function groupBuckets(buckets: ReadonlyMap<number, Bucket>, times: number): Map<number, Bucket> {
  const grouped = new Map<number, Bucket>();
  for (const [index, bucket] of buckets) {
    const group = grouped.get(Math.floor(index / times));
    if (group === undefined) {
      grouped.set(Math.floor(index / times), { ...bucket });
      continue;
    }
    group.requests += bucket.requests;
    group.tokens += bucket.tokens;
    group.peak = Math.max(group.peak, bucket.peak);
    if (bucket.place < group.place) continue;
    group.remaining = bucket.remaining;
    group.place = bucket.place;
  }
  return grouped;
}

const MERGED_TOKENS: Merging<{ -readonly [K in keyof SpentTokens]: SpentTokens[K] }> = {
  findGroup: () => 'tokens',
  add(into, next) {
    into.tokens += next.tokens;
    into.peak = Math.max(into.peak, next.peak);
  },
};

/**
 * Folds a run's token use over time and by endpoint, against the limit in force and the tokens the venue reported as left.
 * Tokens are counted at the attempt, as the budget counts them; requests of other programs at the same address show only in
 * the venue's figure.
 */

import { parseDurationMs } from '../../base/duration.ts';
import type { Entry, Json, JsonObject } from '../../journal/entry.ts';
import { readRateHeaders } from '../../venue/tokens/headers.ts';
import { formatIsoTime } from '../format.ts';
import { listOtherRequests } from '../results/run-rows.ts';

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

interface Spending {
  readonly at: number;
  readonly tokens: number;
  /** Tokens within the window that ends with it. */
  readonly inWindow: number;
  remaining?: number;
}

const DEFAULT_WINDOW_MS = 60_000;

export function makeBudgetDocument(entries: Iterable<Entry>): BudgetDocument {
  const fold = new BudgetFold();
  for (const entry of entries) fold.apply(entry);
  return fold.document();
}

export class BudgetFold {
  private readonly spendings: Spending[] = [];
  private readonly waiting = new Map<string, Spending>();
  private readonly endpoints = new Map<string, { requests: number; tokens: number }>();
  private readonly waits = { count: 0, totalMs: 0, longestMs: 0 };
  private startedAt: number | undefined;
  private endedAt = 0;
  private limit: number | undefined;
  private windowMs = DEFAULT_WINDOW_MS;
  private used = 0;
  private limited = 0;
  private refused = 0;
  private inWindow = 0;
  private oldest = 0;

  apply(entry: Entry): void {
    this.startedAt ??= entry.at;
    this.endedAt = Math.max(this.endedAt, entry.at);
    if (entry.type === 'run.started') {
      const rate = readRateSettings(entry.data.settings);
      this.limit = rate.limit;
      this.windowMs = rate.windowMs;
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

  /** Spending over time, for a drawing: one element per request, oldest first. */
  get points(): readonly { readonly at: number; readonly tokens: number; readonly inWindow: number }[] {
    return this.spendings;
  }

  /** `mostBuckets`: the length of the spans is chosen so that there are at most this many. */
  document(mostBuckets = 40): BudgetDocument {
    const start = this.startedAt ?? 0;
    const bucketMs = chooseBucketLength(this.endedAt - start, mostBuckets);
    const remaining = this.spendings.map((each) => each.remaining).filter((each) => each !== undefined);
    return {
      used: this.used,
      peak: this.spendings.reduce((most, each) => Math.max(most, each.inWindow), 0),
      ...(this.limit === undefined ? {} : { limit: this.limit }),
      windowMs: this.windowMs,
      requests: this.spendings.length,
      waits: { ...this.waits },
      limited: this.limited,
      refused: this.refused,
      ...(remaining.length === 0 ? {} : { leastRemaining: remaining.reduce((least, each) => Math.min(least, each)) }),
      endpoints: [...this.endpoints]
        .map(([endpoint, counts]) => ({ endpoint, ...counts }))
        .sort((a, b) => b.tokens - a.tokens),
      bucketMs,
      buckets: groupSpendings(this.spendings, start, bucketMs),
    };
  }

  private settle(call: string, headers: JsonObject | undefined, at: number): void {
    const spending = this.waiting.get(call);
    this.waiting.delete(call);
    const { remaining } = readRateHeaders(toTexts(headers), at);
    if (spending !== undefined && remaining !== undefined) spending.remaining = remaining;
  }

  private spend(at: number, tokens: number): Spending {
    this.used += tokens;
    this.inWindow += tokens;
    // The window is half open: a request exactly one window ago is out of it, as in the report's peak.
    for (
      let first = this.spendings[this.oldest];
      first !== undefined && first.at <= at - this.windowMs;
      first = this.spendings[this.oldest]
    ) {
      this.inWindow -= first.tokens;
      this.oldest += 1;
    }
    const spending: Spending = { at, tokens, inWindow: this.inWindow };
    this.spendings.push(spending);
    return spending;
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

function toTexts(headers: JsonObject | undefined): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers ?? {}).map(([name, value]) => [name, String(value)]));
}

const LENGTHS_MS = [1, 5, 10, 30, 60, 300, 600, 1800, 3600, 21_600, 43_200, 86_400].map((seconds) => seconds * 1000);

/** A round length that divides `spanMs` into at most `most` parts. */
function chooseBucketLength(spanMs: number, most: number): number {
  const day = 86_400_000;
  return LENGTHS_MS.find((length) => spanMs < length * most) ?? Math.ceil(spanMs / most / day) * day;
}

function groupSpendings(spendings: readonly Spending[], start: number, bucketMs: number): readonly BudgetBucket[] {
  const buckets = new Map<number, { requests: number; tokens: number; peak: number; remaining?: number }>();
  for (const { at, tokens, inWindow, remaining } of spendings) {
    const index = Math.floor((at - start) / bucketMs);
    const bucket = buckets.get(index) ?? { requests: 0, tokens: 0, peak: 0 };
    bucket.requests += 1;
    bucket.tokens += tokens;
    bucket.peak = Math.max(bucket.peak, inWindow);
    if (remaining !== undefined) bucket.remaining = remaining;
    buckets.set(index, bucket);
  }
  return [...buckets].map(([index, bucket]) => ({ at: formatIsoTime(start + index * bucketMs), ...bucket }));
}

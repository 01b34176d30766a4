/**
 * Where a run's tokens went: over time, by endpoint and by purpose, against the limit in force and what the venue said was
 * left. Tokens are counted at the attempt, as the budget counts them; requests of other programs at the same address show
 * only in the venue's own figure.
 */

import { parseDurationMs } from '../../base/duration.ts';
import type { Entry, Json, JsonObject } from '../../journal/entry.ts';
import { readRateHeaders } from '../../venue/tokens/headers.ts';
import { isoTime } from '../format.ts';
import { requestsBeside } from './run.ts';

/** `audit budget RUN --json`. */
export interface BudgetDocument {
  readonly used: number;
  /** The most that were spent within any window. */
  readonly peak: number;
  /** Tokens allowed in a window, as the run's settings say; absent where they do not. */
  readonly limit?: number;
  readonly windowMs: number;
  readonly requests: number;
  /** Requests that had to wait for tokens. */
  readonly waits: { readonly count: number; readonly totalMs: number; readonly longestMs: number };
  /** Times the venue said that its limit was reached. */
  readonly limited: number;
  /** Calls refused here because the budget could not grant them in time. */
  readonly refused: number;
  /** The least the venue ever said was left. */
  readonly leastRemaining?: number;
  readonly endpoints: readonly { readonly endpoint: string; readonly requests: number; readonly tokens: number }[];
  readonly bucketMs: number;
  /** Stretches of equal length from the run's start on; those in which nothing was sent are left out. */
  readonly buckets: readonly BudgetBucket[];
}

export interface BudgetBucket {
  readonly at: string;
  readonly requests: number;
  readonly tokens: number;
  /** The most within any window that ends in this stretch. */
  readonly peak: number;
  /** The last figure the venue gave in it. */
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

export function budgetDocument(entries: Iterable<Entry>): BudgetDocument {
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
      const rate = rateSettings(entry.data.settings);
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
      if (kind === 'denied' && code === 'DEADLINE') this.refused += 1;
      this.answered(call, headers, entry.at);
    } else if (entry.type === 'call.answered') this.answered(entry.data.call, entry.data.headers, entry.at);
    else
      for (const { row } of requestsBeside(entry)) {
        // Told once it was answered, some seconds later: the window it is counted in is that of its answer.
        this.spend(entry.at, row.tokens);
        this.count(`${row.method} ${row.path}`, row.tokens);
      }
  }

  /** Spending over time, for a drawing: one element per request. */
  get points(): readonly { readonly at: number; readonly tokens: number; readonly inWindow: number }[] {
    return this.spendings;
  }

  /** `mostBuckets`: the length of a stretch is chosen so that there are no more of them. */
  document(mostBuckets = 40): BudgetDocument {
    const start = this.startedAt ?? 0;
    const bucketMs = bucketLength(this.endedAt - start, mostBuckets);
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
      buckets: bucketsOf(this.spendings, start, bucketMs),
    };
  }

  private answered(call: string, headers: JsonObject | undefined, at: number): void {
    const spending = this.waiting.get(call);
    this.waiting.delete(call);
    const { remaining } = readRateHeaders(texts(headers), at);
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

/** What the run's settings say of the rate limit (profile, `rate_limit`). */
function rateSettings(settings: JsonObject): { readonly limit: number | undefined; readonly windowMs: number } {
  const rate = (settings.rate_limit ?? {}) as { readonly tokens?: Json; readonly window?: Json };
  const windowMs = typeof rate.window === 'string' ? parseDurationMs(rate.window) : undefined;
  const limit = Number(rate.tokens ?? Number.NaN);
  return {
    limit: Number.isSafeInteger(limit) && limit > 0 ? limit : undefined,
    windowMs: windowMs ?? DEFAULT_WINDOW_MS,
  };
}

function texts(headers: JsonObject | undefined): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers ?? {}).map(([name, value]) => [name, String(value)]));
}

const LENGTHS_MS = [1, 5, 10, 30, 60, 300, 600, 1800, 3600, 21_600, 43_200, 86_400].map((seconds) => seconds * 1000);

/** A round length such that `spanMs` has at most `most` of it. */
function bucketLength(spanMs: number, most: number): number {
  const day = 86_400_000;
  return LENGTHS_MS.find((length) => spanMs < length * most) ?? Math.ceil(spanMs / most / day) * day;
}

function bucketsOf(spendings: readonly Spending[], start: number, bucketMs: number): readonly BudgetBucket[] {
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
  return [...buckets].map(([index, bucket]) => ({ at: isoTime(start + index * bucketMs), ...bucket }));
}

/**
 * Keeps readings of the rate-limit headers: the limit, the remaining tokens, and the use by other programs on the address that
 * follows from them. ledger.ts decides what may be sent.
 */

/** A higher X-RateLimit-Limit is believed after this many equal readings, a lower one at once. */
const READINGS_TO_RAISE = 3;

/** A reading of X-RateLimit-Remaining, and the marks to count from. */
interface RemainingReading {
  readonly remaining: number;
  /** When the request was sent whose answer carried it, and when that came: the venue counted in between. */
  readonly askedAt: number;
  readonly at: number;
  /** Of that request. */
  readonly order: number;
  /** Tokens sent in all when that request had been sent, and tokens expired in all when its answer came. */
  readonly sentMark: number;
  readonly expiredMark: number;
  /** Tokens in flight when it was sent: the venue may have counted them before or after it. */
  readonly overlap: number;
}

interface ForeignUse {
  readonly at: number;
  readonly tokens: number;
}

export interface SavedHeaderReadings {
  readonly limit?: number;
  readonly higher: { readonly limit: number; readonly readings: number };
  readonly word?: Omit<RemainingReading, 'askedAt'> & { readonly askedAt?: number };
  readonly foreign: readonly ForeignUse[];
}

export class HeaderReadings {
  latest: RemainingReading | undefined;
  private readonly windowMs: number;
  private readonly configuredLimit: number;
  private venueLimit: number | undefined;
  private higher = { limit: 0, readings: 0 };
  /** Falling peaks of the last window; the first is the largest. */
  private foreign: ForeignUse[] = [];

  constructor(configuredLimit: number, windowMs: number) {
    this.configuredLimit = configuredLimit;
    this.windowMs = windowMs;
  }

  /** The limit in force: the venue's as soon as one was read, before that the profile's. */
  get limit(): number {
    return this.venueLimit ?? this.configuredLimit;
  }

  noteLimit(limit: number): void {
    if (limit > this.limit) {
      this.higher = { limit, readings: this.higher.limit === limit ? this.higher.readings + 1 : 1 };
      if (this.higher.readings < READINGS_TO_RAISE) return;
    }
    this.venueLimit = limit;
    this.higher = { limit: 0, readings: 0 };
  }

  /** `countable`: tokens of ours that the venue can have counted by then; other programs used the rest. */
  noteRemaining(reading: RemainingReading, countable: number): void {
    const tokens = this.limit - reading.remaining - countable;
    if (tokens > 0) {
      while (this.foreign.length > 0 && (this.foreign.at(-1) as ForeignUse).tokens <= tokens) this.foreign.pop();
      this.foreign.push({ at: reading.at, tokens });
    }
    // Answers overtake one another: the request that was sent last carries the newest reading.
    if (this.latest === undefined || reading.order > this.latest.order) this.latest = reading;
  }

  advance(now: number): void {
    while (this.foreign[0] !== undefined && this.foreign[0].at <= now - this.windowMs) this.foreign.shift();
  }

  /** The largest use by others seen within the last window, tokens. */
  get foreignUse(): number {
    return this.foreign[0]?.tokens ?? 0;
  }

  /** When that reading is a window old; undefined where there is no such reading. */
  get foreignUntil(): number | undefined {
    return this.foreign[0] === undefined ? undefined : this.foreign[0].at + this.windowMs;
  }

  /**
   * Tokens that the venue would still grant, from those sent and expired in all; infinite where no reading is younger than a
   * window. At most the tokens that expired here have come back, and at most an even refill: the two ways a venue can count.
   */
  estimateRemaining(now: number, sent: number, expired: number, refillPerMs: number): number {
    const { latest } = this;
    if (latest === undefined || now - latest.at > this.windowMs) return Number.POSITIVE_INFINITY;
    const regained = Math.min(expired - latest.expiredMark, refillPerMs * (now - latest.at));
    return latest.remaining - countSentSince(latest, sent) + regained;
  }

  save(): SavedHeaderReadings {
    const { venueLimit, higher, latest, foreign } = this;
    return {
      ...(venueLimit === undefined ? {} : { limit: venueLimit }),
      higher,
      ...(latest === undefined ? {} : { word: latest }),
      foreign,
    };
  }

  restore(saved: SavedHeaderReadings): void {
    this.venueLimit = saved.limit;
    this.higher = saved.higher;
    // Older texts do not say when it was asked.
    this.latest = saved.word === undefined ? undefined : { ...saved.word, askedAt: saved.word.askedAt ?? 0 };
    this.foreign = [...saved.foreign];
  }
}

/** Tokens that the venue may not have counted yet when it wrote the reading. */
export function countSentSince(reading: RemainingReading, sent: number): number {
  return sent - reading.sentMark + reading.overlap;
}

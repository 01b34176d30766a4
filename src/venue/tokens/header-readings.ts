/**
 * What the rate-limit headers have said: the limit, what remains, and what others on the address must be using. Readings
 * and arithmetic alone; what follows from them is decided in budget.ts.
 */

/** X-RateLimit-Limit must be this often the same before a higher one is believed; a lower one is believed at once. */
const READINGS_TO_RAISE = 3;

/** The venue's last word on what remains, and the marks to count from. */
interface Word {
  readonly remaining: number;
  readonly at: number;
  /** Of the request whose answer brought it. */
  readonly order: number;
  /** Tokens sent in all when that request had been sent, and tokens expired in all when its answer came. */
  readonly sentMark: number;
  readonly expiredMark: number;
  /** Tokens under way when it was sent: the venue may have counted them before or after it. */
  readonly overlap: number;
}

interface ForeignUse {
  readonly at: number;
  readonly tokens: number;
}

export interface SavedHeaderReadings {
  readonly limit?: number;
  readonly higher: { readonly limit: number; readonly readings: number };
  readonly word?: Word;
  readonly foreign: readonly ForeignUse[];
}

export class HeaderReadings {
  word: Word | undefined;
  private readonly windowMs: number;
  private readonly configuredLimit: number;
  private heardLimit: number | undefined;
  private higher = { limit: 0, readings: 0 };
  /** Falling peaks of the last window; the first is the largest. */
  private foreign: ForeignUse[] = [];

  constructor(configuredLimit: number, windowMs: number) {
    this.configuredLimit = configuredLimit;
    this.windowMs = windowMs;
  }

  /** The limit in force: the venue's, once it was heard. */
  get limit(): number {
    return this.heardLimit ?? this.configuredLimit;
  }

  hearLimit(limit: number): void {
    if (limit > this.limit) {
      this.higher = { limit, readings: this.higher.limit === limit ? this.higher.readings + 1 : 1 };
      if (this.higher.readings < READINGS_TO_RAISE) return;
    }
    this.heardLimit = limit;
    this.higher = { limit: 0, readings: 0 };
  }

  /** `countable`: every token of ours that the venue can have counted when it wrote this; the rest it counted is others'. */
  hear(word: Word, countable: number): void {
    const tokens = this.limit - word.remaining - countable;
    if (tokens > 0) {
      while (this.foreign.length > 0 && (this.foreign.at(-1) as ForeignUse).tokens <= tokens) this.foreign.pop();
      this.foreign.push({ at: word.at, tokens });
    }
    // Answers overtake one another: the request that was sent last brings the newest word.
    if (this.word === undefined || word.order > this.word.order) this.word = word;
  }

  advance(now: number): void {
    while (this.foreign[0] !== undefined && this.foreign[0].at <= now - this.windowMs) this.foreign.shift();
  }

  /** The largest foreign use seen within the last window. */
  get foreignUse(): number {
    return this.foreign[0]?.tokens ?? 0;
  }

  /** When that reading is a window old; undefined where there is none. */
  get foreignUntil(): number | undefined {
    return this.foreign[0] === undefined ? undefined : this.foreign[0].at + this.windowMs;
  }

  /**
   * What the venue would still grant, from tokens sent and expired in all; infinite where it has said nothing within a
   * window. What comes back is at most what expired here and at most an even refill: the two ways a venue can regain.
   */
  remaining(now: number, sent: number, expired: number, refillPerMs: number): number {
    const { word } = this;
    if (word === undefined || now - word.at > this.windowMs) return Number.POSITIVE_INFINITY;
    const regained = Math.min(expired - word.expiredMark, refillPerMs * (now - word.at));
    return word.remaining - sentSince(word, sent) + regained;
  }

  save(): SavedHeaderReadings {
    const { heardLimit, higher, word, foreign } = this;
    return {
      ...(heardLimit === undefined ? {} : { limit: heardLimit }),
      higher,
      ...(word === undefined ? {} : { word }),
      foreign,
    };
  }

  restore(saved: SavedHeaderReadings): void {
    this.heardLimit = saved.limit;
    this.higher = saved.higher;
    this.word = saved.word;
    this.foreign = [...saved.foreign];
  }
}

/** Tokens that the venue had perhaps not counted yet when it gave its word. */
export function sentSince(word: Word, sent: number): number {
  return sent - word.sentMark + word.overlap;
}

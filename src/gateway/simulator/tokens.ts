/**
 * Counts the shared token window as a venue might, in each of the four ways that "a one-minute sliding window" can mean. It
 * counts admitted requests and refuses the others. It shares no code with the client's own ledger, so that it cannot repeat
 * the client's mistakes. Tokens are whole numbers, times are epoch ms.
 */
import { findFirst } from '../../base/json.ts';
import type { TokensConfig } from './config/settings.ts';

export interface TokenVerdict {
  readonly admitted: boolean;
  /** Whole tokens left after this request, at least 0. */
  readonly remaining: number;
  /** When all tokens are available again, epoch ms. */
  readonly resetAt: number;
  /** Time until this request would be admitted, ms; 0 if it was. */
  readonly waitMs: number;
}

interface Counter {
  used(at: number): number;
  add(at: number, tokens: number): void;
  resetAt(at: number): number;
}

export class TokenWindow {
  private readonly config: TokensConfig;
  private readonly counter: Counter;
  private readonly startedAt: number;
  private foreignSeen = 0;
  private readonly orderTimes: number[] = [];
  /** Highest number of tokens in use at once. */
  peak = 0;
  refused = 0;

  constructor(config: TokensConfig, startedAt: number) {
    this.config = config;
    this.startedAt = startedAt;
    this.counter = createCounter(config);
  }

  /** Asks for tokens; a refused request costs none. */
  ask(tokens: number, at: number): TokenVerdict {
    this.countForeign(at);
    const used = this.counter.used(at);
    const admitted = used + tokens <= this.config.limit;
    if (admitted) this.counter.add(at, tokens);
    else this.refused += 1;
    const now = admitted ? used + tokens : used;
    this.peak = Math.max(this.peak, now);
    return {
      admitted,
      remaining: Math.max(0, Math.floor(this.config.limit - now)),
      resetAt: this.counter.resetAt(at),
      waitMs: admitted ? 0 : this.computeWait(tokens, at),
    };
  }

  /** Whether the account may send one more order action in this second; counts the action if so. */
  askOrderAction(at: number): boolean {
    const most = this.config.ordersPerSecond;
    if (most === undefined) return true;
    while (this.orderTimes.length > 0 && (this.orderTimes[0] as number) <= at - 1000) this.orderTimes.shift();
    if (this.orderTimes.length >= most) return false;
    this.orderTimes.push(at);
    return true;
  }

  used(at: number): number {
    return this.counter.used(at);
  }

  private countForeign(at: number): void {
    for (; this.foreignSeen < this.config.foreign.length; this.foreignSeen += 1) {
      const row = this.config.foreign[this.foreignSeen] as TokensConfig['foreign'][number];
      if (this.startedAt + row.afterMs > at) return;
      this.counter.add(this.startedAt + row.afterMs, row.tokens);
    }
  }

  /** The shortest wait in ms after which the tokens are available without other requests. */
  private computeWait(tokens: number, at: number): number {
    if (tokens > this.config.limit) return 2 * this.config.windowMs;
    return findFirst(2 * this.config.windowMs, (wait) => this.counter.used(at + wait) + tokens <= this.config.limit);
  }
}

function createCounter(config: TokensConfig): Counter {
  switch (config.algorithm) {
    case 'sliding_log':
      return new SlidingLog(config.windowMs);
    case 'fixed_window':
      return new Windows(config.windowMs, 0);
    case 'sliding_counter':
      return new Windows(config.windowMs, 1);
    case 'token_bucket':
      return new Bucket(config.limit, config.windowMs);
    default:
      return config.algorithm satisfies never;
  }
}

/** Every request counts until it is one window old. */
class SlidingLog implements Counter {
  private readonly windowMs: number;
  private readonly log: { at: number; tokens: number }[] = [];
  private first = 0;
  private sum = 0;
  private newest = 0;

  constructor(windowMs: number) {
    this.windowMs = windowMs;
  }

  /** A question about the future must not drop entries; only `add` drops those that are over. */
  used(at: number): number {
    let sum = this.sum;
    for (let index = this.first; index < this.log.length; index += 1) {
      const entry = this.log[index] as { at: number; tokens: number };
      if (entry.at > at - this.windowMs) break;
      sum -= entry.tokens;
    }
    return sum;
  }

  add(at: number, tokens: number): void {
    this.newest = Math.max(this.newest, at);
    for (
      let entry = this.log[this.first];
      entry !== undefined && entry.at <= this.newest - this.windowMs;
      entry = this.log[this.first]
    ) {
      this.sum -= entry.tokens;
      this.first += 1;
    }
    if (this.first > 256) {
      this.log.splice(0, this.first);
      this.first = 0;
    }
    this.log.push({ at, tokens });
    this.sum += tokens;
  }

  resetAt(at: number): number {
    return Math.max(at, (this.log.at(-1)?.at ?? at - this.windowMs) + this.windowMs);
  }
}

/** Fixed windows of epoch time; with a share of 1, the previous window counts in proportion to its part still in range. */
class Windows implements Counter {
  private readonly windowMs: number;
  private readonly share: number;
  private index = -1;
  private current = 0;
  private previous = 0;

  constructor(windowMs: number, share: 0 | 1) {
    this.windowMs = windowMs;
    this.share = share;
  }

  used(at: number): number {
    const index = Math.floor(at / this.windowMs);
    const [current, previous] = this.countFrom(index);
    const left = 1 - (at - index * this.windowMs) / this.windowMs;
    return current + this.share * previous * left;
  }

  add(at: number, tokens: number): void {
    const index = Math.max(this.index, Math.floor(at / this.windowMs));
    [this.current, this.previous] = this.countFrom(index);
    this.index = index;
    this.current += tokens;
  }

  resetAt(at: number): number {
    return (Math.floor(at / this.windowMs) + 1) * this.windowMs;
  }

  private countFrom(index: number): [number, number] {
    if (index <= this.index) return [this.current, this.previous];
    return [0, index === this.index + 1 ? this.current : 0];
  }
}

/** A bucket that starts full and refills evenly. */
class Bucket implements Counter {
  private readonly perMs: number;
  private level = 0;
  private at = 0;

  constructor(limit: number, windowMs: number) {
    this.perMs = limit / windowMs;
  }

  used(at: number): number {
    return Math.max(0, this.level - Math.max(0, at - this.at) * this.perMs);
  }

  add(at: number, tokens: number): void {
    this.level = this.used(at) + tokens;
    this.at = Math.max(this.at, at);
  }

  resetAt(at: number): number {
    return Math.ceil(at + this.used(at) / this.perMs);
  }
}

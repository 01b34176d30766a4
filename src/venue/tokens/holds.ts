/**
 * Counts tokens that are held until an instant, in the order in which they become free. The ledger decides what is held
 * (ledger.ts).
 */

/** Tokens that become free at one instant. */
interface Held {
  readonly until: number;
  ordinary: number;
  urgent: number;
}

export type SavedTokenHolds = readonly (readonly [until: number, ordinary: number, urgent: number])[];

export class TokenHolds {
  /** All tokens in use, those of requests in flight included; and the urgent ones among them. */
  used = 0;
  urgentUsed = 0;
  /** Tokens that have expired since the beginning. */
  expired = 0;
  /** Expiries are rounded up to this grain, so that a saved ledger stays small. */
  private readonly grainMs: number;
  private held: Held[] = [];
  private from = 0;

  constructor(grainMs: number) {
    this.grainMs = grainMs;
  }

  add(weight: number, urgent: boolean): void {
    this.used += weight;
    if (urgent) this.urgentUsed += weight;
  }

  remove(weight: number, urgent: boolean): void {
    this.used -= weight;
    if (urgent) this.urgentUsed -= weight;
  }

  /** Frees tokens of requests whose end was not reported: they count as expired. */
  expire(weight: number, urgent: boolean): void {
    this.remove(weight, urgent);
    this.expired += weight;
  }

  /** Adds tokens that become free at `until`. */
  keep(weight: number, urgent: boolean, until: number): void {
    this.add(weight, urgent);
    const rounded = Math.ceil(until / this.grainMs) * this.grainMs;
    let index = this.held.length;
    while (index > this.from && (this.held[index - 1] as Held).until > rounded) index -= 1;
    let entry = index > this.from ? this.held[index - 1] : undefined;
    if (entry?.until !== rounded) {
      entry = { until: rounded, ordinary: 0, urgent: 0 };
      this.held.splice(index, 0, entry);
    }
    if (urgent) entry.urgent += weight;
    else entry.ordinary += weight;
  }

  /** Frees everything whose time is over. */
  advance(now: number): void {
    for (let next = this.held[this.from]; next !== undefined && next.until <= now; next = this.held[this.from]) {
      this.expire(next.ordinary, false);
      this.expire(next.urgent, true);
      this.from += 1;
    }
    if (this.from <= 256) return;
    this.held = this.held.slice(this.from);
    this.from = 0;
  }

  /** When the next held tokens become free; undefined where none are held. */
  findNextAt(): number | undefined {
    return this.held[this.from]?.until;
  }

  /** When `tokens` of the held ones will be free; undefined where fewer are held. */
  findFreedAt(tokens: number): number | undefined {
    let freed = 0;
    for (let index = this.from; index < this.held.length; index += 1) {
      const { until, ordinary, urgent } = this.held[index] as Held;
      freed += ordinary + urgent;
      if (freed >= tokens) return until;
    }
    return undefined;
  }

  save(): SavedTokenHolds {
    return this.held.slice(this.from).map(({ until, ordinary, urgent }) => [until, ordinary, urgent]);
  }

  restore(saved: SavedTokenHolds): void {
    for (const [until, ordinary, urgent] of saved) {
      this.held.push({ until, ordinary, urgent });
      this.used += ordinary + urgent;
      this.urgentUsed += urgent;
    }
  }
}

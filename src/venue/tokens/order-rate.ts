/**
 * Paces order actions by the account-wide rate that some venues have beside their tokens (venue-notes.md): placing, amending
 * and cancelling count, whatever they cost. An action counts from before it is sent until a second after its answer, so that
 * the venue never sees more in a second than it allows. Every instant is milliseconds on one monotonic clock.
 */
import { getAction } from '../catalogue.ts';

const SECOND_MS = 1_000;
/** Covers the difference between the venue's counting and the grain of our clock. */
const MARGIN_MS = 50;
/** An action without an answer counts no longer than this: later cancels must not wait for it. */
const LONGEST_MS = 2_000;

/** cancel_all is not an order action: it is one request for any number of orders and is never held back. */
export function isOrderAction(endpoint: string): boolean {
  const action = getAction(endpoint);
  return action === 'place' || action === 'amend' || action === 'cancel';
}

export class OrderRate {
  private readonly perSecond: number;
  /** When each action ceases to count; expired ones are removed when their place is needed. */
  private readonly counted = new Map<string, number>();

  /** `perSecond`: Infinity where the venue has no such rate; then nothing is counted, because nothing would ever be removed. */
  constructor(perSecond: number) {
    this.perSecond = perSecond;
  }

  /** When an action may be sent; `now` or earlier means at once. Ordinary actions leave a tenth of the rate to urgent ones. */
  freeAt(urgent: boolean, now: number): number {
    const allowed = urgent || this.perSecond < 5 ? this.perSecond : this.perSecond - Math.ceil(this.perSecond / 10);
    if (this.counted.size < allowed) return now;
    for (const [id, until] of this.counted) if (until <= now) this.counted.delete(id);
    const missing = this.counted.size + 1 - allowed;
    if (missing <= 0) return now;
    return [...this.counted.values()].sort((a, b) => a - b)[missing - 1] as number;
  }

  began(id: string, now: number): void {
    if (this.perSecond !== Number.POSITIVE_INFINITY) this.counted.set(id, now + LONGEST_MS);
  }

  /** An answer came, or the wait for one was given up. */
  ended(id: string, now: number): void {
    const until = this.counted.get(id);
    if (until !== undefined) this.counted.set(id, Math.min(until, now + SECOND_MS + MARGIN_MS));
  }

  notSent(id: string): void {
    this.counted.delete(id);
  }
}

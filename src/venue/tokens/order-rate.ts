/**
 * The account-wide rate of order actions that some venues have beside their tokens (venue-notes.md): placing, amending and
 * cancelling count, whatever they cost. An action is counted from before it is sent until a second after its answer, so that
 * the venue never sees more of them in a second than it allows. Every instant is milliseconds on one clock that never jumps.
 */

const ACTIONS: ReadonlySet<string> = new Set(['POST /orders', 'PUT /orders', 'DELETE /orders']);
const SECOND_MS = 1_000;
/** For what lies between the venue's counting and our clock's grain. */
const MARGIN_MS = 50;
/** An action that gets no answer is counted no longer than this: cancels behind it must not wait for it. */
const LONGEST_MS = 2_000;

/** cancel_all is none: it is one request for any number of orders, and is never held back. */
export function isOrderAction(endpoint: string): boolean {
  return ACTIONS.has(endpoint);
}

export class OrderRate {
  private readonly perSecond: number;
  /** When each counted action ceases to count; those whose time is over go out when their place is needed. */
  private readonly counted = new Map<string, number>();

  /** `perSecond`: Infinity where the venue has no such rate. Nothing is counted then, or it would be for ever. */
  constructor(perSecond: number) {
    this.perSecond = perSecond;
  }

  /** When an action may be sent; not later than `now` where it may be at once. Ordinary ones leave a tenth to urgent ones. */
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

  /** An answer came, or none is waited for any longer. */
  ended(id: string, now: number): void {
    const until = this.counted.get(id);
    if (until !== undefined) this.counted.set(id, Math.min(until, now + SECOND_MS + MARGIN_MS));
  }

  notSent(id: string): void {
    this.counted.delete(id);
  }
}

/**
 * Whether a run goes on, for the switch that is renewed only while it does: a step has begun or ended, a request of one was
 * answered, or a step is within its own time. What hangs says nothing here, and after a while that is what it means.
 */
import type { Clock } from '../../base/clock.ts';

/** A step without a time of its own counts as making progress for this many timeouts after the run last did something. */
const ALLOWANCE = 2;
/** And for so long at least, ms: an answer that is lost is waited for as long as half of it, and that is no hang yet. */
const LEAST_ALLOWANCE_MS = 20_000;

export class Progress {
  private readonly clock: Clock;
  private lastAt: number;
  /** Until when waits that were asked for go on, by the attempt that waits. */
  private readonly waits = new Map<string, number>();

  constructor(clock: Clock) {
    this.clock = clock;
    this.lastAt = clock.now();
  }

  /** Something was done. */
  made(): void {
    this.lastAt = this.clock.now();
  }

  /** An attempt of a step goes on until then, or waits on purpose (epoch ms). */
  goesOnUntil(path: string, until: number): void {
    for (const [each, over] of this.waits) if (over < this.clock.now()) this.waits.delete(each);
    this.waits.set(path, until);
  }

  ended(path: string): void {
    this.waits.delete(path);
    this.made();
  }

  /** Until when a switch of this time-out may be kept from firing (epoch ms), by what is known now. */
  countsUntil(timeoutMs: number): number {
    const until = this.lastAt + Math.max(ALLOWANCE * timeoutMs, LEAST_ALLOWANCE_MS);
    return Math.max(until, ...this.waits.values());
  }
}

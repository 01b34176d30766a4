/**
 * The wall clock, for the few uses that mean it: `now` in expressions, and instants that an author wrote. All else in a run is
 * measured on its own clock, which cannot be adjusted (base/run-clock.ts). The difference of the two arrives from outside and
 * is journaled, so that a replay waits as the run did.
 */
import type { Clock } from '../base/clock.ts';
import { Cancellation } from './interruption.ts';
import { sleepUntil } from './waiting.ts';

export class WallTime {
  private readonly clock: Clock;
  private aheadMs = 0;
  private sleepers = new Set<() => void>();

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** Epoch ms by the wall clock, as last reported. */
  now(): number {
    return this.clock.now() + this.aheadMs;
  }

  /** The earlier of the run's time and the wall time, for an instant of the run (epoch ms): where a search must begin. */
  computeEarliest(at: number): number {
    return at + Math.min(0, this.aheadMs);
  }

  /** The wall clock was adjusted: it is now `aheadMs` ahead of the run's clock. */
  adjust(aheadMs: number): void {
    this.aheadMs = aheadMs;
    const woken = this.sleepers;
    this.sleepers = new Set();
    for (const wake of woken) wake();
  }

  /** Resolves when the wall clock reaches `instant` (epoch ms). `begins` gets that instant on the run's clock, again whenever it changes. */
  async waitUntil(instant: number, cancel: Cancellation, begins: (at: number) => void): Promise<void> {
    for (let first = true; first || this.now() < instant; first = false) {
      const at = instant - this.aheadMs;
      begins(at);
      const own = new Cancellation(cancel);
      const wake = () => own.cancel('timeout', 'the wall clock was adjusted');
      this.sleepers.add(wake);
      try {
        await sleepUntil(this.clock, at, own);
      } catch (error) {
        if (!own.timedOut) throw error;
      } finally {
        this.sleepers.delete(wake);
        own.close();
      }
    }
  }
}

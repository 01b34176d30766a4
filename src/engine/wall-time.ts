/**
 * What the clock on the wall says, for the few things that are meant by it: `now` in expressions, and instants that an
 * author wrote. Everything else of a run is measured on its own clock, which nobody can put (base/run-clock.ts); how far the
 * two are apart arrives from outside and is in the journal, so that a replay waits as the run did.
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

  /** Epoch ms by the clock on the wall, as last heard. */
  now(): number {
    return this.clock.now() + this.aheadMs;
  }

  /** The earlier of the run's time and the wall's, for an instant of the run (epoch ms): where a search must begin. */
  earliest(at: number): number {
    return at + Math.min(0, this.aheadMs);
  }

  /** The clock on the wall has been put: it is `aheadMs` beyond the run's own time now. */
  put(aheadMs: number): void {
    this.aheadMs = aheadMs;
    const woken = this.sleepers;
    this.sleepers = new Set();
    for (const wake of woken) wake();
  }

  /** Resolves when the clock on the wall says `instant` (epoch ms). `begins` hears when that will be on the run's clock, and again whenever that changes. */
  async until(instant: number, cancel: Cancellation, begins: (at: number) => void): Promise<void> {
    for (let first = true; first || this.now() < instant; first = false) {
      const at = instant - this.aheadMs;
      begins(at);
      const own = new Cancellation(cancel);
      const wake = () => own.cancel('timeout', 'the clock on the wall was put');
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

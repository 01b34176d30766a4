/**
 * Bounds how long a process takes to end after its first signal (reliability.md, Shutdown): all cleaning up together has
 * `shutdown.within` of the profile. What no step can bound is bounded here: a token ledger, a lease store or a database that
 * never answers. What is open then is in the journal, as after a death of the process, and `resume` continues it.
 */
import type { Metronome, Timer } from '../base/clock.ts';

export class ShutdownDeadline {
  readonly withinMs: number;
  private readonly clock: Metronome;
  private timer: Timer | undefined;

  constructor(clock: Metronome, withinMs: number) {
    this.clock = clock;
    this.withinMs = withinMs;
  }

  /** Calls `onOverdue` when the time is over. Counts from the first call: further signals give no more time. */
  begin(onOverdue: () => void): void {
    this.timer ??= this.clock.after(this.withinMs, onOverdue);
  }

  /** Everything is closed. */
  end(): void {
    this.timer?.cancel();
  }
}

/** Computes the time of a resumed run: it continues from its last entry and never goes back, even if the wall clock did. */
import type { SystemClock } from '../../base/clock.ts';
import { measureAway, RunClock } from '../../base/run-clock.ts';
import type { Away, Entry } from '../../journal/entry.ts';
import { identifyMachineStart } from '../../journal/shared/machine.ts';

export interface ResumedTime {
  readonly clock: RunClock;
  /** How long the run was unattended. */
  readonly away: Away;
  /** How far the wall clock was ahead of the run's own when its process ended, as far as recorded, ms. */
  readonly aheadMs: number;
}

/** Folds the journal of a run, entry by entry, for the time at which it continues. */
export class ResumedTimeFold {
  private aheadMs = 0;
  private last: Entry | undefined;
  /** Of the newest process: the entry that was written earliest in its turn. */
  private earliest: Entry | undefined;

  apply(entry: Entry): void {
    if (entry.type === 'clock.adjusted') this.aheadMs = entry.data.wallAheadMs;
    const isSame = entry.epoch === this.last?.epoch && entry.boot === this.last.boot;
    if (!isSame || this.earliest === undefined || entry.at - entry.mono > this.earliest.at - this.earliest.mono)
      this.earliest = entry;
    this.last = entry;
  }

  /** The time that the run continues at now. */
  compute(clock: SystemClock): ResumedTime {
    const { last, earliest, aheadMs } = this;
    if (last === undefined || earliest === undefined) throw new Error('a journal has a first entry');
    const now = { at: clock.now() - aheadMs, mono: clock.monotonic(), boot: identifyMachineStart() };
    const away = measureAway([earliest, last], now);
    return { clock: new RunClock(clock, last.at + away.ms), away, aheadMs };
  }
}

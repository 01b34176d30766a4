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

/** `entries`: the whole journal of the run so far. */
export function computeResumedTime(entries: readonly [Entry, ...Entry[]], clock: SystemClock): ResumedTime {
  const put = entries.findLast((entry) => entry.type === 'clock.adjusted');
  const aheadMs = put?.data.wallAheadMs ?? 0;
  const leftAt = entries.at(-1) ?? entries[0];
  const away = measureAway(
    entries.filter(({ epoch, boot }) => epoch === leftAt.epoch && boot === leftAt.boot),
    { at: clock.now() - aheadMs, mono: clock.monotonic(), boot: identifyMachineStart() },
  );
  return { clock: new RunClock(clock, leftAt.at + away.ms), away, aheadMs };
}

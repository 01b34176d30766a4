/** Judges whether a run without an end still goes on. The journal cannot show it: a process that dies writes nothing. */
import type { RunMode, RunOutcome } from '../journal/entry.ts';

interface RunLiveness {
  readonly outcome?: RunOutcome;
  readonly mode: RunMode;
  /** Of the newest entry, epoch ms. */
  readonly lastAt: number;
  /** `firesAt`, epoch ms, while the switch is armed. */
  readonly deadman: { readonly firesAt?: number };
}

/** A live run that wrote nothing for this long may be dead, so its last known state may be out of date. */
const QUIET_MS = 60_000;

/** False without a clock and for a dry-run: neither can be judged. A run that goes on renews its deadman switch. */
export function isGoing({ outcome, mode, lastAt, deadman }: RunLiveness, now: number | undefined): boolean {
  if (outcome !== undefined || mode !== 'live' || now === undefined) return false;
  return now - lastAt <= QUIET_MS && (deadman.firesAt === undefined || now < deadman.firesAt);
}

/** The run has no end, and is not known to go on. */
export function isSilent(run: RunLiveness, now: number | undefined): boolean {
  return run.outcome === undefined && !isGoing(run, now);
}

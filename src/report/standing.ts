/** Whether a run without an end still goes on. The journal can not say: a process that dies writes nothing about it. */
import type { RunMode, RunOutcome } from '../journal/entry.ts';

export interface RunStanding {
  readonly outcome?: RunOutcome;
  readonly mode: RunMode;
  /** Of the newest entry, epoch ms. */
  readonly lastAt: number;
  /** `firesAt`, epoch ms, while the switch is armed. */
  readonly deadman: { readonly firesAt?: number };
}

/** A live run that has written nothing for so long may be dead: what it last said is no longer sure. */
const QUIET_MS = 60_000;

/** Without a clock, and of a dry-run, nobody can say that it goes on. One that does renews its deadman switch. */
export function isGoing({ outcome, mode, lastAt, deadman }: RunStanding, now: number | undefined): boolean {
  if (outcome !== undefined || mode !== 'live' || now === undefined) return false;
  return now - lastAt <= QUIET_MS && (deadman.firesAt === undefined || now < deadman.firesAt);
}

/** It has no end, and it is not known to go on. */
export function isSilent(run: RunStanding, now: number | undefined): boolean {
  return run.outcome === undefined && !isGoing(run, now);
}

/**
 * The time of one live run: set by the clock on the wall when the run begins, and from then on counted by the monotonic one.
 * Whatever a run measures (beats of the deadman switch, retries, waits, the age of a price, which of two things came first)
 * is right then, however the clock on the wall is put; what that clock says by now is told apart, as a difference.
 */
import type { Clock, Metronome, Timer } from './clock.ts';

/** A clock of the process: see SystemClock. */
export interface ProcessClock extends Clock, Metronome {
  /** Whole milliseconds on the monotonic clock, the same throughout one turn. */
  elapsed(): number;
}

/** What an instant was written down with. */
interface Reading {
  /** Epoch ms, of the run or of the wall. */
  readonly at: number;
  /** Ms since the machine's start, its sleep included. */
  readonly mono: number;
  /** Which start of which machine that counts from. */
  readonly boot: string;
}

/** Two processes of one start of a machine read its time this far apart at most, ms: the system tells it in hundredths of a second. */
const BOOT_GRAIN_MS = 10;

/**
 * How long a run was left alone: at least as long as it was, where both instants count from the same start of the same
 * machine. Elsewhere there is only the clock on the wall, which may have been put: never less than nothing, and no evidence.
 * `last`: the readings of the process before, in order; `now`: by the wall as the run knew it.
 */
export function awaySince(
  last: readonly Reading[],
  now: Reading,
): { readonly ms: number; readonly by: 'machine' | 'wall' } {
  const end = last.at(-1);
  if (end === undefined) return { ms: 0, by: 'wall' };
  if (end.boot !== now.boot) return { ms: Math.max(0, now.at - end.at), by: 'wall' };
  // An entry bears the time of its turn, and is written some way into it: the one written earliest in its turn tells the zero.
  const zero = Math.max(...last.map(({ at, mono }) => at - mono));
  return { ms: Math.max(0, Math.ceil(zero + now.mono - end.at) + BOOT_GRAIN_MS), by: 'machine' };
}

export class RunClock implements Clock {
  private readonly process: ProcessClock;
  private readonly zero: number;

  /** `startMs`: the run's time at this moment, epoch ms. */
  constructor(process: ProcessClock, startMs: number) {
    this.process = process;
    this.zero = startMs - process.elapsed();
  }

  now(): number {
    return this.zero + this.process.elapsed();
  }

  monotonic(): number {
    return this.process.monotonic();
  }

  at(whenMs: number, turn: () => void): Timer {
    return this.process.after(whenMs - this.now(), turn);
  }

  arrive(turn: () => void): void {
    this.process.arrive(turn);
  }

  /** What the clock on the wall says beyond the run's own time, ms. */
  wallAheadMs(): number {
    return this.process.now() - this.now();
  }
}

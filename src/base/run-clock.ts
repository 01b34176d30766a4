/**
 * The time of one live run: set from the wall clock when the run begins, and counted by the monotonic clock from then on.
 * Everything a run measures (heartbeats of the deadman switch, retries, waits, the age of a price, which of two events came
 * first) stays right when the wall clock is adjusted. The wall clock's difference to the run's time is reported separately.
 */
import type { Clock, ClockReading, Metronome, Timer } from './clock.ts';

/** The clock of a process; SystemClock is one. */
export interface ProcessClock extends Clock, Metronome {
  /** Whole milliseconds on the monotonic clock, the same throughout one turn. */
  elapsed(): number;
}

/** An instant as a journal entry records it, by both clocks. */
interface Reading {
  /** Epoch ms, of the run or of the wall clock. */
  readonly at: number;
  /** ms since the machine's start, its sleep included. */
  readonly mono: number;
  /** Names the machine and the start that `mono` counts from. */
  readonly boot: string;
}

/** Two processes since one start of a machine read its uptime at most this far apart, ms: the system gives hundredths of a second. */
export const BOOT_GRAIN_MS = 10;

/**
 * How long a run was without a process, ms. Where both instants count from the same start of the same machine, the result is
 * never too short. Elsewhere only the wall clock is left, which may have been adjusted: at least 0, and not evidence.
 * `last`: readings of the previous process, the oldest first; `now`: by the wall clock as the run knew it.
 */
export function measureAway(
  last: readonly Reading[],
  now: Reading,
): { readonly ms: number; readonly by: 'machine' | 'wall' } {
  const end = last.at(-1);
  if (end === undefined) return { ms: 0, by: 'wall' };
  if (end.boot !== now.boot) return { ms: Math.max(0, now.at - end.at), by: 'wall' };
  // An entry has the time of its turn but is written during the turn: the one written earliest in its turn gives the zero.
  const zero = Math.max(...last.map(({ at, mono }) => at - mono));
  return { ms: Math.max(0, Math.ceil(zero + now.mono - end.at) + BOOT_GRAIN_MS), by: 'machine' };
}

export class RunClock implements Clock {
  private readonly process: ProcessClock;
  private readonly zero: number;

  /** `startMs`: the run's present time, epoch ms. */
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

  read(): ClockReading {
    return this.process.read();
  }

  readAtTurn(): ClockReading {
    return this.process.readAtTurn();
  }

  at(whenMs: number, turn: () => void): Timer {
    return this.process.after(whenMs - this.now(), turn);
  }

  arrive(turn: () => void): void {
    this.process.arrive(turn);
  }

  /** How far the wall clock is ahead of the run's time, ms. */
  wallAheadMs(): number {
    return this.process.now() - this.now();
  }
}

/** Waits of the engine: for a time, for a promise, for the first of several; each ends when its scope is left. */
import type { Clock } from '../base/clock.ts';
import { Abandoned, type Cancellation } from './interruption.ts';

/** Pauses before a request that may be repeated is made again, ms. */
export const REPEAT_DELAYS_MS = [250, 500, 1000, 2000, 4000] as const;

/** Resolves at `whenMs` (epoch ms); rejects with Abandoned when the scope is left first. */
export function sleepUntil(clock: Clock, whenMs: number, cancel: Cancellation): Promise<void> {
  return new Promise((resolve, reject) => {
    if (cancel.reason !== undefined) {
      reject(new Abandoned(cancel.reason));
      return;
    }
    const stop = cancel.listen((reason) => {
      timer.cancel();
      reject(new Abandoned(reason));
    });
    const timer = clock.at(whenMs, () => {
      stop();
      resolve();
    });
  });
}

/** Rounds of loops at one instant: some milliseconds of work, so that a beat or a signal waits no longer than that. */
const ROUNDS_PER_TURN = 64;

/**
 * Keeps a loop that waits for nothing from being one turn, in which no signal is heard, no lease renewed and no deadman switch
 * kept alive. After so many rounds at one instant the next one begins a millisecond later, in a turn of its own. A later
 * instant, and not only a later turn: the time at which a round began is what a replay finds in the journal, and turns are not.
 */
export class Pace {
  private readonly clock: Clock;
  private instant: number | undefined;
  private rounds = 0;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** Asked before each round; undefined when it may begin at once. Rejects as `sleepUntil` does. */
  next(cancel: Cancellation): Promise<void> | undefined {
    if (this.counted() <= ROUNDS_PER_TURN) return undefined;
    // All that wait have a turn each, also where a thousand branches do: they need not share out instants among them.
    return sleepUntil(this.clock, this.clock.now() + 1, cancel).then(() => void this.counted());
  }

  /** Rounds at this instant, with the one that is about to begin. */
  private counted(): number {
    const now = this.clock.now();
    if (now !== this.instant) {
      this.instant = now;
      this.rounds = 0;
    }
    this.rounds += 1;
    return this.rounds;
  }
}

/** A promise with its handles outside: how something that arrives later wakes somebody who waits. */
export interface Signal<T> {
  readonly promise: Promise<T>;
  resolve(value: T): void;
}
export function signal<T>(): Signal<T> {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((fulfil) => {
    resolve = fulfil;
  });
  return { promise, resolve };
}

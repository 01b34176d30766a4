/** Waits for an instant, a signal or the answer of a person, and paces loops. A wait ends when its scope is cancelled. */
import type { Clock } from '../base/clock.ts';
import { Abandoned, type Cancellation } from './interruption.ts';
import type { OperatorCommand } from './ports.ts';

/** Resolves at `whenMs` (epoch ms); rejects with Abandoned when the scope is cancelled first. */
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

/** Rounds of loops at one instant: a few milliseconds of work, the longest that a heartbeat or a signal waits. */
const ROUNDS_PER_TURN = 64;

/**
 * Splits a loop that never waits into turns, so that signals are handled, leases renewed and heartbeats sent. After
 * `ROUNDS_PER_TURN` rounds at one instant the next begins a millisecond later. A later instant, not only a later turn: the
 * journal has the instant at which a round began, for a replay to find, but not its turn.
 */
export class Pace {
  private readonly clock: Clock;
  private instant: number | undefined;
  private rounds = 0;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** Called before each round; undefined when it may begin at once. Rejects as `sleepUntil` does. */
  next(cancel: Cancellation): Promise<void> | undefined {
    if (this.count() <= ROUNDS_PER_TURN) return undefined;
    // All branches that wait here begin at the same instant, each in a turn of its own, even a thousand of them.
    return sleepUntil(this.clock, this.clock.now() + 1, cancel).then(() => void this.count());
  }

  /** Counts the round that is about to begin; gives the rounds at this instant. */
  private count(): number {
    const now = this.clock.now();
    if (now !== this.instant) {
      this.instant = now;
      this.rounds = 0;
    }
    this.rounds += 1;
    return this.rounds;
  }
}

/** Waits for work that goes on in any case. Rejects with Abandoned when the scope is cancelled first. */
export async function waitFor<T>(work: Promise<T>, cancel: Cancellation): Promise<T> {
  let stop = () => {};
  const withdrawn = new Promise<never>((_, reject) => {
    if (cancel.reason !== undefined) reject(new Abandoned(cancel.reason));
    else stop = cancel.listen((reason) => reject(new Abandoned(reason)));
  });
  try {
    return await Promise.race([work, withdrawn]);
  } finally {
    stop();
  }
}

/** A promise that is resolved from outside, by an event that arrives later. */
export interface Signal<T> {
  readonly promise: Promise<T>;
  resolve(value: T): void;
}
export function createSignal<T>(): Signal<T> {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((fulfil) => {
    resolve = fulfil;
  });
  return { promise, resolve };
}

/** Waits for the answers of people to `approve` steps. */
export class Approvals {
  private readonly waiting = new Map<string, (command: OperatorCommand) => void>();

  /** Resolves with the first answer for the step; rejects with Abandoned when the scope is cancelled. */
  answer(step: string, cancel: Cancellation): Promise<OperatorCommand> {
    const answered = createSignal<OperatorCommand>();
    this.waiting.set(step, answered.resolve);
    return new Promise((resolve, reject) => {
      const stop = cancel.listen((reason) => {
        this.waiting.delete(step);
        reject(new Abandoned(reason));
      });
      if (cancel.reason !== undefined) reject(new Abandoned(cancel.reason));
      void answered.promise.then((command) => {
        stop();
        this.waiting.delete(step);
        resolve(command);
      });
    });
  }

  give(command: OperatorCommand): void {
    // A command names a step by its path, or by its id.
    for (const [step, resolve] of this.waiting) {
      if (command.step === undefined || step === command.step || step.endsWith(`/${command.step}`)) resolve(command);
    }
  }
}

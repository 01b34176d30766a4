/** A clock that can be switched to another one while it is in use: a resumed run goes from its recorded time to the present. */
import type { Clock, ClockReading, Timer } from './clock.ts';

/** Pending timers move along to the next clock. */
export class RelayClock implements Clock {
  private inner: Clock;
  private readonly pending = new Set<{ readonly when: number; readonly turn: () => void; timer: Timer }>();
  private stopped = false;

  constructor(inner: Clock) {
    this.inner = inner;
  }

  now(): number {
    return this.inner.now();
  }
  monotonic(): number {
    return this.inner.monotonic();
  }
  read(): ClockReading {
    return this.inner.read();
  }
  readAtTurn(): ClockReading {
    return this.inner.readAtTurn();
  }

  at(when: number, turn: () => void): Timer {
    if (this.stopped) return { cancel() {} };
    const entry = { when, turn, timer: undefined as unknown as Timer };
    const arm = () => {
      entry.timer = this.inner.at(when, () => {
        this.pending.delete(entry);
        turn();
      });
    };
    this.pending.add(entry);
    arm();
    return {
      cancel: () => {
        this.pending.delete(entry);
        entry.timer.cancel();
      },
    };
  }

  arrive(turn: () => void): void {
    if (!this.stopped) this.inner.arrive(turn);
  }

  /** Moves every timer to another clock, in the order in which they were set. */
  switchTo(clock: Clock): void {
    this.inner = clock;
    for (const entry of this.pending) {
      entry.timer.cancel();
      entry.timer = clock.at(entry.when, () => {
        this.pending.delete(entry);
        entry.turn();
      });
    }
  }

  /** No timer of this clock runs any more. */
  stop(): void {
    this.stopped = true;
    for (const entry of this.pending) entry.timer.cancel();
    this.pending.clear();
  }
}

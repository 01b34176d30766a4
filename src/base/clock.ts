/**
 * Time as a value that is passed in. All of the engine's work happens in turns: a turn is one timer that fell due or one
 * thing that arrived from outside, and everything that follows from it without waiting. Within a turn `now()` stands
 * still, and a turn for what arrives is preceded by the turns of all timers due by then. A run is therefore a function
 * of what arrived and when, which is what lets a journal be replayed to the same decisions.
 */

/** A timer that can be taken back. */
export interface Timer {
  cancel(): void;
}

export interface Clock {
  /** Milliseconds since the epoch, whole; the same throughout one turn. */
  now(): number;
  /** Milliseconds on a clock that never jumps; its zero means nothing. */
  monotonic(): number;
  /** Runs `turn` in a turn of its own, at or after `whenMs` (epoch ms). Equal times run in the order they were asked for. */
  at(whenMs: number, turn: () => void): Timer;
  /** Runs `turn` in a turn of its own as soon as possible: how a thing from outside (an answer, a signal) comes in. */
  arrive(turn: () => void): void;
}

/** Counts time that passes, whatever is done to the clock on the wall: for leases, polls and whatever keeps watch. */
export interface Metronome {
  /** Runs `turn` in a turn of its own when `delayMs` have passed on the monotonic clock. */
  after(delayMs: number, turn: () => void): Timer;
}

interface Pending {
  readonly when: number;
  readonly order: number;
  readonly turn: () => void;
  cancelled: boolean;
}

/** Lets every promise that can settle without waiting settle. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** A binary heap by (when, order): timers are added and taken in O(log n), cancelled ones are dropped when met. */
class TimerHeap {
  private readonly heap: Pending[] = [];
  private asked = 0;

  add(when: number, turn: () => void): Timer {
    const pending: Pending = { when, order: this.asked++, turn, cancelled: false };
    this.heap.push(pending);
    this.rise(this.heap.length - 1);
    return {
      cancel() {
        pending.cancelled = true;
      },
    };
  }

  /** The earliest live timer's time, or undefined. */
  next(): number | undefined {
    while (this.heap[0]?.cancelled) this.take();
    return this.heap[0]?.when;
  }

  /** Removes and returns the earliest live timer if it is due by `now`. */
  due(now: number): Pending | undefined {
    const when = this.next();
    return when !== undefined && when <= now ? this.take() : undefined;
  }

  private take(): Pending | undefined {
    const [first] = this.heap;
    const last = this.heap.pop();
    if (first !== last && last !== undefined) {
      this.heap[0] = last;
      this.sink(0);
    }
    return first;
  }

  private before(a: number, b: number): boolean {
    const left = this.heap[a] as Pending;
    const right = this.heap[b] as Pending;
    return left.when < right.when || (left.when === right.when && left.order < right.order);
  }

  private swap(a: number, b: number): void {
    const held = this.heap[a] as Pending;
    this.heap[a] = this.heap[b] as Pending;
    this.heap[b] = held;
  }

  private rise(from: number): void {
    for (let at = from; at > 0; ) {
      const parent = (at - 1) >> 1;
      if (!this.before(at, parent)) return;
      this.swap(at, parent);
      at = parent;
    }
  }

  private sink(from: number): void {
    for (let at = from; ; ) {
      const left = 2 * at + 1;
      let least = at;
      if (left < this.heap.length && this.before(left, least)) least = left;
      if (left + 1 < this.heap.length && this.before(left + 1, least)) least = left + 1;
      if (least === at) return;
      this.swap(at, least);
      at = least;
    }
  }
}

/** Time that moves only when told to: dry-runs, tests, simulations and replays. */
export class VirtualClock implements Clock, Metronome {
  private readonly timers = new TimerHeap();
  private readonly arrivals: (() => void)[] = [];
  private time: number;
  private readonly start: number;

  constructor(startMs: number) {
    if (!Number.isSafeInteger(startMs)) throw new RangeError(`not a whole number of milliseconds: ${startMs}`);
    this.time = startMs;
    this.start = startMs;
  }

  now(): number {
    return this.time;
  }

  monotonic(): number {
    return this.time - this.start;
  }

  at(whenMs: number, turn: () => void): Timer {
    return this.timers.add(whenMs, turn);
  }

  after(delayMs: number, turn: () => void): Timer {
    return this.timers.add(this.time + delayMs, turn);
  }

  arrive(turn: () => void): void {
    this.arrivals.push(turn);
  }

  /** Runs everything that can run without time passing. */
  async quiesce(): Promise<void> {
    await settle();
    for (let turn = this.nextTurn(this.time); turn !== undefined; turn = this.nextTurn(this.time)) {
      turn();
      await settle();
    }
  }

  /** Moves to `whenMs`, running each timer due on the way at its own time. Never moves back. */
  async advanceTo(whenMs: number): Promise<void> {
    await this.quiesce();
    for (let next = this.timers.next(); next !== undefined && next <= whenMs; next = this.timers.next()) {
      this.time = Math.max(this.time, next);
      await this.quiesce();
    }
    this.time = Math.max(this.time, whenMs);
  }

  /** Sets the time and runs nothing: for what a process slept through. */
  skipTo(whenMs: number): void {
    this.time = Math.max(this.time, whenMs);
  }

  /** Sets the time to `whenMs` at once and runs all timers due by then at that time, as a late real timer would. */
  async jumpTo(whenMs: number): Promise<void> {
    this.time = Math.max(this.time, whenMs);
    await this.quiesce();
  }

  /** Runs until `work` has settled; throws if it can not: nothing is due and nothing has arrived. */
  async runUntil<T>(work: Promise<T>): Promise<T> {
    let done = false;
    const finished = work.finally(() => {
      done = true;
    });
    finished.catch(() => {});
    await this.quiesce();
    while (!done) {
      const next = this.timers.next();
      if (next === undefined)
        throw new Error('virtual time stands still: the work waits for something that never comes');
      this.time = Math.max(this.time, next);
      await this.quiesce();
    }
    return finished;
  }

  private nextTurn(now: number): (() => void) | undefined {
    return this.timers.due(now)?.turn ?? this.arrivals.shift();
  }
}

/** The longest the system clock sleeps without looking at the time again: clocks jump and machines suspend. */
const LONGEST_SLEEP_MS = 30_000;

/** Real time. Turns run one after another, each followed by everything it set off, before the next may begin. */
export class SystemClock implements Clock, Metronome {
  private readonly timers = new TimerHeap();
  /** By the monotonic clock: a wall clock put back an hour must not stop them for an hour. */
  private readonly delays = new TimerHeap();
  private readonly arrivals: (() => void)[] = [];
  private turnTime: number | undefined;
  private running = false;
  private wake: NodeJS.Timeout | undefined;

  now(): number {
    return this.turnTime ?? Date.now();
  }

  monotonic(): number {
    return performance.now();
  }

  at(whenMs: number, turn: () => void): Timer {
    const timer = this.timers.add(whenMs, turn);
    this.arm();
    return timer;
  }

  after(delayMs: number, turn: () => void): Timer {
    const timer = this.delays.add(performance.now() + delayMs, turn);
    this.arm();
    return timer;
  }

  arrive(turn: () => void): void {
    this.arrivals.push(turn);
    void this.work();
  }

  private arm(): void {
    if (this.running) return;
    clearTimeout(this.wake);
    const next = this.timers.next();
    const delay = this.delays.next();
    if (next === undefined && delay === undefined) return;
    const untilNext = next === undefined ? LONGEST_SLEEP_MS : next - Date.now();
    const untilDelay = delay === undefined ? LONGEST_SLEEP_MS : delay - performance.now();
    const wait = Math.min(Math.max(0, Math.ceil(Math.min(untilNext, untilDelay))), LONGEST_SLEEP_MS);
    this.wake = setTimeout(() => void this.work(), wait);
  }

  private async run(turn: () => void, time: number): Promise<void> {
    this.turnTime = time;
    turn();
    await settle();
    this.turnTime = undefined;
  }

  private async work(): Promise<void> {
    if (this.running) return;
    this.running = true;
    try {
      for (;;) {
        // One look at the time for all timers that are due by it: a replay runs them at one time as well.
        const time = Date.now();
        let ran = false;
        for (let timer = this.timers.due(time); timer !== undefined; timer = this.timers.due(time)) {
          ran = true;
          await this.run(timer.turn, time);
        }
        const elapsed = performance.now();
        for (let delay = this.delays.due(elapsed); delay !== undefined; delay = this.delays.due(elapsed)) {
          ran = true;
          await this.run(delay.turn, time);
        }
        const arrival = this.arrivals.shift();
        if (arrival !== undefined) await this.run(arrival, time);
        else if (!ran) break;
      }
    } finally {
      this.turnTime = undefined;
      this.running = false;
      this.arm();
    }
  }
}

/**
 * Clocks that are passed in: virtual time and system time. All work of the engine happens in turns. A turn is one timer that
 * fell due, or one arrival from outside, and everything that follows from it without waiting. `now()` does not change within
 * a turn, and all timers due by an arrival run before it. So a run depends only on what arrived and when, and a replay of its
 * journal makes the same decisions.
 */
import { uptime } from 'node:os';

/** A timer that can be cancelled. */
export interface Timer {
  cancel(): void;
}

/**
 * Both clocks of the machine as they were read together. Neither is enough for how long a process stood still: the monotonic
 * clock of Linux does not run while the machine sleeps, and the wall clock may be adjusted meanwhile.
 */
export interface ClockReading {
  /** Milliseconds on the monotonic clock; its zero is arbitrary. */
  readonly monotonicMs: number;
  /** Milliseconds since the epoch. */
  readonly wallMs: number;
}

/**
 * How much time may have gone by between two readings, ms: the larger of what the two clocks say. A wall clock that was set back hides
 * how long the machine slept before, so its step counts as well.
 */
export function measureBetween(from: ClockReading, to: ClockReading): number {
  return Math.max(to.monotonicMs - from.monotonicMs, Math.abs(to.wallMs - from.wallMs));
}

export interface Clock {
  /** Milliseconds since the epoch, whole; the same throughout one turn. */
  now(): number;
  /** Reads both clocks at this very moment, also in the middle of a turn. */
  read(): ClockReading;
  /** Both clocks as they were when the present turn began: what `now()` is as old as. Outside a turn, as they are now. */
  readAtTurn(): ClockReading;
  /** Milliseconds on a clock that never jumps; its zero is arbitrary. */
  monotonic(): number;
  /** Runs `turn` in a turn of its own, at or after `whenMs` (epoch ms). Timers of equal times run in the order they were set. */
  at(whenMs: number, turn: () => void): Timer;
  /** Runs `turn` in a turn of its own as soon as possible: for events from outside, such as an answer or a signal. */
  arrive(turn: () => void): void;
}

/** Measures elapsed time, even when the wall clock is adjusted: for leases, polls and watchdogs. */
export interface Metronome {
  /** Runs `turn` in a turn of its own when `delayMs` have passed on the monotonic clock. */
  after(delayMs: number, turn: () => void): Timer;
}

/** Runs `turn` at or after `whenMs` (epoch ms) as an event from outside: behind all timers of that time, where a replay has it too. */
export function arriveAt(clock: Pick<Clock, 'at' | 'arrive'>, whenMs: number, turn: () => void): Timer {
  return clock.at(whenMs, () => clock.arrive(turn));
}

class PendingTimer implements Timer {
  readonly when: number;
  readonly order: number;
  turn: () => void;
  cancelled = false;

  constructor(when: number, order: number, turn: () => void) {
    this.when = when;
    this.order = order;
    this.turn = turn;
  }

  /** It stays in the heap until its time; what its turn would have used must not. */
  cancel(): void {
    this.cancelled = true;
    this.turn = NO_TURN;
  }
}

const NO_TURN = (): void => {};

/** Resolves after a time of this clock. */
export function pause(clock: Metronome, ms: number): Promise<void> {
  return new Promise((resolve) => void clock.after(ms, resolve));
}

/** Waits until every promise that can settle without waiting has settled. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/**
 * The same where no work of a disk or a socket is pending: Node runs the tick queue only after all promises, and it costs a
 * tenth of a round of the event loop.
 */
function settlePromises(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}

/** After this many turns the event loop gets a round in any case: a signal must not wait for the end of a long run. */
const TURNS_PER_ROUND = 32;

/** A binary heap by (when, order): adding and taking a timer is O(log n); a cancelled timer is dropped when it comes to the top. */
class TimerHeap {
  private readonly heap: PendingTimer[] = [];
  private added = 0;

  add(when: number, turn: () => void): Timer {
    const timer = new PendingTimer(when, this.added++, turn);
    this.heap.push(timer);
    this.rise(this.heap.length - 1);
    return timer;
  }

  /** The time of the earliest live timer, or undefined. */
  nextTime(): number | undefined {
    while (this.heap[0]?.cancelled) this.take();
    return this.heap[0]?.when;
  }

  /** Removes and returns the earliest live timer if it is due by `now`. */
  takeDue(now: number): PendingTimer | undefined {
    const when = this.nextTime();
    return when !== undefined && when <= now ? this.take() : undefined;
  }

  private take(): PendingTimer | undefined {
    const [first] = this.heap;
    const last = this.heap.pop();
    if (first !== last && last !== undefined) {
      this.heap[0] = last;
      this.sink(0);
    }
    return first;
  }

  private isBefore(a: number, b: number): boolean {
    const left = this.heap[a] as PendingTimer;
    const right = this.heap[b] as PendingTimer;
    return left.when < right.when || (left.when === right.when && left.order < right.order);
  }

  private swap(a: number, b: number): void {
    const held = this.heap[a] as PendingTimer;
    this.heap[a] = this.heap[b] as PendingTimer;
    this.heap[b] = held;
  }

  private rise(from: number): void {
    for (let index = from; index > 0; ) {
      const parent = (index - 1) >> 1;
      if (!this.isBefore(index, parent)) return;
      this.swap(index, parent);
      index = parent;
    }
  }

  private sink(from: number): void {
    for (let index = from; ; ) {
      const left = 2 * index + 1;
      let least = index;
      if (left < this.heap.length && this.isBefore(left, least)) least = left;
      if (left + 1 < this.heap.length && this.isBefore(left + 1, least)) least = left + 1;
      if (least === index) return;
      this.swap(index, least);
      index = least;
    }
  }
}

/** Time that passes only when a caller advances it: for dry-runs, tests, simulations and replays. */
export class VirtualClock implements Clock, Metronome {
  private readonly timers = new TimerHeap();
  private readonly arrivals: (() => void)[] = [];
  private time: number;
  private readonly start: number;
  private readonly promisesAlone: boolean;
  private settles = 0;

  /** `promisesAlone`: within a turn the code waits only for this clock and for promises, never for a disk or a socket. */
  constructor(startMs: number, { promisesAlone = false }: { readonly promisesAlone?: boolean } = {}) {
    if (!Number.isSafeInteger(startMs)) throw new RangeError(`not a whole number of milliseconds: ${startMs}`);
    this.time = startMs;
    this.start = startMs;
    this.promisesAlone = promisesAlone;
  }

  now(): number {
    return this.time;
  }

  monotonic(): number {
    return this.time - this.start;
  }

  read(): ClockReading {
    return { monotonicMs: this.monotonic(), wallMs: this.time };
  }

  readAtTurn(): ClockReading {
    return this.read();
  }

  elapsed(): number {
    return this.monotonic();
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

  /** Runs everything that can run at the present time. */
  async quiesce(): Promise<void> {
    await this.settle();
    if (this.hasTurn()) await this.runDue();
  }

  /** The same where everything has settled: when only the time has changed since the last turn. */
  private async runDue(): Promise<void> {
    for (let turn = this.takeTurn(this.time); turn !== undefined; turn = this.takeTurn(this.time)) {
      turn();
      await this.settle();
    }
  }

  /** Advances to `whenMs` and runs each timer due on the way at its own time. Never goes back. */
  async advanceTo(whenMs: number): Promise<void> {
    await this.quiesce();
    for (let next = this.timers.nextTime(); next !== undefined && next <= whenMs; next = this.timers.nextTime()) {
      this.time = Math.max(this.time, next);
      await this.runDue();
    }
    this.time = Math.max(this.time, whenMs);
  }

  /** When the earliest timer is due, epoch ms; undefined where there is none. */
  nextTimerAt(): number | undefined {
    return this.timers.nextTime();
  }

  /** Sets the time and runs nothing: for time that a process slept through. */
  skipTo(whenMs: number): void {
    this.time = Math.max(this.time, whenMs);
  }

  /**
   * Sets the time to `whenMs` at once and runs all timers due by then at that time, as late timers of a real clock run. To be called where
   * everything has settled; undefined where nothing is due.
   */
  jumpTo(whenMs: number): Promise<void> | undefined {
    this.time = Math.max(this.time, whenMs);
    return this.hasTurn() ? this.runDue() : undefined;
  }

  private hasTurn(): boolean {
    return this.arrivals.length > 0 || (this.timers.nextTime() ?? Infinity) <= this.time;
  }

  /** Runs until `work` has settled. Throws when it cannot settle: no timer is due and nothing has arrived. */
  async runUntil<T>(work: Promise<T>): Promise<T> {
    let done = false;
    const finished = work.finally(() => {
      done = true;
    });
    finished.catch(() => {});
    // Directly in the callback of an event Node would run the tick queue before the promises.
    await undefined;
    await this.quiesce();
    while (!done) {
      const next = this.timers.nextTime();
      if (next === undefined) throw new Error('virtual time stopped: the work waits for an event that never comes');
      this.time = Math.max(this.time, next);
      for (let turn = this.takeTurn(this.time); turn !== undefined; turn = this.takeTurn(this.time)) {
        turn();
        await this.settle();
      }
    }
    return finished;
  }

  private takeTurn(now: number): (() => void) | undefined {
    return this.timers.takeDue(now)?.turn ?? this.arrivals.shift();
  }

  private settle(): Promise<void> {
    this.settles += 1;
    return this.promisesAlone && this.settles % TURNS_PER_ROUND !== 0 ? settlePromises() : settle();
  }
}

/** The longest time between two looks at the machine's clocks: clocks jump and machines suspend. */
const LONGEST_SLEEP_MS = 30_000;
/** From here on a difference between two clocks is not drift: the wall clock was adjusted, or the machine slept. */
const MOVED_MS = 2_000;

/** The clocks of a machine: the wall clock, one that never jumps, and one that continues while the machine sleeps. */
export interface MachineTime {
  /** Epoch ms. */
  wall(): number;
  monotonic(): number;
  /** Milliseconds, sleep included; may be as coarse as a second. */
  sinceBoot(): number;
}

const THIS_MACHINE: MachineTime = {
  wall: () => Date.now(),
  monotonic: () => performance.now(),
  sinceBoot: () => uptime() * 1000,
};

/** Real time. Turns run one after another: a turn begins only after everything that the previous one started has settled. */
export class SystemClock implements Clock, Metronome {
  private readonly machine: MachineTime;
  private readonly timers = new TimerHeap();
  /** On the monotonic clock: a wall clock that goes back an hour must not delay them by an hour. */
  private readonly delays = new TimerHeap();
  private readonly arrivals: (() => void)[] = [];
  private readonly moved = new Set<() => void>();
  private turnTime: number | undefined;
  private turnElapsed: number | undefined;
  private turnReading: ClockReading | undefined;
  private running = false;
  private wake: NodeJS.Timeout | undefined;
  /** From the zero of the monotonic clock to the machine's start, sleep included: on some systems that clock stops during sleep. */
  private sleptMs: number;
  /** The other two clocks minus the monotonic one, as last seen. */
  private wallAhead: number;
  private bootAhead: number;

  constructor(machine: MachineTime = THIS_MACHINE) {
    this.machine = machine;
    this.wallAhead = machine.wall() - machine.monotonic();
    this.bootAhead = machine.sinceBoot() - machine.monotonic();
    this.sleptMs = this.bootAhead;
  }

  now(): number {
    return this.turnTime ?? this.machine.wall();
  }

  read(): ClockReading {
    return { monotonicMs: this.machine.monotonic(), wallMs: this.machine.wall() };
  }

  readAtTurn(): ClockReading {
    return this.turnReading ?? this.read();
  }

  /** Counts from the machine's start and continues while it sleeps: two processes since one start read the same, to its grain. */
  monotonic(): number {
    return this.machine.monotonic() + this.sleptMs;
  }

  /** Whole milliseconds on the monotonic clock, the same throughout one turn. */
  elapsed(): number {
    return this.turnElapsed ?? Math.floor(this.monotonic());
  }

  at(whenMs: number, turn: () => void): Timer {
    return this.armWith(this.timers.add(whenMs, turn));
  }

  after(delayMs: number, turn: () => void): Timer {
    return this.armWith(this.delays.add(this.elapsed() + delayMs, turn));
  }

  arrive(turn: () => void): void {
    this.arrivals.push(turn);
    void this.work();
  }

  /** Calls `listener`, outside any turn, when the wall clock was adjusted: checked whenever something is due, and every 30 s. */
  onWallMoved(listener: () => void): () => void {
    this.moved.add(listener);
    return () => void this.moved.delete(listener);
  }

  private armWith(timer: Timer): Timer {
    this.arm();
    return {
      cancel: () => {
        timer.cancel();
        // A wake-up that nothing needs would keep the process from ending.
        this.arm();
      },
    };
  }

  private arm(): void {
    if (this.running) return;
    clearTimeout(this.wake);
    const next = this.timers.nextTime();
    const delay = this.delays.nextTime();
    if (next === undefined && delay === undefined) return;
    const untilNext = next === undefined ? LONGEST_SLEEP_MS : next - this.machine.wall();
    const untilDelay = delay === undefined ? LONGEST_SLEEP_MS : delay - this.monotonic();
    const wait = Math.min(Math.max(0, Math.ceil(Math.min(untilNext, untilDelay))), LONGEST_SLEEP_MS);
    this.wake = setTimeout(() => void this.work(), wait);
  }

  private compareClocks(): void {
    const { machine } = this;
    if (Math.abs(machine.wall() - machine.monotonic() - this.wallAhead) < MOVED_MS) return;
    const slept = machine.sinceBoot() - machine.monotonic() - this.bootAhead;
    if (slept >= MOVED_MS) {
      this.sleptMs += slept;
      this.bootAhead += slept;
      this.wallAhead += slept;
    }
    const ahead = machine.wall() - machine.monotonic();
    if (Math.abs(ahead - this.wallAhead) < MOVED_MS) return;
    this.wallAhead = ahead;
    for (const listener of [...this.moved]) listener();
  }

  private async run(turn: () => void, time: number, elapsed: number): Promise<void> {
    this.turnTime = time;
    this.turnElapsed = elapsed;
    turn();
    await settle();
    this.turnTime = undefined;
    this.turnElapsed = undefined;
  }

  /** Runs what is due by that time, also timers that those turns set for at once; true where anything ran. */
  private async runDue(time: number, elapsed: number): Promise<boolean> {
    for (let ran = false; ; ran = true) {
      const due = this.timers.takeDue(time) ?? this.delays.takeDue(elapsed);
      if (due === undefined) return ran;
      await this.run(due.turn, time, elapsed);
    }
  }

  private async work(): Promise<void> {
    if (this.running) return;
    this.running = true;
    try {
      for (;;) {
        this.compareClocks();
        this.turnReading = this.read();
        // All timers due by now run at one time: a replay runs them at one time as well.
        const time = this.turnReading.wallMs;
        const elapsed = Math.floor(this.monotonic());
        const ran = await this.runDue(time, elapsed);
        const arrival = this.arrivals.shift();
        if (arrival !== undefined) {
          await this.run(arrival, time, elapsed);
          // A timer that this turn set for at once runs at the turn's own time, however long the turn took: so does a replay.
          await this.runDue(time, elapsed);
        } else if (!ran) break;
      }
    } finally {
      this.turnTime = undefined;
      this.turnElapsed = undefined;
      this.turnReading = undefined;
      this.running = false;
      this.arm();
    }
  }
}

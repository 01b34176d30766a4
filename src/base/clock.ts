/**
 * Time as a value that is passed in. All of the engine's work happens in turns: a turn is one timer that fell due or one
 * thing that arrived from outside, and everything that follows from it without waiting. Within a turn `now()` stands
 * still, and a turn for what arrives is preceded by the turns of all timers due by then. A run is therefore a function
 * of what arrived and when, which is what lets a journal be replayed to the same decisions.
 */
import { uptime } from 'node:os';

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

/**
 * The same where nothing of what is under way is a disk's or a socket's: the queue of ticks is asked only when no promise has
 * anything left to do, and it costs a tenth of a round of the event loop.
 */
function settlePromises(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}

/** Turns after which the event loop has a round all the same: a signal must not wait for the end of a long run. */
const TURNS_PER_ROUND = 256;

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
  private readonly promisesAlone: boolean;
  private settled = 0;

  /** `promisesAlone`: whoever runs on it waits for this clock and for promises, never within a turn for a disk or a socket. */
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

  /** Runs everything that can run without time passing. */
  async quiesce(): Promise<void> {
    await this.settle();
    for (let turn = this.nextTurn(this.time); turn !== undefined; turn = this.nextTurn(this.time)) {
      turn();
      await this.settle();
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

  private settle(): Promise<void> {
    this.settled += 1;
    return this.promisesAlone && this.settled % TURNS_PER_ROUND !== 0 ? settlePromises() : settle();
  }
}

/** The longest the system clock sleeps without looking at the time again: clocks jump and machines suspend. */
const LONGEST_SLEEP_MS = 30_000;
/** From here on a difference between two clocks is no drift: somebody put the one on the wall, or the machine slept. */
const MOVED_MS = 2_000;

/** What can be read off a machine: the clock on the wall, one that never jumps, and one that goes on while it sleeps. */
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

/** Real time. Turns run one after another, each followed by everything it set off, before the next may begin. */
export class SystemClock implements Clock, Metronome {
  private readonly machine: MachineTime;
  private readonly timers = new TimerHeap();
  /** By the monotonic clock: a wall clock put back an hour must not stop them for an hour. */
  private readonly delays = new TimerHeap();
  private readonly arrivals: (() => void)[] = [];
  private readonly moved = new Set<() => void>();
  private turnTime: number | undefined;
  private turnElapsed: number | undefined;
  private running = false;
  private wake: NodeJS.Timeout | undefined;
  /** From the monotonic clock's zero to that of the machine: its sleep, for monotonic clocks stand still meanwhile on some systems. */
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

  /** Counts from the machine's start, and goes on while it sleeps: two processes of one start read the same, to its grain. */
  monotonic(): number {
    return this.machine.monotonic() + this.sleptMs;
  }

  /** Whole milliseconds on the monotonic clock, the same throughout one turn. */
  elapsed(): number {
    return this.turnElapsed ?? Math.floor(this.monotonic());
  }

  at(whenMs: number, turn: () => void): Timer {
    return this.armed(this.timers.add(whenMs, turn));
  }

  after(delayMs: number, turn: () => void): Timer {
    return this.armed(this.delays.add(this.elapsed() + delayMs, turn));
  }

  arrive(turn: () => void): void {
    this.arrivals.push(turn);
    void this.work();
  }

  /** Tells, outside any turn, when the clock on the wall has been put; looked at whenever something is due, and every 30 s. */
  onWallMoved(listener: () => void): () => void {
    this.moved.add(listener);
    return () => void this.moved.delete(listener);
  }

  private armed(timer: Timer): Timer {
    this.arm();
    return {
      cancel: () => {
        timer.cancel();
        // Nothing is waited for that nobody wants: it would keep a process from ending.
        this.arm();
      },
    };
  }

  private arm(): void {
    if (this.running) return;
    clearTimeout(this.wake);
    const next = this.timers.next();
    const delay = this.delays.next();
    if (next === undefined && delay === undefined) return;
    const untilNext = next === undefined ? LONGEST_SLEEP_MS : next - this.machine.wall();
    const untilDelay = delay === undefined ? LONGEST_SLEEP_MS : delay - this.monotonic();
    const wait = Math.min(Math.max(0, Math.ceil(Math.min(untilNext, untilDelay))), LONGEST_SLEEP_MS);
    this.wake = setTimeout(() => void this.work(), wait);
  }

  private lookAround(): void {
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

  /** Whether anything was due by that time; also what those turns ask for at once. */
  private async runDue(time: number, elapsed: number): Promise<boolean> {
    for (let ran = false; ; ran = true) {
      const due = this.timers.due(time) ?? this.delays.due(elapsed);
      if (due === undefined) return ran;
      await this.run(due.turn, time, elapsed);
    }
  }

  private async work(): Promise<void> {
    if (this.running) return;
    this.running = true;
    try {
      for (;;) {
        this.lookAround();
        // One look at the time for all timers that are due by it: a replay runs them at one time as well.
        const time = this.machine.wall();
        const elapsed = Math.floor(this.monotonic());
        const ran = await this.runDue(time, elapsed);
        const arrival = this.arrivals.shift();
        if (arrival !== undefined) {
          await this.run(arrival, time, elapsed);
          // What it asked for at once is due at its own time, however long its turn took: a replay has it so.
          await this.runDue(time, elapsed);
        } else if (!ran) break;
      }
    } finally {
      this.turnTime = undefined;
      this.turnElapsed = undefined;
      this.running = false;
      this.arm();
    }
  }
}

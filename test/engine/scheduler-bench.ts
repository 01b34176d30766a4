/** A bench for the scheduler in virtual time: a settable wall clock, runs of a given length, and a record of all events. */
import { type Clock, type ClockReading, type Metronome, type Timer, VirtualClock } from '../../src/base/clock.ts';
import type { OperatorCommand } from '../../src/engine/ports.ts';
import type { ClockAgreement } from '../../src/engine/schedule/clock-agreement.ts';
import type { Launch, Launcher, RunEnding } from '../../src/engine/schedule/launcher.ts';
import { Scheduler, type SchedulerEvent, type TimetableSlot } from '../../src/engine/schedule/scheduler.ts';
import type { OccurrenceRow, ScheduleStore } from '../../src/journal/schedule/store.ts';
import type { ScheduleDeclaration } from '../../src/runbook/checked.ts';
import { MemoryScheduleStore } from './memory-schedule-store.ts';

export const ACCOUNT = 'http://127.0.0.1:8080 main';

/** Virtual time with a wall clock that can be set. */
export class WallClock implements Clock, Metronome {
  readonly time: VirtualClock;
  private aheadMs = 0;

  constructor(startMs: number) {
    this.time = new VirtualClock(startMs);
  }
  now(): number {
    return this.time.now() + this.aheadMs;
  }
  monotonic(): number {
    return this.time.monotonic();
  }
  read(): ClockReading {
    return { ...this.time.read(), wallMs: this.now() };
  }
  readAtTurn(): ClockReading {
    return this.read();
  }
  at(whenMs: number, turn: () => void): Timer {
    return this.time.at(whenMs - this.aheadMs, turn);
  }
  after(delayMs: number, turn: () => void): Timer {
    return this.time.after(delayMs, turn);
  }
  arrive(turn: () => void): void {
    this.time.arrive(turn);
  }
  /** Sets the wall clock forward (positive) or back. */
  set(byMs: number): void {
    this.aheadMs += byMs;
  }
  /** Lets monotonic time pass. */
  pass(ms: number): Promise<void> {
    return this.time.advanceTo(this.time.now() + ms);
  }
}

export interface BenchOptions {
  readonly startMs: number;
  readonly slots: readonly TimetableSlot[];
  /** How long a run lasts; Infinity: until it is stopped. */
  readonly runMs?: number;
  readonly scheduleStore?: ScheduleStore;
  readonly clock?: WallClock;
  readonly epoch?: number;
  readonly account?: string;
  /** A clock of another machine, which the wall clock is compared with. */
  readonly agreement?: ClockAgreement;
  /** Runs that the journal has, shared by the processes of a test. */
  readonly journal?: Set<string>;
}

export class Bench {
  readonly clock: WallClock;
  readonly scheduleStore: ScheduleStore;
  readonly journal: Set<string>;
  readonly launches: (Launch & { readonly atMs: number })[] = [];
  readonly stops: { readonly run: string; readonly command: OperatorCommand }[] = [];
  readonly events: SchedulerEvent[] = [];
  readonly scheduler: Scheduler;
  /** Ends a run by hand. */
  readonly ends = new Map<string, (ending: RunEnding) => void>();
  /** Undefined: it cannot be read. */
  killed: boolean | undefined = false;
  /** Whether the journals of runs have their first entry; undefined: unknown. */
  begins: boolean | undefined = true;
  /** The process died: it starts nothing and gets no events. */
  dead = false;

  constructor({
    startMs,
    slots,
    runMs = 1_000,
    scheduleStore = new MemoryScheduleStore(),
    clock,
    epoch = 1,
    account = ACCOUNT,
    journal = new Set(),
    agreement,
  }: BenchOptions) {
    this.clock = clock ?? new WallClock(startMs);
    this.scheduleStore = scheduleStore;
    this.journal = journal;
    const launcher: Launcher = {
      exists: async (run) => journal.has(run),
      start: (launch) => {
        if (!this.dead) {
          this.launches.push({ ...launch, atMs: this.clock.now() });
          journal.add(launch.run);
        }
        return this.run(launch.run, runMs);
      },
    };
    this.scheduler = new Scheduler({
      account,
      epoch,
      clock: this.clock,
      scheduleStore,
      launcher,
      killed: async () => this.killed,
      clockAgrees: () => {
        const difference = agreement?.findDifference(this.clock.now(), this.clock.monotonic());
        return Math.abs(difference?.aheadMs ?? 0) <= 5_000;
      },
      tell: (event) => void this.events.push(event),
    });
    this.slots = slots;
  }
  private readonly slots: readonly TimetableSlot[];

  begin(): Promise<void> {
    return this.clock.time.runUntil(this.scheduler.begin(this.slots));
  }

  run(run: string, runMs: number) {
    const done = new Promise<RunEnding>((resolve) => {
      this.ends.set(run, resolve);
      if (Number.isFinite(runMs)) this.clock.after(runMs, () => resolve({ kind: 'ended', outcome: 'succeeded' }));
    });
    const stop = (command: OperatorCommand) => {
      this.stops.push({ run, command });
      this.ends.get(run)?.({ kind: 'ended', outcome: 'failed', reason: command.command });
    };
    return { begun: Promise.resolve(this.begins), done, stop };
  }

  /** `started 08:00`, by their instants. */
  async verdicts(): Promise<readonly string[]> {
    const rows = await this.scheduleStore.occurrences(ACCOUNT);
    return [...rows].reverse().map(formatVerdict);
  }
}

function formatVerdict({ nominalMs, verdict, why }: OccurrenceRow): string {
  return `${verdict} ${new Date(nominalMs).toISOString().slice(11, 19)}${why === undefined ? '' : ` ${why}`}`;
}

export function slotOf(declaration: ScheduleDeclaration, rest: Partial<TimetableSlot> = {}): TimetableSlot {
  return { id: 'nightly/times', runbook: 'nightly', declaration, ...rest };
}

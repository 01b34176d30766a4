/**
 * Simulates one process and its access to the world: a clock, a disk, a transport to the venue, the rows it shares with others.
 * A dead process never continues anything. In a frozen one everything waits, timers and answers too, until it is thawed. The
 * world outside goes on in both cases.
 */
import type { Clock, Timer } from '../../src/base/clock.ts';
import type { ProcessClock } from '../../src/base/run-clock.ts';
import type { CrashPoint } from '../../src/gateway/crash-points.ts';
import type { LedgerRows } from '../../src/journal/shared/shared.ts';
import type { AppendOptions, JournalStore, StoredEntry } from '../../src/journal/store.ts';
import { StoreAway } from '../../src/journal/store.ts';
import type { InjectedFault, Stop } from './scenario.ts';

/** What is done to one process. */
interface Faults {
  readonly fault: InjectedFault | undefined;
  readonly stop: Stop | undefined;
}

export class Process {
  /** Counted from 1. */
  readonly life: number;
  readonly clock: ProcessClock;
  /** When it had the lease of the account. */
  startedAt: number;
  /** Which start of which machine it runs on. */
  readonly boot: string;
  /** Resolves when it dies or is frozen. */
  readonly struck: Promise<InjectedFault>;
  state: 'running' | 'frozen' | 'dead' = 'running';
  /** Where it was struck, for the story. */
  struckAt: { readonly at: number; readonly point: string } | undefined;
  readonly reachedPoints = new Map<string, number>();
  private readonly base: Clock;
  private readonly fault: InjectedFault | undefined;
  /** When it was stopped without dying, by the venue's clock. */
  readonly stops: { readonly from: number; readonly until: number; readonly point: string }[] = [];
  /** When each thing that a write depends on was last asked, by the venue's clock. */
  private readonly askedAt = new Map<string, number>();
  private stop: Stop | undefined;
  /** How often its point was reached. */
  private passedStop = 0;
  /** How long the machine slept, its monotonic clock with it. */
  private asleepMs = 0;
  /** `due`: of a timer, by the venue's clock. */
  private held: { readonly turn: () => void; readonly due: number | undefined }[] = [];
  private reportStrike: (fault: InjectedFault) => void = () => {};

  /** `aheadMs`: how far the wall clock is ahead of the venue's now, ms. `machine`: counted from 0, each with a time of its own since its start. */
  constructor(base: Clock, life: number, faults: Faults, aheadMs: () => number, machine: number) {
    this.base = base;
    this.life = life;
    this.fault = faults.fault;
    this.stop = faults.stop;
    this.startedAt = base.now();
    this.boot = `machine-${machine}`;
    const sinceStart = () => base.monotonic() + machine * 5_000_000;
    this.struck = new Promise((resolve) => {
      this.reportStrike = resolve;
    });
    const after = (delayMs: number, turn: () => void): Timer => {
      const due = base.now() + delayMs;
      let isCancelled = false;
      const timer = base.at(due, () =>
        this.whenRunning(() => {
          if (!isCancelled) turn();
        }, due),
      );
      return {
        cancel: () => {
          isCancelled = true;
          timer.cancel();
        },
      };
    };
    const read = () => ({ monotonicMs: base.monotonic() - this.asleepMs, wallMs: base.now() + aheadMs() });
    this.clock = {
      now: () => base.now() + aheadMs(),
      read,
      readAtTurn: read,
      monotonic: sinceStart,
      elapsed: sinceStart,
      at: (when, turn) => after(when - base.now() - aheadMs(), turn),
      after,
      arrive: (turn) => base.arrive(() => this.whenRunning(turn)),
    };
  }

  /** How far the wall clock is ahead of the venue's, ms. */
  get aheadOfVenue(): number {
    return this.clock.now() - this.base.now();
  }

  /** By the venue's clock. */
  venueTime(): number {
    return this.base.now();
  }

  /** It has the lease, and its time runs. */
  begin(): void {
    const { fault, base } = this;
    this.startedAt = base.now();
    if (fault?.point === 'time') base.at(base.now() + fault.at, () => this.strike(fault, 'time'));
  }

  /**
   * Does it now; once it is thawed, where it is frozen; never, where it is dead. What falls due in the instant of a stop is done in that
   * instant, because a clock gives all of it the time that it read before; what it sends or stores waits until the process goes on.
   */
  whenRunning(turn: () => void, due?: number): void {
    if (this.state === 'running' || (this.isStopping && due !== undefined)) turn();
    else if (this.state === 'frozen') this.held.push({ turn, due });
  }

  /** A point was reached; gives whether the process is struck by that. */
  reached(point: CrashPoint, of: string): boolean {
    if (this.state !== 'running') return false;
    const key = `${of} ${point}`;
    this.reachedPoints.set(key, (this.reachedPoints.get(key) ?? 0) + 1);
    if (this.isStopped(point, of)) return true;
    if (this.fault?.point !== point) return false;
    const times = (this.reachedPoints.get(`* ${point}`) ?? 0) + 1;
    this.reachedPoints.set(`* ${point}`, times);
    if (times !== this.fault.at) return false;
    this.strike(this.fault, `${point} of ${of}`);
    return true;
  }

  /** A thing that a write depends on is asked now. */
  noteAsked(what: string): void {
    this.askedAt.set(what, this.base.now());
  }

  /** How long ago the oldest of the things that a write depends on was asked, ms. */
  measureAsked(): number {
    return this.base.now() - Math.min(...this.askedAt.values());
  }

  private isStopped(point: CrashPoint, of: string): boolean {
    const { stop, base } = this;
    if (stop?.point !== point) return false;
    this.passedStop += 1;
    if (this.passedStop !== stop.at) return false;
    this.stop = undefined;
    this.state = 'frozen';
    const from = base.now();
    this.stops.push({ from, until: from + stop.forMs, point: `${point} of ${of}` });
    base.at(from + stop.forMs, () => {
      if (stop.clocks === 'wall') this.asleepMs += stop.forMs;
      this.thaw();
    });
    return true;
  }

  /** It is dead, and the moment of its death is not over. */
  get isDying(): boolean {
    return this.state === 'dead' && this.struckAt?.at === this.base.now();
  }

  /** It is stopped, and will go on, and the instant at which it was is not over. */
  private get isStopping(): boolean {
    return this.state === 'frozen' && this.stops.at(-1)?.from === this.base.now();
  }

  thaw(): void {
    if (this.state !== 'frozen') return;
    this.state = 'running';
    // As a clock does that looks at the time again: what fell due meanwhile comes before what arrived, each at its place among
    // the timers that are set now for an instant which is over.
    for (const { turn, due } of this.held.splice(0)) {
      if (due === undefined) this.base.arrive(() => this.whenRunning(turn));
      else this.base.at(due, () => this.whenRunning(turn, due));
    }
  }

  /** Nothing of it is wanted any more. */
  end(): void {
    this.state = 'dead';
    this.held = [];
  }

  /** Dies now, with what it has written in this turn on the disk; another process takes its runs up a second later. */
  die(point: string): void {
    this.strike({ kind: 'dies', point: 'time', at: 0, downMs: 1000, committed: true }, point);
  }

  private strike(fault: InjectedFault, point: string): void {
    if (this.state !== 'running') return;
    this.state = fault.kind === 'frozen' ? 'frozen' : 'dead';
    this.struckAt = { at: this.base.now(), point };
    this.reportStrike(fault);
  }
}

/** The disk all processes write to. What is in `lines` is durable, of all runs, in the sequence in which it was written. */
export class Disk {
  readonly lines: StoredEntry[] = [];
  readonly store: JournalStore;

  constructor(store: JournalStore) {
    this.store = store;
  }

  linesOf(run: string): readonly StoredEntry[] {
    return this.lines.filter((line) => line.run === run);
  }

  async append(entries: readonly StoredEntry[], options: AppendOptions): Promise<void> {
    await this.store.append(entries, options);
    this.lines.push(...entries);
  }
}

export interface DiskTraits {
  /** The longest that a commit takes, ms. */
  readonly commitMs: number;
  /** When commits do not come back, by the venue's clock. */
  readonly hangs: { readonly from: number; readonly until: number } | undefined;
  /** Commits that succeed before the disk is full, and for how long it is, ms. */
  readonly full: { readonly after: number; readonly forMs: number } | undefined;
  /** Whether a commit under way when the process dies had reached the disk. */
  readonly committed: boolean;
}

/** The disk as one process sees it. */
export function diskOf(process: Process, disk: Disk, traits: DiskTraits): JournalStore {
  const { store } = disk;
  let commits = 0;
  let fullSince: number | undefined;
  return {
    append: async (entries, options) => {
      const number = commits++;
      if (process.state === 'dead') {
        // It died with this commit under way, in this very turn: the disk may have it, and no process will know.
        if (traits.committed && process.isDying) await disk.append(entries, options).catch(() => {});
        return never();
      }
      if (traits.commitMs > 0) await pause(process.clock, (number * 37) % (traits.commitMs + 1));
      const at = process.venueTime();
      if (traits.hangs !== undefined && at >= traits.hangs.from && at < traits.hangs.until)
        await pause(process.clock, traits.hangs.until - at);
      await awake(process);
      if (traits.full !== undefined && number >= traits.full.after) {
        fullSince ??= process.venueTime();
        if (process.venueTime() - fullSince < traits.full.forMs) throw new StoreAway('the disk is full');
      }
      await disk.append(entries, options);
      for (const { type, line } of entries) {
        if (type === 'call.settled') process.reached('CP12', placed(line));
        if (type === 'step.ended') process.reached('CP16', 'step');
      }
      await awake(process);
    },
    heads: (account) => store.heads(account),
    lastAct: (account, upTo) => store.lastAct(account, upTo),
    accountRows: (key) => store.accountRows(key),
    changeAccountRows: (key, change) => store.changeAccountRows(key, change),
    read: (run, range) => store.read(run, range),
    last: (run) => store.last(run),
    runs: (filter) => store.runs(filter),
    runsStamp: () => store.runsStamp(),
    run: (run) => store.run(run),
    remove: (run, head) => store.remove(run, head),
    close: async () => {},
  };
}

/** A settled entry names its call only; that is enough to tell a watcher's reading from a step's request. */
function placed(line: string): string {
  return line.includes('"step":"watch"') ? 'watch' : 'call';
}

/** Shared rows: a dead process changes nothing any more. */
export function rowsOf(process: Process, rows: LedgerRows): LedgerRows {
  return {
    async change(key, work) {
      await awake(process);
      return rows.change(key, work);
    },
  };
}

/** Resolves at once for a process that runs, when it is thawed for one that is frozen, never for a dead one. */
export function awake(process: Process): Promise<void> {
  if (process.state === 'running') return Promise.resolve();
  return new Promise((resolve) => process.whenRunning(resolve));
}

function never<T>(): Promise<T> {
  return new Promise(() => {});
}

function pause(clock: ProcessClock, ms: number): Promise<void> {
  return new Promise((resolve) => void clock.after(ms, resolve));
}

/**
 * The scheduler's loop: looks at the clock, lets the agenda decide, records what was decided, then does it, in this order.
 * It starts and stops runs through a port and owns no socket, file or signal. The wall clock is read again at least every
 * half minute, and pauses are counted on the clock that never jumps: a clock put back must not put the scheduler to sleep.
 *
 * A verdict is durable before its run exists, and the run's name follows from the occurrence: whoever comes after a crash
 * finds either the run, or a promise that it may still keep in time, and can in neither case begin a second one.
 */
import { createHash } from 'node:crypto';
import type { Clock, Metronome, Timer } from '../../base/clock.ts';
import type { OccurrenceRow, ScheduleStore } from '../../journal/schedule/store.ts';
import { StoreError } from '../../journal/store.ts';
import type { OperatorCommand } from '../ports.ts';
import {
  type ClockReading,
  clockJumpMs,
  type Decision,
  decide,
  EMPTY_SCHEDULE,
  foldSchedule,
  LOOK_EVERY_MS,
  type ScheduleRun,
  type ScheduleSlot,
  type ScheduleState,
} from './decide.ts';
import type { Launch, LaunchedRun, Launcher, RunEnding } from './launcher.ts';
import { type Submission, Submissions } from './submissions.ts';

/** A slot of the timetable; since when it is known, the store knows. */
export interface TimetableSlot extends Omit<ScheduleSlot, 'knownSinceMs' | 'enabled'> {
  readonly runbook: string;
}

export type SchedulerEvent =
  | { readonly type: 'decided'; readonly decision: Decision; readonly runbook: string; readonly run?: string }
  | { readonly type: 'begun'; readonly run: string; readonly runbook: string }
  | { readonly type: 'ended'; readonly run: string; readonly runbook: string; readonly ending: RunEnding }
  /** Its run was promised, and something came between before it began; now it is too late. */
  | { readonly type: 'lost'; readonly run: string; readonly slot: string; readonly nominalMs: number }
  | { readonly type: 'jumped'; readonly ms: number }
  /** The store refused; it is asked again and again, and nothing is started meanwhile. Told once. */
  | { readonly type: 'unrecorded'; readonly message: string }
  /** A person has answered for a run that halted or could not be taken up: what it held is free. */
  | { readonly type: 'settled'; readonly run: string; readonly runbook: string; readonly by: string }
  /** Another process acts for the account: this one has stopped for good. */
  | { readonly type: 'overtaken'; readonly message: string };

export interface SchedulerParts {
  readonly account: string;
  /** Of the account's lease. */
  readonly epoch: number;
  readonly clock: Clock & Metronome;
  readonly scheduleStore: Pick<ScheduleStore, 'engage' | 'marks' | 'record' | 'promised' | 'settle'>;
  readonly launcher: Launcher;
  /** Whether the kill switch is engaged; undefined when nobody can tell at the moment. Never rejects. */
  readonly killed: () => Promise<boolean | undefined>;
  readonly tell: (event: SchedulerEvent) => void;
}

/** A run whose end nobody but a person can say: it halted, or was given up without an end. */
export interface UnresolvedRun {
  readonly run: string;
  readonly runbook: string;
  readonly why: string;
}

interface Held {
  readonly run: ScheduleRun;
  readonly runbook: string;
  readonly launched: LaunchedRun | undefined;
  /** Why it waits for a person. */
  readonly unresolved?: string;
}

/** How soon a store that refused is asked again. */
const RETRY_MS = 1_000;
const KILL_UNREAD = 'the kill switch can not be read';

export class Scheduler {
  private readonly parts: SchedulerParts;
  private timetable: readonly TimetableSlot[] = [];
  private slots: readonly ScheduleSlot[] = [];
  private runbooks: ReadonlyMap<string, string> = new Map();
  private state: ScheduleState = EMPTY_SCHEDULE;
  private readonly held = new Map<string, Held>();
  private readonly submissions = new Submissions();
  private work: Promise<void> = Promise.resolve();
  private timer: Timer | undefined;
  private reading: ClockReading | undefined;
  private phase: 'idle' | 'looking' | 'stopping' | 'overtaken' = 'idle';
  private lookAsked = false;
  private lookedAt: number | undefined;
  private problem: string | undefined;
  /** The store refused, and may have kept what it was given all the same. */
  private doubtful = false;

  constructor(parts: SchedulerParts) {
    this.parts = parts;
  }

  /** Monotonic ms of the last look at which everything could be decided and recorded; undefined before the first. */
  lastLook(): number | undefined {
    return this.lookedAt;
  }

  /** Runs under way, and those that are stuck. */
  running(): readonly ScheduleRun[] {
    return [...this.held.values()].map(({ run }) => run);
  }

  waiting(): number {
    return this.state.waiting.length + this.submissions.waiting();
  }

  unresolved(): readonly UnresolvedRun[] {
    return [...this.held.values()].flatMap(({ run: { run }, runbook, unresolved: why }) =>
      why === undefined ? [] : [{ run, runbook, why }],
    );
  }

  /**
   * A run that was begun before this process: it holds what it held. Call before `begin`. One that is not under way holds it
   * until a person has answered for it: `why` says what is the matter.
   */
  adopt(run: ScheduleRun, runbook: string, state: LaunchedRun | { readonly why: string }): void {
    if ('why' in state) this.held.set(run.run, { run, runbook, launched: undefined, unresolved: state.why });
    else this.hold(run, runbook, state);
  }

  /** A person answers for a run that waits for one: its slot and its key are free. Does nothing for any other. */
  settle(run: string, by: string): void {
    const held = this.held.get(run);
    if (held?.unresolved === undefined) return;
    this.held.delete(run);
    this.parts.tell({ type: 'settled', run, runbook: held.runbook, by });
    this.soon();
  }

  /** Takes the timetable, keeps what was promised, and goes on looking until it is stopped. */
  begin(timetable: readonly TimetableSlot[]): Promise<void> {
    return this.alone(async () => {
      await this.engage(timetable);
      await this.keepPromises();
      this.phase = 'looking';
      this.soon();
    });
  }

  /** From now on this is the timetable. A slot that is gone is decided no more; what waits of it is skipped. */
  retime(timetable: readonly TimetableSlot[]): Promise<void> {
    return this.alone(async () => {
      await this.engage(timetable);
      this.soon();
    });
  }

  /** Begins a run when nothing it needs is held. */
  admit(submission: Submission): void {
    this.submissions.add(submission);
    this.soon();
  }

  /** Starts nothing any more, asks every run to stop in order, and resolves when all have ended. */
  async stop(command: OperatorCommand): Promise<void> {
    if (this.phase !== 'overtaken') this.phase = 'stopping';
    this.timer?.cancel();
    // What is being recorded is done: a promise is not left behind on purpose.
    await this.work.catch(() => undefined);
    const under = [...this.held.values()].flatMap(({ launched }) => launched ?? []);
    for (const launched of under) launched.stop(command);
    await Promise.all(under.map(({ done }) => done));
  }

  private async engage(timetable: readonly TimetableSlot[]): Promise<void> {
    const { scheduleStore, account, epoch, clock } = this.parts;
    const ids = timetable.map(({ id }) => id);
    const since = await scheduleStore.engage(account, epoch, ids, clock.now());
    const marks = await scheduleStore.marks(account, ids);
    this.timetable = timetable;
    this.state = { through: marks.through, waiting: marks.waiting };
    this.slots = timetable.map((slot) => ({ ...slot, knownSinceMs: since.get(slot.id) ?? clock.now(), enabled: true }));
    const named = timetable.map(({ id, runbook }) => [id, runbook] as const);
    // What waits of a slot that is gone is still to be named in its verdict.
    this.runbooks = new Map([...this.runbooks, ...named]);
  }

  /** What was recorded as started and not begun, by a process before this one or in a commit that this one lost sight of. */
  private async keepPromises(): Promise<void> {
    const { scheduleStore, account, launcher, killed } = this.parts;
    for (const { run, slot: id, nominalMs } of await scheduleStore.promised(account)) {
      if (run === undefined) continue;
      if (await launcher.exists(run)) {
        await scheduleStore.settle(account, run, 'begun');
        continue;
      }
      if (this.held.has(run)) continue;
      const slot = this.slots.find((each) => each.id === id);
      const engaged = await killed();
      if (engaged === undefined) throw new StoreError('unavailable', KILL_UNREAD);
      if (slot !== undefined && this.isOpen(slot, nominalMs) && !engaged)
        this.launch(slot, { run, slot: id, nominalMs });
      else await this.lose({ run, slot: id, nominalMs });
    }
  }

  private isOpen({ declaration }: ScheduleSlot, nominalMs: number): boolean {
    return this.parts.clock.now() <= nominalMs + declaration.misfire.within.ms;
  }

  private async lose(launch: Launch): Promise<void> {
    const { scheduleStore, account, tell } = this.parts;
    await scheduleStore.settle(account, launch.run, 'lost');
    tell({ type: 'lost', ...launch });
  }

  // Looking. One look at a time; whoever wants one while another goes on gets the next.

  private soon(): void {
    if (this.phase !== 'looking' || this.lookAsked) return;
    this.lookAsked = true;
    this.parts.clock.arrive(() => void this.look());
  }

  private look(): Promise<void> {
    return this.alone(async () => {
      this.lookAsked = false;
      this.timer?.cancel();
      if (this.phase !== 'looking') return;
      this.noticeJump();
      const nextMs = await this.unlessRefused(() => this.decideAll());
      const admitted = await this.unlessRefused(() => this.admitGuests());
      if (nextMs !== undefined && admitted !== undefined) this.problem = undefined;
      const pauseMs = admitted === undefined ? RETRY_MS : (nextMs ?? RETRY_MS);
      if (this.phase !== 'looking') return;
      this.timer = this.parts.clock.after(Math.min(Math.max(1, pauseMs), LOOK_EVERY_MS), () => void this.look());
    });
  }

  private noticeJump(): void {
    const { clock, tell } = this.parts;
    const now = { wallMs: clock.now(), monotonicMs: clock.monotonic() };
    const ms = this.reading === undefined ? undefined : clockJumpMs(this.reading, now);
    this.reading = now;
    if (ms !== undefined) tell({ type: 'jumped', ms });
  }

  /** Undefined where the store refused: then nothing was done of what it did not keep, and it is asked again soon. */
  private async unlessRefused<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      this.refused(error);
      return undefined;
    }
  }

  /** Decides until nothing is left to be decided now; gives the pause until the next look. */
  private async decideAll(): Promise<number> {
    const { clock, killed } = this.parts;
    if (this.doubtful) await this.readAgain();
    for (;;) {
      const engaged = await killed();
      if (this.phase !== 'looking') return RETRY_MS;
      // A verdict is for ever: what is only not known for a moment must not become one.
      if (engaged === undefined) throw new StoreError('unavailable', KILL_UNREAD);
      const nowMs = clock.now();
      const moment = { nowMs, running: this.running(), killed: engaged };
      const { decisions, nextLookMs } = decide(this.slots, this.state, moment);
      if (decisions.length > 0) await this.carryOut(decisions, nowMs);
      this.lookedAt = clock.monotonic();
      if (decisions.length === 0 || nextLookMs > nowMs) return nextLookMs - clock.now();
      // Another portion: beats and renewals that fell due meanwhile go first.
      await new Promise<void>((resolve) => clock.arrive(resolve));
    }
  }

  /** Finds out what the store kept of what it refused: recorded once more, it would look like another process's verdict. */
  private async readAgain(): Promise<void> {
    await this.engage(this.timetable);
    await this.keepPromises();
    this.doubtful = false;
  }

  /** Records decisions, then acts on them. Where they can not be recorded nothing of them is done. */
  private async carryOut(decisions: readonly Decision[], nowMs: number): Promise<void> {
    const { scheduleStore, account, epoch } = this.parts;
    const rows = decisions.map((decision) => this.row(decision, nowMs));
    this.doubtful = true;
    await scheduleStore.record(account, epoch, rows);
    this.doubtful = false;
    this.state = foldSchedule(decisions, this.state);
    for (const decision of decisions) this.act(decision);
  }

  private refused(error: unknown): void {
    if (!(error instanceof StoreError)) throw error;
    const { tell } = this.parts;
    if (error.reason === 'fenced' || error.reason === 'conflict') {
      this.phase = 'overtaken';
      tell({ type: 'overtaken', message: error.message });
    } else if (this.problem !== error.message) tell({ type: 'unrecorded', message: error.message });
    this.problem = error.message;
  }

  private row(decision: Decision, decidedAt: number): OccurrenceRow {
    const { slot, nominalMs, type } = decision;
    const common = { slot, nominalMs, decidedAt };
    switch (type) {
      case 'start':
        return { ...common, verdict: 'started', run: this.nameOf(decision) };
      case 'skip':
        return { ...common, verdict: 'skipped', why: decision.why };
      case 'missed':
        return { ...common, verdict: 'missed', why: decision.why };
      case 'queue':
        return { ...common, verdict: 'waiting', why: decision.behind };
      case 'replace':
        return { ...common, verdict: 'waiting', why: 'replace' };
      default:
        return type satisfies never;
    }
  }

  private nameOf({ slot, nominalMs }: { readonly slot: string; readonly nominalMs: number }): string {
    return scheduledRunName(this.parts.account, this.runbookOf(slot), slot, nominalMs);
  }

  private runbookOf(slot: string): string {
    return this.runbooks.get(slot) ?? slot.split('/')[0] ?? slot;
  }

  private act(decision: Decision): void {
    const { slot: id, nominalMs } = decision;
    const run = decision.type === 'start' ? this.nameOf(decision) : undefined;
    this.parts.tell({ type: 'decided', decision, runbook: this.runbookOf(id), ...(run === undefined ? {} : { run }) });
    if (decision.type === 'replace')
      for (const each of decision.runs)
        this.replace(each, `replaced by the occurrence of ${new Date(nominalMs).toISOString()}`);
    const slot = this.slots.find((each) => each.id === id);
    if (run === undefined || slot === undefined) return;
    const launch = { run, slot: id, nominalMs };
    // The store may have taken its time, or the machine may have slept, since it was decided.
    if (this.isOpen(slot, nominalMs)) this.launch(slot, launch);
    else void this.lose(launch).catch(ignoreStore);
  }

  private replace(run: string, reason: string): void {
    const held = this.held.get(run);
    if (held === undefined) return;
    this.held.set(run, { ...held, run: { ...held.run, stopping: true } });
    held.launched?.stop({ command: 'cancel', by: 'scheduler', reason });
  }

  private launch({ id, concurrency, exclusive }: ScheduleSlot, launch: Launch): void {
    const { scheduleStore, account, launcher } = this.parts;
    const launched = launcher.start(launch);
    const key = concurrency === undefined ? {} : { key: concurrency.key };
    this.hold(
      { run: launch.run, slot: id, ...key, ...(exclusive === undefined ? {} : { exclusive }) },
      this.runbookOf(id),
      launched,
    );
    void launched.begun
      // What is not known is found out by whoever comes next, in the journal.
      .then((begun) =>
        begun === undefined ? undefined : scheduleStore.settle(account, launch.run, begun ? 'begun' : 'lost'),
      )
      // Whoever starts next finds the run in the journal, and settles it then.
      .catch(ignoreStore);
  }

  private hold(run: ScheduleRun, runbook: string, launched: LaunchedRun): void {
    const { tell } = this.parts;
    this.held.set(run.run, { run, runbook, launched });
    void launched.begun.then((begun) => {
      if (begun) tell({ type: 'begun', run: run.run, runbook });
    });
    void launched.done.then((ending) => {
      tell({ type: 'ended', run: run.run, runbook, ending });
      const why = unresolvedReason(ending);
      // It keeps its slot and its key: the next one would act on what nobody knows.
      if (ending.kind === 'left') return;
      if (why !== undefined) this.held.set(run.run, { run, runbook, launched, unresolved: why });
      else this.held.delete(run.run);
      this.soon();
    });
  }

  /** True once all that were handed over have been looked at. */
  private async admitGuests(): Promise<true> {
    await this.submissions.admit({
      running: () => this.running(),
      goesOn: () => this.phase === 'looking',
      hold: (run, runbook, launched) => this.hold(run, runbook, launched),
    });
    return true;
  }

  /** One thing at a time: what is decided must see everything that was decided before. */
  private alone(work: () => Promise<void>): Promise<void> {
    const done = this.work.catch(() => undefined).then(work);
    this.work = done;
    return done;
  }
}

/** For what whoever comes next finds out by itself. */
function ignoreStore(error: unknown): void {
  if (!(error instanceof StoreError)) throw error;
}

/** Why a run that ended so waits for a person; undefined when it does not. */
function unresolvedReason(ending: RunEnding): string | undefined {
  if (ending.kind === 'stuck') return ending.why;
  return ending.kind === 'ended' && ending.outcome === 'halted' ? (ending.reason ?? 'it halted') : undefined;
}

/**
 * The name of the run of an occurrence: the same whoever gives it, so that two processes can not begin it twice, and no
 * order of the one could be taken for an order of the other.
 */
export function scheduledRunName(account: string, runbook: string, slot: string, nominalMs: number): string {
  const stamp = new Date(nominalMs).toISOString().replace(/[-:.Z]/g, '');
  const digest = createHash('sha256')
    .update(JSON.stringify([account, slot, nominalMs]))
    .digest('hex');
  return `${stamp}-${runbook.slice(0, 40)}-${digest.slice(0, 10)}`;
}

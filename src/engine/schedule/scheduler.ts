/**
 * Runs the scheduler's loop: reads the clock, decides (decide.ts), records the decisions, then acts on them, in this sequence.
 * It starts and stops runs through a port and owns no socket, file or signal. The wall clock is read at least every half minute,
 * and pauses are counted on the monotonic clock: setting the wall clock back must not put the scheduler to sleep.
 *
 * A verdict is durable before its run exists, and the run's name follows from the occurrence: after a crash the next process
 * finds either the run, or a promise that it may still keep in time, and in neither case begins a second run.
 */

import { createHash } from 'node:crypto';
import type { Clock, Metronome, Timer } from '../../base/clock.ts';
import type { OccurrenceRow, ScheduleStore } from '../../journal/schedule/store.ts';
import { ignoreStore, StoreError } from '../../journal/store.ts';
import type { OperatorCommand } from '../ports.ts';
import {
  type ClockReading,
  computeClockJumpMs,
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

/** A slot of the timetable. The store knows since when it is known. */
export interface TimetableSlot extends Omit<ScheduleSlot, 'knownSinceMs' | 'enabled'> {
  readonly runbook: string;
}

export type SchedulerEvent =
  | { readonly type: 'decided'; readonly decision: Decision; readonly runbook: string; readonly run?: string }
  | { readonly type: 'begun'; readonly run: string; readonly runbook: string }
  | { readonly type: 'ended'; readonly run: string; readonly runbook: string; readonly ending: RunEnding }
  /** Its run was promised and did not begin in time. */
  | { readonly type: 'lost'; readonly run: string; readonly slot: string; readonly nominalMs: number }
  | { readonly type: 'jumped'; readonly ms: number }
  /** The store refused; it is retried, and nothing is started meanwhile. Reported once. */
  | { readonly type: 'unrecorded'; readonly message: string }
  /** A person has answered for a run that halted or could not be resumed: what it held is free. */
  | { readonly type: 'settled'; readonly run: string; readonly runbook: string; readonly by: string }
  /** Another process acts for the account: this scheduler has stopped permanently. */
  | { readonly type: 'overtaken'; readonly message: string };

export interface SchedulerParts {
  readonly account: string;
  /** Epoch of the account's lease. */
  readonly epoch: number;
  readonly clock: Clock & Metronome;
  readonly scheduleStore: Pick<ScheduleStore, 'engage' | 'marks' | 'record' | 'promised' | 'settle'>;
  readonly launcher: Launcher;
  /** Whether the kill switch is engaged; undefined when that is unknown at the moment. Never rejects. */
  readonly killed: () => Promise<boolean | undefined>;
  /** Whether this machine's clock agrees with those of the venue and the store; while it does not, nothing is decided. */
  readonly clockAgrees?: () => boolean;
  readonly tell: (event: SchedulerEvent) => void;
}

/** A run that waits for a person: it halted, or was given up without an end. */
export interface UnresolvedRun {
  readonly run: string;
  readonly runbook: string;
  readonly why: string;
}

export interface DecidedAhead {
  readonly slot: string;
  /** Epoch ms. */
  readonly throughMs: number;
}

interface Held {
  readonly run: ScheduleRun;
  readonly runbook: string;
  readonly launched: LaunchedRun | undefined;
  /** Why it waits for a person. */
  readonly unresolved?: string;
}

/** How soon a store that refused is asked again, ms. */
const RETRY_MS = 1_000;
const KILL_UNREAD = 'the kill switch cannot be read';

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
  /** The store refused, and may have kept the decisions all the same. */
  private doubtful = false;

  constructor(parts: SchedulerParts) {
    this.parts = parts;
  }

  /** Monotonic ms of the last look at which everything was decided and recorded; undefined before the first. */
  lastLook(): number | undefined {
    return this.lookedAt;
  }

  /** Runs under way, and those that wait for a person. */
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

  /** Slots that a clock which was ahead has decided up to a time to come: nothing of them is started before. */
  listDecidedAhead(): readonly DecidedAhead[] {
    const soonMs = this.parts.clock.now() + LOOK_EVERY_MS;
    return this.timetable.flatMap(({ id: slot }) => {
      const throughMs = this.state.through.get(slot) ?? 0;
      return throughMs > soonMs ? { slot, throughMs } : [];
    });
  }

  /**
   * Takes in a run that an earlier process began, with what it holds. To be called before `begin`. A run that is not under way
   * keeps its slot and key until a person has answered for it; `why` says why it waits.
   */
  adopt(run: ScheduleRun, runbook: string, state: LaunchedRun | { readonly why: string }): void {
    if ('why' in state) this.held.set(run.run, { run, runbook, launched: undefined, unresolved: state.why });
    else this.hold(run, runbook, state);
  }

  /** A person answers for a run that waits for one: its slot and key are free. Does nothing for any other run. */
  settle(run: string, by: string): void {
    const held = this.held.get(run);
    if (held?.unresolved === undefined) return;
    this.held.delete(run);
    this.parts.tell({ type: 'settled', run, runbook: held.runbook, by });
    this.lookSoon();
  }

  /** Sets the timetable, keeps the promises of earlier processes, and looks again and again until stopped. */
  begin(timetable: readonly TimetableSlot[]): Promise<void> {
    return this.runAlone(async () => {
      await this.engage(timetable);
      await this.keepPromises();
      this.phase = 'looking';
      this.lookSoon();
    });
  }

  /** Replaces the timetable. Occurrences of a slot that is gone are not decided any more; those that wait are skipped. */
  retime(timetable: readonly TimetableSlot[]): Promise<void> {
    return this.runAlone(async () => {
      await this.engage(timetable);
      this.lookSoon();
    });
  }

  /** Begins a submitted run when nothing it needs is held. */
  admit(submission: Submission): void {
    this.submissions.add(submission);
    this.lookSoon();
  }

  /** Starts nothing any more, asks every run to stop cleanly, and resolves when all have ended. */
  async stop(command: OperatorCommand): Promise<void> {
    if (this.phase !== 'overtaken') this.phase = 'stopping';
    this.timer?.cancel();
    // What is being recorded is carried out: no promise is left open on purpose.
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
    // Waiting occurrences of a slot that is gone still need its runbook in their verdict.
    this.runbooks = new Map([...this.runbooks, ...named]);
  }

  /** Starts, if still in time, runs recorded as started and never begun: by an earlier process, or in a commit of unknown outcome. */
  private async keepPromises(): Promise<void> {
    const { scheduleStore, account, launcher, killed } = this.parts;
    for (const { run, slot: id, nominalMs } of await scheduleStore.promised(account)) {
      if (run === undefined) continue;
      if (await launcher.exists(run)) {
        await scheduleStore.settle(account, run, 'begun', this.parts.clock.now());
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
    const { scheduleStore, account, clock, tell } = this.parts;
    await scheduleStore.settle(account, launch.run, 'lost', clock.now());
    tell({ type: 'lost', ...launch });
  }

  // Looks are made one at a time. A look that is asked for during another follows it.

  private lookSoon(): void {
    if (this.phase !== 'looking' || this.lookAsked) return;
    this.lookAsked = true;
    this.parts.clock.arrive(() => void this.look());
  }

  private look(): Promise<void> {
    return this.runAlone(async () => {
      this.lookAsked = false;
      this.timer?.cancel();
      if (this.phase !== 'looking') return;
      this.noticeJump();
      const nextMs = await this.tryStore(() => this.decideAll());
      const admitted = await this.tryStore(() => this.admitSubmissions());
      if (nextMs !== undefined && admitted !== undefined) this.problem = undefined;
      const pauseMs = admitted === undefined ? RETRY_MS : (nextMs ?? RETRY_MS);
      if (this.phase !== 'looking') return;
      this.timer = this.parts.clock.after(Math.min(Math.max(1, pauseMs), LOOK_EVERY_MS), () => void this.look());
    });
  }

  private noticeJump(): void {
    const { clock, tell } = this.parts;
    const now = { wallMs: clock.now(), monotonicMs: clock.monotonic() };
    const ms = this.reading === undefined ? undefined : computeClockJumpMs(this.reading, now);
    this.reading = now;
    if (ms !== undefined) tell({ type: 'jumped', ms });
  }

  /** Undefined where the store refused: nothing that it did not keep was done, and it is retried soon. */
  private async tryStore<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      this.handleRefusal(error);
      return undefined;
    }
  }

  /** Decides until nothing is left to be decided now; gives the pause until the next look. */
  private async decideAll(): Promise<number> {
    const { clock, killed } = this.parts;
    // A verdict is final, and so is the mark up to which a slot is decided: neither by a clock that is wrong.
    const isWrong = () => this.parts.clockAgrees?.() === false;
    if (isWrong()) return this.standStill();
    if (this.doubtful) await this.readAgain();
    for (;;) {
      const engaged = await killed();
      if (this.phase !== 'looking') return RETRY_MS;
      if (isWrong()) return this.standStill();
      // A verdict is final: a kill switch that is unreadable for a moment must not become one.
      if (engaged === undefined) throw new StoreError('unavailable', KILL_UNREAD);
      const nowMs = clock.now();
      const moment = { nowMs, running: this.listHolding(), killed: engaged };
      const { decisions, nextLookMs } = decide(this.slots, this.state, moment);
      if (decisions.length > 0) await this.carryOut(decisions, nowMs);
      this.lookedAt = clock.monotonic();
      if (decisions.length === 0 || nextLookMs > nowMs) return nextLookMs - clock.now();
      // Another batch: heartbeats and renewals that fell due meanwhile go first.
      await new Promise<void>((resolve) => clock.arrive(resolve));
    }
  }

  /**
   * Runs with the slots that they hold. One whose slot is gone holds all slots of its runbook: which of them its slot became when its
   * times were edited is not known, and a second run beside it, or behind its halt, would open the position once more.
   */
  private listHolding(): readonly ScheduleRun[] {
    return [...this.held.values()].flatMap(({ run, runbook }) => {
      if (this.timetable.some(({ id }) => id === run.slot)) return run;
      const slots = run.slot === undefined ? [] : this.timetable.filter((each) => each.runbook === runbook);
      return slots.length === 0 ? run : slots.map(({ id }) => ({ ...run, slot: id }));
    });
  }

  /** Decides nothing, and gives the pause until the next look. That it looks is what its health is about. */
  private standStill(): number {
    this.lookedAt = this.parts.clock.monotonic();
    return RETRY_MS;
  }

  /** Finds out what the store kept of decisions it refused: recorded again, they would look like those of another process. */
  private async readAgain(): Promise<void> {
    await this.engage(this.timetable);
    await this.keepPromises();
    this.doubtful = false;
  }

  /** Records decisions, then acts on them. Decisions that cannot be recorded are not carried out. */
  private async carryOut(decisions: readonly Decision[], nowMs: number): Promise<void> {
    const { scheduleStore, account, epoch } = this.parts;
    const rows = decisions.map((decision) => this.toRow(decision, nowMs));
    this.doubtful = true;
    await scheduleStore.record(account, epoch, rows);
    this.doubtful = false;
    this.state = foldSchedule(decisions, this.state);
    for (const decision of decisions) this.act(decision);
  }

  private handleRefusal(error: unknown): void {
    if (!(error instanceof StoreError)) throw error;
    const { tell } = this.parts;
    if (error.reason === 'fenced' || error.reason === 'conflict') {
      this.phase = 'overtaken';
      tell({ type: 'overtaken', message: error.message });
    } else if (this.problem !== error.message) tell({ type: 'unrecorded', message: error.message });
    this.problem = error.message;
  }

  private toRow(decision: Decision, decidedAt: number): OccurrenceRow {
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
    return makeScheduledRunName(this.parts.account, this.findRunbook(slot), slot, nominalMs);
  }

  private findRunbook(slot: string): string {
    return this.runbooks.get(slot) ?? slot.split('/')[0] ?? slot;
  }

  private act(decision: Decision): void {
    const { slot: id, nominalMs } = decision;
    const run = decision.type === 'start' ? this.nameOf(decision) : undefined;
    this.parts.tell({
      type: 'decided',
      decision,
      runbook: this.findRunbook(id),
      ...(run === undefined ? {} : { run }),
    });
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
    const { scheduleStore, account, clock, launcher } = this.parts;
    const launched = launcher.start(launch);
    const key = concurrency === undefined ? {} : { key: concurrency.key };
    this.hold(
      { run: launch.run, slot: id, ...key, ...(exclusive === undefined ? {} : { exclusive }) },
      this.findRunbook(id),
      launched,
    );
    void launched.begun
      // An unknown begin is settled by the next process, from the journal.
      .then((begun) =>
        begun === undefined
          ? undefined
          : scheduleStore.settle(account, launch.run, begun ? 'begun' : 'lost', clock.now()),
      )
      // The next process finds the run in the journal and settles it.
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
      const why = explainUnresolved(ending);
      // It keeps its slot and key: the next run would act on an unknown state.
      if (ending.kind === 'left') return;
      if (why !== undefined) this.held.set(run.run, { run, runbook, launched, unresolved: why });
      else this.held.delete(run.run);
      this.lookSoon();
    });
  }

  /** True once all submissions have been considered. */
  private async admitSubmissions(): Promise<true> {
    await this.submissions.admit({
      running: () => this.running(),
      mayBegin: () => this.phase === 'looking',
      hold: (run, runbook, launched) => this.hold(run, runbook, launched),
    });
    return true;
  }

  /** Runs works one at a time: a decision must see every earlier one. */
  private runAlone(work: () => Promise<void>): Promise<void> {
    const done = this.work.catch(() => undefined).then(work);
    this.work = done;
    return done;
  }
}

/** Why a run with this ending waits for a person; undefined when it does not. */
function explainUnresolved(ending: RunEnding): string | undefined {
  if (ending.kind === 'stuck') return ending.why;
  return ending.kind === 'ended' && ending.outcome === 'halted' ? (ending.reason ?? 'it halted') : undefined;
}

/**
 * The name of the run of an occurrence. Every process computes the same name, so two processes cannot begin it twice, and no
 * order of one occurrence can be taken for an order of another.
 */
export function makeScheduledRunName(account: string, runbook: string, slot: string, nominalMs: number): string {
  const stamp = new Date(nominalMs).toISOString().replace(/[-:.Z]/g, '');
  const digest = createHash('sha256')
    .update(JSON.stringify([account, slot, nominalMs]))
    .digest('hex');
  return `${stamp}-${runbook.slice(0, 40)}-${digest.slice(0, 10)}`;
}

/**
 * Begins, resumes and ends the live runs of an account for its scheduler: those that are due, those that an earlier process left, and
 * those that people submit (submitted-runs.ts).
 */
import { pause } from '../../../base/clock.ts';
import { makePrintable } from '../../../base/printable.ts';
import type { OperatorCommand } from '../../../engine/ports.ts';
import type { ScheduleRun } from '../../../engine/schedule/decide.ts';
import type { Launch, LaunchedRun, Launcher, RunEnding } from '../../../engine/schedule/launcher.ts';
import type { Scheduler } from '../../../engine/schedule/scheduler.ts';
import type { NewAct, Who } from '../../../journal/account/acts.ts';
import type { EntryOf } from '../../../journal/entry.ts';
import { readFirstEntry } from '../../../journal/reading.ts';
import type { ScheduleStore } from '../../../journal/schedule/store.ts';
import { StoreAway, StoreError } from '../../../journal/store.ts';
import { evaluateConcurrency } from '../../../runbook/schedule/collisions.ts';
import type { Value } from '../../../runbook/values.ts';
import type { Profile } from '../../../venue/profile/profile.ts';
import { makeAccountKey } from '../../account/account.ts';
import { makeAct, noteAct } from '../../account/acts.ts';
import { EXIT, UserError } from '../../errors.ts';
import { inputValues, type LoadedRunbook, loadPinned } from '../../files/load.ts';
import { endDeadPaperRuns } from '../../paper/dead-runs.ts';
import { planFor } from '../../plan.ts';
import { readRecordedProfile } from '../../run/first-entry.ts';
import { readHalt, recordAnswers } from '../../run/halt-answers.ts';
import type { LiveHost } from '../../run/live-assembly.ts';
import { LiveRun } from '../../run/live-run.ts';
import { toSystemError } from '../../system-errors.ts';
import { PaperRuns } from './paper-runs.ts';
import { type LoadedRun, type RefusedStart, SubmittedRuns } from './submitted-runs.ts';
import { listExclusive, type PlannedSlot } from './timetable.ts';

export interface ScheduledRunsParts {
  readonly host: LiveHost;
  readonly scheduleStore: ScheduleStore;
  /** Whether this machine's clock agrees with those of the venue and the store, as far as they have shown theirs. */
  readonly clockAgrees: () => boolean;
  /** The timetable in force. */
  readonly slots: () => readonly PlannedSlot[];
  /** Writes the report of an internal error, and returns the sentence for people. */
  readonly reportCrash: (error: unknown) => string;
  /** Called when the journal cannot be written: nothing may continue. */
  readonly onJournalFailed: (message: string) => void;
}

/** The runs that an earlier process left. */
export interface ResumedRuns {
  readonly resumed: readonly string[];
  /** Could not be resumed. */
  readonly stuck: readonly UnendedRun[];
  readonly halted: readonly UnendedRun[];
}
interface UnendedRun {
  readonly run: string;
  readonly why: string;
}

interface BeginParts extends LoadedRun {
  /** False once it was asked to stop. */
  readonly isWanted: () => boolean;
  /** How late it may begin where the store does not answer, ms; a minute at most. */
  readonly withinMs: number;
}

export class ScheduledRuns implements Launcher {
  private readonly parts: ScheduledRunsParts;
  readonly submitted: SubmittedRuns;
  /** Under way in this process. */
  private readonly underWay = new Set<LiveRun>();

  private readonly paper: PaperRuns;

  constructor(parts: ScheduledRunsParts) {
    this.parts = parts;
    this.submitted = new SubmittedRuns(parts, this);
    this.paper = new PaperRuns({ host: parts.host, describeError: (error) => this.describeError(error) });
  }

  listUnderWay(): readonly LiveRun[] {
    return [...this.underWay];
  }

  start({ run, slot: id, nominalMs }: Launch): LaunchedRun {
    const onPaper = this.parts.slots().find((each) => each.id === id && each.declaration.paper);
    if (onPaper !== undefined) {
      const { loaded, inputs } = onPaper;
      return this.paper.start({ run, slot: onPaper, nominalMs, hashPlan: () => this.hashPlan(loaded, inputs) });
    }
    return this.launch({ run, runbook: id.split('/')[0] ?? id }, (live, isWanted) => {
      const slot = this.parts.slots().find((each) => each.id === id);
      if (slot === undefined) throw new UserError(`the slot ${id} is not in force any more`);
      const { loaded, inputs } = slot;
      const plan = this.hashPlan(loaded, inputs);
      const occurrence = { slot: id, nominal: nominalMs };
      const lateMs = this.parts.host.account.clock.now() - nominalMs;
      const origin = { trigger: 'schedule', plan, occurrence } as const;
      return this.begin(live, {
        loaded,
        inputs,
        origin,
        isWanted,
        withinMs: slot.declaration.misfire.within.ms - lateMs,
      });
    });
  }

  async exists(run: string): Promise<boolean> {
    return (await this.parts.host.account.store.run(run)) !== undefined;
  }

  /**
   * Resumes the unfinished runs of earlier processes, and ends those on paper. A halted run waits for a person: to repeat its requests
   * would be to guess with somebody's money. It keeps its slot and its key, and so does a run that cannot be resumed.
   */
  async resumeAll(scheduler: Scheduler): Promise<ResumedRuns> {
    const { account } = this.parts.host;
    await endDeadPaperRuns(account.store, account.clock, account.key);
    const taken: string[] = [];
    const stuck: UnendedRun[] = [];
    const halted: UnendedRun[] = [];
    const ofAccount = { account: account.profile.account };
    const unfinished = await account.store.runs({ ...ofAccount, unfinished: true });
    for (const row of [...unfinished, ...(await account.store.runs({ ...ofAccount, outcome: 'halted' }))]) {
      const { run, runbook, mode, outcome } = row;
      if (mode !== 'live') continue;
      let known: ScheduleRun;
      let profile: Profile;
      try {
        const first = await this.retryWhileAway(STORE_PATIENCE_MS, () => readFirstEntry(account.store, run));
        profile = readRecordedProfile(first);
        if (makeAccountKey(profile) !== account.key) continue;
        known = { run, ...this.findHeld(first) };
        if (outcome === 'halted') {
          const { reason, answeredBy } = await readHalt(account.store, run);
          if ((answeredBy ?? (await this.readAnswer(run))) !== undefined) continue;
          const why = reason || 'the state at the venue is not known';
          halted.push({ run, why });
          scheduler.adopt(known, runbook, { why });
          continue;
        }
      } catch (error) {
        if (isAway(error)) throw error;
        // It keeps no other run from its process.
        const why = this.describeError(error);
        stuck.push({ run, why });
        scheduler.adopt(await this.findStarted(run), runbook, { why });
        continue;
      }
      try {
        const live = await this.resumeRun(run, profile);
        taken.push(run);
        scheduler.adopt(known, runbook, this.adoptRun(live));
      } catch (error) {
        if (isAway(error)) throw error;
        const why = this.describeError(error);
        stuck.push({ run, why });
        scheduler.adopt(known, runbook, { why });
      }
    }
    return { resumed: taken, stuck, halted };
  }

  private async resumeRun(run: string, profile: Profile): Promise<LiveRun> {
    // Those that were resumed before go on meanwhile.
    return this.retryWhileAway(STORE_PATIENCE_MS, async () => {
      const live = new LiveRun(this.parts.host, run, {}, profile);
      await live.resume();
      return live;
    });
  }

  /** Tries again while the store does not answer: that says nothing about the run. `isWanted`: whether it is still to be tried. */
  private async retryWhileAway<T>(withinMs: number, work: () => Promise<T>, isWanted = () => true): Promise<T> {
    const { clock } = this.parts.host.account;
    const until = clock.monotonic() + withinMs;
    for (;;) {
      try {
        return await work();
      } catch (error) {
        if (!isAway(error) || clock.monotonic() >= until || !isWanted()) throw error;
      }
      await pause(clock, STORE_RETRY_MS);
    }
  }

  /** Settles waiting runs that a person has answered. */
  async settleAnswered(scheduler: Scheduler): Promise<void> {
    for (const { run } of scheduler.unresolved()) {
      const by = await this.readAnswer(run);
      if (by !== undefined) scheduler.settle(run, by);
    }
  }

  private async readAnswer(run: string): Promise<string | undefined> {
    const { account, lease, voice } = this.parts.host;
    return (await recordAnswers(run, { account, epoch: lease.epoch, voice }))?.by;
  }

  /** What the schedule knows of a run whose journal cannot be read. */
  private async findStarted(run: string): Promise<ScheduleRun> {
    const { scheduleStore, host } = this.parts;
    const started = (await scheduleStore.occurrences(host.account.key)).find((each) => each.run === run);
    return started === undefined ? { run } : { run, slot: started.slot };
  }

  /** What a run holds: its slot, its concurrency key, and its exclusive resources of the account. */
  private findHeld({ data }: EntryOf<'run.started'>): Omit<ScheduleRun, 'run'> {
    const slot = data.occurrence === undefined ? {} : { slot: data.occurrence.slot };
    try {
      const { runbook } = loadPinned(data.sources, this.parts.host.voice);
      const concurrency = evaluateConcurrency(runbook, inputValues(runbook, { pairs: [], recorded: data.inputs }));
      return {
        ...slot,
        ...(concurrency === undefined ? {} : { key: concurrency.key }),
        exclusive: listExclusive(runbook),
      };
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      return slot;
    }
  }

  /** Notes in the account's journal that a run was to start and did not. */
  noteRefusal(run: string, refused: RefusedStart, by: Who | string): Promise<void> {
    const { account, voice } = this.parts.host;
    const at = account.clock.now();
    const data = { ...refused, run, why: makePrintable(refused.why, 500) };
    const act: NewAct =
      typeof by === 'string' ? { type: 'start.refused', by, at, data } : makeAct('start.refused', by, at, data);
    return noteAct(account, act, voice);
  }

  hashPlan({ runbook }: LoadedRunbook, inputs: Readonly<Record<string, Value>>): string {
    const { profile, clock } = this.parts.host.account;
    return planFor(runbook, inputs, { profile, now: clock.now() }).hash;
  }

  launchLoaded({ run, who }: { readonly run: string; readonly who: Who | undefined }, begins: LoadedRun): LaunchedRun {
    return this.launch({ run, runbook: begins.loaded.runbook.name, who }, (live, isWanted) =>
      this.begin(live, { ...begins, isWanted, withinMs: STORE_PATIENCE_MS }),
    );
  }

  private async begin(live: LiveRun, { loaded, inputs, origin, isWanted, withinMs }: BeginParts): Promise<void> {
    const patienceMs = Math.min(withinMs, STORE_PATIENCE_MS);
    const clockAgrees = origin.trigger === 'schedule' ? this.parts.clockAgrees : undefined;
    await this.retryWhileAway(patienceMs, () => live.begin(loaded, inputs, origin, clockAgrees), isWanted);
    try {
      await live.flush();
    } catch (error) {
      // The venue must get nothing of a run whose beginning is not in the journal.
      live.act({ command: 'cancel', by: 'scheduler', reason: 'its beginning could not be recorded' }, 'scheduler');
      await live.waitForEnd().catch(() => undefined);
      throw error instanceof StoreError ? new UserError(makePrintable(error.message), EXIT.halted, 'journal') : error;
    }
  }

  private launch(
    { run, runbook, who }: { readonly run: string; readonly runbook: string; readonly who?: Who | undefined },
    begin: (live: LiveRun, isWanted: () => boolean) => Promise<void>,
  ): LaunchedRun {
    const live = new LiveRun(this.parts.host, run, { who });
    let command: OperatorCommand | undefined;
    let ready = false;
    const stop = (wanted: OperatorCommand) => {
      command ??= wanted;
      if (ready) live.act(wanted, 'scheduler');
    };
    const beginning = (async () => begin(live, () => command === undefined))().then(
      () => {
        ready = true;
        if (command !== undefined) live.act(command, 'scheduler');
        return undefined;
      },
      async (error: unknown): Promise<RunEnding> => {
        const left = this.leaveRun(error);
        if (left !== undefined) return left;
        const why = this.describeError(error);
        const kind = toSystemError(error)?.kind ?? 'internal';
        await this.noteRefusal(run, { runbook, why, kind }, who ?? 'scheduler');
        return { kind: 'refused', why };
      },
    );
    return {
      begun: beginning.then((problem) => (problem?.kind === 'left' ? undefined : problem === undefined)),
      done: beginning.then((problem) => problem ?? this.waitForEnd(live)),
      stop,
    };
  }

  private adoptRun(live: LiveRun): LaunchedRun {
    return {
      begun: Promise.resolve(true),
      done: this.waitForEnd(live),
      stop: (command) => live.act(command, 'scheduler'),
    };
  }

  private async waitForEnd(live: LiveRun): Promise<RunEnding> {
    this.underWay.add(live);
    try {
      const { outcome, reason } = await live.waitForEnd();
      return { kind: 'ended', outcome, ...(reason === undefined ? {} : { reason }) };
    } catch (error) {
      return this.leaveRun(error) ?? { kind: 'stuck', why: this.describeError(error) };
    } finally {
      this.underWay.delete(live);
    }
  }

  /** The ending of a run whose journal cannot be written: this process cannot serve the account any more. */
  private leaveRun(error: unknown): RunEnding | undefined {
    if (!(error instanceof UserError && error.kind === 'journal')) return undefined;
    this.parts.onJournalFailed(error.message);
    return { kind: 'left', why: error.message };
  }

  describeError(error: unknown): string {
    return toSystemError(error)?.message ?? this.parts.reportCrash(error);
  }
}

/** How long a run is tried again to begin or to be resumed while the store does not answer, ms: as long as one under way waits for it. */
const STORE_PATIENCE_MS = 60_000;
const STORE_RETRY_MS = 1_000;

/** Whether the store does not answer. */
function isAway(error: unknown): boolean {
  return (
    error instanceof StoreAway || (error instanceof UserError && error.kind === 'journal' && error.exit === EXIT.halted)
  );
}

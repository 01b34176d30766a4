/** The runs that people submit to the scheduler of an account: each is passed to it or refused, and gets an answer. */
import { formatWholeSeconds } from '../../../base/format.ts';
import { makePrintable } from '../../../base/printable.ts';
import type { LaunchedRun } from '../../../engine/schedule/launcher.ts';
import type { Scheduler } from '../../../engine/schedule/scheduler.ts';
import type { Submission } from '../../../engine/schedule/submissions.ts';
import type { Who } from '../../../journal/account/acts.ts';
import type { ScheduleStore, SubmissionAnswer, SubmissionRequest } from '../../../journal/schedule/store.ts';
import { ignoreStore, StoreError } from '../../../journal/store.ts';
import type { Value } from '../../../runbook/values.ts';
import { makeKilledError, refuseUnready, refuseUntil } from '../../account/readiness.ts';
import { EXIT, UserError } from '../../errors.ts';
import { inputValues, type LoadedRunbook, loadPinned } from '../../files/load.ts';
import type { Origin } from '../../run/first-entry.ts';
import type { LiveHost } from '../../run/live-assembly.ts';
import { listExclusive, resolveConcurrency } from './timetable.ts';

/** Everything a run begins with. */
export interface LoadedRun {
  readonly loaded: LoadedRunbook;
  readonly inputs: Readonly<Record<string, Value>>;
  readonly origin: Origin;
}

/** Why a run that was to start did not. */
export interface RefusedStart {
  readonly runbook: string;
  readonly why: string;
  readonly kind: string;
}

/** The runs of the account. */
interface Runs {
  exists(run: string): Promise<boolean>;
  hashPlan(loaded: LoadedRunbook, inputs: Readonly<Record<string, Value>>): string;
  launchLoaded(about: { readonly run: string; readonly who: Who | undefined }, begins: LoadedRun): LaunchedRun;
  noteRefusal(run: string, refused: RefusedStart, by: Who | string): Promise<void>;
  describeError(error: unknown): string;
}

interface SubmittedRunsParts {
  readonly host: LiveHost;
  readonly scheduleStore: ScheduleStore;
}

export class SubmittedRuns {
  private readonly parts: SubmittedRunsParts;
  private readonly runs: Runs;
  /** Requests already read that wait for a concurrency key. */
  private readonly known = new Set<string>();

  constructor(parts: SubmittedRunsParts, runs: Runs) {
    this.parts = parts;
    this.runs = runs;
  }

  /** Reads submitted runs; passes them to the scheduler or refuses them. */
  async take(scheduler: Scheduler): Promise<void> {
    const { scheduleStore, host } = this.parts;
    const posted = await scheduleStore.posted(host.account.key);
    for (const request of posted) {
      if (this.known.has(request.run)) continue;
      let submission: Submission;
      try {
        refuseStale(request, host.account.clock.now());
        submission = this.read(request);
      } catch (error) {
        const kind = error instanceof UserError ? error.kind : 'internal';
        await this.refuse(request, this.runs.describeError(error), kind);
        continue;
      }
      this.known.add(request.run);
      scheduler.admit(submission);
    }
    for (const run of this.known) if (!posted.some((each) => each.run === run)) this.known.delete(run);
  }

  private read(request: SubmissionRequest): Submission {
    const { scheduleStore, host } = this.parts;
    const { run, by, until } = request;
    const loaded = loadPinned(request.sources, host.voice);
    const { runbook } = loaded;
    const inputs = inputValues(runbook, { pairs: [], recorded: request.inputs });
    refuseUnready(runbook, host.account.profile, inputs);
    refuseUntil(runbook, until);
    const plan = this.runs.hashPlan(loaded, inputs);
    if (plan !== request.plan) {
      throw new UserError(
        `under the scheduler's profile the plan is ${plan.slice(0, 12)}, not ${makePrintable(request.plan.slice(0, 12), 40)}: the two profiles differ`,
      );
    }
    const origin: Origin = { trigger: 'manual', by, plan, ...(until === undefined ? {} : { until }) };
    const concurrency = resolveConcurrency(runbook, inputs);
    const refuse = (why: string, kind: string) => this.refuse(request, why, kind);
    return {
      run,
      runbook: runbook.name,
      exclusive: listExclusive(runbook),
      ...(concurrency === undefined ? {} : { concurrency }),
      refuse: (why) => refuse(why, 'busy'),
      begin: async () => {
        const killed = await host.account.shared.killSwitch.engaged(host.account.key);
        // No final answer: it is tried again.
        if (killed?.unread) throw new StoreError('unavailable', killed.reason);
        if (killed !== undefined) {
          await refuse(makeKilledError(killed).message, 'killed');
          return undefined;
        }
        if (!(await scheduleStore.answer(run, { state: 'taken' })) && !(await this.isOurs(run))) return undefined;
        const launched = this.runs.launchLoaded({ run, who: request.who }, { loaded, inputs, origin });
        void this.answer(run, launched);
        return launched;
      },
    };
  }

  private async refuse({ run, by, who, sources }: SubmissionRequest, why: string, kind: string) {
    const { scheduleStore } = this.parts;
    await scheduleStore.answer(run, { state: 'refused', why, kind });
    await this.runs.noteRefusal(
      run,
      { runbook: Array.isArray(sources) ? String(sources[0]?.name) : run, why, kind },
      who ?? by,
    );
  }

  /** Accepted but not begun, and by this process: the confirmation was lost. No other process holds the account. */
  private async isOurs(run: string): Promise<boolean> {
    return (await this.parts.scheduleStore.submission(run))?.state === 'taken' && !(await this.runs.exists(run));
  }

  /** Answers the submission: the submitting process waits for the run's journal or for this answer. */
  private async answer(run: string, { begun, done }: LaunchedRun): Promise<void> {
    const ending = (await begun) === true ? undefined : await done;
    // Not known here; the next process that serves the account finds it accepted.
    if (ending?.kind === 'left') return;
    const became: SubmissionAnswer =
      ending === undefined
        ? { state: 'begun' }
        : { state: 'refused', why: 'why' in ending ? ending.why : 'it did not begin', kind: 'failed' };
    await this.parts.scheduleStore.answer(run, became, 'taken').catch(ignoreStore);
  }

  /** Answers submissions that an earlier process accepted: whether each run began. The submitting process still waits. */
  async settleAccepted(): Promise<void> {
    const { scheduleStore, host } = this.parts;
    const why = 'the scheduler that accepted it ended before it began';
    for (const run of await scheduleStore.taken(host.account.key)) {
      const began = await this.runs.exists(run);
      await scheduleStore.answer(run, began ? { state: 'begun' } : { state: 'refused', why, kind: 'lost' }, 'taken');
    }
  }
}

/**
 * Maximum age of a submission that no scheduler has read, ms. The submitting process withdraws it when no scheduler holds the
 * account, so an older one has outlived both, and is not wanted any more.
 */
const FRESH_MS = 60_000;

function refuseStale({ at }: SubmissionRequest, nowMs: number): void {
  const ageMs = nowMs - at;
  if (ageMs > FRESH_MS)
    throw new UserError(
      `it was submitted ${formatWholeSeconds(ageMs)} before a scheduler read it, and may not be wanted any more; run it again if it is`,
      EXIT.failed,
      'lost',
    );
}

/**
 * Submits a run to the scheduler that holds the account, through the store and with its texts pinned, and follows it in the
 * journal to its end. This process sends nothing to the venue, and returns the same result as if it had executed the run.
 */

import { pause } from '../../base/clock.ts';
import { writeDuration } from '../../base/duration.ts';
import { formatCount } from '../../base/format.ts';
import { makePrintable } from '../../base/printable.ts';
import type { Who } from '../../journal/account/acts.ts';
import { readLines, readRange } from '../../journal/reading.ts';
import type { ScheduleStore, SubmissionRequest } from '../../journal/schedule/store.ts';
import { StoreError } from '../../journal/store.ts';
import { fromStore } from '../../report/export/run-report.ts';
import { RunOutlineFold } from '../../report/folds/run.ts';
import type { Value } from '../../runbook/values.ts';
import type { Account } from '../account/account.ts';
import { isScheduler } from '../account/lease-holders.ts';
import { EXIT, UserError } from '../errors.ts';
import type { LoadedRunbook } from '../files/load.ts';
import { formatInputs } from '../files/load.ts';
import { type ActingContext, exitAfter, type Signal } from '../process.ts';
import type { EndedRun } from './outcome.ts';

export interface SubmittedRun {
  readonly account: Account;
  readonly loaded: LoadedRunbook;
  readonly inputs: Readonly<Record<string, Value>>;
  readonly run: string;
  readonly plan: string;
  readonly until: string | undefined;
  readonly who: Who;
}

const LOOK_EVERY_MS = 200;
/** Refusals that are not caused by the request: the same one may be accepted later. */
const TEMPORARY_REFUSALS: ReadonlySet<string> = new Set(['killed', 'busy', 'lost', 'failed', 'internal']);
/** How long a run may be without a holder of its account before a person is warned, ms: a restart takes seconds. */
const PATIENCE_MS = 60_000;

/** A run that was withdrawn at a signal before the scheduler accepted it: nothing of it was sent. */
export interface Withdrawn {
  readonly withdrawn: Signal;
}

/** Returns how the run ended; undefined when the scheduler ended before it accepted the run. */
export async function submitRun(
  handed: SubmittedRun,
  context: ActingContext,
): Promise<EndedRun | Withdrawn | undefined> {
  const { account, loaded, inputs, run, plan, until, who } = handed;
  const scheduleStore = await account.openScheduleStore();
  try {
    const by = context.environment.variable('USER') ?? 'operator';
    await postRequest(scheduleStore, {
      run,
      account: account.key,
      by,
      who,
      at: account.clock.now(),
      sources: loaded.sources.map(({ name, source: { file, text } }) => ({ name, file, text })),
      inputs: formatInputs(inputs),
      plan,
      ...(until === undefined ? {} : { until }),
    });
    context.voice.note(`the scheduler holds the account ${account.profile.account}: submitted to it as ${run}`);
    return await new Follower(handed, scheduleStore, by, context).follow();
  } finally {
    await scheduleStore.close();
  }
}

async function postRequest(scheduleStore: ScheduleStore, request: SubmissionRequest): Promise<void> {
  try {
    await scheduleStore.post(request);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    throw new UserError(
      `${makePrintable(error.message)}; it is not known whether run ${request.run} was submitted to the scheduler: \`runbook audit show ${request.run}\` shows whether it began`,
      EXIT.halted,
      'journal',
    );
  }
}

class Follower {
  private readonly request: SubmittedRun;
  private readonly scheduleStore: ScheduleStore;
  private readonly by: string;
  private readonly context: ActingContext;
  private readonly fold = new RunOutlineFold();
  private seen = 0;
  private ended = false;
  private signal: Signal | undefined;
  private cancelAsked = false;

  constructor(handed: SubmittedRun, scheduleStore: ScheduleStore, by: string, context: ActingContext) {
    this.request = handed;
    this.scheduleStore = scheduleStore;
    this.by = by;
    this.context = context;
  }

  /** At a signal, a waiting request is withdrawn and a running one is asked to stop, as if it were executed here. */
  async follow(): Promise<EndedRun | Withdrawn | undefined> {
    const off = this.context.interrupts.on((signal) => {
      this.signal ??= signal;
      this.request.account.shutdown.begin(() => this.leave(signal));
    });
    try {
      if (await this.waitUntilTaken()) return await this.waitUntilEnded();
      return this.signal === undefined ? undefined : { withdrawn: this.signal };
    } finally {
      off();
    }
  }

  /** Ends this process, which only follows; the scheduler goes on without it. */
  private leave(signal: Signal): never {
    const { account, run } = this.request;
    const asked = this.cancelAsked ? 'was asked to stop and has not ended' : 'could not be asked to stop';
    const error = new UserError(
      `${signal}: ${writeDuration(account.shutdown.withinMs)} later (shutdown.within) run ${run} ${asked}. It was submitted to the scheduler, which executes it without this command: see \`runbook audit show ${run}\`, and \`runbook cancel ${run} --by NAME\` to stop it`,
      exitAfter(signal),
      'interrupted',
      { run },
    );
    return this.context.endProcess(error.exit, error);
  }

  /** False when it was withdrawn because no scheduler accepted it. */
  private waitUntilTaken(): Promise<boolean> {
    const { run } = this.request;
    return this.repeatLook(async () => {
      const state = await this.readState();
      if (state !== 'posted') return state !== 'withdrawn';
      const scheduled = isScheduler((await this.findHolder()) ?? '');
      const given = this.signal !== undefined || !scheduled;
      return given && (await this.scheduleStore.answer(run, { state: 'withdrawn' })) ? false : undefined;
    });
  }

  private waitUntilEnded(): Promise<EndedRun> {
    const { account, run } = this.request;
    const { clock } = account;
    let heldAt = clock.monotonic();
    return this.repeatLook(async () => {
      await this.read();
      // Accepted but not begun: it may still be refused, by this scheduler or the next.
      if (this.seen === 0) await this.readState();
      if (this.ended) {
        const { fold, signal } = this;
        const source = fromStore(account.store, run, fold);
        return { source, residual: fold.residual(), signal, recording: undefined };
      }
      if (this.signal !== undefined) await this.askToCancel();
      if ((await this.findHolder()) !== undefined) heldAt = clock.monotonic();
      else if (clock.monotonic() - heldAt > PATIENCE_MS) {
        throw new UserError(
          `the scheduler has ended and run ${run} has not: start the scheduler again, or use \`runbook resume ${run}\``,
          EXIT.halted,
          'unfinished',
        );
      }
      return undefined;
    });
  }

  /**
   * Repeats `look` until it gives a result. A store that is away is waited for, as the scheduler does: the run does not depend on
   * this process. Once asked to stop, it does not wait but says how to follow the run later.
   */
  private async repeatLook<T>(look: () => Promise<T | undefined>): Promise<T> {
    const { account, run } = this.request;
    const { clock } = account;
    let readAt = clock.monotonic();
    for (;;) {
      try {
        const found = await look();
        if (found !== undefined) return found;
        readAt = clock.monotonic();
      } catch (error) {
        if (!(error instanceof StoreError)) throw error;
        if (this.signal !== undefined || clock.monotonic() - readAt > PATIENCE_MS)
          throw new UserError(
            `${makePrintable(error.message)}, so run ${run} cannot be followed. It was submitted to the scheduler, which executes it without this command: see \`runbook audit show ${run}\` once the store answers, and \`runbook cancel ${run} --by NAME\` to stop it`,
            EXIT.halted,
            'unfinished',
          );
      }
      await pause(clock, LOOK_EVERY_MS);
    }
  }

  /** The state of the request. Throws a UserError where the run will not begin. */
  private async readState(): Promise<'posted' | 'withdrawn' | 'taken' | 'begun'> {
    const answer = await this.scheduleStore.submission(this.request.run);
    if (answer === undefined)
      throw new UserError(
        `the scheduler has no request for run ${this.request.run} any more: it was submitted too long ago. \`runbook audit list\` shows whether it began`,
        EXIT.failed,
        'lost',
      );
    if (answer.state !== 'refused') return answer.state;
    throw new UserError(
      `the scheduler refused the run: ${makePrintable(answer.why, 1000)}; nothing was sent`,
      TEMPORARY_REFUSALS.has(answer.kind) ? EXIT.failed : EXIT.usage,
      answer.kind,
    );
  }

  private async read(): Promise<void> {
    const { account, run } = this.request;
    for (const entry of readLines(await readRange(account.store, run, { after: this.seen }))) {
      this.fold.apply(entry);
      this.seen = entry.seq;
      this.ended ||= entry.type === 'run.ended';
      if (entry.type === 'step.started')
        this.context.voice.progress(`${run}: ${formatCount(entry.seq, 'entry', 'entries')}, ${entry.step}`);
    }
  }

  private findHolder(): Promise<string | undefined> {
    const { shared, key } = this.request.account;
    return shared.leases.holder(key);
  }

  private async askToCancel(): Promise<void> {
    if (this.cancelAsked) return;
    this.cancelAsked = true;
    const { account, run } = this.request;
    this.context.voice.note('asking the run to stop cleanly');
    const at = account.clock.now();
    await account.shared.mailbox.post({
      run,
      command: 'cancel',
      by: this.by,
      at,
      reason: 'interrupted at the terminal',
    });
  }
}

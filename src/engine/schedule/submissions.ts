/**
 * Admits submitted runs: each begins when no other run holds what it needs. The loop that looks again is the scheduler's
 * (scheduler.ts).
 */
import type { ScheduleRun } from './decide.ts';
import type { LaunchedRun } from './launcher.ts';

/** A run that a person submitted: it has no slot, but respects concurrency keys as scheduled runs do. */
export interface Submission {
  readonly run: string;
  readonly runbook: string;
  readonly concurrency?: { readonly key: string; readonly onBusy: 'queue' | 'skip' | 'fail' };
  readonly exclusive?: readonly string[];
  /** Undefined when it is no longer wanted. Throws StoreError when nothing was begun and it can be tried again. */
  begin(): Promise<LaunchedRun | undefined>;
  refuse(why: string): Promise<void>;
}

/** What admission needs of the scheduler. */
export interface SubmissionQueue {
  readonly running: () => readonly ScheduleRun[];
  /** False once nothing may begin any more. */
  readonly mayBegin: () => boolean;
  readonly hold: (run: ScheduleRun, runbook: string, launched: LaunchedRun) => void;
}

export class Submissions {
  private submissions: readonly Submission[] = [];

  waiting(): number {
    return this.submissions.length;
  }

  add(submission: Submission): void {
    this.submissions = [...this.submissions, submission];
  }

  /** Begins or refuses, in their sequence, those that need not wait. After a StoreError that one and the rest keep waiting. */
  async admit(queue: SubmissionQueue): Promise<void> {
    for (const submission of this.submissions) {
      if (!queue.mayBegin()) return;
      if (await tryAdmit(submission, queue))
        this.submissions = this.submissions.filter((other) => other !== submission);
    }
  }
}

/** Begins or refuses one submission; false when it has to wait. */
async function tryAdmit(submission: Submission, { running, hold }: SubmissionQueue): Promise<boolean> {
  const { run, runbook, concurrency, exclusive } = submission;
  const others = running();
  const keyHeld = concurrency !== undefined && others.some(({ key }) => key === concurrency.key);
  const inUse = exclusive?.some((each) => others.some((other) => other.exclusive?.includes(each))) === true;
  if (keyHeld && concurrency.onBusy !== 'queue') {
    await submission.refuse(
      `the concurrency key ${JSON.stringify(concurrency.key)} is held by another run (on_busy: ${concurrency.onBusy})`,
    );
    return true;
  }
  if (keyHeld || inUse) return false;
  const launched = await submission.begin();
  const key = concurrency === undefined ? {} : { key: concurrency.key };
  if (launched !== undefined)
    hold({ run, ...key, ...(exclusive === undefined ? {} : { exclusive }) }, runbook, launched);
  return true;
}

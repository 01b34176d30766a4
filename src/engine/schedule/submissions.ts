/**
 * Runs that somebody handed over: each begins when nothing that it needs is held by another. What is theirs is decided here,
 * beside the schedules; the loop that looks again is the scheduler's (daemon.ts).
 */
import type { ScheduleRun } from './decide.ts';
import type { LaunchedRun } from './launcher.ts';

/** A run that somebody handed over: it has no slot, but keeps to concurrency keys as all do. */
export interface Submission {
  readonly run: string;
  readonly runbook: string;
  readonly concurrency?: { readonly key: string; readonly onBusy: 'queue' | 'skip' | 'fail' };
  readonly exclusive?: readonly string[];
  /** Undefined when it is not wanted any more. A StoreError: nothing was begun, and it can be asked again. */
  begin(): Promise<LaunchedRun | undefined>;
  refuse(why: string): Promise<void>;
}

/** Those who decide and hold for all runs of the account. */
export interface SubmissionQueue {
  readonly running: () => readonly ScheduleRun[];
  /** False once nothing is to be begun any more. */
  readonly goesOn: () => boolean;
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

  /** Begins or refuses, in the order they came, what need not wait. A StoreError leaves whoever it met, and the rest, waiting. */
  async admit(house: SubmissionQueue): Promise<void> {
    for (const submission of this.submissions) {
      if (!house.goesOn()) return;
      if (await admitted(submission, house))
        this.submissions = this.submissions.filter((other) => other !== submission);
    }
  }
}

/** False when it has to wait. */
async function admitted(submission: Submission, { running, hold }: SubmissionQueue): Promise<boolean> {
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

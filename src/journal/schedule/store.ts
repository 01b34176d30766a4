/**
 * What a scheduler has promised and decided, kept beside the journal: since when it knows each slot, one verdict for each
 * occurrence, and the runs that were handed to it. A port with three implementations (`agenda-memory.ts`, `agenda-sqlite.ts`,
 * `postgres-agenda.ts`) and one contract suite. It keeps and compares; what is due, and what is done about it, is decided elsewhere.
 *
 * Every method rejects with a StoreError: `unavailable` when the store can not be read or written, `fenced` when a newer
 * epoch of the account's lease has written, `conflict` when an occurrence has its verdict already.
 */
import type { JsonObject } from '../entry.ts';
import { StoreError } from '../store.ts';

/** `waiting` is no verdict yet, and may be followed by one; the others are final. */
export type Verdict = 'started' | 'skipped' | 'missed' | 'waiting';

export interface OccurrenceRow {
  readonly slot: string;
  /** The instant it stands for, epoch ms. */
  readonly nominalMs: number;
  readonly verdict: Verdict;
  /** Why it was skipped or missed, or what it waits for. */
  readonly why?: string;
  /** With `started`: the name its run has, given before the run exists. */
  readonly run?: string;
  /** Epoch ms. */
  readonly decidedAt: number;
  /** With `started`: whether its run was begun, or the process ended before and its time is over. Neither: not known. */
  readonly began?: 'begun' | 'lost';
}

/** How far the occurrences of slots have been decided. */
export interface ScheduleMarks {
  /** By slot, the last instant that has a row. */
  readonly through: ReadonlyMap<string, number>;
  /** What waits, of any slot of the account, by instant. */
  readonly waiting: readonly { readonly slot: string; readonly nominalMs: number }[];
}

/** How long verdicts are kept, ms: more than a year, so that each can be compared with the one of a year ago. */
export const VERDICTS_KEPT_MS = 400 * 86_400_000;
/** How long a run that was handed over is kept once it is answered, ms: its texts are in the run's own journal. */
export const SUBMISSIONS_KEPT_MS = 86_400_000;
export const PRUNED_AT_ONCE = 5_000;

export interface ScheduleStore {
  /**
   * Says which slots are in force from now on, and gives since when each has been. A slot that was not in force until now
   * becomes known at `at`: what fell before was never promised. One that is not named any more is known no longer.
   */
  engage(account: string, epoch: number, slots: readonly string[], at: number): Promise<ReadonlyMap<string, number>>;
  marks(account: string, slots: readonly string[]): Promise<ScheduleMarks>;
  /** Records decisions, all or none; durable once resolved. */
  record(account: string, epoch: number, rows: readonly OccurrenceRow[]): Promise<void>;
  /** Started, and not known to have begun: what a process that died may have left undone. By instant. */
  promised(account: string): Promise<readonly OccurrenceRow[]>;
  /** Says what became of a run that was started. */
  settle(account: string, run: string, began: 'begun' | 'lost'): Promise<void>;
  /** The newest occurrences first. */
  occurrences(
    account: string,
    filter?: { readonly slot?: string; readonly limit?: number },
  ): Promise<readonly OccurrenceRow[]>;
  /**
   * Forgets verdicts on occurrences before an instant, at most `PRUNED_AT_ONCE` of them, and gives how many. Never the last of
   * a slot: it says how far the slot has been decided, and without it what was started once would fall due again. Nor what
   * waits, or was started and is not known to have begun.
   */
  prune(account: string, beforeMs: number): Promise<number>;

  /** Hands a run to whoever holds the account; durable once resolved. */
  post(request: SubmissionRequest): Promise<void>;
  /** Those that nobody has answered, in the order they were posted. */
  posted(account: string): Promise<readonly SubmissionRequest[]>;
  /**
   * Takes, refuses or withdraws a request; of one that is `taken` says that it began, or was refused after all. False when it
   * does not stand as `standing` any more: then nothing is changed.
   */
  answer(run: string, answer: SubmissionAnswer, standing?: 'posted' | 'taken'): Promise<boolean>;
  /** Runs that were taken and of which nobody has said what became of them: a process that died may have left them undone. */
  taken(account: string): Promise<readonly string[]>;
  /** Undefined for a run that was never handed over, or so long ago that it has been forgotten. */
  submission(run: string): Promise<SubmissionAnswer | { readonly state: 'posted' } | undefined>;
  /** Forgets requests posted before an instant that have their last answer, at most `PRUNED_AT_ONCE`, and gives how many. */
  pruneSubmissions(account: string, beforeMs: number): Promise<number>;

  close(): Promise<void>;
}

/** A run for the process that holds its account: texts pinned, inputs read, as its first entry will have them. */
export interface SubmissionRequest {
  /** Its name, given by whoever asks. */
  readonly run: string;
  readonly account: string;
  readonly by: string;
  /** Epoch ms. */
  readonly at: number;
  /** The runbook first, then every runbook it calls. */
  readonly sources: readonly { readonly name: string; readonly file: string; readonly text: string }[];
  readonly inputs: JsonObject;
  /** The plan that was shown to whoever asks; the run is refused under another. */
  readonly plan: string;
  readonly until?: string;
}

export type SubmissionAnswer =
  /** Nobody else can take it any more; its run begins. */
  | { readonly state: 'taken' }
  | { readonly state: 'begun' }
  | { readonly state: 'withdrawn' }
  | { readonly state: 'refused'; readonly why: string; readonly kind: string };

export function outdated(account: string, epoch: number, newest: number): StoreError {
  return new StoreError(
    'fenced',
    `the schedules of ${account} are kept by a newer process (epoch ${newest}); this one has epoch ${epoch}`,
  );
}

export function decidedAlready({ slot, nominalMs }: OccurrenceRow): StoreError {
  return new StoreError(
    'conflict',
    `the occurrence of ${slot} at ${new Date(nominalMs).toISOString()} has its verdict already`,
  );
}

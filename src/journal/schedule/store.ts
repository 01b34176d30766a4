/**
 * The port of schedule stores, which keep a scheduler's decisions beside the journal: since when it knows each slot, one verdict
 * for each occurrence, and the runs that were submitted to it. Implemented in SQLite and in PostgreSQL, with one
 * contract suite. It stores and compares; other modules decide what is due and what to do about it.
 *
 * Every method rejects with a StoreError: `unavailable` when the store cannot be read or written, `fenced` when a newer
 * epoch of the account's lease has written, `conflict` when an occurrence already has a verdict.
 */
import type { DecidedVerdict, Who } from '../account/acts.ts';
import type { JsonObject } from '../entry.ts';
import { type PostedAct, StoreError } from '../store.ts';

/** `waiting` may be followed by another verdict; the others are final. */
export type Verdict = 'started' | 'skipped' | 'missed' | 'waiting';

export interface OccurrenceRow {
  readonly slot: string;
  /** The scheduled instant, epoch ms. */
  readonly nominalMs: number;
  readonly verdict: Verdict;
  /** Why it was skipped or missed, or what it waits for. */
  readonly why?: string;
  /** With `started`: the id of its run, given before the run exists. */
  readonly run?: string;
  /** Epoch ms. */
  readonly decidedAt: number;
  /** With `started`: the run began, or it was lost: its process ended before, and its time is over. Absent when not known. */
  readonly began?: 'begun' | 'lost';
}

/** Shows up to which instant the occurrences of slots have been decided. */
export interface ScheduleMarks {
  /** By slot, the last instant that has a row, epoch ms. */
  readonly through: ReadonlyMap<string, number>;
  /** The waiting occurrences of all slots of the account, ordered by instant. */
  readonly waiting: readonly { readonly slot: string; readonly nominalMs: number }[];
}

/** How long verdicts are kept, ms: more than a year, so that a verdict can be compared with last year's. */
export const VERDICTS_KEPT_MS = 400 * 86_400_000;
/** How long an answered submission is kept, ms. Its texts are in the run's own journal. */
export const SUBMISSIONS_KEPT_MS = 86_400_000;
/** Most rows that one `prune` or `pruneSubmissions` deletes. */
export const PRUNED_AT_ONCE = 5_000;

export interface ScheduleStore {
  /**
   * Sets the slots that are in force from now on, and returns since when each has been (epoch ms). A new slot is known from
   * `at`, so that its earlier occurrences do not count as missed. A slot that is no longer listed is forgotten.
   */
  engage(account: string, epoch: number, slots: readonly string[], at: number): Promise<ReadonlyMap<string, number>>;
  marks(account: string, slots: readonly string[]): Promise<ScheduleMarks>;
  /** Records decisions, here and in the account's journal, all or none; durable once resolved. */
  record(account: string, epoch: number, rows: readonly OccurrenceRow[]): Promise<void>;
  /** Lists occurrences that are `started` but not known to have begun, by instant: a process that died may have left them undone. */
  promised(account: string): Promise<readonly OccurrenceRow[]>;
  /** Records whether a started run began or was lost; that it was lost is in the account's journal too. `at`: epoch ms. */
  settle(account: string, run: string, began: 'begun' | 'lost', at: number): Promise<void>;
  /** Keys of the accounts for which a scheduler has decided anything. */
  decidedAccounts(): Promise<readonly string[]>;
  /** Lists occurrences, newest first. */
  occurrences(
    account: string,
    filter?: { readonly slot?: string; readonly limit?: number },
  ): Promise<readonly OccurrenceRow[]>;
  /**
   * Deletes verdicts on occurrences before an instant, at most `PRUNED_AT_ONCE`, and returns their number. Keeps the last
   * verdict of each slot, because without it a decided occurrence would fall due again. Also keeps occurrences that wait, or
   * that were started and are not known to have begun.
   */
  prune(account: string, beforeMs: number): Promise<number>;

  /** Submits a run to the process that holds the account; durable once resolved. */
  post(request: SubmissionRequest): Promise<void>;
  /** Lists unanswered requests, in the order they were posted. */
  posted(account: string): Promise<readonly SubmissionRequest[]>;
  /**
   * Answers a request: takes, refuses or withdraws it; a `taken` one has begun or is refused after all. False, and
   * nothing changed, when its state is no longer `expected`.
   */
  answer(run: string, answer: SubmissionAnswer, expected?: 'posted' | 'taken'): Promise<boolean>;
  /** Lists runs that were taken but have no further answer: a process that died may have left them undone. */
  taken(account: string): Promise<readonly string[]>;
  /** Reads the state of a submission; undefined for a run that was never submitted, or whose submission has been deleted. */
  submission(run: string): Promise<SubmissionAnswer | { readonly state: 'posted' } | undefined>;
  /** Deletes requests posted before an instant that have their final answer, at most `PRUNED_AT_ONCE`, and returns their number. */
  pruneSubmissions(account: string, beforeMs: number): Promise<number>;

  close(): Promise<void>;
}

/** A run submitted to the process that holds its account, with the texts and inputs that its first entry will have. */
export interface SubmissionRequest {
  /** Id of the run, chosen by the submitter. */
  readonly run: string;
  readonly account: string;
  readonly by: string;
  readonly who?: Who;
  /** Epoch ms. */
  readonly at: number;
  /** The runbook first, then every runbook it calls. */
  readonly sources: readonly { readonly name: string; readonly file: string; readonly text: string }[];
  readonly inputs: JsonObject;
  /** Hash of the plan that was shown to the submitter; the run is refused under another plan. */
  readonly plan: string;
  readonly until?: string;
}

export type SubmissionAnswer =
  /** No other process can take it any more; its run begins. */
  | { readonly state: 'taken' }
  | { readonly state: 'begun' }
  | { readonly state: 'withdrawn' }
  | { readonly state: 'refused'; readonly why: string; readonly kind: string };

export function buildFencedError(account: string, epoch: number, newest: number): StoreError {
  return new StoreError(
    'fenced',
    `a newer process runs the schedules of ${account} (epoch ${newest}); this one has epoch ${epoch}`,
  );
}

export function buildDecidedError({ slot, nominalMs }: OccurrenceRow): StoreError {
  return new StoreError(
    'conflict',
    `the occurrence of ${slot} at ${new Date(nominalMs).toISOString()} already has a verdict`,
  );
}

/** What the account's journal has of decisions that are recorded together. */
export function makeDecidedAct(rows: readonly OccurrenceRow[]): PostedAct {
  const occurrences = rows.map(
    ({ slot, nominalMs, verdict, why, run }): DecidedVerdict => ({
      slot,
      nominal: nominalMs,
      verdict,
      ...(why === undefined ? {} : { why }),
      ...(run === undefined ? {} : { run }),
    }),
  );
  return { type: 'schedule.decided', by: 'scheduler', at: rows[0]?.decidedAt ?? 0, data: { occurrences } };
}

/** The same of a run that was to start and never began. */
export function makeLostAct(run: string, at: number): PostedAct {
  return { type: 'schedule.lost', by: 'scheduler', at, data: { run } };
}

/**
 * The port of stores, which keep the entries and rows of runs: SQLite by default, PostgreSQL for several machines, memory in
 * tests. One contract suite covers all of them (test/contract/store). A store does not hash, and interprets only the columns
 * that it indexes.
 */
import type { RunMode, RunOutcome } from './entry.ts';

/** An entry as stored: the exact line (JSON without its hash) and the hash over it. */
export interface StoredEntry {
  readonly run: string;
  readonly seq: number;
  /** Epoch ms. */
  readonly at: number;
  readonly type: string;
  readonly step: string;
  readonly line: string;
  readonly hash: string;
  /** The earlier line with rows that this one repeats, once it was looked up (reading.ts); it is not stored. */
  readonly base?: StoredEntry;
}

/** The row of a run: an index over the journal, derived from it. Where they differ, the entries are right. */
export interface RunRow {
  readonly run: string;
  readonly runbook: string;
  readonly mode: RunMode;
  readonly account: string;
  readonly trigger: string;
  readonly startedAt: number;
  readonly endedAt?: number;
  readonly outcome?: RunOutcome;
}

/** A run with the end of its journal. */
export interface RunHead extends RunRow {
  readonly seq: number;
  readonly hash: string;
}

/** What is kept of an account beside its runs' entries, as a text of its own form by name. */
export interface AccountRow {
  readonly name: string;
  readonly text: string;
}

/** Name of the row that only the key of a venue's id has: under which key the store has that account. */
export const KNOWN_AS = 'known as';

/** The rows to write, of those that are kept; one with an empty text is removed. */
export type AccountRowChange = (kept: readonly AccountRow[]) => readonly AccountRow[];

export interface RunFilter {
  readonly account?: string;
  readonly runbook?: string;
  readonly unfinished?: boolean;
  readonly outcome?: RunOutcome;
  readonly limit?: number;
}

/** An act for the journal of an account, written with what it is about (account/acts.ts has the types). */
export interface PostedAct {
  readonly type: string;
  readonly by: string;
  /** Epoch ms. */
  readonly at: number;
  readonly data: object;
}

export interface AppendOptions {
  readonly durable: boolean;
  /** Appended to the journal of the account with this key, in the same transaction. */
  readonly acts?: { readonly account: string; readonly acts: readonly PostedAct[] };
  /** Written in the same transaction; required with a run's first entries. */
  readonly row?: RunRow;
  /** Epoch of the writer's lease; 0 without a lease. */
  readonly epoch?: number;
}

/** A journal that can be reviewed: a store, an archive, or several of them. */
export interface JournalReader {
  read(run: string, range?: { readonly after?: number; readonly limit?: number }): Promise<readonly StoredEntry[]>;
  runs(filter?: RunFilter): Promise<readonly RunRow[]>;
  run(run: string): Promise<RunRow | undefined>;
  /** The rows kept under a key, in the order of their names; an archive has none. */
  accountRows?(key: string): Promise<readonly AccountRow[]>;
  /** The names of the account's own chains, where several journals are read as one. */
  chains?(account: string): Promise<readonly string[]>;
  close(): Promise<void>;
}

/** Knows whether a store's files are still the ones at their paths. */
export interface PlaceCheck {
  /** Looks, and gives the message once a file was removed or replaced: then nothing more may be written, or sent on its strength. */
  findReplaced(): string | undefined;
  /** Calls the listener once, when `findReplaced` or the check before a commit finds it, until the returned function is called. */
  onReplaced(listener: (message: string) => void): () => void;
}

export interface JournalStore extends JournalReader {
  /** Of the files it has open; a store that is no file has none. */
  readonly places?: readonly PlaceCheck[];
  /** For a process that acts for an account: waits no longer for another process's lock than its heartbeats allow. */
  limitWait?(): void;
  /**
   * Appends all entries or none, and resolves when they are durable (`durable: false`, for dry-runs: when they are stored).
   * Rejects with a StoreError when `seq` is not the run's next (`conflict`), when the disk refused (`unavailable`)
   * or when the writer's epoch is older than the run's newest (`fenced`).
   */
  append(entries: readonly StoredEntry[], options: AppendOptions): Promise<void>;
  /** A text that is another one after a run has begun, ended, gone on or been removed. */
  runsStamp(): Promise<string>;
  /** The last entry of a run; undefined for one that the store does not have. */
  last(run: string): Promise<StoredEntry | undefined>;
  /**
   * Removes an ended run, its row and all its entries, and resolves when that is durable. `head` must be the hash of its last
   * entry: false, and nothing removed, for a run that has new entries, has not ended, or does not exist.
   */
  remove(run: string, head: string): Promise<boolean>;
  /** The runs of an account with the ends of their journals, oldest first. */
  heads(account: string): Promise<readonly RunHead[]>;
  /** The last act of the account with this key, up to a number; undefined where it has none. */
  lastAct(account: string, upTo?: number): Promise<StoredEntry | undefined>;
  accountRows(key: string): Promise<readonly AccountRow[]>;
  /**
   * Writes the rows that `change` makes of those kept under a key, each in place of the one of its name; all or none, durable. No other
   * process changes a row in between. `change` may be called again where a commit is repeated.
   */
  changeAccountRows(key: string, change: AccountRowChange): Promise<void>;
}

/** Selects the rows that match the filter, newest first; for stores that keep their rows in memory. */
export function filterRuns(
  rows: Iterable<RunRow>,
  { account, runbook, unfinished, outcome, limit }: RunFilter,
): readonly RunRow[] {
  return [...rows]
    .filter(
      (row) =>
        (account === undefined || row.account === account) &&
        (runbook === undefined || row.runbook === runbook) &&
        (outcome === undefined || row.outcome === outcome) &&
        (unfinished !== true || row.outcome === undefined),
    )
    .sort((a, b) => b.startedAt - a.startedAt || (a.run < b.run ? 1 : -1))
    .slice(0, limit);
}

export class StoreError extends Error {
  /** `replaced`: the store's file is no longer the one at its path. */
  readonly reason: 'conflict' | 'fenced' | 'unavailable' | 'damaged' | 'replaced';
  /** With `damaged`: the number of the first entry that cannot be read, when known. */
  readonly sequence: number | undefined;
  constructor(reason: StoreError['reason'], message: string, sequence?: number) {
    super(message);
    this.name = 'StoreError';
    this.reason = reason;
    this.sequence = sequence;
  }
}

/** Ignores a store that failed, where the next process finds or does by itself what was not done. Throws any other error again. */
export function ignoreStore(error: unknown): void {
  if (!(error instanceof StoreError)) throw error;
}

/** The store does not answer, or its disk is full, and may recover by itself: it is asked again. What it did not confirm has not happened. */
export class StoreAway extends StoreError {
  constructor(message: string) {
    super('unavailable', message);
  }
}

/** The reason of a failure as the tables of the drivers have it. */
export type Failure = StoreError['reason'] | 'away';

export function makeStoreError(failure: Failure, message: string): StoreError {
  return failure === 'away' ? new StoreAway(message) : new StoreError(failure, message);
}

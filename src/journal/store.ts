/**
 * The store port: where entries live, and the few records beside them that several processes share. SQLite by default,
 * PostgreSQL on many machines, memory in tests; one contract suite runs over all of them (test/contract/store).
 * A store keeps what it is given and gives it back; it hashes nothing and interprets nothing but the columns it indexes.
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
}

/** The row of a run: an index over the journal, refilled from it, never the truth. */
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

export interface RunFilter {
  readonly account?: string;
  readonly runbook?: string;
  readonly unfinished?: boolean;
  readonly outcome?: RunOutcome;
  readonly limit?: number;
}

export interface AppendOptions {
  readonly durable: boolean;
  /** Written in the same transaction; needed with a run's first entries. */
  readonly row?: RunRow;
  /** The lease's epoch the writer acts under; 0 where there is no lease. */
  readonly epoch?: number;
}

/** A journal as it is reviewed: a store, an archive, or several of them. */
export interface JournalReader {
  read(run: string, range?: { readonly after?: number; readonly limit?: number }): Promise<readonly StoredEntry[]>;
  runs(filter?: RunFilter): Promise<readonly RunRow[]>;
  run(run: string): Promise<RunRow | undefined>;
  close(): Promise<void>;
}

export interface JournalStore extends JournalReader {
  /**
   * Appends entries in order, all or none, and resolves when they are durable (`durable: false`: when they are kept, for
   * dry-runs). Rejects with a StoreError when seq is not the run's next (`conflict`), when the disk refused (`unavailable`)
   * or when the writer's epoch is older than the run's newest (`fenced`).
   */
  append(entries: readonly StoredEntry[], options: AppendOptions): Promise<void>;
  /**
   * Takes an ended run out, its row and all its entries or nothing, and resolves when that is durable. Only while `head` is
   * the hash of its last entry: false for a run that went on since, has no end, or is not there.
   */
  remove(run: string, head: string): Promise<boolean>;
}

/** The rows that fit, newest first: the filter of stores that keep their rows in memory. */
export function fittingRuns(
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
  readonly reason: 'conflict' | 'fenced' | 'unavailable' | 'damaged';
  /** With `damaged`: the first entry that can not be read, where that is known. */
  readonly sequence: number | undefined;
  constructor(reason: StoreError['reason'], message: string, sequence?: number) {
    super(message);
    this.name = 'StoreError';
    this.reason = reason;
    this.sequence = sequence;
  }
}

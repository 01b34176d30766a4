/** The port of a database for the stores, the same for every one. Parameters are written `?`. */
import type { SqlRow, SqlValue } from './values.ts';

/** The value of a parameter; lists are for PostgreSQL's `unnest`. */
export type SqlParameter = SqlValue | readonly (string | number | null)[];

/** What a statement gave. An UPDATE without RETURNING gives no rows, only the number of changes. */
export interface SqlAnswer {
  readonly rows: readonly SqlRow[];
  readonly changes: number;
}

/**
 * What is done within one transaction: it yields statements and gets their answers. SQLite answers before it goes on, PostgreSQL after
 * a round trip, so one that is written as a plain or as an asynchronous function would have to be written twice.
 */
export type Work<T> = Generator<{ readonly sql: string; readonly values: readonly SqlParameter[] }, T, SqlAnswer>;

export function* ask(sql: string, ...values: readonly SqlParameter[]): Work<SqlAnswer> {
  return yield { sql, values };
}

export interface TransactionOptions<Kept> {
  /** False: the commit waits only for the memory of the server or the system, whose crash may lose the last commits. */
  readonly durable?: boolean;
  /**
   * Finds out whether the transaction's writes were stored: called under the same lock on another connection when the answer
   * to the commit was lost. Without it such a commit is reported as failed, although it may have happened.
   */
  readonly kept?: Kept;
  /** How long to retry after a lost connection, while nothing has been committed, ms. */
  readonly patienceMs?: number;
}

export interface SqlDatabase {
  /** Runs one statement outside of a transaction. Rejects with a StoreError. */
  rows(sql: string, ...values: readonly SqlValue[]): Promise<readonly SqlRow[]>;
  /** As `rows`; gives the number of rows that it changed. */
  change(sql: string, ...values: readonly SqlValue[]): Promise<number>;
  /** Whether a table exists and has the column: a store that this user may only read can lack the later ones. */
  has(table: string, column: string): Promise<boolean>;
  /**
   * Runs the work while no other one with the same lock runs in any process. A throw rolls back; it may be run again. `kept: 'repeat'`:
   * doing it twice gives the same result.
   */
  transact<T>(
    lock: string,
    work: () => Work<T>,
    options?: TransactionOptions<'repeat' | (() => Work<boolean>)>,
  ): Promise<T>;
  close(): Promise<void>;
}

/**
 * How long repeatable work is retried, ms. A restarting server is down for seconds; with a longer wait the deadman
 * switches of a run would fire first.
 */
export const RESTART_PATIENCE_MS = 4_000;

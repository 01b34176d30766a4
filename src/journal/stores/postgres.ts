/**
 * Keeps the journal in PostgreSQL, for several machines that share work. An append is one transaction under the lock of its
 * run. The epoch is read under that lock, so a process that slept through its lease is fenced whatever it still has in
 * progress. When the answer to a commit is lost, the journal's tail shows whether it was stored.
 */

import { appendAct } from '../account/postgres.ts';
import { openPostgres, type PostgresAccess, toSqlDatabase } from '../sql/postgres.ts';
import type { SqlValue } from '../sql/values.ts';
import { ask, RESTART_PATIENCE_MS, type Work } from '../sql/work.ts';
import type { JournalStore, StoredEntry } from '../store.ts';
import { readStoredEntry } from './rows.ts';
import { SqlStore } from './sql-store.ts';

const TIMEOUTS = { connections: 4, connectMs: 5_000, lockMs: 5_000, answerMs: 15_000 };

interface PostgresStoreOptions {
  /** How long an append or a read waits for a server that is down, ms. A writer whose append has failed never writes again. */
  readonly patienceMs?: number;
}

/** Opens the journal of the database and creates missing tables. Rejects with a StoreError. */
export async function openPostgresStore(
  access: PostgresAccess,
  { patienceMs = RESTART_PATIENCE_MS }: PostgresStoreOptions = {},
): Promise<JournalStore> {
  return new PostgresStore(toSqlDatabase(await openPostgres(access, TIMEOUTS), patienceMs), appendAct, patienceMs);
}

class PostgresStore extends SqlStore {
  protected override insert(run: string, entries: readonly StoredEntry[]): Work<unknown> {
    return ask(
      `INSERT INTO entries (run, seq, at, type, step, line, hash)
        SELECT ?, * FROM unnest(?::bigint[], ?::bigint[], ?::text[], ?::text[], ?::text[], ?::text[])`,
      run,
      entries.map(({ seq }) => seq),
      entries.map(({ at }) => at),
      entries.map(({ type }) => type),
      entries.map(({ step }) => step),
      entries.map(({ line }) => line),
      entries.map(({ hash }) => hash),
    );
  }

  protected override async select(run: string, sql: string, ...values: readonly SqlValue[]) {
    const rows = await this.database.rows(sql, ...values);
    return rows.map(({ seq = 0, at = 0, type = '', step = '', line = '', hash = '' }) =>
      readStoredEntry(run, [seq, at, type, step, line, hash]),
    );
  }
}

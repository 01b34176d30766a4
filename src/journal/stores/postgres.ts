/**
 * Keeps the journal in PostgreSQL, for several machines that share work. An append is one transaction under the lock of its
 * run. The epoch is read under that lock, so a process that slept through its lease is fenced whatever it still has in
 * progress. When the answer to a commit is lost, the journal's tail shows whether it was stored.
 */

import { appendActIn, readLastAct } from '../account/postgres.ts';
import {
  openPostgres,
  type PostgresAccess,
  type PostgresDatabase,
  type Query,
  RESTART_PATIENCE_MS,
} from '../sql/postgres.ts';
import { NO_LIMIT, type SqlRow } from '../sql/values.ts';
import type {
  AccountRow,
  AccountRowChange,
  AppendOptions,
  JournalStore,
  RunFilter,
  RunHead,
  RunRow,
  StoredEntry,
} from '../store.ts';
import { refuseAppend } from './errors.ts';
import {
  buildRunsQuery,
  JOURNAL_SQL,
  readAccountRow,
  readHead,
  readRunHead,
  readRunRow,
  readStoredEntry,
  toRunValues,
} from './rows.ts';

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
  return new PostgresStore(await openPostgres(access, TIMEOUTS), patienceMs);
}

class PostgresStore implements JournalStore {
  private readonly database: PostgresDatabase;
  private readonly patienceMs: number;

  constructor(database: PostgresDatabase, patienceMs: number) {
    this.database = database;
    this.patienceMs = patienceMs;
  }

  async append(entries: readonly StoredEntry[], options: AppendOptions): Promise<void> {
    const [first] = entries;
    if (first === undefined) return;
    await this.database.transaction(toLock(first.run), (query) => insert(query, first.run, entries, options), {
      durable: options.durable,
      patienceMs: this.patienceMs,
      kept: (query) => isStored(query, first.run, entries),
    });
  }

  async read(
    run: string,
    range: { readonly after?: number; readonly limit?: number } = {},
  ): Promise<readonly StoredEntry[]> {
    const { after = 0, limit = NO_LIMIT } = range;
    const rows = await this.database.read(JOURNAL_SQL.read, [run, after, limit], this.patienceMs);
    return rows.map((row) => readEntryRow(run, row));
  }

  async runs(filter: RunFilter = {}): Promise<readonly RunRow[]> {
    const { sql, values } = buildRunsQuery(filter);
    return (await this.database.read(sql, values, this.patienceMs)).map(readRunRow);
  }

  async run(run: string): Promise<RunRow | undefined> {
    const [row] = await this.database.read(JOURNAL_SQL.run, [run], this.patienceMs);
    return row === undefined ? undefined : readRunRow(row);
  }

  async runsStamp(): Promise<string> {
    const [row] = await this.database.read(JOURNAL_SQL.runsStamp, [], this.patienceMs);
    return Object.values(row ?? {}).join(' ');
  }

  async last(run: string): Promise<StoredEntry | undefined> {
    const [row] = await this.database.read(JOURNAL_SQL.last, [run], this.patienceMs);
    return row === undefined ? undefined : readEntryRow(run, row);
  }

  async remove(run: string, head: string): Promise<boolean> {
    return this.database.transaction(
      toLock(run),
      async (query) => {
        if ((await query(JOURNAL_SQL.lastOfEnded, [run])).rows[0]?.hash !== head) return false;
        await query(JOURNAL_SQL.removeEntries, [run]);
        await query(JOURNAL_SQL.removeRun, [run]);
        return true;
      },
      { kept: async (query) => (await query(JOURNAL_SQL.run, [run])).rows.length === 0 },
    );
  }

  async heads(account: string): Promise<readonly RunHead[]> {
    return (await this.database.read(JOURNAL_SQL.heads, [account], this.patienceMs)).map(readRunHead);
  }

  lastAct(account: string, upTo?: number): Promise<StoredEntry | undefined> {
    return readLastAct(this.database, account, upTo);
  }

  async accountRows(key: string): Promise<readonly AccountRow[]> {
    if (!(await this.database.has('account_row', 'text'))) return [];
    return (await this.database.read(JOURNAL_SQL.accountRows, [key], this.patienceMs)).map(readAccountRow);
  }

  async changeAccountRows(key: string, change: AccountRowChange): Promise<void> {
    // The same change again changes nothing, so a commit whose answer was lost is simply made again.
    await this.database.transaction(
      `account ${key}`,
      async (query) => {
        const kept = (await query(JOURNAL_SQL.accountRows, [key])).rows.map(readAccountRow);
        for (const { name, text } of change(kept))
          if (text === '') await query(JOURNAL_SQL.removeAccountRow, [key, name]);
          else await query(JOURNAL_SQL.putAccountRow, [key, name, text]);
      },
      { patienceMs: this.patienceMs, kept: async () => false },
    );
  }

  close(): Promise<void> {
    return this.database.close();
  }
}

function readEntryRow(run: string, row: SqlRow): StoredEntry {
  const { seq = 0, at = 0, type = '', step = '', line = '', hash = '' } = row;
  return readStoredEntry(run, [seq, at, type, step, line, hash]);
}

/** Names the lock that a writer of the run holds until its commit has ended. */
function toLock(run: string): string {
  return `run ${run}`;
}

async function insert(
  query: Query,
  run: string,
  entries: readonly StoredEntry[],
  options: AppendOptions,
): Promise<void> {
  const { row, epoch = 0 } = options;
  const head = readHead((await query(JOURNAL_SQL.head, [run, run, run, run])).rows[0]);
  refuseAppend(entries, options, head);
  if (row !== undefined) await query(JOURNAL_SQL.writeRow, toRunValues(row, epoch));
  else if (epoch > (head.epoch ?? 0)) await query(JOURNAL_SQL.newerEpoch, [epoch, run]);
  await query(
    `INSERT INTO entries (run, seq, at, type, step, line, hash)
      SELECT ?, * FROM unnest(?::bigint[], ?::bigint[], ?::text[], ?::text[], ?::text[], ?::text[])`,
    [
      run,
      entries.map(({ seq }) => seq),
      entries.map(({ at }) => at),
      entries.map(({ type }) => type),
      entries.map(({ step }) => step),
      entries.map(({ line }) => line),
      entries.map(({ hash }) => hash),
    ],
  );
  for (const act of options.acts?.acts ?? []) await appendActIn(query, options.acts?.account ?? '', act);
}

/** True when the entries are stored as this process wrote them; the last hash covers everything before it. */
async function isStored(query: Query, run: string, entries: readonly StoredEntry[]): Promise<boolean> {
  const last = entries.at(-1);
  const { rows } = await query('SELECT hash FROM entries WHERE run = ? AND seq = ?', [run, last?.seq ?? 0]);
  return rows[0]?.hash === last?.hash;
}

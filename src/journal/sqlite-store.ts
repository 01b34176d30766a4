/**
 * The default store: one SQLite file that several processes share, each writing runs of its own. Entries are rows under
 * (run, seq), so one run is read without touching the others; the row of a run is an index over its entries and is written
 * in their transaction.
 */
import type { RunMode, RunOutcome } from './entry.ts';
import { conflict, fenced, missingRow, otherRun } from './refusals.ts';
import { type Database, openDatabase, type SqlRow, type SqlValue } from './sqlite.ts';
import {
  type AppendOptions,
  type JournalStore,
  type RunFilter,
  type RunRow,
  type StoredEntry,
  StoreError,
} from './store.ts';

/**
 * Rows with a number of their own and an index on (run, seq): measured against WITHOUT ROWID, which stores a line of more
 * than 1 kB outside the tree and then takes twice the time and the space.
 */
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS journal_version (version INTEGER NOT NULL);
  CREATE TABLE IF NOT EXISTS runs (
    run TEXT PRIMARY KEY,
    runbook TEXT NOT NULL,
    mode TEXT NOT NULL,
    account TEXT NOT NULL,
    trigger TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    ended_at INTEGER,
    outcome TEXT,
    epoch INTEGER NOT NULL DEFAULT 0
  ) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS runs_by_start ON runs (started_at DESC, run DESC);
  CREATE INDEX IF NOT EXISTS runs_unfinished ON runs (account, started_at) WHERE outcome IS NULL;
  CREATE TABLE IF NOT EXISTS entries (
    run TEXT NOT NULL,
    seq INTEGER NOT NULL,
    at INTEGER NOT NULL,
    type TEXT NOT NULL,
    step TEXT NOT NULL,
    line TEXT NOT NULL,
    hash TEXT NOT NULL,
    PRIMARY KEY (run, seq)
  );
`;
const VERSION = 1;

const HEAD =
  'SELECT (SELECT epoch FROM runs WHERE run = ?) AS epoch, (SELECT max(seq) FROM entries WHERE run = ?) AS last';
const ROW_COLUMNS = 'run, runbook, mode, account, trigger, started_at, ended_at, outcome';

/** Opens or makes the journal in `file`. Rejects with a StoreError: `damaged` for a file that is no journal. */
export async function openSqliteStore(file: string): Promise<JournalStore> {
  const database = await openDatabase(file);
  try {
    prepareSchema(database);
  } catch (error) {
    database.close();
    throw error;
  }
  return new SqliteStore(database);
}

function prepareSchema(database: Database): void {
  const hasVersion = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'journal_version'";
  if (database.statement(hasVersion).get() === undefined) {
    database.transaction(() => {
      database.exec(SCHEMA);
      database.exec(`INSERT INTO journal_version SELECT ${VERSION} WHERE NOT EXISTS (SELECT 1 FROM journal_version)`);
    });
  }
  const version = database.statement('SELECT max(version) AS version FROM journal_version').get()?.version;
  if (version !== VERSION) {
    throw new StoreError(
      'damaged',
      `${database.file} holds a journal of version ${String(version)}; this program reads version ${VERSION}`,
    );
  }
}

class SqliteStore implements JournalStore {
  private readonly database: Database;

  constructor(database: Database) {
    this.database = database;
  }

  async append(entries: readonly StoredEntry[], options: AppendOptions): Promise<void> {
    const [first] = entries;
    if (first === undefined) return;
    this.database.setDurable(options.durable);
    this.database.transaction(() => this.insert(first, entries, options));
  }

  private insert({ run, seq }: StoredEntry, entries: readonly StoredEntry[], { row, epoch = 0 }: AppendOptions): void {
    const known = this.database.statement(HEAD).get(run, run);
    const newest = Number(known?.epoch ?? 0);
    if (epoch < newest) throw fenced(run, epoch, newest);
    const next = Number(known?.last ?? 0) + 1;
    if (seq !== next) throw conflict(run, seq, next);
    if (row !== undefined) this.writeRow(row, epoch);
    else if (known?.epoch === null) throw missingRow(run);
    else if (epoch > newest) this.database.statement('UPDATE runs SET epoch = ? WHERE run = ?').run(epoch, run);
    const insert = this.database.statement(
      'INSERT INTO entries (run, seq, at, type, step, line, hash) VALUES (?, ?, ?, ?, ?, ?, ?)',
    );
    for (const [index, entry] of entries.entries()) {
      if (entry.run !== run) throw otherRun(run, entry.run);
      if (entry.seq !== next + index) throw conflict(run, entry.seq, next + index);
      insert.run(run, entry.seq, entry.at, entry.type, entry.step, entry.line, entry.hash);
    }
  }

  private writeRow(row: RunRow, epoch: number): void {
    this.database
      .statement(`INSERT OR REPLACE INTO runs (${ROW_COLUMNS}, epoch) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`)
      .run(
        row.run,
        row.runbook,
        row.mode,
        row.account,
        row.trigger,
        row.startedAt,
        row.endedAt ?? null,
        row.outcome ?? null,
        epoch,
      );
  }

  async read(
    run: string,
    range: { readonly after?: number; readonly limit?: number } = {},
  ): Promise<readonly StoredEntry[]> {
    return this.database
      .statement('SELECT seq, at, type, step, line, hash FROM entries WHERE run = ? AND seq > ? ORDER BY seq LIMIT ?')
      .tuples(run, range.after ?? 0, range.limit ?? -1)
      .map(([seq, at, type, step, line, hash]) => ({ run, seq, at, type, step, line, hash }) as StoredEntry);
  }

  async runs(filter: RunFilter = {}): Promise<readonly RunRow[]> {
    const conditions: string[] = [];
    const values: SqlValue[] = [];
    for (const column of ['account', 'runbook'] as const) {
      const wanted = filter[column];
      if (wanted === undefined) continue;
      conditions.push(`${column} = ?`);
      values.push(wanted);
    }
    if (filter.unfinished === true) conditions.push('outcome IS NULL');
    const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;
    return this.database
      .statement(`SELECT ${ROW_COLUMNS} FROM runs ${where} ORDER BY started_at DESC, run DESC LIMIT ?`)
      .all(...values, filter.limit ?? -1)
      .map(runRow);
  }

  async run(run: string): Promise<RunRow | undefined> {
    const row = this.database.statement(`SELECT ${ROW_COLUMNS} FROM runs WHERE run = ?`).get(run);
    return row === undefined ? undefined : runRow(row);
  }

  async close(): Promise<void> {
    this.database.close();
  }
}

function runRow(row: SqlRow): RunRow {
  return {
    run: String(row.run),
    runbook: String(row.runbook),
    mode: row.mode as RunMode,
    account: String(row.account),
    trigger: String(row.trigger),
    startedAt: Number(row.started_at),
    ...(row.ended_at === null ? {} : { endedAt: Number(row.ended_at) }),
    ...(row.outcome === null ? {} : { outcome: row.outcome as RunOutcome }),
  };
}

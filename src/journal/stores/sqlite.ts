/**
 * The default store: keeps the journal in one SQLite file that several processes share, each writing runs of its own. Entries
 * are indexed by (run, seq), so one run is read without the others. A run's row is an index over its entries, written in the same
 * transaction.
 */

import { appendActIn } from '../account/sqlite.ts';
import { ACTING_WAIT_MS, type Database, hasTable, openPrepared, toSqlDatabase } from '../sql/sqlite.ts';
import type { SqlValue } from '../sql/values.ts';
import { ask, type Work } from '../sql/work.ts';
import { type AppendOptions, type JournalStore, type PlaceCheck, type StoredEntry, StoreError } from '../store.ts';
import { ANSWER } from './errors.ts';
import { readStoredEntry } from './rows.ts';
import { SqlStore } from './sql-store.ts';

/**
 * `entries` has a rowid and an index on (run, seq). Measured: WITHOUT ROWID stores a line of more than 1 kB outside the tree,
 * which takes twice the time and the space.
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

/** Beside the entries since 0.3: the first row makes it, so that reading writes nothing. Older programs do not look at it. */
const ACCOUNT_ROWS = `
  CREATE TABLE IF NOT EXISTS account_row (
    key TEXT NOT NULL,
    name TEXT NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (key, name)
  ) WITHOUT ROWID`;

/** Opens or creates the journal in `file`. Rejects with a StoreError: `damaged` for a file that is not a journal. */
export async function openSqliteStore(file: string): Promise<JournalStore> {
  return new SqliteStore(await openPrepared(file, prepareSchema));
}

function prepareSchema(database: Database): void {
  if (!hasTable(database, 'journal_version')) {
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

const INSERT = 'INSERT INTO entries (run, seq, at, type, step, line, hash) VALUES (?, ?, ?, ?, ?, ?, ?)';
/** Inserts nothing when the run is gone or has another epoch, and fails when the number exists. */
const INSERT_IN_EPOCH = `INSERT INTO entries (run, seq, at, type, step, line, hash)
  SELECT run, ?, ?, ?, ?, ?, ? FROM runs WHERE run = ? AND epoch = ?`;

class SqliteStore extends SqlStore {
  readonly places: readonly PlaceCheck[];
  private readonly file: Database;
  /** By run whose last entry this store appended and that goes on: the number of that entry. */
  private readonly ownLast = new Map<string, number>();

  constructor(database: Database) {
    super(toSqlDatabase(database), appendActIn(database), 0);
    this.file = database;
    this.places = [database.place];
  }

  limitWait(): void {
    this.file.limitWait(ACTING_WAIT_MS);
  }

  override async append(entries: readonly StoredEntry[], options: AppendOptions): Promise<void> {
    const [first] = entries;
    if (first === undefined) return;
    if (entries.length > 1 || !this.appendNext(first, options)) await super.append(entries, options);
    const last = entries.at(-1) ?? first;
    // What follows an end, or what a person did, needs the checks of a longer append.
    if (last.type === 'run.ended' || last.type === ANSWER) this.ownLast.delete(first.run);
    else this.ownLast.set(first.run, last.seq);
  }

  /**
   * Appends the entry that follows our own last one, with one statement that checks the epoch; the primary key refuses a
   * number that another process has written. False when this shortcut does not apply; the longer append then finds the reason.
   */
  private appendNext(
    { run, seq, at, type, step, line, hash }: StoredEntry,
    { row, acts, epoch = 0, durable }: AppendOptions,
  ): boolean {
    if (row !== undefined || acts !== undefined || this.ownLast.get(run) !== seq - 1) return false;
    this.file.setDurable(durable);
    try {
      return this.file.runAlone(INSERT_IN_EPOCH, seq, at, type, step, line, hash, run, epoch).changes === 1;
    } catch (error) {
      if (error instanceof StoreError) throw error;
      return false;
    }
  }

  protected override *insert(run: string, entries: readonly StoredEntry[]): Work<void> {
    for (const { seq, at, type, step, line, hash } of entries) yield* ask(INSERT, run, seq, at, type, step, line, hash);
  }

  protected override async select(run: string, sql: string, ...values: readonly SqlValue[]) {
    const rows = this.file.statement(sql).tuples(...values);
    return rows.map((columns) => readStoredEntry(run, columns));
  }

  protected override prepareAccountRows(): void {
    this.file.exec(ACCOUNT_ROWS);
  }
}

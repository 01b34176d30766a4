/**
 * The default store: keeps the journal in one SQLite file that several processes share, each writing runs of its own. Entries
 * are indexed by (run, seq), so one run is read without the others. A run's row is an index over its entries, written in the same
 * transaction.
 */

import { appendActIn, readLastAct } from '../account/sqlite.ts';
import { ACTING_WAIT_MS, type Database, hasTable, openPrepared } from '../sql/sqlite.ts';
import { NO_LIMIT } from '../sql/values.ts';
import {
  type AccountRow,
  type AccountRowChange,
  type AppendOptions,
  type JournalStore,
  type PlaceCheck,
  type RunFilter,
  type RunHead,
  type RunRow,
  type StoredEntry,
  StoreError,
} from '../store.ts';
import { ANSWER, refuseAppend } from './errors.ts';
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

class SqliteStore implements JournalStore {
  readonly places: readonly PlaceCheck[];
  private readonly database: Database;
  /** By run whose last entry this store appended and that goes on: the number of that entry. */
  private readonly ownLast = new Map<string, number>();

  constructor(database: Database) {
    this.database = database;
    this.places = [database.place];
  }

  limitWait(): void {
    this.database.limitWait(ACTING_WAIT_MS);
  }

  async append(entries: readonly StoredEntry[], options: AppendOptions): Promise<void> {
    const [first] = entries;
    if (first === undefined) return;
    this.database.setDurable(options.durable);
    if (entries.length > 1 || !this.appendNext(first, options))
      this.database.transaction(() => this.insert(first, entries, options));
    const last = entries.at(-1) ?? first;
    // What follows an end, or what a person did, needs the checks of `insert`.
    if (last.type === 'run.ended' || last.type === ANSWER) this.ownLast.delete(first.run);
    else this.ownLast.set(first.run, last.seq);
  }

  /**
   * Appends the entry that follows our own last one, with one statement that checks the epoch; the primary key refuses a
   * number that another process has written. False when this shortcut does not apply; `insert` then finds the reason.
   */
  private appendNext(
    { run, seq, at, type, step, line, hash }: StoredEntry,
    { row, acts, epoch = 0 }: AppendOptions,
  ): boolean {
    if (row !== undefined || acts !== undefined || this.ownLast.get(run) !== seq - 1) return false;
    try {
      return this.database.runAlone(INSERT_IN_EPOCH, seq, at, type, step, line, hash, run, epoch).changes === 1;
    } catch (error) {
      if (error instanceof StoreError) throw error;
      return false;
    }
  }

  private insert({ run }: StoredEntry, entries: readonly StoredEntry[], options: AppendOptions): void {
    const { row, epoch = 0 } = options;
    const head = readHead(this.database.statement(JOURNAL_SQL.head).get(run, run, run, run));
    refuseAppend(entries, options, head);
    if (row !== undefined) this.database.statement(JOURNAL_SQL.writeRow).run(...toRunValues(row, epoch));
    else if (epoch > (head.epoch ?? 0)) this.database.statement(JOURNAL_SQL.newerEpoch).run(epoch, run);
    const insert = this.database.statement(INSERT);
    for (const { seq, at, type, step, line, hash } of entries) insert.run(run, seq, at, type, step, line, hash);
    for (const act of options.acts?.acts ?? []) appendActIn(this.database, options.acts?.account ?? '', act);
  }

  async read(
    run: string,
    range: { readonly after?: number; readonly limit?: number } = {},
  ): Promise<readonly StoredEntry[]> {
    return this.database
      .statement(JOURNAL_SQL.read)
      .tuples(run, range.after ?? 0, range.limit ?? NO_LIMIT)
      .map((values) => readStoredEntry(run, values));
  }

  async runs(filter: RunFilter = {}): Promise<readonly RunRow[]> {
    const { sql, values } = buildRunsQuery(filter);
    return this.database
      .statement(sql)
      .all(...values)
      .map(readRunRow);
  }

  async run(run: string): Promise<RunRow | undefined> {
    const row = this.database.statement(JOURNAL_SQL.run).get(run);
    return row === undefined ? undefined : readRunRow(row);
  }

  async runsStamp(): Promise<string> {
    return Object.values(this.database.statement(JOURNAL_SQL.runsStamp).get() ?? {}).join(' ');
  }

  async last(run: string): Promise<StoredEntry | undefined> {
    const [values] = this.database.statement(JOURNAL_SQL.last).tuples(run);
    return values === undefined ? undefined : readStoredEntry(run, values);
  }

  async remove(run: string, head: string): Promise<boolean> {
    this.database.setDurable(true);
    return this.database.transaction(() => {
      if (this.database.statement(JOURNAL_SQL.lastOfEnded).get(run)?.hash !== head) return false;
      this.database.statement(JOURNAL_SQL.removeEntries).run(run);
      this.database.statement(JOURNAL_SQL.removeRun).run(run);
      return true;
    });
  }

  async heads(account: string): Promise<readonly RunHead[]> {
    return this.database.statement(JOURNAL_SQL.heads).all(account).map(readRunHead);
  }

  async lastAct(account: string, upTo?: number): Promise<StoredEntry | undefined> {
    return readLastAct(this.database, account, upTo);
  }

  async accountRows(key: string): Promise<readonly AccountRow[]> {
    if (!hasTable(this.database, 'account_row')) return [];
    return this.database.statement(JOURNAL_SQL.accountRows).all(key).map(readAccountRow);
  }

  async changeAccountRows(key: string, change: AccountRowChange): Promise<void> {
    this.database.setDurable(true);
    this.database.transaction(() => {
      this.database.exec(ACCOUNT_ROWS);
      const kept = this.database.statement(JOURNAL_SQL.accountRows).all(key).map(readAccountRow);
      for (const { name, text } of change(kept))
        if (text === '') this.database.statement(JOURNAL_SQL.removeAccountRow).run(key, name);
        else this.database.statement(JOURNAL_SQL.putAccountRow).run(key, name, text);
    });
  }

  async close(): Promise<void> {
    this.database.close();
  }
}

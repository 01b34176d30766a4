/** The part of a journal's store that is the same in every database: all but how the lines of entries are written and read at once. */
import { type AppendAct, readLastAct } from '../account/sql-journal.ts';
import { NO_LIMIT, type SqlValue } from '../sql/values.ts';
import { ask, type SqlDatabase, type Work } from '../sql/work.ts';
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
import { buildRunsQuery, JOURNAL_SQL, readAccountRow, readHead, readRunHead, readRunRow, toRunValues } from './rows.ts';

export abstract class SqlStore implements JournalStore {
  protected readonly database: SqlDatabase;
  private readonly appendAct: AppendAct;
  private readonly patienceMs: number;

  /** `patienceMs`: how long an append waits for a server that is down, ms. A writer whose append has failed never writes again. */
  constructor(database: SqlDatabase, appendAct: AppendAct, patienceMs: number) {
    this.database = database;
    this.appendAct = appendAct;
    this.patienceMs = patienceMs;
  }

  /** Writes the lines of entries of a run. */
  protected abstract insert(run: string, entries: readonly StoredEntry[]): Work<unknown>;
  /** Reads entries of a run by a statement that gives the columns of `JOURNAL_SQL.read`. */
  protected abstract select(run: string, sql: string, ...values: readonly SqlValue[]): Promise<readonly StoredEntry[]>;
  /** Makes the table of the accounts' rows where the first row makes it. */
  protected prepareAccountRows(): void {}

  async append(entries: readonly StoredEntry[], options: AppendOptions): Promise<void> {
    const [first] = entries;
    if (first === undefined) return;
    const { run } = first;
    await this.database.transact(toLock(run), () => this.insertNext(run, entries, options), {
      durable: options.durable,
      patienceMs: this.patienceMs,
      // The last hash covers everything before it.
      *kept() {
        const { seq, hash } = entries.at(-1) ?? first;
        const { rows } = yield* ask('SELECT hash FROM entries WHERE run = ? AND seq = ?', run, seq);
        return rows[0]?.hash === hash;
      },
    });
  }

  private *insertNext(run: string, entries: readonly StoredEntry[], options: AppendOptions): Work<void> {
    const { row, epoch = 0, acts } = options;
    const { rows } = yield* ask(JOURNAL_SQL.head, run, run, run, run);
    const head = readHead(rows[0]);
    refuseAppend(entries, options, head);
    if (row !== undefined) yield* ask(JOURNAL_SQL.writeRow, ...toRunValues(row, epoch));
    else if (epoch > (head.epoch ?? 0)) yield* ask(JOURNAL_SQL.newerEpoch, epoch, run);
    yield* this.insert(run, entries);
    for (const act of acts?.acts ?? []) yield* this.appendAct(acts?.account ?? '', act);
  }

  read(
    run: string,
    { after = 0, limit = NO_LIMIT }: { readonly after?: number; readonly limit?: number } = {},
  ): Promise<readonly StoredEntry[]> {
    return this.select(run, JOURNAL_SQL.read, run, after, limit);
  }

  async runs(filter: RunFilter = {}): Promise<readonly RunRow[]> {
    const { sql, values } = buildRunsQuery(filter);
    return (await this.database.rows(sql, ...values)).map(readRunRow);
  }

  async run(run: string): Promise<RunRow | undefined> {
    const [row] = await this.database.rows(JOURNAL_SQL.run, run);
    return row === undefined ? undefined : readRunRow(row);
  }

  async runsStamp(): Promise<string> {
    const [row] = await this.database.rows(JOURNAL_SQL.runsStamp);
    return Object.values(row ?? {}).join(' ');
  }

  async last(run: string): Promise<StoredEntry | undefined> {
    return (await this.select(run, JOURNAL_SQL.last, run))[0];
  }

  remove(run: string, head: string): Promise<boolean> {
    return this.database.transact(
      toLock(run),
      function* () {
        if ((yield* ask(JOURNAL_SQL.lastOfEnded, run)).rows[0]?.hash !== head) return false;
        yield* ask(JOURNAL_SQL.removeEntries, run);
        yield* ask(JOURNAL_SQL.removeRun, run);
        return true;
      },
      {
        durable: true,
        *kept() {
          return (yield* ask(JOURNAL_SQL.run, run)).rows.length === 0;
        },
      },
    );
  }

  async heads(account: string): Promise<readonly RunHead[]> {
    return (await this.database.rows(JOURNAL_SQL.heads, account)).map(readRunHead);
  }

  lastAct(account: string, upTo?: number): Promise<StoredEntry | undefined> {
    return readLastAct(this.database, account, upTo);
  }

  async accountRows(key: string): Promise<readonly AccountRow[]> {
    if (!(await this.database.has('account_row', 'text'))) return [];
    return (await this.database.rows(JOURNAL_SQL.accountRows, key)).map(readAccountRow);
  }

  async changeAccountRows(key: string, change: AccountRowChange): Promise<void> {
    const prepare = () => this.prepareAccountRows();
    await this.database.transact(
      `account ${key}`,
      function* () {
        prepare();
        const kept = (yield* ask(JOURNAL_SQL.accountRows, key)).rows.map(readAccountRow);
        for (const { name, text } of change(kept))
          if (text === '') yield* ask(JOURNAL_SQL.removeAccountRow, key, name);
          else yield* ask(JOURNAL_SQL.putAccountRow, key, name, text);
      },
      { durable: true, patienceMs: this.patienceMs, kept: 'repeat' },
    );
  }

  close(): Promise<void> {
    return this.database.close();
  }
}

/** Names the lock that a writer of the run holds until its commit has ended. */
function toLock(run: string): string {
  return `run ${run}`;
}

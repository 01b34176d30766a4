/** Keeps the journals of accounts in a database, beside the runs: what is the same in every one. */
import { NO_LIMIT, type SqlRow, type SqlValue } from '../sql/values.ts';
import { ask, type SqlDatabase, type Work } from '../sql/work.ts';
import type { PostedAct, StoredEntry } from '../store.ts';
import { type AccountJournal, type Act, type ActType, readAct, sealAct, toStoredAct } from './acts.ts';

const ACT_SQL = {
  /** The last act up to a number. */
  last: 'SELECT seq, type, line, hash FROM account_act WHERE account = ? AND seq <= ? ORDER BY seq DESC LIMIT 1',
  all: 'SELECT seq, type, line, hash FROM account_act WHERE account = ? ORDER BY seq',
  ofType: 'SELECT seq, type, line, hash FROM account_act WHERE account = ? AND type = ? ORDER BY seq',
  add: 'INSERT INTO account_act (account, seq, type, line, hash) VALUES (?, ?, ?, ?, ?)',
  accounts: 'SELECT DISTINCT account FROM account_act ORDER BY account',
} as const;

/** Appends an act within a transaction, whose own lock need not be the account's, and gives its hash. */
export type AppendAct = (account: string, act: PostedAct) => Work<string>;

/** Appends an act behind the account's last one, within a transaction that alone appends to it. `place`: the store. */
export function* addAct(account: string, act: PostedAct, place: string): Work<string> {
  const { rows } = yield* ask(ACT_SQL.last, account, NO_LIMIT);
  const { seq, type, line, hash } = sealAct(account, act, rows[0] && readActRow(rows[0]), place);
  yield* ask(ACT_SQL.add, account, seq, type, line, hash);
  return hash;
}

export async function readLastAct(
  database: SqlDatabase,
  account: string,
  upTo = NO_LIMIT,
): Promise<StoredEntry | undefined> {
  return (await select(database, ACT_SQL.last, account, upTo)).map(readActRow)[0];
}

async function select(database: SqlDatabase, sql: string, ...values: readonly SqlValue[]): Promise<readonly SqlRow[]> {
  return (await database.has('account_act', 'type')) ? database.rows(sql, ...values) : [];
}

function readActRow({ seq, type, line, hash }: SqlRow): StoredEntry {
  return toStoredAct({ seq: Number(seq), type: String(type), line: String(line), hash: String(hash) });
}

export class SqlAccountJournal implements AccountJournal {
  private readonly database: SqlDatabase;
  private readonly appendAct: AppendAct;

  constructor(database: SqlDatabase, appendAct: AppendAct) {
    this.database = database;
    this.appendAct = appendAct;
  }

  async append(account: string, act: PostedAct): Promise<void> {
    const { appendAct } = this;
    let added = '';
    await this.database.transact(
      `acts ${account}`,
      function* () {
        added = yield* appendAct(account, act);
      },
      {
        *kept() {
          return (yield* ask(ACT_SQL.all, account)).rows.some(({ hash }) => hash === added);
        },
      },
    );
  }

  async find<T extends ActType>(account: string, types: readonly T[]) {
    const acts: Extract<Act, { type: T }>[] = [];
    for (const type of types)
      for (const row of await select(this.database, ACT_SQL.ofType, account, type))
        acts.push(readAct(readActRow(row)) as Extract<Act, { type: T }>);
    return acts.sort((a, b) => a.seq - b.seq);
  }

  async lines(account: string): Promise<readonly StoredEntry[]> {
    return (await select(this.database, ACT_SQL.all, account)).map(readActRow);
  }

  async accounts(): Promise<readonly string[]> {
    return (await select(this.database, ACT_SQL.accounts)).map(({ account }) => String(account));
  }

  close(): Promise<void> {
    return this.database.close();
  }
}

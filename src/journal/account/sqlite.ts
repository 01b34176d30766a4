/** Keeps the journals of accounts in the journal's own SQLite file, so that a copy of the file has them too. */

import { buildActSchema, SET_ASIDE_ACTS } from '../sql/act-table.ts';
import { type Database, hasTable, openDatabase } from '../sql/sqlite.ts';
import { NO_LIMIT, type SqlValue } from '../sql/values.ts';
import type { PostedAct, StoredEntry } from '../store.ts';
import type { AccountJournal, ActType, NewAct } from './acts.ts';
import { ACT_SQL, readActRow, readActs, sealRow } from './rows.ts';

const SCHEMA = buildActSchema('INTEGER').join(';');

/** Opens the journal's `file`. Rejects with a StoreError that names it when it cannot be opened. */
export async function openSqliteAccountJournal(file: string): Promise<AccountJournal> {
  return new SqliteAccountJournal(await openDatabase(file));
}

/** Appends an act; call it inside a transaction. The first one makes the table. */
export function appendActIn(database: Database, account: string, act: PostedAct): void {
  if (!hasTable(database, 'account_act', 'type')) {
    if (hasTable(database, 'account_act')) database.exec(SET_ASIDE_ACTS);
    database.exec(SCHEMA);
  }
  const last = database.statement(ACT_SQL.last).get(account, NO_LIMIT);
  database.statement(ACT_SQL.add).run(...sealRow(account, act, last, database.file));
}

export function readLastAct(database: Database, account: string, upTo = NO_LIMIT): StoredEntry | undefined {
  return select(database, ACT_SQL.last, account, upTo).map(readActRow)[0];
}

function select(database: Database, sql: string, ...values: readonly SqlValue[]) {
  return hasTable(database, 'account_act', 'type') ? database.statement(sql).all(...values) : [];
}

class SqliteAccountJournal implements AccountJournal {
  private readonly database: Database;

  constructor(database: Database) {
    this.database = database;
  }

  async append(account: string, act: NewAct): Promise<void> {
    this.database.transaction(() => appendActIn(this.database, account, act));
  }

  async find<T extends ActType>(account: string, types: readonly T[]) {
    return readActs<T>(types.flatMap((type) => this.select(ACT_SQL.ofType, account, type)));
  }

  async lines(account: string): Promise<readonly StoredEntry[]> {
    return this.select(ACT_SQL.all, account).map(readActRow);
  }

  async accounts(): Promise<readonly string[]> {
    return this.select(ACT_SQL.accounts).map(({ account }) => String(account));
  }

  async close(): Promise<void> {
    this.database.close();
  }

  private select(sql: string, ...values: readonly string[]) {
    return select(this.database, sql, ...values);
  }
}

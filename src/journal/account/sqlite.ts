/** Keeps the journals of accounts in the journal's own SQLite file, so that a copy of the file has them too. */

import { buildActSchema, SET_ASIDE_ACTS } from '../sql/act-table.ts';
import { type Database, hasTable, openDatabase, toSqlDatabase } from '../sql/sqlite.ts';
import type { AccountJournal } from './acts.ts';
import { type AppendAct, addAct, SqlAccountJournal } from './sql-journal.ts';

const SCHEMA = buildActSchema('INTEGER').join(';');

/** Opens the journal's `file`. Rejects with a StoreError that names it when it cannot be opened. */
export async function openSqliteAccountJournal(file: string): Promise<AccountJournal> {
  const database = await openDatabase(file);
  return new SqlAccountJournal(toSqlDatabase(database), appendActIn(database));
}

/** Appends acts to this file; the first one makes the table. */
export function appendActIn(database: Database): AppendAct {
  return function* (account, act) {
    if (!hasTable(database, 'account_act', 'type')) {
      if (hasTable(database, 'account_act')) database.exec(SET_ASIDE_ACTS);
      database.exec(SCHEMA);
    }
    return yield* addAct(account, act, database.file);
  };
}

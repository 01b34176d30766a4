/** Keeps the acts of accounts in the journal's own SQLite file, so that a copy of the file has them too. */
import { type Database, hasTable, openPrepared } from '../sql/sqlite.ts';
import { type AccountJournal, type Act, type NewAct, readActs, sealAct } from './acts.ts';
import { ACT_SQL, buildActSchema, readStoredAct } from './rows.ts';

const SCHEMA = buildActSchema('INTEGER').join(';');

/** Opens the journal's `file`. Rejects with a StoreError that names it when it cannot be opened. */
export async function openSqliteAccountJournal(file: string): Promise<AccountJournal> {
  return new SqliteAccountJournal(
    await openPrepared(file, (each) => each.isReadOnly || each.transaction(() => each.exec(SCHEMA))),
  );
}

class SqliteAccountJournal implements AccountJournal {
  private readonly database: Database;

  constructor(database: Database) {
    this.database = database;
  }

  async append(account: string, act: NewAct): Promise<void> {
    this.database.transaction(() => {
      const last = this.database.statement(ACT_SQL.last).get(account);
      const { seq, line, hash } = sealAct(account, act, last && readStoredAct(account, last));
      this.database.statement(ACT_SQL.add).run(account, seq, line, hash);
    });
  }

  async read(account: string): Promise<readonly Act[]> {
    if (!hasTable(this.database, 'account_act')) return [];
    const rows = this.database.statement(ACT_SQL.all).all(account);
    return readActs(
      account,
      rows.map((row) => readStoredAct(account, row)),
    );
  }

  async close(): Promise<void> {
    this.database.close();
  }
}

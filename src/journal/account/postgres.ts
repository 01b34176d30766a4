/** Keeps the acts of accounts in PostgreSQL. */
import { openPostgres, type PostgresAccess, type PostgresDatabase, RESTART_PATIENCE_MS } from '../sql/postgres.ts';
import { type AccountJournal, type Act, type NewAct, readActs, sealAct } from './acts.ts';
import { ACT_SQL, readStoredAct } from './rows.ts';

const TIMEOUTS = { connections: 1, connectMs: 5_000, lockMs: 5_000, answerMs: 15_000 };

/** Opens the account's journal of the database. Rejects with a StoreError. */
export async function openPostgresAccountJournal(access: PostgresAccess): Promise<AccountJournal> {
  return new PostgresAccountJournal(await openPostgres(access, TIMEOUTS));
}

class PostgresAccountJournal implements AccountJournal {
  private readonly database: PostgresDatabase;

  constructor(database: PostgresDatabase) {
    this.database = database;
  }

  async append(account: string, act: NewAct): Promise<void> {
    let added = '';
    await this.database.transaction(
      `account ${account}`,
      async (query) => {
        const [last] = (await query(ACT_SQL.last, [account])).rows;
        const { seq, line, hash } = sealAct(account, act, last && readStoredAct(account, last));
        added = hash;
        await query(ACT_SQL.add, [account, seq, line, hash]);
      },
      { kept: async (query) => (await query(ACT_SQL.all, [account])).rows.some(({ hash }) => hash === added) },
    );
  }

  async read(account: string): Promise<readonly Act[]> {
    const rows = await this.database.read(ACT_SQL.all, [account], RESTART_PATIENCE_MS);
    return readActs(
      account,
      rows.map((row) => readStoredAct(account, row)),
    );
  }

  close(): Promise<void> {
    return this.database.close();
  }
}

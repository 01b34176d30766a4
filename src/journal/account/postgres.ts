/** Keeps the acts of accounts in PostgreSQL. Its table is made when it is first needed. */
import { openPostgres, type PostgresAccess, type PostgresDatabase, RESTART_PATIENCE_MS } from '../sql/postgres.ts';
import { SCHEMA_NAME } from '../sql/postgres-schema.ts';
import { type AccountJournal, type Act, type NewAct, readActs, sealAct } from './acts.ts';
import { ACT_SQL, readStoredAct } from './rows.ts';

const TIMEOUTS = { connections: 1, connectMs: 5_000, lockMs: 5_000, answerMs: 15_000 };
const SCHEMA = `CREATE TABLE IF NOT EXISTS account_act (
  account TEXT NOT NULL,
  seq BIGINT NOT NULL,
  line TEXT NOT NULL,
  hash TEXT NOT NULL,
  PRIMARY KEY (account, seq)
)`;

/** Opens the account's journal of the database. Rejects with a StoreError. */
export async function openPostgresAccountJournal(access: PostgresAccess): Promise<AccountJournal> {
  const database = await openPostgres(access, TIMEOUTS);
  try {
    // IF NOT EXISTS alone would need the right to create even when the table exists.
    const { rows } = await database.query(`SELECT to_regclass('${SCHEMA_NAME}.account_act') IS NOT NULL AS made`);
    if (!rows[0]?.made) await database.transaction('schema', (query) => query(SCHEMA));
  } catch (error) {
    await database.close();
    throw error;
  }
  return new PostgresAccountJournal(database);
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

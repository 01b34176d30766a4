/** Keeps the journals of accounts in PostgreSQL, beside the runs. */
import {
  openPostgres,
  type PostgresAccess,
  type PostgresDatabase,
  type Query,
  RESTART_PATIENCE_MS,
} from '../sql/postgres.ts';
import { SCHEMA_NAME } from '../sql/postgres-schema.ts';
import { NO_LIMIT, type SqlRow, type SqlValue } from '../sql/values.ts';
import type { PostedAct, StoredEntry } from '../store.ts';
import type { AccountJournal, ActType, NewAct } from './acts.ts';
import { ACT_SQL, readActRow, readActs, sealRow } from './rows.ts';

const TIMEOUTS = { connections: 1, connectMs: 5_000, lockMs: 5_000, answerMs: 15_000 };
const LOCK = 'SELECT pg_advisory_xact_lock(hashtextextended(?, 0))';

/** Opens the account's journal of the database. Rejects with a StoreError. */
export async function openPostgresAccountJournal(access: PostgresAccess): Promise<AccountJournal> {
  return new PostgresAccountJournal(await openPostgres(access, TIMEOUTS));
}

/** Appends an act within a transaction, whose own lock is not the account's, and gives its hash. */
export async function appendActIn(query: Query, account: string, act: PostedAct): Promise<string> {
  await query(LOCK, [`${SCHEMA_NAME} account ${account}`]);
  const [last] = (await query(ACT_SQL.last, [account, NO_LIMIT])).rows;
  const values = sealRow(account, act, last, SCHEMA_NAME);
  await query(ACT_SQL.add, values);
  return String(values.at(-1));
}

export async function readLastAct(
  database: PostgresDatabase,
  account: string,
  upTo = NO_LIMIT,
): Promise<StoredEntry | undefined> {
  return (await select(database, ACT_SQL.last, account, upTo)).map(readActRow)[0];
}

async function select(
  database: PostgresDatabase,
  sql: string,
  ...values: readonly SqlValue[]
): Promise<readonly SqlRow[]> {
  return (await database.has('account_act', 'type')) ? database.read(sql, values, RESTART_PATIENCE_MS) : [];
}

class PostgresAccountJournal implements AccountJournal {
  private readonly database: PostgresDatabase;

  constructor(database: PostgresDatabase) {
    this.database = database;
  }

  async append(account: string, act: NewAct): Promise<void> {
    let added = '';
    await this.database.transaction(
      `acts ${account}`,
      async (query) => {
        added = await appendActIn(query, account, act);
      },
      { kept: async (query) => (await query(ACT_SQL.all, [account])).rows.some(({ hash }) => hash === added) },
    );
  }

  async find<T extends ActType>(account: string, types: readonly T[]) {
    const rows: SqlRow[] = [];
    for (const type of types) rows.push(...(await this.select(ACT_SQL.ofType, account, type)));
    return readActs<T>(rows);
  }

  async lines(account: string): Promise<readonly StoredEntry[]> {
    return (await this.select(ACT_SQL.all, account)).map(readActRow);
  }

  async accounts(): Promise<readonly string[]> {
    return (await this.select(ACT_SQL.accounts)).map(({ account }) => String(account));
  }

  close(): Promise<void> {
    return this.database.close();
  }

  private select(sql: string, ...values: readonly SqlValue[]): Promise<readonly SqlRow[]> {
    return select(this.database, sql, ...values);
  }
}

/** Keeps the journals of accounts in PostgreSQL. */
import { openPostgres, type PostgresAccess, toSqlDatabase } from '../sql/postgres.ts';
import { SCHEMA_NAME } from '../sql/postgres-schema.ts';
import { ask, RESTART_PATIENCE_MS, type Work } from '../sql/work.ts';
import type { PostedAct } from '../store.ts';
import type { AccountJournal } from './acts.ts';
import { addAct, SqlAccountJournal } from './sql-journal.ts';

const TIMEOUTS = { connections: 1, connectMs: 5_000, lockMs: 5_000, answerMs: 15_000 };
const LOCK = 'SELECT pg_advisory_xact_lock(hashtextextended(?, 0))';

/** Opens the account's journal of the database. Rejects with a StoreError. */
export async function openPostgresAccountJournal(access: PostgresAccess): Promise<AccountJournal> {
  return new SqlAccountJournal(toSqlDatabase(await openPostgres(access, TIMEOUTS), RESTART_PATIENCE_MS), appendAct);
}

export function* appendAct(account: string, act: PostedAct): Work<string> {
  yield* ask(LOCK, `${SCHEMA_NAME} account ${account}`);
  return yield* addAct(account, act, SCHEMA_NAME);
}

/**
 * A database that was put back from a dump: what it says of itself, and what its restore changes in it. The dump is an older state of the
 * store, made and put back by PostgreSQL's own programs.
 */
import { openPostgres, type PostgresAccess, type PostgresDatabase } from '../sql/postgres.ts';
import { RESTORE_SCHEDULE } from './backup.ts';

const TIMEOUTS = { connections: 1, connectMs: 5_000, lockMs: 5_000, answerMs: 600_000 };

export interface RestoredDatabase {
  /** Keys of the accounts that have a lease, a schedule or a journal of their own. */
  readonly accounts: readonly string[];
  /** The newest epoch of anything in it. */
  readonly epoch: number;
  /** Epoch ms of the newest thing in it: what happened later is not in it. */
  readonly newestAt: number;
  /**
   * Decides what was due since as missed, settles what waited or was submitted, and gives these accounts' leases, which are free
   * then, an epoch that nothing in the store has. All or none. Rejects with a StoreError.
   */
  settle(accounts: readonly string[], epoch: number, at: number): Promise<void>;
  close(): Promise<void>;
}

/** Opens a restored database. Rejects with a StoreError. */
export async function openRestoredDatabase(access: PostgresAccess): Promise<RestoredDatabase> {
  const database = await openPostgres(access, TIMEOUTS);
  try {
    return { ...(await read(database)), settle: (...what) => settle(database, ...what), close: () => database.close() };
  } catch (error) {
    await database.close();
    throw error;
  }
}

async function read({ query }: PostgresDatabase): Promise<Pick<RestoredDatabase, 'accounts' | 'epoch' | 'newestAt'>> {
  const accounts = await query(
    "SELECT account FROM lease UNION SELECT account FROM agenda_epoch UNION SELECT account FROM account_act WHERE account <> '*' ORDER BY 1",
  );
  const [newest] = (
    await query(`SELECT
      greatest((SELECT max(epoch) FROM lease), (SELECT max(epoch) FROM agenda_epoch), (SELECT max(epoch) FROM runs), 0) AS epoch,
      greatest((SELECT max(entries.at) FROM entries JOIN runs USING (run) WHERE mode = 'live'),
        (SELECT max(decided_at) FROM occurrence), (SELECT max(at) FROM kill_event), 0) AS at`)
  ).rows;
  return {
    accounts: accounts.rows.map(({ account }) => String(account)),
    epoch: Number(newest?.epoch),
    newestAt: Number(newest?.at),
  };
}

async function settle(
  database: PostgresDatabase,
  accounts: readonly string[],
  epoch: number,
  at: number,
): Promise<void> {
  await database.transaction('restore', async (query) => {
    for (const sql of RESTORE_SCHEDULE)
      await query(
        sql,
        Array.from(sql.matchAll(/\?/g), () => at),
      );
    await query('UPDATE lease SET epoch = ?, held_by = NULL WHERE account = ANY(?::text[])', [epoch, accounts]);
  });
}

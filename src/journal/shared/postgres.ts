/**
 * Keeps the shared records (ledgers, leases, kill switch, mailbox) in PostgreSQL, for all machines that use the database.
 * Leases and ledgers use the server's clock, the only one that all machines can read. Every change is a transaction under the
 * lock of its key, taken before anything is read: one statement that locks and reads would read the state from before its wait.
 *
 * The server's clock is a wall clock. When it is set back, ledgers and leases go on from the last time they saw; when it is set
 * forward, tokens come free and leases end that much too early, which the venue's own count and the journal's fence limit.
 */

import {
  openPostgres,
  type PostgresAccess,
  type PostgresDatabase,
  type Query,
  toSqlDatabase,
} from '../sql/postgres.ts';
import { RESTART_PATIENCE_MS } from '../sql/work.ts';
import { judgeLease } from './lease.ts';
import { describeMachine, type Machine } from './machine.ts';
import { killSwitchIn, mailboxIn, readLeaseRow, SHARED_SQL } from './rows.ts';
import {
  LEASE_LIFE_MS,
  type Leases,
  type LedgerChange,
  type LedgerRow,
  type LedgerRows,
  type Shared,
} from './shared.ts';

/** A lease is renewed every 5 s and half spent after 7.5 s, so slower statements are repeated on a new connection. */
const TIMEOUTS = { connections: 2, connectMs: 1_500, lockMs: 1_000, answerMs: 1_500 };
/**
 * A cancel waits at most 2 s for its tokens (ARCHITECTURE.md, I10), so the budget must learn within that time that the
 * ledger is unavailable. One connection is enough: a process makes one change after another.
 */
const LEDGER_TIMEOUTS = { connections: 1, connectMs: 600, lockMs: 500, answerMs: 700 };

/** The clock of every lease's end: all machines use the server's. */
const SERVER_CLOCK = 'server';

/** Rejects with a StoreError when the database cannot be opened. */
export async function openSharedPostgres(
  access: PostgresAccess,
  machine: Pick<Machine, 'self' | 'isGone'> = describeMachine(),
): Promise<Shared> {
  const database = await openPostgres(access, TIMEOUTS);
  const ledgers = await openPostgres(access, LEDGER_TIMEOUTS).catch(async (error: unknown) => {
    await database.close();
    throw error;
  });
  return {
    ledgers: ledgerRows(ledgers),
    leases: leasesIn(database, machine),
    // While the server is down no intent becomes durable, so nothing is sent: a short outage need not count as a kill.
    killSwitch: killSwitchIn(toSqlDatabase(database), toSqlDatabase(database, RESTART_PATIENCE_MS)),
    mailbox: mailboxIn(toSqlDatabase(database)),
    readClock: async () => Number((await database.query('SELECT server_ms() AS now')).rows[0]?.now),
    async close() {
      await ledgers.close();
      await database.close();
    },
  };
}

function ledgerRows(database: PostgresDatabase): LedgerRows {
  const find = `SELECT server_ms() AS server, revision, text, offset_ms, now_ms
    FROM (SELECT 1) AS one LEFT JOIN ledger ON key = ?`;
  const store = `INSERT INTO ledger (key, revision, text, offset_ms, now_ms) VALUES (?, 1, ?, ?, ?)
    ON CONFLICT (key) DO UPDATE SET revision = ledger.revision + 1, text = excluded.text,
      offset_ms = excluded.offset_ms, now_ms = excluded.now_ms`;
  const move = 'UPDATE ledger SET offset_ms = ?, now_ms = ? WHERE key = ?';

  async function changeRow<T>(
    query: Query,
    key: string,
    work: (row: LedgerRow | undefined, nowMs: number) => LedgerChange<T>,
  ): Promise<LedgerChange<T>> {
    const [found] = (await query(find, [key])).rows;
    const server = Number(found?.server);
    const row =
      found === undefined || found.text === null
        ? undefined
        : { revision: Number(found.revision), text: String(found.text) };
    const kept = row === undefined ? 0 : Number(found?.offset_ms);
    const moved = row !== undefined && server + kept < Number(found?.now_ms);
    const offset = moved ? Number(found?.now_ms) - server : kept;
    const change = work(row, server + offset);
    if (change.text !== undefined) await query(store, [key, change.text, offset, server + offset]);
    else if (moved) await query(move, [offset, server + offset, key]);
    return change;
  }

  return {
    async change(key, work) {
      let last: LedgerChange<unknown> | undefined;
      const { result } = await database.transaction(
        `ledger ${key}`,
        async (query) => {
          const change = await changeRow(query, key, work);
          last = change;
          return change;
        },
        {
          // Durable: the processes outlive a crash of the server, which would otherwise grant forgotten tokens again.
          kept: async (query) => last?.text === undefined || (await query(find, [key])).rows[0]?.text === last.text,
        },
      );
      return result;
    },
  };
}

function leasesIn(database: PostgresDatabase, { self, isGone }: Pick<Machine, 'self' | 'isGone'>): Leases {
  const find = `SELECT server_ms() AS server, epoch, held_by, process, clock, until_ms
    FROM (SELECT 1) AS one LEFT JOIN lease ON account = ?`;
  const renew = `UPDATE lease SET process = ?, until_ms = server_ms() + ${LEASE_LIFE_MS}
    WHERE account = ? AND epoch = ? AND held_by IS NOT NULL`;
  const readLease = async (query: Query, account: string) => {
    const [found] = (await query(find, [account])).rows;
    const server = Number(found?.server);
    const row = found === undefined || found.epoch === null ? undefined : readLeaseRow(found);
    return { server, row, verdict: judgeLease(row, { clockId: SERVER_CLOCK, nowMs: () => server, isGone }) };
  };
  const lock = (account: string) => `lease ${account}`;
  return {
    ofThisMachine: false,
    async acquire(account, holder) {
      return database.transaction(lock(account), async (query) => {
        const { server, row, verdict } = await readLease(query, account);
        if (verdict.kind === 'taken') return verdict;
        if (verdict.kind === 'adopted') {
          await query(SHARED_SQL.adoptLease, [SERVER_CLOCK, verdict.untilMs, account]);
          return { kind: 'taken', heldBy: verdict.heldBy, remainingMs: LEASE_LIFE_MS };
        }
        const epoch = (row?.epoch ?? 0) + 1;
        const until = server + LEASE_LIFE_MS;
        await query(SHARED_SQL.takeLease, [account, epoch, holder, self, SERVER_CLOCK, until]);
        return { kind: 'held', epoch };
      });
    },
    async renew(account, epoch) {
      return (await database.query(renew, [self, account, epoch])).changes === 1;
    },
    async release(account, epoch) {
      await database.query(SHARED_SQL.releaseLease, [account, epoch]);
    },
    async holder(account) {
      const { row, verdict } = await readLease(database.query, account);
      return verdict.kind === 'free' ? undefined : row?.heldBy;
    },
  };
}

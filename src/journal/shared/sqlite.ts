/**
 * Keeps the shared records in SQLite: one file for leases, kill switch and mailbox, where a commit waits for the disk, and
 * one for the token ledgers, where it waits only for the operating system. A killed process loses nothing in either. A power cut
 * may lose the last seconds of a ledger; the next process then counts the attempts in its journal.
 */

import { ACTING_WAIT_MS, type Database, openPrepared, toSqlDatabase } from '../sql/sqlite.ts';
import { type AccountGuard, openGuardedShared } from './account-guard.ts';
import { judgeLease } from './lease.ts';
import { describeMachine, type Machine } from './machine.ts';
import { killSwitchIn, mailboxIn, readLeaseRow, SHARED_SQL } from './rows.ts';
import { LEASE_LIFE_MS, type Leases, type LedgerRows, type Shared } from './shared.ts';

interface SharedFiles {
  /** Leases, kill switch and mailbox. */
  readonly file: string;
  /** Token ledgers. They belong to the user, not to a project, because an address has one limit for all its senders. */
  readonly ledgerFile: string;
  /** The user's leases and kill orders for all projects; without it only those beside the journal exist. */
  readonly accountsFile?: string;
  readonly machine?: Machine;
}

/**
 * Longest wait for a ledger's lock, which is held for microseconds. A longer wait would block this process's other work, its
 * heartbeats included; the budget learns soon that the ledger is unavailable, and decides which requests go without it.
 */
const LEDGER_WAIT_MS = 500;

/** Rejects with a StoreError that names the file when one cannot be opened. */
export async function openSharedSqlite(files: SharedFiles): Promise<Shared> {
  const { accountsFile, machine = describeMachine() } = files;
  const open = () => openBeside(files, machine);
  return accountsFile === undefined ? open() : openGuardedShared(await openAccountGuard(accountsFile, machine), open);
}

/** Opens the user's leases and kill orders, which apply to runs in any store. Rejects with a StoreError. */
export async function openAccountGuard(file: string, machine: Machine = describeMachine()): Promise<AccountGuard> {
  const database = await openWith(file, SHARED_SCHEMA);
  return {
    places: [database.place],
    leases: leasesIn(database, machine),
    killSwitch: killSwitchIn(toSqlDatabase(database)),
    limitWait: () => database.limitWait(ACTING_WAIT_MS),
    async close() {
      database.close();
    },
  };
}

async function openBeside({ file, ledgerFile }: SharedFiles, machine: Machine): Promise<Shared> {
  const shared = await openWith(file, SHARED_SCHEMA);
  const ledgers = await openWith(ledgerFile, LEDGER_SCHEMA).catch((error: unknown) => {
    shared.close();
    throw error;
  });
  ledgers.limitWait(LEDGER_WAIT_MS);
  ledgers.setDurable(false);
  return {
    places: [shared.place],
    ledgers: ledgerRows(ledgers, machine),
    leases: leasesIn(shared, machine),
    killSwitch: killSwitchIn(toSqlDatabase(shared)),
    mailbox: mailboxIn(toSqlDatabase(shared)),
    limitWait: () => shared.limitWait(ACTING_WAIT_MS),
    async close() {
      ledgers.close();
      shared.close();
    },
  };
}

function openWith(file: string, schema: string): Promise<Database> {
  return openPrepared(file, (database) => database.exec(schema));
}

const LEDGER_SCHEMA = `
CREATE TABLE IF NOT EXISTS ledger (
  key TEXT PRIMARY KEY,
  revision INTEGER NOT NULL,
  text TEXT NOT NULL,
  clock TEXT NOT NULL,      -- the machine clock of the last change
  offset_ms REAL NOT NULL,  -- the row's clock minus that one
  now_ms REAL NOT NULL      -- the row's clock at the last change
) WITHOUT ROWID`;

const SHARED_SCHEMA = `
CREATE TABLE IF NOT EXISTS lease (
  account TEXT PRIMARY KEY,
  epoch INTEGER NOT NULL,
  held_by TEXT,             -- NULL once released; the row stays, so that the epoch never goes back
  process TEXT NOT NULL,
  clock TEXT NOT NULL,
  until_ms REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS kill_event (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT,
  action TEXT NOT NULL CHECK (action IN ('engage', 'release')),
  scope TEXT NOT NULL,
  by_name TEXT NOT NULL,
  reason TEXT NOT NULL,
  at INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS message (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT,
  run TEXT NOT NULL,
  command TEXT NOT NULL,
  by_name TEXT NOT NULL,
  at INTEGER NOT NULL,
  step TEXT,
  reason TEXT,
  read INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS message_pending ON message (run, sequence) WHERE read = 0`;

function ledgerRows(database: Database, machine: Machine): LedgerRows {
  const find = 'SELECT revision, text, clock, offset_ms, now_ms FROM ledger WHERE key = ?';
  const store = `INSERT INTO ledger (key, revision, text, clock, offset_ms, now_ms) VALUES (?, 1, ?, ?, ?, ?)
    ON CONFLICT (key) DO UPDATE SET revision = revision + 1, text = excluded.text, clock = excluded.clock,
      offset_ms = excluded.offset_ms, now_ms = excluded.now_ms`;
  const move = 'UPDATE ledger SET clock = ?, offset_ms = ?, now_ms = ? WHERE key = ?';
  return {
    async change(key, work) {
      return database.transaction(() => {
        const row = database.statement(find).get(key);
        const machineNow = machine.nowMs();
        // Under another clock than the last writer's, the row's time continues from where that one left it.
        const moved =
          row !== undefined &&
          (row.clock !== machine.clockId || machineNow + Number(row.offset_ms) < Number(row.now_ms));
        const offset = row === undefined ? 0 : moved ? Number(row.now_ms) - machineNow : Number(row.offset_ms);
        const now = machineNow + offset;
        const { text, result } = work(row && { revision: Number(row.revision), text: String(row.text) }, now);
        if (text !== undefined) database.statement(store).run(key, text, machine.clockId, offset, now);
        else if (moved) database.statement(move).run(machine.clockId, offset, now, key);
        return result;
      });
    },
  };
}

function leasesIn(database: Database, machine: Machine): Leases {
  const renew =
    'UPDATE lease SET process = ?, clock = ?, until_ms = ? WHERE account = ? AND epoch = ? AND held_by IS NOT NULL';
  return {
    ofThisMachine: true,
    async acquire(account, holder) {
      return database.transaction(() => {
        const row = database.statement(SHARED_SQL.lease).get(account);
        const verdict = judgeLease(row && readLeaseRow(row), machine);
        if (verdict.kind === 'taken') return verdict;
        if (verdict.kind === 'adopted') {
          database.statement(SHARED_SQL.adoptLease).run(machine.clockId, verdict.untilMs, account);
          return { kind: 'taken', heldBy: verdict.heldBy, remainingMs: LEASE_LIFE_MS };
        }
        const epoch = Number(row?.epoch ?? 0) + 1;
        database
          .statement(SHARED_SQL.takeLease)
          .run(account, epoch, holder, machine.self, machine.clockId, machine.nowMs() + LEASE_LIFE_MS);
        return { kind: 'held', epoch };
      });
    },
    async renew(account, epoch) {
      const until = machine.nowMs() + LEASE_LIFE_MS;
      return database.statement(renew).run(machine.self, machine.clockId, until, account, epoch).changes === 1;
    },
    async release(account, epoch) {
      database.statement(SHARED_SQL.releaseLease).run(account, epoch);
    },
    async holder(account) {
      const found = database.statement(SHARED_SQL.lease).get(account);
      const row = found && readLeaseRow(found);
      return judgeLease(row, machine).kind === 'free' ? undefined : row?.heldBy;
    },
  };
}

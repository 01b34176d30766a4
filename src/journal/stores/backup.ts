/**
 * A backup of a SQLite store: one file with the journal, the schedule's verdicts, the account's journal, and, in tables of their own,
 * the anchors, the kill orders and the newest epochs of the leases at that time. What a restore changes in the store is here too.
 */
import { type Database, hasTable, openDatabase } from '../sql/sqlite.ts';
import type { SqlRow } from '../sql/values.ts';
import { StoreError } from '../store.ts';

const BACKUP_SCHEMA = `
CREATE TABLE backup (version INTEGER NOT NULL, at INTEGER NOT NULL, anchors TEXT NOT NULL);
CREATE TABLE backup_lease (account TEXT PRIMARY KEY, epoch INTEGER NOT NULL);
CREATE TABLE backup_kill (
  sequence INTEGER PRIMARY KEY,
  action TEXT NOT NULL,
  scope TEXT NOT NULL,
  by_name TEXT NOT NULL,
  reason TEXT NOT NULL,
  at INTEGER NOT NULL
)`;
const DROP_BACKUP = 'DROP TABLE backup; DROP TABLE backup_lease; DROP TABLE backup_kill';
const VERSION = 1;
const KILLS = 'SELECT action, scope, by_name, reason, at FROM kill_event ORDER BY sequence';
const BACKUP_KILLS = 'SELECT action, scope, by_name, reason, at FROM backup_kill ORDER BY sequence';

/** Why an occurrence between a backup and its restore is missed. */
export const RESTORED = 'restored';

export interface BackupParts {
  /** The file of leases and kill orders; undefined where there is none. */
  readonly sharedFile: string | undefined;
  /** The text of the anchors, read before the store was copied, so that no anchor is newer than the copy. */
  readonly anchors: string;
  /** Epoch ms, from before the anchors were read. */
  readonly at: number;
}

/** Makes a backup of a copy of a store. Rejects with a StoreError. */
export async function makeBackup(copy: Database, { sharedFile, anchors, at }: BackupParts): Promise<void> {
  const { leases, kills } = sharedFile === undefined ? { leases: [], kills: [] } : await readShared(sharedFile);
  copy.transaction(() => {
    copy.exec(BACKUP_SCHEMA);
    copy.statement('INSERT INTO backup VALUES (?, ?, ?)').run(VERSION, at, anchors);
    const addLease = copy.statement('INSERT INTO backup_lease VALUES (?, ?)');
    for (const { account, epoch } of leases) addLease.run(String(account), Number(epoch));
    const addKill = copy.statement(
      'INSERT INTO backup_kill (action, scope, by_name, reason, at) VALUES (?, ?, ?, ?, ?)',
    );
    for (const kill of kills) addKill.run(...toKillValues(kill));
  });
}

export interface OpenedBackup {
  /** Epoch ms. */
  readonly at: number;
  readonly anchors: string;
  /** Keys of the accounts that have a lease, a schedule or a journal of their own. */
  readonly accounts: readonly string[];
  /** The newest epoch of anything in it. */
  readonly epoch: number;
  readonly kills: readonly SqlRow[];
}

/** Reads what a backup says of itself. Throws a StoreError (`damaged`) for a file that is no backup. */
export function readBackup(database: Database): OpenedBackup {
  const { file } = database;
  const tables = new Set(
    database
      .statement('SELECT name FROM sqlite_schema')
      .all()
      .map(({ name }) => name),
  );
  const found = tables.has('backup') ? database.statement('SELECT version, at, anchors FROM backup').get() : undefined;
  if (found?.version !== VERSION) throw new StoreError('damaged', `${file} is not a backup of this program`);
  const [check] = database.statement('PRAGMA integrity_check(1)').tuples();
  if (check?.[0] !== 'ok') throw new StoreError('damaged', `${file} is damaged: ${String(check?.[0])}`);
  const accounts = ['agenda_epoch', 'backup_lease', 'account_act'].flatMap((table) =>
    tables.has(table) ? database.statement(`SELECT DISTINCT account FROM ${table} WHERE account <> '*'`).all() : [],
  );
  const epochs = ['agenda_epoch', 'backup_lease', 'runs'].flatMap((table) =>
    tables.has(table) ? database.statement(`SELECT max(epoch) AS epoch FROM ${table}`).all() : [],
  );
  return {
    at: Number(found.at),
    anchors: String(found.anchors),
    accounts: [...new Set(accounts.map(({ account }) => String(account)))].sort(),
    epoch: Math.max(0, ...epochs.map(({ epoch }) => Number(epoch ?? 0))),
    kills: database.statement(BACKUP_KILLS).all(),
  };
}

/**
 * Makes a store of a copy of a backup: each slot of each schedule gets one missed occurrence at the time of the restore, so that
 * nothing due before it is started, and what waited, was promised or was submitted is settled. Throws a StoreError.
 */
export function makeRestored(copy: Database, at: number): void {
  copy.transaction(() => {
    copy.exec(DROP_BACKUP);
    if (!hasTable(copy, 'agenda_slot')) return;
    for (const sql of RESTORE_SCHEDULE) copy.statement(sql).run(...Array.from(sql.matchAll(/\?/g), () => at));
  });
}

/** What a restore decides about schedules; the same statements in every database. Each `?` is the time of the restore. */
export const RESTORE_SCHEDULE: readonly string[] = [
  `UPDATE occurrence SET verdict = 'missed', why = '${RESTORED}', decided_at = ? WHERE verdict = 'waiting'`,
  "UPDATE occurrence SET began = 'lost' WHERE verdict = 'started' AND began IS NULL",
  `INSERT INTO occurrence (account, slot, nominal, verdict, why, decided_at)
    SELECT account, slot, ?, 'missed', '${RESTORED}', ? FROM agenda_slot WHERE true
    ON CONFLICT (account, slot, nominal) DO NOTHING`,
  `UPDATE handover SET answer = '${JSON.stringify({ state: 'refused', why: 'the store was restored from a backup', kind: 'lost' })}'
    WHERE answer IS NULL OR answer = '${JSON.stringify({ state: 'taken' })}'`,
];

/** The accounts that the file of leases knows, with the newest epoch of each, and the kill orders. Rejects with a StoreError. */
export async function readShared(
  file: string,
): Promise<{ readonly leases: readonly SqlRow[]; readonly kills: readonly SqlRow[] }> {
  const database = await openDatabase(file);
  try {
    return {
      leases: database.statement('SELECT account, epoch FROM lease').all(),
      kills: database.statement(KILLS).all(),
    };
  } finally {
    database.close();
  }
}

/**
 * Lifts the free leases of these accounts to an epoch that nothing in the store has, and adds the kill orders of the backup where the
 * file has none of its own: a kill that was engaged or released since the backup stays as it is. The file must exist.
 */
export async function liftShared(
  file: string,
  accounts: readonly string[],
  epoch: number,
  kills: readonly SqlRow[],
): Promise<void> {
  const database = await openDatabase(file);
  try {
    database.transaction(() => {
      const lift = database.statement(
        `INSERT INTO lease (account, epoch, held_by, process, clock, until_ms) VALUES (?, ?, NULL, '', '', 0)
          ON CONFLICT (account) DO UPDATE SET epoch = max(epoch, excluded.epoch) WHERE held_by IS NULL`,
      );
      for (const account of accounts) lift.run(account, epoch);
      if (database.statement('SELECT 1 FROM kill_event LIMIT 1').get() !== undefined) return;
      const add = database.statement(
        'INSERT INTO kill_event (action, scope, by_name, reason, at) VALUES (?, ?, ?, ?, ?)',
      );
      for (const kill of kills) add.run(...toKillValues(kill));
    });
  } finally {
    database.close();
  }
}

function toKillValues({ action, scope, by_name: by, reason, at }: SqlRow) {
  return [String(action), String(scope), String(by), String(reason), Number(at)] as const;
}

/**
 * Keeps a scheduler's decisions in the journal's own SQLite file, so that a copy of the file has the runs and the decisions
 * together. Uses a connection of its own, on which every commit waits for the disk.
 */

import { appendActIn } from '../account/sqlite.ts';
import { type Database, hasTable, openDatabase, openPrepared, toSqlDatabase } from '../sql/sqlite.ts';
import type { SqlRow } from '../sql/values.ts';
import { ask, type Work } from '../sql/work.ts';
import { SCHEDULE_SQL, toOccurrenceValues } from './rows.ts';
import { SqlScheduleStore } from './sql-store.ts';
import { buildDecidedError, type OccurrenceRow, type ScheduleStore } from './store.ts';

const SCHEMA = `
CREATE TABLE IF NOT EXISTS agenda_epoch (
  account TEXT PRIMARY KEY,
  epoch INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS agenda_slot (
  account TEXT NOT NULL,
  slot TEXT NOT NULL,
  known_since INTEGER NOT NULL,
  PRIMARY KEY (account, slot)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS occurrence (
  account TEXT NOT NULL,
  slot TEXT NOT NULL,
  nominal INTEGER NOT NULL,
  verdict TEXT NOT NULL,
  why TEXT,
  run TEXT,
  decided_at INTEGER NOT NULL,
  began TEXT,
  PRIMARY KEY (account, slot, nominal)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS occurrence_by_time ON occurrence (account, nominal, slot);
CREATE INDEX IF NOT EXISTS occurrence_waiting ON occurrence (account, nominal) WHERE verdict = 'waiting';
CREATE INDEX IF NOT EXISTS occurrence_promised ON occurrence (account, nominal) WHERE verdict = 'started' AND began IS NULL;
CREATE INDEX IF NOT EXISTS occurrence_run ON occurrence (run) WHERE run IS NOT NULL;
CREATE TABLE IF NOT EXISTS handover (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT,
  run TEXT NOT NULL UNIQUE,
  account TEXT NOT NULL,
  request TEXT NOT NULL,
  answer TEXT               -- NULL until somebody has answered
);
CREATE INDEX IF NOT EXISTS handover_posted ON handover (account, sequence) WHERE answer IS NULL`;

/** Opens the journal's `file`. Rejects with a StoreError that names it when it cannot be opened. */
export async function openSqliteScheduleStore(file: string): Promise<ScheduleStore> {
  return new SqliteScheduleStore(
    await openPrepared(file, (each) => each.isReadOnly || each.transaction(() => each.exec(SCHEMA))),
  );
}

/** The same of a file that is only read: makes no table. */
export async function openSqliteScheduleStoreToRead(
  file: string,
): Promise<Pick<ScheduleStore, 'occurrences' | 'close'>> {
  return new SqliteScheduleStore(await openDatabase(file));
}

class SqliteScheduleStore extends SqlScheduleStore {
  private readonly file: Database;

  constructor(database: Database) {
    super(toSqlDatabase(database), appendActIn(database), "CAST(json_extract(request, '$.at') AS INTEGER)");
    this.file = database;
  }

  protected override async findLast(account: string, slots: readonly string[]): Promise<readonly SqlRow[]> {
    const find = this.file.statement(SCHEDULE_SQL.last);
    return slots.flatMap((slot) => {
      const last = find.get(account, slot)?.last ?? null;
      return last === null ? [] : [{ slot, last }];
    });
  }

  protected override *write(account: string, rows: readonly OccurrenceRow[]): Work<void> {
    for (const row of rows)
      if ((yield* ask(SCHEDULE_SQL.record, ...toOccurrenceValues(account, row))).changes !== 1)
        throw buildDecidedError(row);
  }

  protected override areStored(): never {
    throw new Error('sqlite: a commit either returns or throws');
  }

  // A file that is only read may lack the table.
  override async occurrences(...asked: Parameters<ScheduleStore['occurrences']>): Promise<readonly OccurrenceRow[]> {
    return hasTable(this.file, 'occurrence') ? super.occurrences(...asked) : [];
  }

  override async decidedAccounts(): Promise<readonly string[]> {
    return hasTable(this.file, 'occurrence') ? super.decidedAccounts() : [];
  }
}

/**
 * Keeps a scheduler's decisions in the journal's own SQLite file, so that a copy of the file has the runs and the decisions
 * together. Uses a connection of its own, on which every commit waits for the disk.
 */

import { appendActIn } from '../account/sqlite.ts';
import { type Database, hasTable, openPrepared, statementsOf } from '../sql/sqlite.ts';
import { compareSlots, readWaiting, SCHEDULE_SQL, toOccurrenceValues } from './rows.ts';
import { SqlScheduleStore } from './sql-store.ts';
import {
  buildDecidedError,
  buildFencedError,
  makeDecidedAct,
  makeLostAct,
  type OccurrenceRow,
  type ScheduleMarks,
  type ScheduleStore,
} from './store.ts';

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

class SqliteScheduleStore extends SqlScheduleStore implements ScheduleStore {
  private readonly database: Database;

  constructor(database: Database) {
    super(statementsOf(database), "CAST(json_extract(request, '$.at') AS INTEGER)");
    this.database = database;
  }

  async engage(
    account: string,
    epoch: number,
    slots: readonly string[],
    at: number,
  ): Promise<ReadonlyMap<string, number>> {
    const { database } = this;
    return this.transactUnderEpoch(account, epoch, () => {
      const { forgotten, learnt, since } = compareSlots(database.statement(SCHEDULE_SQL.slots).all(account), slots, at);
      const forget = database.statement(SCHEDULE_SQL.forgetSlot);
      for (const slot of forgotten) forget.run(account, slot);
      const learn = database.statement(SCHEDULE_SQL.learnSlot);
      for (const slot of learnt) learn.run(account, slot, at);
      return since;
    });
  }

  async marks(account: string, slots: readonly string[]): Promise<ScheduleMarks> {
    const last = this.database.statement(SCHEDULE_SQL.last);
    const through = new Map<string, number>();
    for (const slot of slots) {
      const found = last.get(account, slot)?.last;
      if (found !== null && found !== undefined) through.set(slot, Number(found));
    }
    return { through, waiting: this.database.statement(SCHEDULE_SQL.waiting).all(account).map(readWaiting) };
  }

  async record(account: string, epoch: number, rows: readonly OccurrenceRow[]): Promise<void> {
    const write = this.database.statement(SCHEDULE_SQL.record);
    this.transactUnderEpoch(account, epoch, () => {
      for (const row of rows)
        if (write.run(...toOccurrenceValues(account, row)).changes !== 1) throw buildDecidedError(row);
      if (rows.length > 0) appendActIn(this.database, account, makeDecidedAct(rows));
    });
  }

  async settle(account: string, run: string, began: 'begun' | 'lost', at: number): Promise<void> {
    const { database } = this;
    database.transaction(() => {
      const { changes } = database.statement(SCHEDULE_SQL.settle).run(began, run, account);
      if (began === 'lost' && changes > 0) appendActIn(database, account, makeLostAct(run, at));
    });
  }

  // A file that is only read may lack the table.
  override async decidedAccounts(): Promise<readonly string[]> {
    return hasTable(this.database, 'occurrence') ? super.decidedAccounts() : [];
  }

  async close(): Promise<void> {
    this.database.close();
  }

  /** Runs `work` in a transaction after which processes of an older epoch are fenced. */
  private transactUnderEpoch<T>(account: string, epoch: number, work: () => T): T {
    const { database } = this;
    return database.transaction(() => {
      const newest = Number(database.statement(SCHEDULE_SQL.epoch).get(account)?.epoch ?? 0);
      if (epoch < newest) throw buildFencedError(account, epoch, newest);
      if (epoch > newest) database.statement(SCHEDULE_SQL.newerEpoch).run(account, epoch);
      return work();
    });
  }
}

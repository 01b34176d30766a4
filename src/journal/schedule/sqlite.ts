/**
 * Keeps a scheduler's decisions in the journal's own SQLite file, so that a copy of the file has the runs and the decisions
 * together. Uses a connection of its own, on which every commit waits for the disk.
 */

import { appendActIn } from '../account/sqlite.ts';
import { type Database, hasTable, openPrepared } from '../sql/sqlite.ts';
import { NO_LIMIT } from '../sql/values.ts';
import {
  buildPruneSubmissionsSql,
  compareSlots,
  readOccurrence,
  readSubmissionRequest,
  readSubmissionState,
  readWaiting,
  SCHEDULE_SQL,
  TAKEN,
  toAnswerValues,
  toOccurrenceValues,
} from './rows.ts';
import {
  buildDecidedError,
  buildFencedError,
  makeDecidedAct,
  makeLostAct,
  type OccurrenceRow,
  PRUNED_AT_ONCE,
  type ScheduleMarks,
  type ScheduleStore,
  type SubmissionAnswer,
  type SubmissionRequest,
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

const PRUNE_SUBMISSIONS = buildPruneSubmissionsSql("CAST(json_extract(request, '$.at') AS INTEGER)");

/** Opens the journal's `file`. Rejects with a StoreError that names it when it cannot be opened. */
export async function openSqliteScheduleStore(file: string): Promise<ScheduleStore> {
  return new SqliteScheduleStore(
    await openPrepared(file, (each) => each.isReadOnly || each.transaction(() => each.exec(SCHEMA))),
  );
}

class SqliteScheduleStore implements ScheduleStore {
  private readonly database: Database;

  constructor(database: Database) {
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

  async promised(account: string): Promise<readonly OccurrenceRow[]> {
    return this.database.statement(SCHEDULE_SQL.promised).all(account).map(readOccurrence);
  }

  async settle(account: string, run: string, began: 'begun' | 'lost', at: number): Promise<void> {
    const { database } = this;
    database.transaction(() => {
      const { changes } = database.statement(SCHEDULE_SQL.settle).run(began, run, account);
      if (began === 'lost' && changes > 0) appendActIn(database, account, makeLostAct(run, at));
    });
  }

  async decidedAccounts(): Promise<readonly string[]> {
    if (!hasTable(this.database, 'occurrence')) return [];
    return this.database
      .statement(SCHEDULE_SQL.decidedAccounts)
      .all()
      .map(({ account }) => String(account));
  }

  async occurrences(
    account: string,
    { slot, limit = NO_LIMIT }: { slot?: string; limit?: number } = {},
  ): Promise<readonly OccurrenceRow[]> {
    const { database } = this;
    const rows =
      slot === undefined
        ? database.statement(SCHEDULE_SQL.newest).all(account, limit)
        : database.statement(SCHEDULE_SQL.newestOfSlot).all(account, slot, limit);
    return rows.map(readOccurrence);
  }

  async prune(account: string, beforeMs: number): Promise<number> {
    return this.database.statement(SCHEDULE_SQL.prune).run(account, account, beforeMs, PRUNED_AT_ONCE).changes;
  }

  async post(request: SubmissionRequest): Promise<void> {
    this.database.statement(SCHEDULE_SQL.post).run(request.run, request.account, JSON.stringify(request));
  }

  async posted(account: string): Promise<readonly SubmissionRequest[]> {
    return this.database.statement(SCHEDULE_SQL.posted).all(account).map(readSubmissionRequest);
  }

  async answer(run: string, answer: SubmissionAnswer, expected: 'posted' | 'taken' = 'posted'): Promise<boolean> {
    return this.database.statement(SCHEDULE_SQL.answer).run(...toAnswerValues(run, answer, expected)).changes === 1;
  }

  async taken(account: string): Promise<readonly string[]> {
    return this.database
      .statement(SCHEDULE_SQL.taken)
      .all(account, TAKEN)
      .map(({ run }) => String(run));
  }

  async submission(run: string): Promise<SubmissionAnswer | { readonly state: 'posted' } | undefined> {
    return readSubmissionState(this.database.statement(SCHEDULE_SQL.submission).get(run));
  }

  async pruneSubmissions(account: string, beforeMs: number): Promise<number> {
    return this.database.statement(PRUNE_SUBMISSIONS).run(account, account, TAKEN, beforeMs, PRUNED_AT_ONCE).changes;
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

/**
 * The part of a schedule store that is the same in every database. What is asked of many slots or rows at once is not: SQLite is asked
 * one by one, PostgreSQL once for all.
 */
import type { AppendAct } from '../account/sql-journal.ts';
import { NO_LIMIT, type SqlRow, type SqlValue } from '../sql/values.ts';
import { ask, RESTART_PATIENCE_MS, type SqlDatabase, type Work } from '../sql/work.ts';
import { compareSlots, readOccurrence, SCHEDULE_SQL } from './rows.ts';
import {
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

/** The stored answer of a request that was taken and has no further answer yet. */
const TAKEN = encodeAnswer({ state: 'taken' });

function encodeAnswer(answer: SubmissionAnswer): string {
  return JSON.stringify(answer);
}

export abstract class SqlScheduleStore implements ScheduleStore {
  private readonly database: SqlDatabase;
  private readonly appendAct: AppendAct;
  private readonly postedAt: string;

  /** `postedAt`: the expression that reads a request's time from its text. */
  constructor(database: SqlDatabase, appendAct: AppendAct, postedAt: string) {
    this.database = database;
    this.appendAct = appendAct;
    this.postedAt = postedAt;
  }

  /** Rows of each slot with a verdict, `slot`, and the last nominal instant of one, `last`. */
  protected abstract findLast(account: string, slots: readonly string[]): Promise<readonly SqlRow[]>;
  /** Writes verdicts. Throws where an occurrence already has one. */
  protected abstract write(account: string, rows: readonly OccurrenceRow[]): Work<void>;
  /** Whether the verdicts are stored as this process made them: asked where the answer to a commit was lost. */
  protected abstract areStored(account: string, rows: readonly OccurrenceRow[]): Work<boolean>;

  engage(account: string, epoch: number, slots: readonly string[], at: number): Promise<ReadonlyMap<string, number>> {
    return this.transactUnderEpoch(
      account,
      epoch,
      function* () {
        const { rows } = yield* ask(SCHEDULE_SQL.slots, account);
        const { forgotten, learnt, since } = compareSlots(rows, slots, at);
        for (const slot of forgotten) yield* ask(SCHEDULE_SQL.forgetSlot, account, slot);
        for (const slot of learnt) yield* ask(SCHEDULE_SQL.learnSlot, account, slot, at);
        return since;
      },
      'repeat',
    );
  }

  async marks(account: string, slots: readonly string[]): Promise<ScheduleMarks> {
    const ends = await this.findLast(account, slots);
    const waiting = await this.database.rows(SCHEDULE_SQL.waiting, account);
    return {
      through: new Map(ends.map(({ slot, last }) => [String(slot), Number(last)])),
      waiting: waiting.map(({ slot, nominal }) => ({ slot: String(slot), nominalMs: Number(nominal) })),
    };
  }

  record(account: string, epoch: number, rows: readonly OccurrenceRow[]): Promise<void> {
    const store = this;
    return this.transactUnderEpoch(
      account,
      epoch,
      function* () {
        yield* store.write(account, rows);
        if (rows.length > 0) yield* store.appendAct(account, makeDecidedAct(rows));
      },
      () => this.areStored(account, rows),
    );
  }

  async settle(account: string, run: string, began: 'begun' | 'lost', at: number): Promise<void> {
    const { appendAct } = this;
    await this.database.transact(`agenda ${account}`, function* () {
      const { changes } = yield* ask(SCHEDULE_SQL.settle, began, run, account);
      if (began === 'lost' && changes > 0) yield* appendAct(account, makeLostAct(run, at));
    });
  }

  async promised(account: string): Promise<readonly OccurrenceRow[]> {
    return (await this.database.rows(SCHEDULE_SQL.promised, account)).map(readOccurrence);
  }

  decidedAccounts(): Promise<readonly string[]> {
    return this.list(SCHEDULE_SQL.decidedAccounts, 'account');
  }

  async occurrences(
    account: string,
    { slot, limit = NO_LIMIT }: { slot?: string; limit?: number } = {},
  ): Promise<readonly OccurrenceRow[]> {
    const rows =
      slot === undefined
        ? await this.database.rows(SCHEDULE_SQL.newest, account, limit)
        : await this.database.rows(SCHEDULE_SQL.newestOfSlot, account, slot, limit);
    return rows.map(readOccurrence);
  }

  prune(account: string, beforeMs: number): Promise<number> {
    return this.database.change(SCHEDULE_SQL.prune, account, account, beforeMs, PRUNED_AT_ONCE);
  }

  async post(request: SubmissionRequest): Promise<void> {
    await this.database.change(SCHEDULE_SQL.post, request.run, request.account, JSON.stringify(request));
  }

  async posted(account: string): Promise<readonly SubmissionRequest[]> {
    const requests = await this.list(SCHEDULE_SQL.posted, 'request', account);
    return requests.map((request) => JSON.parse(request) as SubmissionRequest);
  }

  async answer(run: string, answer: SubmissionAnswer, expected: 'posted' | 'taken' = 'posted'): Promise<boolean> {
    const before = expected === 'posted' ? null : TAKEN;
    return (await this.database.change(SCHEDULE_SQL.answer, encodeAnswer(answer), run, before)) === 1;
  }

  taken(account: string): Promise<readonly string[]> {
    return this.list(SCHEDULE_SQL.taken, 'run', account, TAKEN);
  }

  async submission(run: string): Promise<SubmissionAnswer | { readonly state: 'posted' } | undefined> {
    const [row] = await this.database.rows(SCHEDULE_SQL.submission, run);
    return row && (row.answer === null ? { state: 'posted' } : (JSON.parse(String(row.answer)) as SubmissionAnswer));
  }

  pruneSubmissions(account: string, beforeMs: number): Promise<number> {
    const sql = `DELETE FROM handover WHERE account = ? AND sequence IN (
      SELECT sequence FROM handover WHERE account = ? AND answer IS NOT NULL AND answer <> ? AND ${this.postedAt} < ?
        ORDER BY sequence LIMIT ?)`;
    return this.database.change(sql, account, account, TAKEN, beforeMs, PRUNED_AT_ONCE);
  }

  close(): Promise<void> {
    return this.database.close();
  }

  private async list(sql: string, column: string, ...values: readonly SqlValue[]): Promise<readonly string[]> {
    return (await this.database.rows(sql, ...values)).map((row) => String(row[column]));
  }

  /** Does `work` in a transaction after which processes of an older epoch are fenced. */
  private transactUnderEpoch<T>(
    account: string,
    epoch: number,
    work: () => Work<T>,
    kept: 'repeat' | (() => Work<boolean>),
  ): Promise<T> {
    return this.database.transact(
      `agenda ${account}`,
      function* () {
        const { rows } = yield* ask(SCHEDULE_SQL.epoch, account);
        const newest = Number(rows[0]?.epoch ?? 0);
        if (epoch < newest) throw buildFencedError(account, epoch, newest);
        if (epoch > newest) yield* ask(SCHEDULE_SQL.newerEpoch, account, epoch);
        return yield* work();
      },
      { patienceMs: RESTART_PATIENCE_MS, kept },
    );
  }
}

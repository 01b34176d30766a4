/** The part of a schedule store that is the same in every database: all but transactions, and what is asked for many slots or rows at once. */
import { NO_LIMIT, type SqlValue, type Statements } from '../sql/values.ts';
import { readOccurrence, SCHEDULE_SQL } from './rows.ts';
import {
  type OccurrenceRow,
  PRUNED_AT_ONCE,
  type ScheduleStore,
  type SubmissionAnswer,
  type SubmissionRequest,
} from './store.ts';

/** The stored answer of a request that was taken and has no further answer yet. */
const TAKEN = encodeAnswer({ state: 'taken' });

function encodeAnswer(answer: SubmissionAnswer): string {
  return JSON.stringify(answer);
}

/** What differs from database to database. */
type OfDatabase = 'engage' | 'marks' | 'record' | 'settle' | 'close';

export abstract class SqlScheduleStore implements Omit<ScheduleStore, OfDatabase> {
  private readonly statements: Statements;
  private readonly postedAt: string;

  /** `postedAt`: the expression that reads a request's time from its text. */
  constructor(statements: Statements, postedAt: string) {
    this.statements = statements;
    this.postedAt = postedAt;
  }

  async promised(account: string): Promise<readonly OccurrenceRow[]> {
    return (await this.statements.rows(SCHEDULE_SQL.promised, account)).map(readOccurrence);
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
        ? await this.statements.rows(SCHEDULE_SQL.newest, account, limit)
        : await this.statements.rows(SCHEDULE_SQL.newestOfSlot, account, slot, limit);
    return rows.map(readOccurrence);
  }

  prune(account: string, beforeMs: number): Promise<number> {
    return this.statements.change(SCHEDULE_SQL.prune, account, account, beforeMs, PRUNED_AT_ONCE);
  }

  async post(request: SubmissionRequest): Promise<void> {
    await this.statements.change(SCHEDULE_SQL.post, request.run, request.account, JSON.stringify(request));
  }

  async posted(account: string): Promise<readonly SubmissionRequest[]> {
    const requests = await this.list(SCHEDULE_SQL.posted, 'request', account);
    return requests.map((request) => JSON.parse(request) as SubmissionRequest);
  }

  async answer(run: string, answer: SubmissionAnswer, expected: 'posted' | 'taken' = 'posted'): Promise<boolean> {
    const before = expected === 'posted' ? null : TAKEN;
    return (await this.statements.change(SCHEDULE_SQL.answer, encodeAnswer(answer), run, before)) === 1;
  }

  taken(account: string): Promise<readonly string[]> {
    return this.list(SCHEDULE_SQL.taken, 'run', account, TAKEN);
  }

  async submission(run: string): Promise<SubmissionAnswer | { readonly state: 'posted' } | undefined> {
    const [row] = await this.statements.rows(SCHEDULE_SQL.submission, run);
    return row && (row.answer === null ? { state: 'posted' } : (JSON.parse(String(row.answer)) as SubmissionAnswer));
  }

  pruneSubmissions(account: string, beforeMs: number): Promise<number> {
    const sql = `DELETE FROM handover WHERE account = ? AND sequence IN (
      SELECT sequence FROM handover WHERE account = ? AND answer IS NOT NULL AND answer <> ? AND ${this.postedAt} < ?
        ORDER BY sequence LIMIT ?)`;
    return this.statements.change(sql, account, account, TAKEN, beforeMs, PRUNED_AT_ONCE);
  }

  private async list(sql: string, column: string, ...values: readonly SqlValue[]): Promise<readonly string[]> {
    return (await this.statements.rows(sql, ...values)).map((row) => String(row[column]));
  }
}

/** Keeps a scheduler's decisions in memory, for tests; the contract is that of the SQLite store. */
import { MemoryAccountJournal } from '../../src/journal/account/memory.ts';
import {
  buildDecidedError,
  buildFencedError,
  makeDecidedAct,
  makeLostAct,
  type OccurrenceRow,
  PRUNED_AT_ONCE,
  type ScheduleStore,
  type SubmissionAnswer,
  type SubmissionRequest,
} from '../../src/journal/schedule/store.ts';

interface AccountSchedule {
  epoch: number;
  /** By slot, since when it is in force, epoch ms. */
  slots: Map<string, number>;
  readonly rows: Map<string, OccurrenceRow>;
}

export class MemoryScheduleStore implements ScheduleStore {
  readonly accountJournal = new MemoryAccountJournal();
  private readonly accounts = new Map<string, AccountSchedule>();
  private readonly requests = new Map<string, { readonly request: SubmissionRequest; answer?: SubmissionAnswer }>();

  async engage(
    account: string,
    epoch: number,
    slots: readonly string[],
    at: number,
  ): Promise<ReadonlyMap<string, number>> {
    const schedule = this.openUnderEpoch(account, epoch);
    schedule.slots = new Map(slots.map((slot) => [slot, schedule.slots.get(slot) ?? at]));
    return new Map(schedule.slots);
  }

  async marks(account: string, slots: readonly string[]) {
    const rows = this.rows(account);
    const through = new Map<string, number>();
    for (const { slot, nominalMs } of rows)
      if (slots.includes(slot)) through.set(slot, Math.max(through.get(slot) ?? nominalMs, nominalMs));
    const waiting = rows
      .filter(({ verdict }) => verdict === 'waiting')
      .map(({ slot, nominalMs }) => ({ slot, nominalMs }));
    return { through, waiting };
  }

  async record(account: string, epoch: number, rows: readonly OccurrenceRow[]): Promise<void> {
    const schedule = this.openUnderEpoch(account, epoch);
    const changed = new Map(schedule.rows);
    for (const row of rows) {
      const key = toKey(row);
      const before = changed.get(key);
      if (before !== undefined && before.verdict !== 'waiting') throw buildDecidedError(row);
      changed.set(key, row);
    }
    for (const [key, row] of changed) schedule.rows.set(key, row);
    if (rows.length > 0) await this.accountJournal.append(account, makeDecidedAct(rows));
  }

  async promised(account: string): Promise<readonly OccurrenceRow[]> {
    return this.rows(account).filter(({ verdict, began }) => verdict === 'started' && began === undefined);
  }

  async settle(account: string, run: string, began: 'begun' | 'lost', at: number): Promise<void> {
    const rows = this.accounts.get(account)?.rows ?? new Map<string, OccurrenceRow>();
    const settled = [...rows].filter(([, row]) => row.run === run);
    for (const [key, row] of settled) rows.set(key, { ...row, began });
    if (began === 'lost' && settled.length > 0) await this.accountJournal.append(account, makeLostAct(run, at));
  }

  async decidedAccounts() {
    return [...this.accounts].flatMap(([account, { rows }]) => (rows.size > 0 ? [account] : [])).sort();
  }

  async occurrences(account: string, { slot, limit = Infinity }: { slot?: string; limit?: number } = {}) {
    return this.rows(account)
      .filter((row) => slot === undefined || row.slot === slot)
      .reverse()
      .slice(0, limit);
  }

  async prune(account: string, beforeMs: number): Promise<number> {
    const rows = this.rows(account);
    const old = rows.filter(
      ({ slot, nominalMs, verdict, began }) =>
        nominalMs < beforeMs &&
        verdict !== 'waiting' &&
        (verdict !== 'started' || began !== undefined) &&
        rows.some((later) => later.slot === slot && later.nominalMs > nominalMs),
    );
    const pruned = old.slice(0, PRUNED_AT_ONCE);
    for (const row of pruned) this.accounts.get(account)?.rows.delete(toKey(row));
    return pruned.length;
  }

  async post(request: SubmissionRequest): Promise<void> {
    this.requests.set(request.run, { request });
  }

  async posted(account: string): Promise<readonly SubmissionRequest[]> {
    return [...this.requests.values()].flatMap(({ request, answer }) =>
      request.account === account && answer === undefined ? [request] : [],
    );
  }

  async answer(run: string, answer: SubmissionAnswer, expected: 'posted' | 'taken' = 'posted'): Promise<boolean> {
    const known = this.requests.get(run);
    if (known === undefined || (known.answer?.state ?? 'posted') !== expected) return false;
    known.answer = answer;
    return true;
  }

  async taken(account: string): Promise<readonly string[]> {
    return [...this.requests.values()].flatMap(({ request, answer }) =>
      request.account === account && answer?.state === 'taken' ? [request.run] : [],
    );
  }

  async submission(run: string): Promise<SubmissionAnswer | { readonly state: 'posted' } | undefined> {
    const known = this.requests.get(run);
    return known && (known.answer ?? { state: 'posted' });
  }

  async pruneSubmissions(account: string, beforeMs: number): Promise<number> {
    const old = [...this.requests.values()].filter(
      ({ request, answer }) =>
        request.account === account && request.at < beforeMs && answer !== undefined && answer.state !== 'taken',
    );
    const pruned = old.slice(0, PRUNED_AT_ONCE);
    for (const { request } of pruned) this.requests.delete(request.run);
    return pruned.length;
  }

  async close(): Promise<void> {}

  private rows(account: string): OccurrenceRow[] {
    const rows = [...(this.accounts.get(account)?.rows.values() ?? [])];
    return rows.sort((a, b) => a.nominalMs - b.nominalMs || (a.slot < b.slot ? -1 : 1));
  }

  private openUnderEpoch(account: string, epoch: number): AccountSchedule {
    let schedule = this.accounts.get(account);
    if (schedule === undefined) {
      schedule = { epoch, slots: new Map(), rows: new Map() };
      this.accounts.set(account, schedule);
    }
    if (epoch < schedule.epoch) throw buildFencedError(account, epoch, schedule.epoch);
    schedule.epoch = epoch;
    return schedule;
  }
}

function toKey({ slot, nominalMs }: OccurrenceRow): string {
  return `${nominalMs} ${slot}`;
}

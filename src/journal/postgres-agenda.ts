/**
 * A scheduler's memory in PostgreSQL, beside the journal: what one machine has promised, another that takes the account over
 * finds. Decisions are written under the lock of their account, which is also where a newer epoch is looked for.
 */
import {
  type AgendaMarks,
  type AgendaStore,
  decidedAlready,
  type HandoverAnswer,
  type HandoverRequest,
  type OccurrenceRow,
  outdated,
  PRUNED_AT_ONCE,
} from './agenda-store.ts';
import {
  openPostgres,
  type PostgresAccess,
  type PostgresDatabase,
  type Query,
  RESTART_PATIENCE_MS,
} from './postgres.ts';
import { AGENDA_SQL, NO_LIMIT, occurrenceRow, occurrenceValues } from './rows.ts';

const MANNERS = { connections: 2, connectMs: 5_000, lockMs: 5_000, answerMs: 10_000 };

/** Rejects with a StoreError when the database can not be opened. */
export async function openPostgresAgenda(access: PostgresAccess): Promise<AgendaStore> {
  return new PostgresAgenda(await openPostgres(access, MANNERS));
}

class PostgresAgenda implements AgendaStore {
  private readonly database: PostgresDatabase;

  constructor(database: PostgresDatabase) {
    this.database = database;
  }

  async engage(
    account: string,
    epoch: number,
    slots: readonly string[],
    at: number,
  ): Promise<ReadonlyMap<string, number>> {
    const wanted = [...new Set(slots)];
    const work = async (query: Query) => {
      const { rows } = await query(AGENDA_SQL.slots, [account]);
      const known = new Map(rows.map((row) => [String(row.slot), Number(row.known_since)]));
      for (const slot of known.keys()) if (!slots.includes(slot)) await query(AGENDA_SQL.forgetSlot, [account, slot]);
      for (const slot of wanted) if (!known.has(slot)) await query(AGENDA_SQL.learnSlot, [account, slot, at]);
      return new Map(slots.map((slot) => [slot, known.get(slot) ?? at]));
    };
    // Engaged a second time the slots are as they are wanted, so a commit that was lost sight of is simply repeated.
    return this.under(account, epoch, work, async () => false);
  }

  async marks(account: string, slots: readonly string[]): Promise<AgendaMarks> {
    const { rows: ends } = await this.database.query(
      'SELECT slot, max(nominal) AS last FROM occurrence WHERE account = ? AND slot = ANY(?::text[]) GROUP BY slot',
      [account, slots],
    );
    const { rows: waiting } = await this.database.query(AGENDA_SQL.waiting, [account]);
    return {
      through: new Map(ends.map((row) => [String(row.slot), Number(row.last)])),
      waiting: waiting.map((row) => ({ slot: String(row.slot), nominalMs: Number(row.nominal) })),
    };
  }

  async record(account: string, epoch: number, rows: readonly OccurrenceRow[]): Promise<void> {
    const work = async (query: Query) => {
      for (const row of rows) {
        const { changes } = await query(AGENDA_SQL.record, occurrenceValues(account, row));
        if (changes !== 1) throw decidedAlready(row);
      }
    };
    await this.under(account, epoch, work, (query) => areThere(query, account, rows));
  }

  async promised(account: string): Promise<readonly OccurrenceRow[]> {
    return (await this.database.query(AGENDA_SQL.promised, [account])).rows.map(occurrenceRow);
  }

  async settle(account: string, run: string, began: 'begun' | 'lost'): Promise<void> {
    await this.database.query(AGENDA_SQL.settle, [began, run, account]);
  }

  async occurrences(
    account: string,
    { slot, limit = NO_LIMIT }: { slot?: string; limit?: number } = {},
  ): Promise<readonly OccurrenceRow[]> {
    const { rows } =
      slot === undefined
        ? await this.database.query(AGENDA_SQL.newest, [account, limit])
        : await this.database.query(AGENDA_SQL.newestOfSlot, [account, slot, limit]);
    return rows.map(occurrenceRow);
  }

  async prune(account: string, beforeMs: number): Promise<number> {
    return (await this.database.query(AGENDA_SQL.prune, [account, account, beforeMs, PRUNED_AT_ONCE])).changes;
  }

  async post(request: HandoverRequest): Promise<void> {
    await this.database.query(AGENDA_SQL.post, [request.run, request.account, JSON.stringify(request)]);
  }

  async posted(account: string): Promise<readonly HandoverRequest[]> {
    const { rows } = await this.database.query(AGENDA_SQL.posted, [account]);
    return rows.map((row) => JSON.parse(String(row.request)) as HandoverRequest);
  }

  async answer(run: string, answer: HandoverAnswer): Promise<boolean> {
    return (await this.database.query(AGENDA_SQL.answer, [JSON.stringify(answer), run])).changes === 1;
  }

  async handover(run: string): Promise<HandoverAnswer | { readonly state: 'posted' } | undefined> {
    const [row] = (await this.database.query(AGENDA_SQL.handover, [run])).rows;
    if (row === undefined) return undefined;
    return row.answer === null ? { state: 'posted' } : (JSON.parse(String(row.answer)) as HandoverAnswer);
  }

  close(): Promise<void> {
    return this.database.close();
  }

  /** Runs `work` in a transaction that no process of an older epoch can have after it. */
  private under<T>(
    account: string,
    epoch: number,
    work: (query: Query) => Promise<T>,
    kept: (query: Query) => Promise<boolean>,
  ): Promise<T> {
    return this.database.transaction(
      `agenda ${account}`,
      async (query) => {
        const newest = Number((await query(AGENDA_SQL.epoch, [account])).rows[0]?.epoch ?? 0);
        if (epoch < newest) throw outdated(account, epoch, newest);
        if (epoch > newest) await query(AGENDA_SQL.newerEpoch, [account, epoch]);
        return work(query);
      },
      { patienceMs: RESTART_PATIENCE_MS, kept },
    );
  }
}

/** Whether the decisions are recorded as this process made them. */
async function areThere(query: Query, account: string, rows: readonly OccurrenceRow[]): Promise<boolean> {
  const { rows: found } = await query(AGENDA_SQL.newest, [account, NO_LIMIT]);
  const recorded = new Set(found.map((row) => JSON.stringify(occurrenceValues(account, occurrenceRow(row)))));
  return rows.every((row) => recorded.has(JSON.stringify(occurrenceValues(account, row))));
}

/**
 * Keeps a scheduler's decisions in PostgreSQL, beside the journal, so that a machine that takes over an account finds the
 * decisions of the one before. They are written under the lock of their account, where a newer epoch is detected too.
 */

import { appendActIn } from '../account/postgres.ts';
import {
  openPostgres,
  type PostgresAccess,
  type PostgresDatabase,
  type Query,
  RESTART_PATIENCE_MS,
  statementsOf,
} from '../sql/postgres.ts';
import type { SqlRow } from '../sql/values.ts';
import { buildRecordSql, compareSlots, readOccurrence, readWaiting, SCHEDULE_SQL, toOccurrenceValues } from './rows.ts';
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

/** Asks slot by slot: with one grouped query the server would read a year of verdicts for the last one of each. */
const LAST_OF_SLOTS = `SELECT wanted.slot, (SELECT max(nominal) FROM occurrence
    WHERE occurrence.account = ? AND occurrence.slot = wanted.slot) AS last
  FROM unnest(?::text[]) AS wanted(slot)`;
/** Records thousands of decisions in one statement and one round trip. */
const RECORD = `${buildRecordSql(
  'SELECT ?, * FROM unnest(?::text[], ?::bigint[], ?::text[], ?::text[], ?::text[], ?::bigint[], ?::text[])',
)} RETURNING slot, nominal`;

const TIMEOUTS = { connections: 2, connectMs: 5_000, lockMs: 5_000, answerMs: 10_000 };

/** Rejects with a StoreError when the database cannot be opened. */
export async function openPostgresScheduleStore(access: PostgresAccess): Promise<ScheduleStore> {
  return new PostgresScheduleStore(await openPostgres(access, TIMEOUTS));
}

class PostgresScheduleStore extends SqlScheduleStore implements ScheduleStore {
  private readonly database: PostgresDatabase;

  constructor(database: PostgresDatabase) {
    super(statementsOf(database), "(request::json ->> 'at')::bigint");
    this.database = database;
  }

  async engage(
    account: string,
    epoch: number,
    slots: readonly string[],
    at: number,
  ): Promise<ReadonlyMap<string, number>> {
    const work = async (query: Query) => {
      const { forgotten, learnt, since } = compareSlots((await query(SCHEDULE_SQL.slots, [account])).rows, slots, at);
      for (const slot of forgotten) await query(SCHEDULE_SQL.forgetSlot, [account, slot]);
      for (const slot of learnt) await query(SCHEDULE_SQL.learnSlot, [account, slot, at]);
      return since;
    };
    // Setting the slots twice gives the same result, so a commit whose answer was lost is simply repeated.
    return this.transactUnderEpoch(account, epoch, work, async () => false);
  }

  async marks(account: string, slots: readonly string[]): Promise<ScheduleMarks> {
    const { rows: ends } = await this.database.query(LAST_OF_SLOTS, [account, slots]);
    const { rows: waiting } = await this.database.query(SCHEDULE_SQL.waiting, [account]);
    return {
      through: new Map(
        ends.flatMap(({ slot, last }) => (last === null ? [] : [[String(slot), Number(last)] as const])),
      ),
      waiting: waiting.map(readWaiting),
    };
  }

  async record(account: string, epoch: number, rows: readonly OccurrenceRow[]): Promise<void> {
    const last = selectLastOfEach(rows);
    await this.transactUnderEpoch(
      account,
      epoch,
      async (query) => {
        await write(query, account, last);
        if (rows.length > 0) await appendActIn(query, account, makeDecidedAct(rows));
      },
      (query) => areStored(query, account, last),
    );
  }

  async settle(account: string, run: string, began: 'begun' | 'lost', at: number): Promise<void> {
    if (began === 'begun') return void (await this.database.query(SCHEDULE_SQL.settle, [began, run, account]));
    await this.database.transaction(`agenda ${account}`, async (query) => {
      const { rows } = await query(`${SCHEDULE_SQL.settle} RETURNING slot`, [began, run, account]);
      if (rows.length > 0) await appendActIn(query, account, makeLostAct(run, at));
    });
  }

  close(): Promise<void> {
    return this.database.close();
  }

  /** Runs `work` in a transaction after which processes of an older epoch are fenced. */
  private transactUnderEpoch<T>(
    account: string,
    epoch: number,
    work: (query: Query) => Promise<T>,
    kept: (query: Query) => Promise<boolean>,
  ): Promise<T> {
    return this.database.transaction(
      `agenda ${account}`,
      async (query) => {
        const newest = Number((await query(SCHEDULE_SQL.epoch, [account])).rows[0]?.epoch ?? 0);
        if (epoch < newest) throw buildFencedError(account, epoch, newest);
        if (epoch > newest) await query(SCHEDULE_SQL.newerEpoch, [account, epoch]);
        return work(query);
      },
      { patienceMs: RESTART_PATIENCE_MS, kept },
    );
  }
}

/** Selects the final row of each occurrence; one that waits may be decided within the same batch. */
function selectLastOfEach(rows: readonly OccurrenceRow[]): readonly OccurrenceRow[] {
  const last = new Map<string, OccurrenceRow>();
  for (const row of rows) {
    const before = last.get(toKey(row));
    if (before !== undefined && before.verdict !== 'waiting') throw buildDecidedError(row);
    last.set(toKey(row), row);
  }
  return [...last.values()];
}

async function write(query: Query, account: string, rows: readonly OccurrenceRow[]): Promise<void> {
  const columns = [1, 2, 3, 4, 5, 6, 7].map((column) =>
    rows.map((row) => toOccurrenceValues(account, row)[column] as string | number | null),
  );
  const written = new Set((await query(RECORD, [account, ...columns])).rows.map(readKey));
  const refused = rows.find((row) => !written.has(toKey(row)));
  if (refused !== undefined) throw buildDecidedError(refused);
}

/** True when the decisions are stored as this process made them. */
async function areStored(query: Query, account: string, rows: readonly OccurrenceRow[]): Promise<boolean> {
  const { rows: found } = await query(
    `SELECT occurrence.* FROM unnest(?::text[], ?::bigint[]) AS wanted(slot, nominal)
      JOIN occurrence ON occurrence.slot = wanted.slot AND occurrence.nominal = wanted.nominal WHERE account = ?`,
    [rows.map(({ slot }) => slot), rows.map(({ nominalMs }) => nominalMs), account],
  );
  const recorded = new Set(found.map((row) => JSON.stringify(toOccurrenceValues(account, readOccurrence(row)))));
  return rows.every((row) => recorded.has(JSON.stringify(toOccurrenceValues(account, row))));
}

function toKey({ slot, nominalMs }: OccurrenceRow): string {
  return `${nominalMs} ${slot}`;
}

function readKey({ slot, nominal }: SqlRow): string {
  return `${Number(nominal)} ${slot}`;
}

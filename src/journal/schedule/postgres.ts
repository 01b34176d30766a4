/**
 * Keeps a scheduler's decisions in PostgreSQL, beside the journal, so that a machine that takes over an account finds the
 * decisions of the one before. They are written under the lock of their account, where a newer epoch is detected too.
 */

import { appendAct } from '../account/postgres.ts';
import { openPostgres, type PostgresAccess, type PostgresDatabase, toSqlDatabase } from '../sql/postgres.ts';
import type { SqlRow } from '../sql/values.ts';
import { ask, type Work } from '../sql/work.ts';
import { buildRecordSql, readOccurrence, toOccurrenceValues } from './rows.ts';
import { SqlScheduleStore } from './sql-store.ts';
import { buildDecidedError, type OccurrenceRow, type ScheduleStore } from './store.ts';

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

class PostgresScheduleStore extends SqlScheduleStore {
  private readonly postgres: PostgresDatabase;

  constructor(database: PostgresDatabase) {
    super(toSqlDatabase(database), appendAct, "(request::json ->> 'at')::bigint");
    this.postgres = database;
  }

  protected override async findLast(account: string, slots: readonly string[]): Promise<readonly SqlRow[]> {
    const { rows } = await this.postgres.query(LAST_OF_SLOTS, [account, slots]);
    return rows.filter(({ last }) => last !== null);
  }

  protected override *write(account: string, rows: readonly OccurrenceRow[]): Work<void> {
    const last = selectLastOfEach(rows);
    const columns = [1, 2, 3, 4, 5, 6, 7].map((column) =>
      last.map((row) => toOccurrenceValues(account, row)[column] as string | number | null),
    );
    const written = new Set((yield* ask(RECORD, account, ...columns)).rows.map(readKey));
    const refused = last.find((row) => !written.has(toKey(row)));
    if (refused !== undefined) throw buildDecidedError(refused);
  }

  protected override *areStored(account: string, rows: readonly OccurrenceRow[]): Work<boolean> {
    const last = selectLastOfEach(rows);
    const { rows: found } = yield* ask(
      `SELECT occurrence.* FROM unnest(?::text[], ?::bigint[]) AS wanted(slot, nominal)
        JOIN occurrence ON occurrence.slot = wanted.slot AND occurrence.nominal = wanted.nominal WHERE account = ?`,
      last.map(({ slot }) => slot),
      last.map(({ nominalMs }) => nominalMs),
      account,
    );
    const recorded = new Set(found.map((row) => JSON.stringify(toOccurrenceValues(account, readOccurrence(row)))));
    return last.every((row) => recorded.has(JSON.stringify(toOccurrenceValues(account, row))));
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

function toKey({ slot, nominalMs }: OccurrenceRow): string {
  return `${nominalMs} ${slot}`;
}

function readKey({ slot, nominal }: SqlRow): string {
  return `${Number(nominal)} ${slot}`;
}

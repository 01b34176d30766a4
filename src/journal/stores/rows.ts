/**
 * Rows of the journal: columns, the statements that are the same in every database, and the functions that read a row.
 * Parameters are written `?`. Schemas, locks and clocks differ and stay with each store.
 */

import type { RunMode, RunOutcome } from '../entry.ts';
import { NO_LIMIT, type SqlRow, type SqlValue } from '../sql/values.ts';
import type { AccountRow, RunFilter, RunHead, RunRow, StoredEntry } from '../store.ts';
import { ANSWER } from './errors.ts';

const RUN_COLUMNS = 'run, runbook, mode, account, trigger, started_at, ended_at, outcome';
const RUN_COLUMNS_OF_RUNS = RUN_COLUMNS.split(', ')
  .map((column) => `runs.${column}`)
  .join(', ');

export const JOURNAL_SQL = {
  head: `SELECT (SELECT epoch FROM runs WHERE run = ?) AS epoch, (SELECT outcome FROM runs WHERE run = ?) AS outcome,
    (SELECT max(seq) FROM entries WHERE run = ?) AS last,
    (SELECT type FROM entries WHERE run = ? AND type <> '${ANSWER}' ORDER BY seq DESC LIMIT 1) AS last_type`,
  newerEpoch: 'UPDATE runs SET epoch = ? WHERE run = ?',
  writeRow: `INSERT INTO runs (${RUN_COLUMNS}, epoch) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (run) DO UPDATE SET runbook = excluded.runbook, mode = excluded.mode, account = excluded.account,
      trigger = excluded.trigger, started_at = excluded.started_at, ended_at = excluded.ended_at,
      outcome = excluded.outcome, epoch = excluded.epoch`,
  read: 'SELECT seq, at, type, step, line, hash FROM entries WHERE run = ? AND seq > ? ORDER BY seq LIMIT ?',
  last: 'SELECT seq, at, type, step, line, hash FROM entries WHERE run = ? ORDER BY seq DESC LIMIT 1',
  run: `SELECT ${RUN_COLUMNS} FROM runs WHERE run = ?`,
  // Of the ends a sum that stays exact: a run that goes on and ends again has another end.
  runsStamp: `SELECT count(*) AS runs, count(ended_at) AS ended, max(started_at) AS newest,
    sum(ended_at % 1000000007) AS ends FROM runs`,
  lastOfEnded: `SELECT entries.hash FROM runs JOIN entries ON entries.run = runs.run
    WHERE runs.run = ? AND runs.outcome IS NOT NULL ORDER BY entries.seq DESC LIMIT 1`,
  removeEntries: 'DELETE FROM entries WHERE run = ?',
  removeRun: 'DELETE FROM runs WHERE run = ?',
  heads: `SELECT ${RUN_COLUMNS_OF_RUNS}, head.seq, head.hash FROM runs JOIN entries AS head ON head.run = runs.run
    AND head.seq = (SELECT max(seq) FROM entries WHERE entries.run = runs.run)
    WHERE runs.account = ? ORDER BY runs.started_at, runs.run`,
  accountRows: 'SELECT name, text FROM account_row WHERE key = ? ORDER BY name',
  removeAccountRow: 'DELETE FROM account_row WHERE key = ? AND name = ?',
  putAccountRow: `INSERT INTO account_row (key, name, text) VALUES (?, ?, ?)
    ON CONFLICT (key, name) DO UPDATE SET text = excluded.text`,
} as const;

export function toRunValues(row: RunRow, epoch: number): readonly SqlValue[] {
  const { run, runbook, mode, account, trigger, startedAt, endedAt = null, outcome = null } = row;
  return [run, runbook, mode, account, trigger, startedAt, endedAt, outcome, epoch];
}

/** Reads the row of `JOURNAL_SQL.head`, which takes the run four times. */
export function readHead({ epoch, outcome, last, last_type: lastType }: SqlRow = {}) {
  return {
    epoch: epoch === null || epoch === undefined ? undefined : Number(epoch),
    last: Number(last ?? 0),
    ...(typeof lastType === 'string' ? { lastType } : {}),
    ...(typeof outcome === 'string' ? { outcome } : {}),
  };
}

/** Builds the statement that lists runs, newest first, with its values. */
export function buildRunsQuery(filter: RunFilter): { readonly sql: string; readonly values: readonly SqlValue[] } {
  const wanted = (['account', 'runbook', 'outcome'] as const).flatMap((column) => {
    const value = filter[column];
    return value === undefined ? [] : [{ condition: `${column} = ?`, value }];
  });
  const conditions = wanted.map(({ condition }) => condition);
  if (filter.unfinished === true) conditions.push('outcome IS NULL');
  const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;
  return {
    sql: `SELECT ${RUN_COLUMNS} FROM runs ${where} ORDER BY started_at DESC, run DESC LIMIT ?`,
    values: [...wanted.map(({ value }) => value), filter.limit ?? NO_LIMIT],
  };
}

export function readRunRow(row: SqlRow): RunRow {
  return {
    run: String(row.run),
    runbook: String(row.runbook),
    mode: row.mode as RunMode,
    account: String(row.account),
    trigger: String(row.trigger),
    startedAt: Number(row.started_at),
    ...(row.ended_at === null ? {} : { endedAt: Number(row.ended_at) }),
    ...(row.outcome === null ? {} : { outcome: row.outcome as RunOutcome }),
  };
}

export function readRunHead(row: SqlRow): RunHead {
  return { ...readRunRow(row), seq: Number(row.seq), hash: String(row.hash) };
}

export function readAccountRow({ name, text }: SqlRow): AccountRow {
  return { name: String(name), text: String(text) };
}

/** Reads a row of `JOURNAL_SQL.read`; the columns keep their order. */
export function readStoredEntry(run: string, [seq, at, type, step, line, hash]: readonly SqlValue[]): StoredEntry {
  return { run, seq: Number(seq), at: Number(at), type, step, line, hash } as StoredEntry;
}

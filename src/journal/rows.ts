/**
 * What the databases have in common: the columns of the stores' tables, the statements that are the same in all of them, and
 * how a row reads. Parameters are written `?`. Schemas, locks and clocks differ, and are each store's own business.
 */

import type { RunMode, RunOutcome } from './entry.ts';
import type { HandoverAnswer, HandoverRequest, OccurrenceRow, Verdict } from './schedule/store.ts';
import type { LeaseRow } from './shared/lease.ts';
import type { KillEvent, PostedMessage, RunCommand } from './shared/shared.ts';
import type { RunFilter, RunRow, StoredEntry } from './store.ts';

export type SqlValue = null | number | bigint | string | Uint8Array;
export type SqlRow = { readonly [column: string]: SqlValue };

/** In the place of a limit where there is none: a negative one means that to one database alone. */
export const NO_LIMIT = Number.MAX_SAFE_INTEGER;

// The journal.

const RUN_COLUMNS = 'run, runbook, mode, account, trigger, started_at, ended_at, outcome';

export const JOURNAL_SQL = {
  head: 'SELECT (SELECT epoch FROM runs WHERE run = ?) AS epoch, (SELECT max(seq) FROM entries WHERE run = ?) AS last',
  newerEpoch: 'UPDATE runs SET epoch = ? WHERE run = ?',
  writeRow: `INSERT INTO runs (${RUN_COLUMNS}, epoch) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (run) DO UPDATE SET runbook = excluded.runbook, mode = excluded.mode, account = excluded.account,
      trigger = excluded.trigger, started_at = excluded.started_at, ended_at = excluded.ended_at,
      outcome = excluded.outcome, epoch = excluded.epoch`,
  read: 'SELECT seq, at, type, step, line, hash FROM entries WHERE run = ? AND seq > ? ORDER BY seq LIMIT ?',
  run: `SELECT ${RUN_COLUMNS} FROM runs WHERE run = ?`,
  lastOfEnded: `SELECT entries.hash FROM runs JOIN entries ON entries.run = runs.run
    WHERE runs.run = ? AND runs.outcome IS NOT NULL ORDER BY entries.seq DESC LIMIT 1`,
  removeEntries: 'DELETE FROM entries WHERE run = ?',
  removeRun: 'DELETE FROM runs WHERE run = ?',
} as const;

export function runValues(row: RunRow, epoch: number): readonly SqlValue[] {
  const { run, runbook, mode, account, trigger, startedAt, endedAt = null, outcome = null } = row;
  return [run, runbook, mode, account, trigger, startedAt, endedAt, outcome, epoch];
}

/** The statement for a list of runs, newest first, with its values. */
export function runsQuery(filter: RunFilter): { readonly sql: string; readonly values: readonly SqlValue[] } {
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

export function runRow(row: SqlRow): RunRow {
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

/** The columns of `JOURNAL_SQL.read`, in their order. */
export function storedEntry(run: string, [seq, at, type, step, line, hash]: readonly SqlValue[]): StoredEntry {
  return { run, seq: Number(seq), at: Number(at), type, step, line, hash } as StoredEntry;
}

// What processes share.

export const SHARED_SQL = {
  lease: 'SELECT epoch, held_by, process, clock, until_ms FROM lease WHERE account = ?',
  takeLease: `INSERT INTO lease (account, epoch, held_by, process, clock, until_ms) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT (account) DO UPDATE SET epoch = excluded.epoch, held_by = excluded.held_by, process = excluded.process,
      clock = excluded.clock, until_ms = excluded.until_ms`,
  adoptLease: 'UPDATE lease SET clock = ?, until_ms = ? WHERE account = ?',
  releaseLease: 'UPDATE lease SET held_by = NULL WHERE account = ? AND epoch = ?',
  killEvents: 'SELECT action, scope, by_name, reason, at FROM kill_event ORDER BY sequence',
  addKillEvent: 'INSERT INTO kill_event (action, scope, by_name, reason, at) VALUES (?, ?, ?, ?, ?)',
  post: 'INSERT INTO message (run, command, by_name, at, step, reason) VALUES (?, ?, ?, ?, ?, ?) RETURNING sequence',
  pending:
    'SELECT sequence, run, command, by_name, at, step, reason FROM message WHERE run = ? AND read = 0 ORDER BY sequence',
  acknowledge: 'UPDATE message SET read = 1 WHERE run = ? AND sequence <= ? AND read = 0',
} as const;

export function leaseRow(row: SqlRow): LeaseRow {
  return {
    epoch: Number(row.epoch),
    heldBy: row.held_by === null ? undefined : String(row.held_by),
    process: String(row.process),
    clockId: String(row.clock),
    untilMs: Number(row.until_ms),
  };
}

export function killEvent(row: SqlRow): KillEvent {
  return {
    action: row.action === 'release' ? 'release' : 'engage',
    scope: String(row.scope),
    by: String(row.by_name),
    reason: String(row.reason),
    at: Number(row.at),
  };
}

export function postedMessage(row: SqlRow): PostedMessage {
  return {
    sequence: Number(row.sequence),
    run: String(row.run),
    command: String(row.command) as RunCommand,
    by: String(row.by_name),
    at: Number(row.at),
    ...(row.step === null ? {} : { step: String(row.step) }),
    ...(row.reason === null ? {} : { reason: String(row.reason) }),
  };
}

// A scheduler's memory.

const OCCURRENCE_COLUMNS = 'slot, nominal, verdict, why, run, decided_at, began';

export const AGENDA_SQL = {
  epoch: 'SELECT epoch FROM agenda_epoch WHERE account = ?',
  newerEpoch: `INSERT INTO agenda_epoch (account, epoch) VALUES (?, ?)
    ON CONFLICT (account) DO UPDATE SET epoch = excluded.epoch`,
  slots: 'SELECT slot, known_since FROM agenda_slot WHERE account = ?',
  forgetSlot: 'DELETE FROM agenda_slot WHERE account = ? AND slot = ?',
  learnSlot: 'INSERT INTO agenda_slot (account, slot, known_since) VALUES (?, ?, ?)',
  last: 'SELECT max(nominal) AS last FROM occurrence WHERE account = ? AND slot = ?',
  waiting: "SELECT slot, nominal FROM occurrence WHERE account = ? AND verdict = 'waiting' ORDER BY nominal, slot",
  record: recordSql('VALUES (?, ?, ?, ?, ?, ?, ?, ?)'),
  promised: `SELECT ${OCCURRENCE_COLUMNS} FROM occurrence
    WHERE account = ? AND verdict = 'started' AND began IS NULL ORDER BY nominal, slot`,
  settle: 'UPDATE occurrence SET began = ? WHERE run = ? AND account = ?',
  newest: `SELECT ${OCCURRENCE_COLUMNS} FROM occurrence WHERE account = ? ORDER BY nominal DESC, slot DESC LIMIT ?`,
  newestOfSlot: `SELECT ${OCCURRENCE_COLUMNS} FROM occurrence
    WHERE account = ? AND slot = ? ORDER BY nominal DESC, slot DESC LIMIT ?`,
  prune: `DELETE FROM occurrence WHERE account = ? AND (slot, nominal) IN (
    SELECT slot, nominal FROM occurrence AS old WHERE account = ? AND nominal < ?
      AND verdict <> 'waiting' AND (verdict <> 'started' OR began IS NOT NULL)
      AND EXISTS (SELECT 1 FROM occurrence AS later
        WHERE later.account = old.account AND later.slot = old.slot AND later.nominal > old.nominal)
      ORDER BY nominal LIMIT ?)`,
  post: 'INSERT INTO handover (run, account, request) VALUES (?, ?, ?)',
  posted: 'SELECT request FROM handover WHERE account = ? AND answer IS NULL ORDER BY sequence',
  answer: 'UPDATE handover SET answer = ? WHERE run = ? AND answer IS NOT DISTINCT FROM ?',
  taken: 'SELECT run FROM handover WHERE account = ? AND answer = ? ORDER BY sequence',
  handover: 'SELECT answer FROM handover WHERE run = ?',
} as const;

/** Changes no row where the occurrence has its verdict already. */
export function recordSql(values: string): string {
  return `INSERT INTO occurrence (account, ${OCCURRENCE_COLUMNS}) ${values}
    ON CONFLICT (account, slot, nominal) DO UPDATE SET verdict = excluded.verdict, why = excluded.why, run = excluded.run,
      decided_at = excluded.decided_at, began = excluded.began WHERE occurrence.verdict = 'waiting'`;
}

/** `postedAt`: how a request's time is read out of its text. */
export function pruneHandoversSql(postedAt: string): string {
  return `DELETE FROM handover WHERE account = ? AND sequence IN (
    SELECT sequence FROM handover WHERE account = ? AND answer IS NOT NULL AND answer <> ? AND ${postedAt} < ?
      ORDER BY sequence LIMIT ?)`;
}

/** How a request stands that was taken and nothing more is known of. */
export const TAKEN = answerText({ state: 'taken' });

export function answerText(answer: HandoverAnswer): string {
  return JSON.stringify(answer);
}

/** The values of `AGENDA_SQL.answer`. */
export function answerValues(run: string, answer: HandoverAnswer, standing: 'posted' | 'taken'): readonly SqlValue[] {
  return [answerText(answer), run, standing === 'posted' ? null : TAKEN];
}

/** A row of `AGENDA_SQL.posted`. */
export function handoverRequest(row: SqlRow): HandoverRequest {
  return JSON.parse(String(row.request)) as HandoverRequest;
}

/** The row of `AGENDA_SQL.handover`, if there is one. */
export function handoverState(row: SqlRow | undefined): HandoverAnswer | { readonly state: 'posted' } | undefined {
  if (row === undefined) return undefined;
  return row.answer === null ? { state: 'posted' } : (JSON.parse(String(row.answer)) as HandoverAnswer);
}

/** A row of `AGENDA_SQL.waiting`. */
export function waitingRow(row: SqlRow): { readonly slot: string; readonly nominalMs: number } {
  return { slot: String(row.slot), nominalMs: Number(row.nominal) };
}

/** Rows of `AGENDA_SQL.slots` compared with the slots that are to be in force: what is to be forgotten, learnt, and given. */
export function slotChanges(rows: readonly SqlRow[], slots: readonly string[], at: number) {
  const known = new Map(rows.map((row) => [String(row.slot), Number(row.known_since)]));
  return {
    forgotten: [...known.keys()].filter((slot) => !slots.includes(slot)),
    learnt: [...new Set(slots)].filter((slot) => !known.has(slot)),
    since: new Map(slots.map((slot) => [slot, known.get(slot) ?? at])),
  };
}

export function occurrenceValues(account: string, row: OccurrenceRow): readonly SqlValue[] {
  const { slot, nominalMs, verdict, why = null, run = null, decidedAt, began = null } = row;
  return [account, slot, nominalMs, verdict, why, run, decidedAt, began];
}

export function occurrenceRow(row: SqlRow): OccurrenceRow {
  return {
    slot: String(row.slot),
    nominalMs: Number(row.nominal),
    verdict: row.verdict as Verdict,
    decidedAt: Number(row.decided_at),
    ...(row.why === null ? {} : { why: String(row.why) }),
    ...(row.run === null ? {} : { run: String(row.run) }),
    ...(row.began === null ? {} : { began: row.began as 'begun' | 'lost' }),
  };
}

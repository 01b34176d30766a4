/**
 * Rows of the schedule store: columns, the statements that are the same in every database, and the functions that read a row.
 * Parameters are written `?`. Schemas, locks and clocks differ and stay with each store.
 */

import type { SqlRow, SqlValue } from '../sql/values.ts';
import type { OccurrenceRow, Verdict } from './store.ts';

const OCCURRENCE_COLUMNS = 'slot, nominal, verdict, why, run, decided_at, began';

export const SCHEDULE_SQL = {
  epoch: 'SELECT epoch FROM agenda_epoch WHERE account = ?',
  newerEpoch: `INSERT INTO agenda_epoch (account, epoch) VALUES (?, ?)
    ON CONFLICT (account) DO UPDATE SET epoch = excluded.epoch`,
  decidedAccounts: 'SELECT DISTINCT account FROM occurrence ORDER BY account',
  slots: 'SELECT slot, known_since FROM agenda_slot WHERE account = ?',
  forgetSlot: 'DELETE FROM agenda_slot WHERE account = ? AND slot = ?',
  learnSlot: 'INSERT INTO agenda_slot (account, slot, known_since) VALUES (?, ?, ?)',
  last: 'SELECT max(nominal) AS last FROM occurrence WHERE account = ? AND slot = ?',
  waiting: "SELECT slot, nominal FROM occurrence WHERE account = ? AND verdict = 'waiting' ORDER BY nominal, slot",
  record: buildRecordSql('VALUES (?, ?, ?, ?, ?, ?, ?, ?)'),
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
  submission: 'SELECT answer FROM handover WHERE run = ?',
} as const;

/** Builds the statement that records a verdict; it changes no row when the occurrence already has one. */
export function buildRecordSql(values: string): string {
  return `INSERT INTO occurrence (account, ${OCCURRENCE_COLUMNS}) ${values}
    ON CONFLICT (account, slot, nominal) DO UPDATE SET verdict = excluded.verdict, why = excluded.why, run = excluded.run,
      decided_at = excluded.decided_at, began = excluded.began WHERE occurrence.verdict = 'waiting'`;
}

/** Compares rows of `SCHEDULE_SQL.slots` with the slots that are to be in force: slots to forget, slots to add, and since when. */
export function compareSlots(rows: readonly SqlRow[], slots: readonly string[], at: number) {
  const known = new Map(rows.map((row) => [String(row.slot), Number(row.known_since)]));
  return {
    forgotten: [...known.keys()].filter((slot) => !slots.includes(slot)),
    learnt: [...new Set(slots)].filter((slot) => !known.has(slot)),
    since: new Map(slots.map((slot) => [slot, known.get(slot) ?? at])),
  };
}

export function toOccurrenceValues(account: string, row: OccurrenceRow): readonly SqlValue[] {
  const { slot, nominalMs, verdict, why = null, run = null, decidedAt, began = null } = row;
  return [account, slot, nominalMs, verdict, why, run, decidedAt, began];
}

export function readOccurrence(row: SqlRow): OccurrenceRow {
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

/** Rows of the account's journal, the same in every database. Parameters are written `?`. */
import type { SqlRow, SqlValue } from '../sql/values.ts';
import type { PostedAct, StoredEntry } from '../store.ts';
import { type Act, type ActType, readAct, sealAct, toStoredAct } from './acts.ts';

export const ACT_SQL = {
  /** The last act up to a number. */
  last: 'SELECT seq, line, hash FROM account_act WHERE account = ? AND seq <= ? ORDER BY seq DESC LIMIT 1',
  all: 'SELECT seq, line, hash FROM account_act WHERE account = ? ORDER BY seq',
  ofType: 'SELECT seq, line, hash FROM account_act WHERE account = ? AND type = ? ORDER BY seq',
  add: 'INSERT INTO account_act (account, seq, type, line, hash) VALUES (?, ?, ?, ?, ?)',
  accounts: 'SELECT DISTINCT account FROM account_act ORDER BY account',
} as const;

export function readActRow({ seq, line, hash }: SqlRow): StoredEntry {
  return toStoredAct({ seq: Number(seq), line: String(line), hash: String(hash) });
}

/** Seals the act behind the row that is the account's last one, and gives the values of `ACT_SQL.add`. */
export function sealRow(account: string, act: PostedAct, last: SqlRow | undefined, place: string): readonly SqlValue[] {
  const { seq, type, line, hash } = sealAct(account, act, last && readActRow(last), place);
  return [account, seq, type, line, hash];
}

/** Merges the rows of several types, oldest first. */
export function readActs<T extends ActType>(rows: readonly SqlRow[]): readonly Extract<Act, { type: T }>[] {
  return rows.map((row) => readAct(readActRow(row)) as Extract<Act, { type: T }>).sort((a, b) => a.seq - b.seq);
}

/** Rows of the account's journal, the same in every database. Parameters are written `?`. */
import type { SqlRow } from '../sql/values.ts';
import type { StoredAct } from './acts.ts';

export const ACT_SQL = {
  last: 'SELECT seq, line, hash FROM account_act WHERE account = ? ORDER BY seq DESC LIMIT 1',
  all: 'SELECT seq, line, hash FROM account_act WHERE account = ? ORDER BY seq',
  add: 'INSERT INTO account_act (account, seq, line, hash) VALUES (?, ?, ?, ?)',
} as const;

/** `integer`: a type of 64 bits. */
export function buildActSchema(integer: string): readonly string[] {
  return [
    `CREATE TABLE IF NOT EXISTS account_act (
      account TEXT NOT NULL,
      seq ${integer} NOT NULL,
      line TEXT NOT NULL,
      hash TEXT NOT NULL,
      PRIMARY KEY (account, seq)
    )`,
  ];
}

export function readStoredAct(account: string, { seq, line, hash }: SqlRow): StoredAct {
  return { account, seq: Number(seq), line: String(line), hash: String(hash) };
}

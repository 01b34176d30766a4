/** Defines the table of the journals of accounts, the same in every database. */

/** Keeps aside a table that an unreleased build made without the column `type`: its lines have another form. */
export const SET_ASIDE_ACTS = 'ALTER TABLE account_act RENAME TO account_act_before';

/** `integer`: a type of 64 bits. */
export function buildActSchema(integer: string): readonly string[] {
  return [
    `CREATE TABLE IF NOT EXISTS account_act (
      account TEXT NOT NULL,
      seq ${integer} NOT NULL,
      type TEXT NOT NULL,
      line TEXT NOT NULL,
      hash TEXT NOT NULL,
      PRIMARY KEY (account, seq)
    )`,
    'CREATE INDEX IF NOT EXISTS account_act_by_type ON account_act (account, type, seq)',
  ];
}

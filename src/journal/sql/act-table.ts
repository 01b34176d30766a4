/** Defines the table of the journals of accounts, the same in every database. */

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

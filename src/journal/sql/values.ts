/** Types of the values and rows that every database driver gives. */

export type SqlValue = null | number | bigint | string | Uint8Array;
export type SqlRow = { readonly [column: string]: SqlValue };

/** Runs one statement outside of a transaction, parameters written `?`, in any database. Rejects with a StoreError. */
export interface Statements {
  rows(sql: string, ...values: readonly SqlValue[]): Promise<readonly SqlRow[]>;
  /** The number of rows that it changed. */
  change(sql: string, ...values: readonly SqlValue[]): Promise<number>;
}

/** Limit for queries without one; a negative limit means "no limit" to SQLite only. */
export const NO_LIMIT = Number.MAX_SAFE_INTEGER;

/** Types of the values and rows that every database driver gives. */

export type SqlValue = null | number | bigint | string | Uint8Array;
export type SqlRow = { readonly [column: string]: SqlValue };

/** Limit for queries without one; a negative limit means "no limit" to SQLite only. */
export const NO_LIMIT = Number.MAX_SAFE_INTEGER;

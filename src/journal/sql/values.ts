/** Values and rows as every database driver gives them. */

export type SqlValue = null | number | bigint | string | Uint8Array;
export type SqlRow = { readonly [column: string]: SqlValue };

/** Used as a limit where there is none: a negative limit means "no limit" to one database only. */
export const NO_LIMIT = Number.MAX_SAFE_INTEGER;

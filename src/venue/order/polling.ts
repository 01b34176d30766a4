/** How often an order is read while something about it is awaited, and for how long. The engine polls by it, and a plan counts by it. */

/** The first reading after an order was placed or amended, ms; the venue answers `processing` and decides a moment later. */
export const FIRST_POLL_MS = 500;
/** Every further reading, ms: with GET /orders at 10 tokens that is 300 of 1200 tokens a minute. */
export const POLL_MS = 2000;
/** After this long without the expected state an order is cancelled, or a person has to look, ms (fault-matrix.md, row 29). */
export const CONFIRM_WITHIN_MS = 60_000;
/** How long the terms of an amended order may stay unknown before a person has to look, ms. */
export const AMEND_WITHIN_MS = 240_000;
/** Pauses before a read or an idempotent request is repeated, ms. */
export const REPEAT_DELAYS_MS = [250, 500, 1000, 2000, 4000] as const;

/** Readings after which `cancel_all` gives up. */
export const SWEEP_READINGS = 8;

/** The most readings of an order in a time, ms; the clock of the readings starts with the first. */
export function countPolls(withinMs: number): number {
  return withinMs < FIRST_POLL_MS ? 0 : Math.floor((withinMs - FIRST_POLL_MS) / POLL_MS) + 2;
}

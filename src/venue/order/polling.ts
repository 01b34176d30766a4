/** The pauses between readings of an awaited order, and the most requests about one: the engine polls by them, a plan counts by them. */

import { TIMINGS } from './context.ts';

/** The first reading after an order was placed or amended, ms; the venue answers `processing` and decides a moment later. */
export const FIRST_POLL_MS = 500;
/** Every further reading, ms: with GET /orders at 10 tokens that is 300 of 1200 tokens a minute. */
export const POLL_MS = 2000;
/** After this long without the expected state an order is cancelled, or a person has to look, ms (fault-matrix.md, row 29). */
export const CONFIRM_WITHIN_MS = 60_000;
/** How long the terms of an amended order may stay unknown before a person has to look, ms. */
export const AMEND_WITHIN_MS = 240_000;
/** How long a second look at an order is awaited that was shown as cancelled soon after an amend, ms: two readings more than it needs. */
export const SECOND_LOOK_WITHIN_MS = TIMINGS.phantomMs + 2 * POLL_MS;
/** Pauses before a read or an idempotent request is repeated, ms. */
export const REPEAT_DELAYS_MS = [250, 500, 1000, 2000, 4000] as const;

/** Pauses after the first readings of an order whose fills and record do not agree, ms; then every five seconds. */
export const COMPLETION_PAUSES_MS = [1000, 2000, 4000] as const;
export const COMPLETION_EVERY_MS = 5000;
/** This many orders of a market are read in one page instead of one by one. */
export const COMPLETED_TOGETHER = 3;
/** How long a cancel waits for the order's end before it is asked again, ms. */
export const CANCEL_WITHIN_MS = 30_000;

/** Readings after which `cancel_all` gives up. */
export const SWEEP_READINGS = 8;
/** Orders that `cancel_all` cancels one by one after a reading, where it left them. */
export const SWEEP_CANCELS = 20;

/** How often an idempotent request is sent at most while it gets no answer. */
export const SENDS_UNANSWERED = REPEAT_DELAYS_MS.length;
/** Second POSTs of an order that may be sent again, each only after proven absence. */
export const RESENDS = 2;
/** POSTs of one order: the first, one after a refused session, and where it may be sent again those after proven absence. */
export function countPosts(mayResend: boolean): number {
  return 2 + (mayResend ? RESENDS : 0);
}
/** Cancels that one act sends at most for an order: each try is repeated while no answer comes. */
export const CANCEL_SENDS = TIMINGS.cancelTries * (REPEAT_DELAYS_MS.length + 1);
/** Acts that may cancel an order without a step that says so: unconfirmed in its step, undone, left at the end of the run. */
export const CANCEL_ACTS = 3;

/** Look-ups of an order whose fate is unknown, ms after the doubt began; then every five seconds (orders.md, Unknown outcomes 5). */
export const LOOKUPS_MS = [500, 1000, 2000, 4000, 8000] as const;
export const LOOKUP_EVERY_MS = 5000;
/** After this many absence horizons without an answer a person has to look. */
export const LOOKUP_PATIENCE = 10;

/** Pages of the market that are asked for at most, to confirm that an order is absent. */
export const MARKET_PROOFS = 5;

/** The most look-ups after one POST, where "not found" proves an absence after `horizonMs` (profile: ambiguity.window). */
export function countLookups(horizonMs: number): number {
  return LOOKUPS_MS.length + 1 + Math.ceil((LOOKUP_PATIENCE * horizonMs) / LOOKUP_EVERY_MS);
}

/** The most readings of an order whose fills lag behind its record, where they are read for `windowMs` (profile: fills.window). */
export function countCompletions(windowMs: number): number {
  const pauses: readonly number[] = COMPLETION_PAUSES_MS;
  let reads = 1;
  for (let at = 0; at < windowMs; reads += 1) at += pauses[reads - 1] ?? COMPLETION_EVERY_MS;
  // One more where the first reading shows that the other kind is missing.
  return reads + 1;
}

/** The most readings of an order in a time, ms; the clock of the readings starts with the first. */
export function countPolls(withinMs: number): number {
  return withinMs < FIRST_POLL_MS ? 0 : Math.floor((withinMs - FIRST_POLL_MS) / POLL_MS) + 2;
}

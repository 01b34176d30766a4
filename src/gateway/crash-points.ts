/**
 * Names the points of a call at which a process can die. reliability.md, Crash points, says of each what is on the disk then, what
 * the venue may have, and what `resume` must do. The same twenty-four points apply to a placement, an amend, a cancel, the
 * deadman switch and the leverage. Simulations listen for the names and kill the process there; production does not use them.
 */
import type { TrackedOrder } from '../journal/orders.ts';
import { getAction } from '../venue/catalogue.ts';
import type { VenueCall } from '../venue/port.ts';

/** The process died … */
export const CRASH_POINTS = {
  CP0: 'before the intent is written',
  CP1: 'with the intent written and not synced',
  CP2: 'waiting for tokens, with the limits passed',
  CP3: 'with the attempt written and not synced',
  CP4: 'with the attempt durable, everything asked, before the request is handed to the transport',
  CP5: 'while connecting, with the tokens granted',
  CP6: 'behind the last gate, with the request partly written',
  CP7: 'with the request written',
  CP8: 'with the request carried out and the answer in flight',
  CP9: 'with the answer partly read',
  CP10: 'with the answer in memory',
  CP11: 'with the outcome written and not synced',
  CP12: 'with the outcome durable',
  CP13: 'while reading the state of the order',
  CP14: "with the order's record in memory",
  CP15: "with the step's end written and not synced",
  CP16: "with the step's end durable, before the next begins",
  CP17: 'while looking up an order whose state is unknown',
  CP18: 'with a second attempt of one intent durable',
  CP19: 'while cancelling a duplicate',
  CP20: 'with the kill switch engaged and cancel_all in flight',
  CP21: 'while an anchor is written',
  CP22: 'with a refreshed token half stored',
  CP23: 'at the last gate, directly before it reads the clocks',
} as const;

export type CrashPoint = keyof typeof CRASH_POINTS;

/** Listens for the points that a call reaches; a simulation ends the process there. Must not throw; it cannot delay a call. */
export interface CrashPoints {
  reached(point: CrashPoint, call: VenueCall): void;
}

/** Gives the crash point of a call: lookups, reads, second attempts and cancel_all have points of their own. */
export function toCrashPoint(point: CrashPoint, call: VenueCall, order: TrackedOrder | undefined): CrashPoint {
  if (point === 'CP10') return call.purpose === 'confirm' ? 'CP14' : point;
  if (point !== 'CP4') return point;
  if (call.purpose === 'lookup') return 'CP17';
  if (call.purpose === 'confirm') return 'CP13';
  const action = getAction(call.endpoint);
  if (action === 'cancel_all') return 'CP20';
  return action === 'place' && (order?.snapshot.context.attempt ?? 1) > 1 ? 'CP18' : point;
}

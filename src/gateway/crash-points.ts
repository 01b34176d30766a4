/**
 * Names the points of a call at which a process can die (reliability.md, Crash points), with what is on the disk then, what the
 * venue may have, and what `resume` must do. The same twenty-four points apply to a placement, an amend, a cancel, the
 * deadman switch and the leverage. Simulations listen for the names and kill the process there; production does not use them.
 */
import type { TrackedOrder } from '../journal/orders.ts';
import { getAction } from '../venue/catalogue.ts';
import type { VenueCall } from '../venue/port.ts';

interface CrashPointRow {
  /** The process died … */
  readonly dies: string;
  readonly durable: string;
  readonly venueMayHave: string;
  readonly recoveryMust: string;
  /**
   * The part that knows when the point is reached: the client, the transport, the store, or the engine by the entries it
   * writes. `elsewhere`: not a point of a call; it has tests of its own.
   */
  readonly toldBy: 'client' | 'transport' | 'store' | 'engine' | 'elsewhere';
}

const UNKNOWN = 'look it up until it is found or its absence is proven; never send it again without that proof';

export const CRASH_POINTS = {
  CP0: {
    dies: 'before the intent is written',
    durable: 'nothing of the call',
    venueMayHave: 'nothing',
    recoveryMust: 'continue after the step before; the same client order id is derived again',
    toldBy: 'client',
  },
  CP1: {
    dies: 'with the intent written and not synced',
    durable: 'perhaps the intent',
    venueMayHave: 'nothing',
    recoveryMust: 'do as after CP0, or as after CP2 when the intent was kept',
    toldBy: 'client',
  },
  CP2: {
    dies: 'waiting for tokens, with the limits passed',
    durable: 'perhaps the intent',
    venueMayHave: 'nothing',
    recoveryMust: 'check limits and budget again with current values, and send',
    toldBy: 'client',
  },
  CP3: {
    dies: 'with the attempt written and not synced',
    durable: 'perhaps the attempt',
    venueMayHave: 'nothing',
    recoveryMust: 'do as after CP4 when the attempt was kept, otherwise as after CP2',
    toldBy: 'client',
  },
  CP4: {
    dies: 'with the attempt durable, everything asked, before the request is handed to the transport',
    durable: 'the attempt',
    venueMayHave: 'nothing',
    recoveryMust: UNKNOWN,
    toldBy: 'client',
  },
  CP5: {
    dies: 'while connecting, with the tokens granted',
    durable: 'perhaps the intent; when the last gate held the request back, the attempt',
    venueMayHave: 'nothing',
    recoveryMust: 'do as after CP2, or as after CP4 when the attempt was kept',
    toldBy: 'client',
  },
  CP6: {
    dies: 'behind the last gate, with the request partly written',
    durable: 'the attempt',
    venueMayHave: 'nothing, or the request when the body was complete',
    recoveryMust: UNKNOWN,
    toldBy: 'transport',
  },
  CP7: {
    dies: 'with the request written',
    durable: 'the attempt',
    venueMayHave: 'the request, now or later, or nothing',
    recoveryMust: UNKNOWN,
    toldBy: 'transport',
  },
  CP8: {
    dies: 'with the request carried out and the answer in flight',
    durable: 'the attempt',
    venueMayHave: 'it',
    recoveryMust: 'find it by its client order id',
    toldBy: 'transport',
  },
  CP9: {
    dies: 'with the answer partly read',
    durable: 'the attempt',
    venueMayHave: 'it',
    recoveryMust: 'find it by its client order id',
    toldBy: 'transport',
  },
  CP10: {
    dies: 'with the answer in memory',
    durable: 'the attempt',
    venueMayHave: 'it',
    recoveryMust: 'find it by its client order id',
    toldBy: 'client',
  },
  CP11: {
    dies: 'with the outcome written and not synced',
    durable: 'the attempt, perhaps the outcome',
    venueMayHave: 'it',
    recoveryMust: 'do as after CP12 when the outcome was kept, otherwise as after CP7',
    toldBy: 'client',
  },
  CP12: {
    dies: 'with the outcome durable',
    durable: 'the outcome',
    venueMayHave: 'it',
    recoveryMust: 'poll by the order id until it has left `processing`; never send it again',
    toldBy: 'store',
  },
  CP13: {
    dies: 'while reading the state of the order',
    durable: 'the outcome',
    venueMayHave: 'the order, in any state',
    recoveryMust: 'poll by the order id; the deadman switch may have fired meanwhile',
    toldBy: 'client',
  },
  CP14: {
    dies: 'with the order’s record in memory',
    durable: 'the outcome',
    venueMayHave: 'it',
    recoveryMust: 'poll by the order id',
    toldBy: 'client',
  },
  CP15: {
    dies: 'with the step’s end written and not synced',
    durable: 'the outcome, perhaps the record',
    venueMayHave: 'it',
    recoveryMust: 'end the step from what is known, and read the order again when the record was lost',
    toldBy: 'engine',
  },
  CP16: {
    dies: 'with the step’s end durable, before the next begins',
    durable: 'the step’s end',
    venueMayHave: 'it',
    recoveryMust: 'continue; conditions of the next step see fresh data',
    toldBy: 'store',
  },
  CP17: {
    dies: 'while looking up an order whose state is unknown',
    durable: 'the attempt, perhaps lookups',
    venueMayHave: 'the order, or nothing',
    recoveryMust: 'look again; the window counts from no earlier than the last attempt',
    toldBy: 'client',
  },
  CP18: {
    dies: 'with a second attempt of one intent durable',
    durable: 'both attempts',
    venueMayHave: 'the order, or nothing; two orders when the window was too short',
    recoveryMust: 'start the window again from the second attempt',
    toldBy: 'client',
  },
  CP19: {
    dies: 'while cancelling a duplicate',
    durable: 'the alarm',
    venueMayHave: 'two orders, perhaps both filled',
    recoveryMust: 'leave both to a person: report the duplicate and halt its market, but never cancel it automatically',
    toldBy: 'elsewhere',
  },
  CP20: {
    dies: 'with the kill switch engaged and cancel_all in flight',
    durable: 'the kill order',
    venueMayHave: 'anything',
    recoveryMust: 'read the kill switch before any run continues',
    toldBy: 'client',
  },
  CP21: {
    dies: 'while an anchor is written',
    durable: 'the entries, perhaps the anchor',
    venueMayHave: 'anything',
    recoveryMust: 'do nothing: an anchor covers only entries that the store has',
    toldBy: 'elsewhere',
  },
  CP22: {
    dies: 'with a refreshed token half stored',
    durable: 'the old token’s file or the new one’s',
    venueMayHave: 'a spent refresh token',
    recoveryMust: 'use the file that is complete',
    toldBy: 'elsewhere',
  },
  CP23: {
    dies: 'at the last gate, directly before it reads the clocks',
    durable: 'the attempt',
    venueMayHave: 'nothing',
    recoveryMust: UNKNOWN,
    toldBy: 'client',
  },
} as const satisfies Record<string, CrashPointRow>;

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
  return action === 'place' && (order?.snapshot.context.intent.attempt ?? 1) > 1 ? 'CP18' : point;
}

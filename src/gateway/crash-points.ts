/**
 * The points of a call at which a process can die, by name (reliability.md, Crash points): what is on the disk then, what the
 * venue may have, and what whoever takes the run up must do. The same twenty-three for a placement, an amend, a cancel, the
 * deadman switch and the leverage. Nothing here acts: a simulation that wants a process to die somewhere listens for the
 * name; in production nobody does.
 */
import type { TrackedOrder } from '../journal/orders.ts';
import type { VenueCall } from '../venue/port.ts';

interface CrashPointRow {
  /** The process died … */
  readonly dies: string;
  readonly durable: string;
  readonly venueMayHave: string;
  readonly recoveryMust: string;
  /**
   * Who knows that it has been reached: the client; the road, which is whatever transport is used; the disk, which is
   * whatever store; the engine, by what it writes. `elsewhere`: no point of a call, covered by tests of its own.
   */
  readonly toldBy: 'client' | 'road' | 'disk' | 'engine' | 'elsewhere';
}

const UNKNOWN = 'look it up until it is found or its absence is proven; never send it again on faith';

export const CRASH_POINTS = {
  CP0: {
    dies: 'before the intent is written',
    durable: 'nothing of it',
    venueMayHave: 'nothing',
    recoveryMust: 'go on from the step before; the same client order id is derived again',
    toldBy: 'client',
  },
  CP1: {
    dies: 'with the intent written and not synced',
    durable: 'perhaps the intent',
    venueMayHave: 'nothing',
    recoveryMust: 'do as after CP0, or CP2 where the intent was kept',
    toldBy: 'client',
  },
  CP2: {
    dies: 'waiting for tokens, with the limits passed',
    durable: 'perhaps the intent',
    venueMayHave: 'nothing',
    recoveryMust: 'ask limits and budget again, with what is true then, and send',
    toldBy: 'client',
  },
  CP3: {
    dies: 'with the attempt written and not synced',
    durable: 'perhaps the attempt',
    venueMayHave: 'nothing',
    recoveryMust: 'do as after CP4 where the attempt was kept, else as after CP2',
    toldBy: 'client',
  },
  CP4: {
    dies: 'with the attempt durable, before the connection',
    durable: 'the attempt',
    venueMayHave: 'nothing',
    recoveryMust: UNKNOWN,
    toldBy: 'client',
  },
  CP5: {
    dies: 'while connecting',
    durable: 'the attempt',
    venueMayHave: 'nothing',
    recoveryMust: UNKNOWN,
    toldBy: 'road',
  },
  CP6: {
    dies: 'with the request partly written',
    durable: 'the attempt',
    venueMayHave: 'nothing, or it, where the body was whole',
    recoveryMust: UNKNOWN,
    toldBy: 'road',
  },
  CP7: {
    dies: 'with the request written',
    durable: 'the attempt',
    venueMayHave: 'it, now or later, or nothing',
    recoveryMust: UNKNOWN,
    toldBy: 'road',
  },
  CP8: {
    dies: 'with the request carried out and the answer on its way',
    durable: 'the attempt',
    venueMayHave: 'it',
    recoveryMust: 'find it by its client order id',
    toldBy: 'road',
  },
  CP9: {
    dies: 'with the answer partly read',
    durable: 'the attempt',
    venueMayHave: 'it',
    recoveryMust: 'find it by its client order id',
    toldBy: 'road',
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
    recoveryMust: 'do as after CP12 where the outcome was kept, else as after CP7',
    toldBy: 'client',
  },
  CP12: {
    dies: 'with the outcome durable',
    durable: 'the outcome',
    venueMayHave: 'it',
    recoveryMust: 'poll by the order id until it has left `processing`; never send it again',
    toldBy: 'disk',
  },
  CP13: {
    dies: 'while asking how the order stands',
    durable: 'the outcome',
    venueMayHave: 'it, in any state',
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
    recoveryMust: 'end the step from what is known, asking again where the record was lost',
    toldBy: 'engine',
  },
  CP16: {
    dies: 'with the step’s end durable, before the next begins',
    durable: 'the step’s end',
    venueMayHave: 'it',
    recoveryMust: 'go on; conditions of the next step see fresh data',
    toldBy: 'disk',
  },
  CP17: {
    dies: 'while looking for an order whose fate is not known',
    durable: 'the attempt, perhaps look-ups',
    venueMayHave: 'it, or nothing',
    recoveryMust: 'look again; the window counts from no earlier than the last attempt',
    toldBy: 'client',
  },
  CP18: {
    dies: 'with a second attempt of one intent durable',
    durable: 'both attempts',
    venueMayHave: 'it, or nothing; twice, where the window was too short',
    recoveryMust: 'begin the window anew, from the second attempt',
    toldBy: 'client',
  },
  CP19: {
    dies: 'while cancelling a duplicate',
    durable: 'the alarm',
    venueMayHave: 'two, or both filled',
    recoveryMust:
      'leave both alone but for what a person decides: a duplicate is reported, and its market halted, never cancelled by machine',
    toldBy: 'elsewhere',
  },
  CP20: {
    dies: 'with the kill switch engaged and cancel_all on its way',
    durable: 'the kill order',
    venueMayHave: 'anything',
    recoveryMust: 'read the kill switch before any run goes on',
    toldBy: 'client',
  },
  CP21: {
    dies: 'while an anchor is written',
    durable: 'the entries, perhaps the anchor',
    venueMayHave: 'anything',
    recoveryMust: 'nothing: an anchor only ever speaks of entries that the store has',
    toldBy: 'elsewhere',
  },
  CP22: {
    dies: 'with a refreshed token half stored',
    durable: 'the old token’s file or the new one’s',
    venueMayHave: 'a spent refresh token',
    recoveryMust: 'take whichever file is whole',
    toldBy: 'elsewhere',
  },
} as const satisfies Record<string, CrashPointRow>;

export type CrashPoint = keyof typeof CRASH_POINTS;

/** Listens for points that are reached; a simulation ends the process there. Must not throw, and can not make anybody wait. */
export interface CrashPoints {
  reached(point: CrashPoint, call: VenueCall): void;
}

/** Calls that ask how an order stands have points of their own; so have a second attempt of an order, and cancel_all. */
export function pointOf(point: CrashPoint, call: VenueCall, order: TrackedOrder | undefined): CrashPoint {
  if (point === 'CP10') return call.purpose === 'confirm' ? 'CP14' : point;
  if (point !== 'CP4') return point;
  if (call.purpose === 'lookup') return 'CP17';
  if (call.purpose === 'confirm') return 'CP13';
  if (call.endpoint === 'DELETE /orders/cancel_all') return 'CP20';
  return call.endpoint === 'POST /orders' && (order?.snapshot.context.intent.attempt ?? 1) > 1 ? 'CP18' : point;
}

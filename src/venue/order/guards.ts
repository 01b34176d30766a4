/**
 * The guards of the split cells of the table in transitions.ts: pure predicates over what is known of an order and the event at
 * hand (orders.md, Guards and actions). The rule behind all of them replaces the version number that the venue's records
 * lack: an observation counts by the time its request was *sent*, compared with the time the command in question was
 * *resolved*. A guard decides only; what an event leaves behind is written in updates.ts.
 */

import type { OrderRecord } from '../records.ts';
import {
  type Amend,
  isPositionStop,
  type Observation,
  type OrderContext,
  type OrderEvent,
  TIMINGS,
} from './context.ts';
import { sameDecimal } from './fills.ts';

export const GUARDS = {
  /** Five reads found nothing, the last of them after the horizon, and nothing ever spoke for the order being there: no record, no acknowledgement. */
  absenceProven: ({ absence, confirmedAt, venueId, strange, fills }) =>
    confirmedAt === undefined &&
    venueId === undefined &&
    strange === undefined &&
    fills.size === 0 &&
    !absence.duplicateSeen &&
    absence.count >= TIMINGS.absenceReads &&
    absence.provenAfter !== undefined &&
    absence.lastSentAt !== undefined &&
    absence.lastSentAt > absence.provenAfter,

  /** The requested terms are there, or the old ones are still there in a second read sent late enough. */
  amendSettled: ({ amend }, event) => {
    if (amend?.req === undefined) return true;
    if (!isObservation(event)) return false;
    return (
      showsRequested(amend, event.record) ||
      (isLateOldRead(amend, event) && amend.oldReads + 1 >= TIMINGS.amendLostReads)
    );
  },

  /** A read sent long enough after the cancel was answered; while a cancel is in flight no read can speak against it. */
  cancelLost: ({ cancel }, event) =>
    isObservation(event) && cancel?.ackedAt !== undefined && event.sentAt > cancel.ackedAt + TIMINGS.cancelLagMs,

  /** The refusal says that the order has ended: almost always a fill or an earlier cancel won, and a read will tell. */
  cancelOvertaken: (_, event) => event.type === 'CANCEL_REFUSED' && ENDED_TEXT.test(event.message ?? ''),

  /** The end that was seen around an amend is still there in a read sent later. */
  phantomConfirmed: ({ phantom }, event) => isObservation(event) && phantomHolds(phantom, event),

  /** `canceled` after a cancel of ours is final, unless an amend ran so recently that it may be the amend's instant. */
  cancelConfirmed: (context, event) =>
    isObservation(event) && (!wasAmendedLately(context.amend, event.sentAt) || phantomHolds(context.phantom, event)),

  /** The read was sent before the terminal status could have reached every replica. */
  sentBeforeEnd: ({ terminalAt }, event) =>
    isObservation(event) && terminalAt !== undefined && event.sentAt < terminalAt + TIMINGS.readLagMs,

  /** The same for `closed`, with its longer lag. */
  sentBeforeClose: ({ terminalAt }, event) =>
    isObservation(event) && terminalAt !== undefined && event.sentAt < terminalAt + TIMINGS.closedLagMs,

  /** A draft again after an attempt, which the venue said it had not taken. */
  refusedBefore: ({ refused }) => refused === true,

  /** No record of it was ever read. */
  neverConfirmed: ({ confirmedAt }) => confirmedAt === undefined,

  /** "Not found" by a read that was sent before the order's first record could have reached every replica. */
  sentBeforeConfirmed: ({ confirmedAt }, event) =>
    event.type === 'P_NOT_FOUND' && confirmedAt !== undefined && event.sentAt < confirmedAt + TIMINGS.readLagMs,
} as const satisfies Record<string, (context: OrderContext, event: OrderEvent) => boolean>;

export type GuardName = keyof typeof GUARDS;

/** Texts of a refused cancel that say the order is not there to be cancelled any more; the venue shows no list of them. */
const ENDED_TEXT =
  /closed|not[ _-]?(?:found|open)|unknown[ _-]?order|does[ _-]?not[ _-]?exist|no[ _-]?such|duplicat|already|filled|cancell?ed/i;

export function isObservation(event: OrderEvent): event is Observation {
  return 'record' in event;
}

/** Whether a record shows the terms an amend asked for. */
export function showsRequested(amend: Amend, record: OrderRecord): boolean {
  return amend.req !== undefined && showsTerms(amend.req, record);
}

/** Old terms, in a read sent so long after the amend was resolved that they must have changed if they ever will; each read once. */
export function isLateOldRead(amend: Amend, event: Observation): boolean {
  return (
    amend.resolvedAt !== undefined &&
    event.sentAt > amend.resolvedAt + TIMINGS.amendLagMs &&
    (amend.oldReadSentAt === undefined || event.sentAt > amend.oldReadSentAt) &&
    !showsRequested(amend, event.record) &&
    showsTerms(amend.old, event.record)
  );
}

/**
 * Whether a record's terms differ from those in force. A price is compared only where the order has one of its own: the
 * venue may show what it likes for a market or stop order.
 */
export function showsOtherTerms(context: OrderContext, record: OrderRecord): boolean {
  const priced = context.intent.type === 'limit' || context.intent.type === 'stop_limit';
  if (priced && context.price !== undefined && !sameDecimal(context.price, record.price)) return true;
  return !isPositionStop(context.intent) && !sameDecimal(context.size, record.initial_size);
}

/** Whether a record belongs to another order: two orders with one client order id (ARCHITECTURE.md, I1). */
export function isForeign(context: OrderContext, event: OrderEvent): boolean {
  if (context.venueId === undefined) return false;
  if (event.type === 'FILL') return event.fill.order_id !== context.venueId;
  if (event.type === 'ACK') return event.orderId !== context.venueId;
  return isObservation(event) && event.record.id !== context.venueId;
}

function showsTerms(terms: { price?: string | undefined; size?: string | undefined }, record: OrderRecord): boolean {
  return (
    (terms.price === undefined || sameDecimal(terms.price, record.price)) &&
    (terms.size === undefined || sameDecimal(terms.size, record.initial_size))
  );
}

function phantomHolds(phantom: OrderContext['phantom'], event: Observation): boolean {
  return phantom?.status === event.type && event.sentAt >= phantom.firstReadSentAt + TIMINGS.phantomMs;
}

function wasAmendedLately(amend: Amend | undefined, sentAt: number): boolean {
  if (amend === undefined) return false;
  return amend.resolvedAt === undefined || sentAt - amend.resolvedAt <= TIMINGS.phantomWindowMs;
}

/**
 * The guards of the split cells in transitions.ts: pure predicates over an order's context and an event (orders.md, Guards and
 * actions). The venue's records have no version number, so an observation counts by the time its request was *sent*, compared
 * with the time the command in question was *resolved*. Guards change nothing; updates.ts applies events.
 */

import { type DecimalString, decimal } from '../../base/decimal.ts';
import { isTerminalStatus, type OrderRecord } from '../records.ts';
import {
  type Amend,
  isPositionStop,
  type Observation,
  type OrderContext,
  type OrderEvent,
  type OrderSnapshot,
  TIMINGS,
} from './context.ts';
import { isSameDecimal, isZeroDecimal } from './fills.ts';

export const GUARDS = {
  /**
   * Five reads found nothing, the last after the horizon, a page of the market says the same, and no record, acknowledgement or
   * fill ever showed the order.
   */
  absenceProven: ({ absence, confirmedAt, venueId, unknownStatus, fills }, event) =>
    !(event.type === 'T_EXHAUSTED' && event.unproven === true) &&
    confirmedAt === undefined &&
    venueId === undefined &&
    unknownStatus === undefined &&
    fills.size === 0 &&
    !absence.duplicateSeen &&
    absence.count >= TIMINGS.absenceReads &&
    absence.provenAfter !== undefined &&
    absence.lastSentAt !== undefined &&
    absence.lastSentAt > absence.provenAfter,

  /** The record has the requested terms, or the old ones in a second read that was sent late enough. */
  amendSettled: ({ amend }, event) => {
    if (amend?.req === undefined) return true;
    if (!isObservation(event)) return false;
    return (
      showsRequested(amend, event.record) ||
      (isLateOldRead(amend, event) && amend.oldReads + 1 >= TIMINGS.amendLostReads)
    );
  },

  /** The read was sent long enough after the cancel was answered; while a cancel is in flight no read can contradict it. */
  cancelLost: ({ cancel }, event) =>
    isObservation(event) && cancel?.ackedAt !== undefined && event.sentAt > cancel.ackedAt + TIMINGS.cancelLagMs,

  /** The refusal says that the order has ended: almost always after a fill or an earlier cancel, which a read will show. */
  cancelOvertaken: (_, event) => event.type === 'CANCEL_REFUSED' && ENDED_TEXT.test(event.message ?? ''),

  /** The end seen around an amend is still shown by a read that was sent later. */
  phantomConfirmed: ({ phantom }, event) => isObservation(event) && phantomHolds(phantom, event),

  /** `canceled` is final, unless a recent amend may show it only for an instant. */
  endConfirmed: (context, event) =>
    isObservation(event) && (!mayShowInstant(context, event.sentAt) || phantomHolds(context.phantom, event)),

  /** The same after a cancel of ours. */
  cancelConfirmed: (context, event) =>
    isObservation(event) && (!mayShowInstant(context, event.sentAt) || cancelHolds(context.phantom, event)),

  /** The read was sent before every replica could have had the terminal status. */
  sentBeforeEnd: ({ terminalAt }, event) =>
    isObservation(event) && terminalAt !== undefined && event.sentAt < terminalAt + TIMINGS.readLagMs,

  /** The same for `closed`, with its longer lag. */
  sentBeforeClose: ({ terminalAt }, event) =>
    isObservation(event) && terminalAt !== undefined && event.sentAt < terminalAt + TIMINGS.closedLagMs,

  /** The order is a draft again after an attempt that the venue definitely did not accept. */
  refusedBefore: ({ refused }) => refused === true,

  /** No record of the order was ever read. */
  neverConfirmed: ({ confirmedAt }) => confirmedAt === undefined,

  /** "Not found" in a read that was sent before every replica could have had the order's first record. */
  sentBeforeConfirmed: ({ confirmedAt }, event) =>
    event.type === 'P_NOT_FOUND' && confirmedAt !== undefined && event.sentAt < confirmedAt + TIMINGS.readLagMs,
} as const satisfies Record<string, (context: OrderContext, event: OrderEvent) => boolean>;

export type GuardName = keyof typeof GUARDS;

/** Texts of a refused cancel which say that the order has ended or does not exist; the document gives no list. */
const ENDED_TEXT =
  /closed|not[ _-]?(?:found|open)|unknown[ _-]?order|does[ _-]?not[ _-]?exist|no[ _-]?such|duplicat|already|filled|cancell?ed/i;

export function isObservation(event: OrderEvent): event is Observation {
  return 'record' in event;
}

/** Whether a record shows the terms an amend asked for. */
export function showsRequested(amend: Amend, record: OrderRecord): boolean {
  return amend.req !== undefined && showsTerms(amend.req, record);
}

/**
 * Whether a record shows that an amend has taken effect: its terms are there, were not there before, and are no older ones of a read
 * that was sent soon after the last change.
 */
export function provesAmend(amend: Amend, { lastRecord, termsSince }: OrderContext, event: Observation): boolean {
  const isOld = lastRecord !== undefined && showsRequested(amend, lastRecord);
  const isLate = termsSince !== undefined && event.sentAt < termsSince + TIMINGS.readLagMs;
  return !isOld && !isLate && showsRequested(amend, event.record);
}

/** Whether a read shows the old terms although it was sent so late after the amend that they should have changed; each read once. */
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
 * Whether a record's terms differ from those in force. A price is compared only where the order has one of its own: for other
 * types the venue may show any price.
 */
export function showsOtherTerms(context: OrderContext, record: OrderRecord): boolean {
  const priced = context.intent.type === 'limit' || context.intent.type === 'stop_limit';
  if (priced && context.price !== undefined && !isSameDecimal(context.price, record.price)) return true;
  return !isPositionStop(context.intent) && !showsSize(context.size, record);
}

/**
 * Whether a record shows an ordered size: as its `initial_size`, or as what remains and what has filled. A venue may leave
 * `initial_size` as it was when an amend changes the size.
 */
export function showsSize(ordered: DecimalString, record: OrderRecord): boolean {
  return (
    isSameDecimal(ordered, record.initial_size) ||
    decimal(ordered).eq(decimal(record.size).plus(decimal(record.total_filled_size)))
  );
}

/** The size in force that a record shows, for an order whose last known size in force is `known`. */
export function readOrderedSize(known: DecimalString, record: OrderRecord): DecimalString {
  return showsSize(known, record) ? known : record.initial_size;
}

/**
 * Whether an order has ended and nothing shows how much of it was filled: only an answer said `canceled`, and no record yet; or a
 * record calls it closed, which is filled whole, and no fill is shown. A part of a position that is gone may be closed with nothing filled.
 */
export function isFilledUnseen({ state, context }: OrderSnapshot): boolean {
  const { lastRecord, filled, recordFilled, intent } = context;
  if (state === 'closed') return isZeroDecimal(filled) && isZeroDecimal(recordFilled) && !isPositionStop(intent);
  return state === 'canceled' && (lastRecord === undefined || !isTerminalStatus(lastRecord.status));
}

/** Whether a record shows an open order as ended that is not believed yet: another read decides. */
export function isEndDoubted({ state, context }: OrderSnapshot): boolean {
  return state === 'open' && context.phantom !== undefined;
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
    (terms.price === undefined || isSameDecimal(terms.price, record.price)) &&
    (terms.size === undefined || showsSize(terms.size, record))
  );
}

function phantomHolds(phantom: OrderContext['phantom'], event: Observation): boolean {
  return phantom?.status === event.type && event.sentAt >= phantom.at + TIMINGS.phantomMs;
}

function cancelHolds(phantom: OrderContext['phantom'], event: Observation): boolean {
  if (phantom?.status !== event.type) return false;
  const { sentAt, at } = phantom;
  return event.sentAt >= Math.max(sentAt + TIMINGS.cancelPhantomMs, at + TIMINGS.cancelPhantomAnswerMs);
}

/** Whether a read that was sent then may show the instant of an amend: it may go on, or the read may be older than its end. */
function mayShowInstant({ amend, instant }: OrderContext, sentAt: number): boolean {
  if (amend !== undefined && amend.resolvedAt === undefined) return true;
  if (instant === undefined) return false;
  const { since, overAt } = instant;
  return overAt === undefined ? sentAt <= since + TIMINGS.phantomWindowMs : sentAt < overAt + TIMINGS.readLagMs;
}

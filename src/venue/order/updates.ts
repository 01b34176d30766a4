/**
 * Applies an event that the table accepts to an order's context, and notes the requests that follow. The table in
 * transitions.ts has already decided the state; the states before and after are passed in.
 */

import type { OrderRecord } from '../records.ts';
import { begin, type Change, type Draft, enter, NOTHING, raise, toChange, type Writable, want } from './change.ts';
import {
  type Cancel,
  type CancelCause,
  isPositionStop,
  type Observation,
  type OrderContext,
  type OrderEvent,
} from './context.ts';
import { bookFillOfOrder, settleFills, takeFilled } from './filled.ts';
import { isSameDecimal, isZeroDecimal } from './fills.ts';
import { isEndDoubted } from './guards.ts';
import { isTerminal, type OrderState } from './states.ts';
import {
  adoptTerms,
  beginAmend,
  noteAmending,
  resolveAmend,
  restate,
  reviseDraft,
  settleTerms,
  takeTerms,
  toTerms,
} from './terms.ts';

/** Applies an event that the table accepts. */
export function applyEvent(context: OrderContext, from: OrderState, to: OrderState, event: OrderEvent): Change {
  if (from === to && repeatsRecord(context, from, event)) return { ...NOTHING, context };
  const draft = begin(context, from, to);
  updateContext(draft, event);
  if (from !== to) enter(draft, event);
  return draft.redundant
    ? { ...NOTHING, context: { ...context, stale: context.stale + 1 }, redundant: true }
    : toChange(draft);
}

/**
 * Whether a read repeats an open order exactly, with nothing in doubt, as almost every record of a page does. Everything that
 * the record would be compared with was settled when it was first read; any other record is applied in full.
 */
function repeatsRecord(order: OrderContext, state: OrderState, event: OrderEvent): boolean {
  if (state !== 'open' || event.type !== 'P_OPEN') return false;
  const { record } = event;
  return (
    order.lastRecord !== undefined &&
    isSameRecord(order.lastRecord, record) &&
    order.confirmedAt !== undefined &&
    order.unknownStatus === undefined &&
    order.phantom === undefined &&
    (order.amend === undefined || order.amend.outcome !== undefined) &&
    (record.reason === '' || record.reason === order.reason) &&
    !isPositionStop(order.intent) &&
    order.price === record.price &&
    order.size === record.initial_size &&
    order.recordFilled === record.total_filled_size &&
    order.filled === order.recordFilled
  );
}

/** Every field of a record, checked by the compiler so that a new one is not forgotten here. */
const RECORD_FIELDS = Object.keys({
  total_filled_size: true,
  timestamp: true,
  status: true,
  price: true,
  size: true,
  initial_size: true,
  reason: true,
  id: true,
  client_order_id: true,
  market_id: true,
  order_type: true,
  side: true,
  profile_id: true,
  time_in_force: true,
} satisfies Record<keyof OrderRecord, true>) as readonly (keyof OrderRecord)[];

function isSameRecord(a: OrderRecord, b: OrderRecord): boolean {
  if (a === b) return true;
  for (const field of RECORD_FIELDS) if (a[field] !== b[field]) return false;
  return true;
}

function updateContext(draft: Draft, event: OrderEvent): void {
  const { order, from, to } = draft;
  switch (event.type) {
    case 'SUBMIT':
      if (from === 'absent') forgetAttempt(order);
      return;
    case 'DENY':
    case 'REFUSED':
      order.reason = event.message ?? order.reason;
      return;
    case 'AMEND':
      if (from === 'draft') reviseDraft(order, event);
      else beginAmend(order, event);
      return;
    case 'CANCEL':
      askCancel(draft, event.cause ?? 'run', event.at);
      return;
    case 'ACK':
      if (event.orderId !== '') order.venueId ??= event.orderId;
      settleSubmission(order, event.at);
      return;
    case 'RATE_LIMITED':
      order.reason = undefined;
      if (to === 'draft') order.refused = true;
      return;
    case 'DUPLICATE':
      settleSubmission(order, event.at);
      order.absence = { ...order.absence, duplicateSeen: true };
      want(draft, 'resync');
      return;
    case 'SUBMIT_UNKNOWN':
      settleSubmission(order, event.at);
      want(draft, 'resync');
      return;
    case 'AMEND_ACK':
    case 'AMEND_UNKNOWN':
      resolveAmend(order, event.at, event.type === 'AMEND_ACK' ? toTerms(event) : undefined);
      want(draft, 'resync');
      return;
    case 'AMEND_REFUSED':
      if (order.amend !== undefined) order.amend = { ...order.amend, resolvedAt: event.at, outcome: 'refused' };
      order.phantom = undefined;
      return;
    case 'CANCEL_ACK':
    case 'CANCEL_UNKNOWN':
      resolveCancel(order, order.cancel?.cause ?? 'run', event.at, event.type === 'CANCEL_ACK');
      want(draft, 'resync');
      return;
    case 'CANCEL_FINAL':
      resolveCancel(order, order.cancel?.cause ?? 'run', event.at, true);
      // The answer proves the end, but not how much was filled before it.
      want(draft, 'resync');
      return;
    case 'CANCEL_REFUSED':
      order.reason = event.message ?? order.reason;
      if (to === 'open') order.cancel = undefined;
      want(draft, 'resync');
      return;
    case 'CANCELALL_ACK':
    case 'CANCELALL_UNKNOWN':
    case 'DEADMAN':
      applyCancelAll(draft, event.type === 'DEADMAN' ? 'deadman' : 'cancel_all', event.at);
      return;
    case 'P_NOT_FOUND':
      countAbsence(order, event.sentAt);
      return;
    case 'FILL':
      bookFillOfOrder(draft, event.fill);
      return;
    case 'T_CONFIRM':
      if (from === 'submitting') settleSubmission(order, event.at);
      want(draft, 'resync');
      return;
    case 'T_EXHAUSTED':
      if (from === 'submitting') settleSubmission(order, event.at);
      if (to === 'unknown') want(draft, 'resync');
      return;
    case 'T_SETTLE':
      settleFills(draft);
      return;
    case 'P_PROCESSING':
    case 'P_OPEN':
    case 'P_AMENDING':
    case 'P_CANCELING':
    case 'P_CLOSED':
    case 'P_CANCELED':
    case 'P_REJECTED':
    case 'P_UNKNOWN_STATUS':
      observe(draft, event);
      return;
    default:
      event satisfies never;
  }
}

function forgetAttempt(order: Writable<OrderContext>): void {
  order.attempt += 1;
  order.absence = { horizonMs: order.absence.horizonMs, count: 0, duplicateSeen: false };
  order.venueId = undefined;
  order.cancel = undefined;
}

/** The POST was answered or given up: only reads sent from now on can prove absence. */
function settleSubmission(order: Writable<OrderContext>, at: number): void {
  const { horizonMs, duplicateSeen } = order.absence;
  order.absence = { horizonMs, duplicateSeen, count: 0, abortAt: at, provenAfter: at + horizonMs };
}

function countAbsence(order: Writable<OrderContext>, sentAt: number): void {
  const { absence } = order;
  if (absence.abortAt === undefined || sentAt < absence.abortAt) return;
  order.absence = {
    ...absence,
    count: absence.count + 1,
    firstAt: absence.firstAt ?? sentAt,
    lastSentAt: Math.max(sentAt, absence.lastSentAt ?? sentAt),
  };
}

function askCancel({ order, from }: Draft, cause: CancelCause, at: number): void {
  if (isTerminal(from) || from === 'draft') return;
  // No DELETE is sent while the POST is in flight: the cancel is kept, and its tries begin when there is an order to cancel.
  const tries = (order.cancel?.tries ?? 0) + (from === 'submitting' ? 0 : 1);
  const { cause: before = cause, accepted } = order.cancel ?? {};
  order.cancel = { cause: before, sentAt: at, tries, accepted };
}

function resolveCancel(order: Writable<OrderContext>, cause: CancelCause, at: number, isAccepted = false): void {
  const known: Cancel = order.cancel ?? { cause, sentAt: at, tries: 0 };
  const accepted = isAccepted || known.accepted === true;
  // Not `{ ...known, ackedAt }`: to an object made so V8 gives a shape of its own, 250 bytes that are kept with the order.
  order.cancel = { cause: known.cause, sentAt: known.sentAt, tries: known.tries, ackedAt: at, accepted };
}

/** An account-wide cancel. An order whose POST is in flight may arrive after it, so nothing is concluded for that order. */
function applyCancelAll(draft: Draft, cause: CancelCause, at: number): void {
  const { order, from, to } = draft;
  if (to === 'canceling') {
    order.cancel = { ...(order.cancel ?? { sentAt: at, tries: 0 }), cause, ackedAt: at };
    want(draft, 'resync');
  } else if (from === 'unknown' || from === 'quarantined') {
    want(draft, 'resync');
  }
}

/** Applies a record that the table accepts. */
function observe(draft: Draft, read: Observation): void {
  const { order, to } = draft;
  const record = restate(order, read.record);
  const event = record === read.record ? read : { ...read, record };
  const first = order.confirmedAt === undefined;
  order.venueId ??= record.id;
  order.confirmedAt ??= event.at;
  order.unknownStatus = undefined;
  if (record.reason !== '') order.reason = record.reason;
  watchPhantom(draft, event);
  const isOlder = event.type === 'P_OPEN' && takeTerms(draft, event, first) === 'outdated';
  const outdated = isOlder || isEndDoubted({ state: to, context: order });
  if (first && event.type !== 'P_OPEN') adoptTerms(order, record, undefined);
  else if (isTerminal(to)) settleTerms(order, record);
  if (event.type === 'P_AMENDING') noteAmending(order, event);
  if (event.type === 'P_CANCELING' && (order.cancel === undefined || order.cancel.ackedAt === undefined)) {
    resolveCancel(order, 'external', event.at);
  }
  if (!outdated && showsTrigger(order, record)) order.triggered = true;
  takeFilled(draft, record, event.at, outdated);
  if (to === 'rejected' && !isZeroDecimal(order.recordFilled) && isZeroDecimal(order.filled)) {
    raise(draft, 'RejectedWithFill', { recordFilled: order.recordFilled });
  }
}

/**
 * Whether a record shows that a stop has triggered: it left the status that only an untriggered stop has, or shows a size where it
 * would show its fraction of the position. The first record proves it as well: the market may have jumped beyond the stop before.
 */
function showsTrigger({ intent, lastRecord, showsBase }: OrderContext, record: OrderRecord): boolean {
  if (lastRecord?.status === 'placed' && record.status === 'open') return true;
  const isFraction = (size: string) => isSameDecimal(size, intent.size);
  if (!isPositionStop(intent) || isFraction(record.initial_size) || record.status === 'placed') return false;
  return lastRecord === undefined ? showsBase !== true : isFraction(lastRecord.initial_size);
}

/** Remembers that an end seen around an amend may be shown only for an instant; any other status clears it. */
function watchPhantom({ order, from, to }: Draft, event: Observation): void {
  const ending = event.type === 'P_CANCELED' || event.type === 'P_REJECTED';
  if (!ending || from !== to) {
    if (!ending) order.phantom = undefined;
    return;
  }
  if (isTerminal(from)) return;
  if (order.phantom?.status !== event.type) order.phantom = { status: event.type, sentAt: event.sentAt, at: event.at };
}

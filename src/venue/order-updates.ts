/**
 * What an event leaves behind in an order's context, and what it raises or asks for. Where the order goes is not decided
 * here: the table in order.ts has said so already, and hands in the states before and after.
 */
import { decimal, decimalText } from '../base/decimal.ts';
import { bookFill, exceeds, isZeroDecimal, largerDecimal, sameDecimal, shortfall } from './fills.ts';
import {
  type Amend,
  type CancelCause,
  isPositionStop,
  type Observation,
  type OrderAlarm,
  type OrderAlarmName,
  type OrderContext,
  type OrderEvent,
  type OrderSnapshot,
  type OrderState,
  type OrderWant,
  TIMINGS,
} from './order-context.ts';
import { isForeign, isLateOldRead, isObservation, showsOtherTerms, showsRequested } from './order-guards.ts';
import type { FillRecord, OrderRecord } from './records.ts';

export interface Change {
  readonly context: OrderContext;
  readonly alarms: readonly OrderAlarm[];
  readonly wants: readonly OrderWant[];
  /** The event was taken and said nothing new: a fill that is booked already. */
  readonly redundant: boolean;
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** One event's working copy. */
interface Draft {
  readonly order: Writable<OrderContext>;
  readonly from: OrderState;
  readonly to: OrderState;
  readonly alarms: OrderAlarm[];
  readonly wants: OrderWant[];
  redundant: boolean;
}

/** Takes an event that the table lets through. */
export function afterEvent(context: OrderContext, from: OrderState, to: OrderState, event: OrderEvent): Change {
  const draft = begin(context, from, to);
  take(draft, event);
  if (from !== to) enter(draft, event);
  return draft.redundant
    ? { ...NOTHING, context: { ...context, stale: context.stale + 1 }, redundant: true }
    : changeOf(draft);
}

/** Takes an event that the table turns away: dropped and counted, or kept as a contradiction with both facts. */
export function afterAnomaly(
  { state, context }: OrderSnapshot,
  event: OrderEvent,
  outcome: '~' | '!' | 'X',
  quarantine: boolean,
): Change {
  if (outcome === '~') return { ...NOTHING, context: { ...context, stale: context.stale + 1 } };
  if (outcome === 'X') {
    return { ...NOTHING, context: { ...context, illegal: { ...context.illegal, total: context.illegal.total + 1 } } };
  }
  const draft = begin(context, state, quarantine ? 'quarantined' : state);
  contradict(draft, event);
  if (quarantine) enter(draft, event);
  return draft.redundant
    ? { ...NOTHING, context: { ...context, stale: context.stale + 1 }, redundant: true }
    : changeOf(draft);
}

/** Three contradictions on one order within 60 s make it a case for a person (orders.md, illegal events). */
export function isQuarantineDue(
  state: OrderState,
  context: OrderContext,
  event: OrderEvent,
  outcome: '~' | '!' | 'X',
): boolean {
  if (outcome !== '!' || state === 'quarantined' || !counts(context, event)) return false;
  return recentIllegal(context, event.at).length + 1 >= TIMINGS.illegalEvents;
}

const NOTHING = { alarms: [], wants: [], redundant: false } as const;

function begin(context: OrderContext, from: OrderState, to: OrderState): Draft {
  return { order: { ...context }, from, to, alarms: [], wants: [], redundant: false };
}

function changeOf({ order, alarms, wants, redundant }: Draft): Change {
  return { context: order, alarms, wants, redundant };
}

function raise(draft: Draft, alarm: OrderAlarmName, detail: OrderAlarm['detail']): void {
  draft.alarms.push({ alarm, detail });
}

function want(draft: Draft, wanted: OrderWant): void {
  if (!draft.wants.includes(wanted)) draft.wants.push(wanted);
}

function take(draft: Draft, event: OrderEvent): void {
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
      resolveAmend(order, event.at, event.type === 'AMEND_ACK' ? termsOf(event) : undefined);
      want(draft, 'resync');
      return;
    case 'AMEND_REFUSED':
      if (order.amend !== undefined) order.amend = { ...order.amend, resolvedAt: event.at, outcome: 'refused' };
      order.phantom = undefined;
      return;
    case 'CANCEL_ACK':
    case 'CANCEL_UNKNOWN':
      resolveCancel(order, order.cancel?.cause ?? 'run', event.at);
      want(draft, 'resync');
      return;
    case 'CANCEL_FINAL':
      resolveCancel(order, order.cancel?.cause ?? 'run', event.at);
      // The end is the venue's word, how much was filled before it is not known yet.
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
      sweep(draft, event.type === 'DEADMAN' ? 'deadman' : 'cancel_all', event.at);
      return;
    case 'P_NOT_FOUND':
      countAbsence(order, event.sentAt);
      return;
    case 'FILL':
      book(draft, event.fill);
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
      settle(draft);
      return;
    case 'P_PROCESSING':
    case 'P_OPEN':
    case 'P_AMENDING':
    case 'P_CANCELING':
    case 'P_CLOSED':
    case 'P_CANCELED':
    case 'P_REJECTED':
    case 'P_STRANGE':
      observe(draft, event);
      return;
    default:
      event satisfies never;
  }
}

/** What entering a state means whatever led there. */
function enter(draft: Draft, event: OrderEvent): void {
  const { order, from, to } = draft;
  order.since = event.at;
  if (ENDED.has(to)) {
    order.phantom = undefined;
    order.terminalAt = event.at;
  } else if (ENDED.has(from)) {
    order.terminalAt = undefined;
    order.settled = false;
    if (from !== 'absent') raise(draft, 'Resurrected', { from, to, event: event.type });
    else if (event.type !== 'SUBMIT') raise(draft, 'Reappeared', { to, event: event.type });
  }
  if (to === 'quarantined') {
    raise(draft, 'Quarantined', {
      from,
      event: event.type,
      notFound: order.absence.count,
      illegal: order.illegal.recent.length,
    });
  }
  // A cancel asked for while there was no order to cancel yet, or one that was lost, is asked for again.
  const live = to === 'processing' || to === 'open';
  if (
    live &&
    order.cancel !== undefined &&
    order.cancel.cause !== 'external' &&
    order.cancel.tries < TIMINGS.cancelTries
  ) {
    want(draft, 'cancel_again');
  }
}

const ENDED: ReadonlySet<OrderState> = new Set<OrderState>(['closed', 'canceled', 'rejected', 'absent', 'denied']);

function termsOf({ price, size }: { price?: string | undefined; size?: string | undefined }): {
  price?: string;
  size?: string;
} {
  return { ...(price === undefined ? {} : { price }), ...(size === undefined ? {} : { size }) };
}

function forgetAttempt(order: Writable<OrderContext>): void {
  order.intent = { ...order.intent, attempt: order.intent.attempt + 1 };
  order.absence = { horizonMs: order.absence.horizonMs, count: 0, duplicateSeen: false };
  order.venueId = undefined;
  order.cancel = undefined;
}

function reviseDraft(
  order: Writable<OrderContext>,
  { price, size }: { price: string; size?: string | undefined },
): void {
  order.intent = { ...order.intent, price, size: size ?? order.intent.size };
  order.price = price;
  if (size === undefined) return;
  order.size = size;
  if (isPositionStop(order.intent)) return;
  order.authorised = size;
  order.remaining = size;
}

function beginAmend(order: Writable<OrderContext>, event: OrderEvent & { type: 'AMEND' }): void {
  order.amend = { old: { price: order.price, size: order.size }, req: termsOf(event), sentAt: event.at, oldReads: 0 };
  // Whoever amends does not want it gone: an earlier cancel that was lost is not asked for again.
  order.cancel = undefined;
  if (event.size !== undefined && order.authorised !== undefined)
    order.authorised = largerDecimal(order.authorised, event.size);
}

/** The POST was answered or given up: reads sent from now on say something about absence, earlier ones do not. */
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
  if (ENDED.has(from) || from === 'draft') return;
  // No DELETE leaves while the POST is in flight: the wish is kept, its tries begin when there is something to cancel.
  const tries = (order.cancel?.tries ?? 0) + (from === 'submitting' ? 0 : 1);
  order.cancel = { cause: order.cancel?.cause ?? cause, sentAt: at, tries };
}

function resolveCancel(order: Writable<OrderContext>, cause: CancelCause, at: number): void {
  const known = order.cancel ?? { cause, sentAt: at, tries: 0 };
  order.cancel = { ...known, ackedAt: at };
}

/** An account-wide cancel. An order whose POST is in flight may land behind it, so nothing is concluded for that one. */
function sweep(draft: Draft, cause: CancelCause, at: number): void {
  const { order, from, to } = draft;
  if (to === 'canceling') {
    order.cancel = { ...(order.cancel ?? { sentAt: at, tries: 0 }), cause, ackedAt: at };
    want(draft, 'resync');
  } else if (from === 'unknown' || from === 'quarantined') {
    want(draft, 'resync');
  }
}

/** The PUT was answered or given up; `req` is what the answer says was asked for, for an amend that is not remembered. */
function resolveAmend(order: Writable<OrderContext>, at: number, req: Amend['req']): void {
  const known: Amend = order.amend ?? { old: { price: order.price, size: order.size }, req, sentAt: at, oldReads: 0 };
  order.amend = { ...known, resolvedAt: at, oldReads: 0, oldReadSentAt: undefined, outcome: undefined };
}

/** A record was read and let through. */
function observe(draft: Draft, event: Observation): void {
  const { order, to } = draft;
  const { record } = event;
  const first = order.confirmedAt === undefined;
  order.venueId ??= record.id;
  order.confirmedAt ??= event.at;
  if (record.reason !== '') order.reason = record.reason;
  watchPhantom(draft, event);
  const outdated = event.type === 'P_OPEN' && takeTerms(draft, event, first) === 'outdated';
  if (first && event.type !== 'P_OPEN') adoptTerms(order, record, undefined);
  if (event.type === 'P_AMENDING') noteAmending(order, event);
  if (event.type === 'P_CANCELING' && (order.cancel === undefined || order.cancel.ackedAt === undefined)) {
    resolveCancel(order, 'external', event.at);
  }
  takeFilled(draft, record, outdated);
  if (to === 'rejected' && !isZeroDecimal(order.recordFilled) && isZeroDecimal(order.filled)) {
    raise(draft, 'RejectedWithFill', { recordFilled: order.recordFilled });
  }
}

/** Keeps the suspicion that an end seen around an amend is only the amend's instant; any other status clears it. */
function watchPhantom({ order, from, to }: Draft, event: Observation): void {
  const ending = event.type === 'P_CANCELED' || event.type === 'P_REJECTED';
  if (!ending || from !== to) {
    if (!ending) order.phantom = undefined;
    return;
  }
  if (from !== 'amending' && from !== 'canceling') return;
  if (order.phantom?.status !== event.type) order.phantom = { status: event.type, firstReadSentAt: event.sentAt };
}

/** What a working record says about the terms: an amend's result, somebody else's change, or older terms by a late read. */
function takeTerms(draft: Draft, event: Observation, first: boolean): 'taken' | 'outdated' {
  const { order, from, to } = draft;
  const { record } = event;
  const { amend } = order;
  if (from === 'amending' && to === 'amending') {
    if (amend !== undefined && isLateOldRead(amend, event)) {
      order.amend = { ...amend, oldReads: amend.oldReads + 1, oldReadSentAt: event.sentAt };
    }
    return 'taken';
  }
  if (to !== 'open') return 'taken';
  if (from === 'canceling') {
    raise(draft, 'CancelLost', { tries: order.cancel?.tries ?? 0, cause: order.cancel?.cause ?? 'run' });
  }
  if (amend !== undefined && amend.outcome === undefined) {
    const outcome = amendOutcome(amend, event, from);
    if (outcome === undefined) return 'outdated';
    order.amend = { ...amend, outcome, resolvedAt: amend.resolvedAt ?? event.at };
    if (outcome === 'lost') raise(draft, 'AmendLost', termsDetail(amend, record));
    if (amend.req === undefined) noteExternalChange(draft, record);
    adoptTerms(order, record, event.at);
    return 'taken';
  }
  if (!showsOtherTerms(order, record)) {
    // A position stop's size follows the position, and the first record may say more than the intent did.
    if (first || isPositionStop(order.intent)) adoptTerms(order, record, undefined);
    return 'taken';
  }
  // Soon after the terms changed a read may still show those before.
  if (order.termsSince !== undefined && event.sentAt <= order.termsSince + TIMINGS.amendLagMs) return 'outdated';
  noteExternalChange(draft, record);
  adoptTerms(order, record, first ? undefined : event.at);
  return 'taken';
}

/** What a working record says of an amend that is not settled; undefined while it may only be too early. */
function amendOutcome(amend: Amend, { record, sentAt }: Observation, from: OrderState): Amend['outcome'] {
  if (amend.req === undefined || showsRequested(amend, record)) return 'applied';
  const late = amend.resolvedAt !== undefined && sentAt > amend.resolvedAt + TIMINGS.amendLagMs;
  return late || from === 'amending' ? 'lost' : undefined;
}

function termsDetail(amend: Amend, record: OrderRecord): OrderAlarm['detail'] {
  return {
    ...(amend.req?.price === undefined ? {} : { requestedPrice: amend.req.price }),
    ...(amend.req?.size === undefined ? {} : { requestedSize: amend.req.size }),
    price: record.price,
    size: record.initial_size,
  };
}

function noteExternalChange(draft: Draft, record: OrderRecord): void {
  const { order } = draft;
  if (!showsOtherTerms(order, record)) return;
  raise(draft, 'ExternalChange', {
    oldPrice: order.price ?? '',
    oldSize: order.size,
    price: record.price,
    size: record.initial_size,
  });
}

/** `since`: when the terms changed, so that older reads are known; undefined for the first record. */
function adoptTerms(order: Writable<OrderContext>, record: OrderRecord, since: number | undefined): void {
  order.termsSince = since ?? order.termsSince;
  order.price = record.price;
  order.size = record.initial_size;
  // Whether an amended size is the whole or the rest is not shown (surprise 5): what may fill in all is the larger reading.
  const most = largerDecimal(
    record.initial_size,
    decimalText(decimal(record.size).plus(decimal(record.total_filled_size))),
  );
  if (!isPositionStop(order.intent)) order.authorised = largerDecimal(order.authorised ?? most, most);
  // A record that repeats the fraction says nothing about a size in base currency.
  else if (!sameDecimal(order.intent.size, record.initial_size))
    order.authorised = largerDecimal(order.authorised ?? most, most);
}

/** The venue shows an amend in progress. One of ours that was thought settled is open again; another's has no requested terms. */
function noteAmending(order: Writable<OrderContext>, event: Observation): void {
  const { amend } = order;
  if (amend !== undefined && amend.outcome === undefined) return;
  const old = { price: order.price, size: order.size };
  const lately = amend?.resolvedAt !== undefined && event.sentAt - amend.resolvedAt <= TIMINGS.phantomWindowMs;
  order.amend = lately
    ? { ...amend, outcome: undefined, oldReads: 0, oldReadSentAt: undefined }
    : { old, sentAt: event.sentAt, resolvedAt: event.at, oldReads: 0 };
}

/** A filled size only grows, so the largest that any record says is true, however late it was read. */
function takeFilled(draft: Draft, record: OrderRecord, outdated = false): void {
  const { order } = draft;
  const before = order.recordFilled;
  order.recordFilled = largerDecimal(before, record.total_filled_size);
  if (!outdated && !exceeds(before, record.total_filled_size)) order.lastRecord = record;
  updateRemaining(order);
  watchOverfill(draft);
  if (exceeds(order.recordFilled, order.filled)) want(draft, 'read_fills');
}

function updateRemaining(order: Writable<OrderContext>): void {
  const { lastRecord, filled, recordFilled } = order;
  const done = largerDecimal(filled, recordFilled);
  const fraction = isPositionStop(order.intent) && order.authorised === undefined;
  if (
    lastRecord !== undefined &&
    SHOWS_REST.has(lastRecord.status) &&
    sameDecimal(lastRecord.initial_size, order.size)
  ) {
    // The record's own rest, less what was filled since: after an amend it need not be size less filled (surprise 5).
    order.remaining = fraction ? '0' : shortfall(lastRecord.size, shortfall(done, lastRecord.total_filled_size));
  } else {
    order.remaining = fraction ? '0' : shortfall(order.size, done);
  }
}

/** Statuses whose record says how much is still working. */
const SHOWS_REST: ReadonlySet<string> = new Set([
  'open',
  'placed',
  'processing',
  'amending',
  'canceling',
  'cancelingall',
]);

function watchOverfill(draft: Draft): void {
  const { order } = draft;
  const done = largerDecimal(order.filled, order.recordFilled);
  if (order.authorised === undefined || order.overfilled || !exceeds(done, order.authorised)) return;
  order.overfilled = true;
  raise(draft, 'Overfill', { ordered: order.authorised, filled: order.filled, recordFilled: order.recordFilled });
  want(draft, 'halt_market');
}

/** Books a fill in any state. Late is one that no record announced before the end, or that comes after the grace. */
function book(draft: Draft, fill: FillRecord): void {
  const { order, from } = draft;
  const booking = bookFill(order.fills, order.filled, fill);
  if (booking.kind === 'repeated') {
    draft.redundant = true;
    return;
  }
  if (booking.kind === 'corrected') {
    const known = order.fills.get(fill.id);
    raise(draft, 'FillCorrected', { fill: fill.id, knownSize: known?.size ?? '', size: fill.size });
  }
  order.fills = booking.fills;
  order.filled = booking.filled;
  order.venueId ??= fill.order_id;
  if (ENDED.has(from) && (order.settled || exceeds(order.filled, order.recordFilled))) {
    raise(draft, 'LateFill', {
      state: from,
      fill: fill.id,
      size: fill.size,
      filled: order.filled,
      recordFilled: order.recordFilled,
    });
  }
  if (from === 'rejected') raise(draft, 'RejectedWithFill', { fill: fill.id, filled: order.filled });
  if (fill.liquidation) raise(draft, 'ExternalAction', { fill: fill.id, size: fill.size, liquidation: true });
  if (from === 'processing' || from === 'absent') want(draft, 'resync');
  updateRemaining(order);
  watchOverfill(draft);
}

function settle(draft: Draft): void {
  const { order } = draft;
  order.settled = true;
  if (!exceeds(order.recordFilled, order.filled)) return;
  raise(draft, 'FillsIncomplete', { filled: order.filled, recordFilled: order.recordFilled });
  want(draft, 'read_fills');
}

/** Keeps both facts of a contradiction, once per cell, and asks for a read that may explain it. */
function contradict(draft: Draft, event: OrderEvent): void {
  const { order, from } = draft;
  const foreign = isForeign(order, event);
  if (event.type === 'FILL' && !foreign) book(draft, event.fill);
  if (isObservation(event) && !foreign) takeFilled(draft, event.record, true);
  if (draft.redundant) return;
  const status = isObservation(event) ? event.record.status : '';
  const cell = `${from} × ${event.type}${event.type === 'P_STRANGE' ? ` ${status}` : ''}${foreign ? ' foreign' : ''}`;
  const { cells, total } = order.illegal;
  const recent = counts(order, event) ? [...recentIllegal(order, event.at), event.at] : recentIllegal(order, event.at);
  const known = cells.includes(cell);
  order.illegal = { cells: known ? cells : [...cells, cell], recent, total: total + 1 };
  want(draft, 'resync');
  if (order.venueId !== undefined) want(draft, 'read_fills');
  if (!known) raise(draft, alarmOf(event, foreign), contradictionDetail(order, from, event));
}

function alarmOf(event: OrderEvent, foreign: boolean): OrderAlarmName {
  if (foreign) return 'DuplicateOrder';
  return event.type === 'P_STRANGE' ? 'StrangeStatus' : 'Contradiction';
}

function contradictionDetail(order: OrderContext, from: OrderState, event: OrderEvent): OrderAlarm['detail'] {
  const shown: Record<string, string> = {};
  if (isObservation(event)) {
    shown['shownId'] = event.record.id;
    shown['shownStatus'] = event.record.status;
    shown['shownFilled'] = event.record.total_filled_size;
  } else if (event.type === 'FILL') {
    shown['fill'] = event.fill.id;
    shown['fillOrder'] = event.fill.order_id;
  }
  return {
    state: from,
    event: event.type,
    knownId: order.venueId ?? '',
    knownStatus: order.lastRecord?.status ?? '',
    knownFilled: largerDecimal(order.filled, order.recordFilled),
    ...shown,
  };
}

/**
 * Whether a contradiction counts towards quarantine. An unknown status is tolerated (reliability.md, row 56), and fills of
 * a rejected order are booked and alarmed while it keeps its status: neither is made better by stopping the market.
 */
function counts(context: OrderContext, event: OrderEvent): boolean {
  return isForeign(context, event) || (event.type !== 'P_STRANGE' && event.type !== 'FILL');
}

function recentIllegal({ illegal }: OrderContext, at: number): readonly number[] {
  return illegal.recent.filter((each) => at - each <= TIMINGS.illegalWindowMs);
}

/**
 * Tracks the terms of an order: those requested, those in force, and the result of an amend, ours or another program's, as
 * records show it. An acknowledgement gives only the time of an amend; a record shows its result.
 */
import { decimal, formatDecimal } from '../../base/decimal.ts';
import type { OrderRecord } from '../records.ts';
import { type Draft, raise, type Writable } from './change.ts';
import {
  type Amend,
  isPositionStop,
  type Observation,
  type OrderAlarm,
  type OrderContext,
  type OrderEvent,
  TIMINGS,
} from './context.ts';
import { isSameDecimal, pickLarger } from './fills.ts';
import { isLateOldRead, provesAmend, readOrderedSize, showsOtherTerms, showsRequested } from './guards.ts';
import type { OrderState } from './states.ts';

export function reviseDraft(
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

export function beginAmend(order: Writable<OrderContext>, event: OrderEvent & { type: 'AMEND' }): void {
  const old = { price: order.price, size: order.size };
  const filled = pickLarger(order.filled, order.recordFilled);
  order.amend = { old, req: toTerms(event), filled, sentAt: event.at, oldReads: 0 };
  // An amend means that the order is still wanted: an earlier cancel that was lost is not repeated.
  order.cancel = undefined;
  if (event.size !== undefined && order.authorised !== undefined)
    order.authorised = pickLarger(order.authorised, event.size);
}

/** The PUT was answered or given up; `req` holds the requested terms from the answer, for an amend that is not known here. */
export function resolveAmend(order: Writable<OrderContext>, at: number, req: Amend['req']): void {
  const known: Amend = order.amend ?? { old: { price: order.price, size: order.size }, req, sentAt: at, oldReads: 0 };
  order.amend = { ...known, resolvedAt: at, oldReads: 0, oldReadSentAt: undefined, outcome: undefined };
  order.instant = { since: at };
}

/**
 * A record with the sizes of the whole order. A venue may amend by putting another order in the place of what rests: then its sizes begin
 * anew, and a record that shows it filled whole lacks what had filled before. That is so where rest and filled size are less together than
 * was ordered although no other size was asked for: by as much as had filled then, or with a smaller filled size than is known.
 */
export function restate({ intent, size, amend, filled, recordFilled }: OrderContext, record: OrderRecord): OrderRecord {
  if (amend?.filled === undefined || amend.req?.size !== undefined || isPositionStop(intent)) return record;
  const [before, rest, shown] = [decimal(amend.filled), decimal(record.size), decimal(record.total_filled_size)];
  const lacks = decimal(size).minus(rest).minus(shown);
  const beginsAnew = rest.plus(shown).eq(decimal(record.initial_size));
  // What an order that was cancelled shows as its rest may be nothing.
  const isWhole = isSameDecimal(size, record.initial_size) && (record.status === 'closed' || rest.gt(0));
  if (!before.gt(0) || lacks.lt(before) || !(beginsAnew || isWhole)) return record;
  if (!lacks.eq(before) && !shown.lt(decimal(pickLarger(filled, recordFilled)))) return record;
  return { ...record, initial_size: size, total_filled_size: formatDecimal(shown.plus(lacks)) };
}

/** Reads the terms of a working record: an amend's result, another program's change, or older terms in a late read. */
export function takeTerms(draft: Draft, event: Observation, first: boolean): 'taken' | 'outdated' {
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
    const outcome = decideAmendOutcome(amend, event, from);
    if (outcome === undefined) return 'outdated';
    const resolvedAt = amend.resolvedAt ?? event.at;
    order.amend = { ...amend, outcome, resolvedAt };
    order.instant = { since: resolvedAt, ...(provesAmend(amend, order, event) ? { overAt: event.at } : {}) };
    if (outcome === 'lost') raise(draft, 'AmendLost', describeTerms(amend, record));
    if (amend.req === undefined) noteExternalChange(draft, record);
    adoptTerms(order, record, event.at);
    return 'taken';
  }
  if (!showsOtherTerms(order, record)) {
    // A position stop's size follows the position, and the first record may hold more than the intent.
    if (first || isPositionStop(order.intent)) adoptTerms(order, record, undefined);
    return 'taken';
  }
  // Soon after a change a read may still show the previous terms.
  if (order.termsSince !== undefined && event.sentAt <= order.termsSince + TIMINGS.amendLagMs) return 'outdated';
  noteExternalChange(draft, record);
  adoptTerms(order, record, first ? undefined : event.at);
  return 'taken';
}

/** The outcome that a working record shows for an open amend; undefined while the record may be too early. */
function decideAmendOutcome(amend: Amend, { record, sentAt }: Observation, from: OrderState): Amend['outcome'] {
  if (amend.req === undefined || showsRequested(amend, record)) return 'applied';
  const late = amend.resolvedAt !== undefined && sentAt > amend.resolvedAt + TIMINGS.amendLagMs;
  return late || from === 'amending' ? 'lost' : undefined;
}

function describeTerms(amend: Amend, record: OrderRecord): OrderAlarm['detail'] {
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

/** Adopts a record's terms. `since`: when they changed, so that older reads are recognized; undefined for the first record. */
export function adoptTerms(order: Writable<OrderContext>, record: OrderRecord, since: number | undefined): void {
  order.termsSince = since ?? order.termsSince;
  order.price = record.price;
  const requested = order.amend?.outcome === 'applied' ? order.amend.req?.size : undefined;
  order.size = isPositionStop(order.intent) ? record.initial_size : readOrderedSize(requested ?? order.size, record);
  // An amended size may be the whole or the rest (venue-notes.md, surprise 5): the larger reading is the most that may fill.
  // For an order without fills, as in most records, the two are the same text.
  const untouched = record.total_filled_size === '0' && record.size === record.initial_size;
  const most = untouched
    ? record.initial_size
    : pickLarger(record.initial_size, formatDecimal(decimal(record.size).plus(decimal(record.total_filled_size))));
  if (!isPositionStop(order.intent)) order.authorised = pickLarger(order.authorised ?? most, most);
  // A record that repeats the fraction gives no size in base currency.
  else if (!isSameDecimal(order.intent.size, record.initial_size))
    order.authorised = pickLarger(order.authorised ?? most, most);
}

/** The order has ended: its last record shows the terms that an amend left, and no later record will. */
export function settleTerms(order: Writable<OrderContext>, record: OrderRecord): void {
  const { amend } = order;
  if (amend === undefined) return;
  if (amend.outcome === undefined)
    order.amend = { ...amend, outcome: showsRequested(amend, record) ? 'applied' : 'lost' };
  adoptTerms(order, record, undefined);
}

/** The venue shows an amend in progress. A recent one of ours is open again; one of another program has no requested terms. */
export function noteAmending(order: Writable<OrderContext>, event: Observation): void {
  const { amend } = order;
  if (amend !== undefined && amend.outcome === undefined) return;
  const old = { price: order.price, size: order.size };
  const lately = amend?.resolvedAt !== undefined && event.sentAt - amend.resolvedAt <= TIMINGS.phantomWindowMs;
  order.amend = lately
    ? { ...amend, outcome: undefined, oldReads: 0, oldReadSentAt: undefined }
    : { old, sentAt: event.sentAt, resolvedAt: event.at, oldReads: 0 };
  order.instant = { since: event.at };
}

export function toTerms({ price, size }: { price?: string | undefined; size?: string | undefined }): {
  price?: string;
  size?: string;
} {
  return { ...(price === undefined ? {} : { price }), ...(size === undefined ? {} : { size }) };
}

/**
 * Books the fills of an order and computes its remaining size: by its fills, each counted once, and by the largest filled size
 * of its records. A fill is booked in every state, because exposure must not wait for an explanation.
 */

import type { FillRecord, OrderRecord } from '../records.ts';
import { type Draft, raise, type Writable, want } from './change.ts';
import { isPositionStop, type OrderContext } from './context.ts';
import { bookFill, computeShortfall, exceeds, pickLarger } from './fills.ts';
import { isFilledUnseen, showsSize } from './guards.ts';
import { isTerminal } from './states.ts';

/** A filled size only grows, so the largest in any record is right, however late it was read. */
export function takeFilled(draft: Draft, record: OrderRecord, at: number, outdated = false): void {
  const { order } = draft;
  const before = order.recordFilled;
  if (exceeds(record.total_filled_size, before)) order.recordFilledAt = at;
  order.recordFilled = pickLarger(before, record.total_filled_size);
  if (!outdated && !exceeds(before, record.total_filled_size)) order.lastRecord = record;
  updateRemaining(order);
  watchOverfill(draft);
  if (exceeds(order.recordFilled, order.filled)) want(draft, 'read_fills');
}

/** Books a fill in any state. A fill is late if no record announced it before the end, or if it comes after the grace. */
export function bookFillOfOrder(draft: Draft, fill: FillRecord): void {
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
  if (isTerminal(from) && (order.settled || exceeds(order.filled, order.recordFilled))) {
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

export function settleFills(draft: Draft): void {
  const { order, from: state } = draft;
  order.settled = true;
  if (!exceeds(order.recordFilled, order.filled) && !isFilledUnseen({ state, context: order })) return;
  raise(draft, 'FillsIncomplete', { filled: order.filled, recordFilled: order.recordFilled });
  want(draft, 'read_fills');
}

function updateRemaining(order: Writable<OrderContext>): void {
  const { lastRecord, filled, recordFilled } = order;
  const done = pickLarger(filled, recordFilled);
  const fraction = isPositionStop(order.intent) && order.authorised === undefined;
  if (lastRecord !== undefined && SHOWS_REST.has(lastRecord.status) && showsSize(order.size, lastRecord)) {
    // The record's own rest, less later fills: after an amend it need not be size less filled (venue-notes.md, surprise 5).
    order.remaining = fraction
      ? '0'
      : computeShortfall(lastRecord.size, computeShortfall(done, lastRecord.total_filled_size));
  } else {
    order.remaining = fraction ? '0' : computeShortfall(order.size, done);
  }
}

/** Statuses whose record gives the size that still works. */
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
  const done = pickLarger(order.filled, order.recordFilled);
  if (order.authorised === undefined || order.overfilled || !exceeds(done, order.authorised)) return;
  order.overfilled = true;
  raise(draft, 'Overfill', { ordered: order.authorised, filled: order.filled, recordFilled: order.recordFilled });
  want(draft, 'halt_market');
}

/**
 * Says what is still to be read of an order before a step may hand it out: its filled size, its fills and its end must agree.
 * Pure: it reads no clock and sends nothing.
 */

import { isPositionStop, type OrderSnapshot, TIMINGS } from '../../venue/order/context.ts';
import { exceeds, isSameDecimal, isZeroDecimal, pickLarger } from '../../venue/order/fills.ts';
import { isEndDoubted, isFilledUnseen } from '../../venue/order/guards.ts';
import { isComplete } from '../../venue/order/life.ts';
import { COMPLETION_EVERY_MS, COMPLETION_PAUSES_MS } from '../../venue/order/polling.ts';
import { isTerminal } from '../../venue/order/states.ts';

/** What an order lacks: a record that is not older than its fills, or fills that its record announces. */
export type Missing = 'record' | 'fills';

/** The readings of an order that lacks something. */
export interface CompletionProgress {
  /** When the step's own work ended, epoch ms. */
  readonly since: number;
  /** How long it is read from then on, ms (profile: fills.window, or the step's own time if shorter). */
  readonly windowMs: number;
  /** Readings so far. */
  readonly reads: number;
  /** When the last one began, epoch ms, and what it read. */
  readonly readAt?: number;
  readonly read?: Missing;
  /** Whether a reading of the other kind followed one at once. */
  readonly turned?: boolean;
}

/** The progress after a reading that begins at `at`, epoch ms. */
export function noteReading(progress: CompletionProgress, read: Missing, at: number): CompletionProgress {
  const turned = progress.turned === true || (progress.read !== undefined && progress.read !== read);
  return { ...progress, reads: progress.reads + 1, readAt: at, read, turned };
}

export type Completion =
  | { readonly kind: 'done' }
  /** The next reading is due at `until`, epoch ms. */
  | { readonly kind: 'wait'; readonly until: number }
  | { readonly kind: 'read'; readonly what: Missing }
  /** The time is over. */
  | { readonly kind: 'incomplete' };

/**
 * What an order lacks; undefined where it is complete: its filled size is that of its record and of its fills alike, a record has
 * shown its end, and none shows one that is not believed yet.
 */
export function findMissing(order: OrderSnapshot): Missing | undefined {
  if (isComplete(order)) return undefined;
  if (isFilledUnseen(order) || isEndDoubted(order)) return 'record';
  const { filled, recordFilled } = order.context;
  // Fills that no record shows yet: an older record must not stand beside newer fills.
  return exceeds(filled, recordFilled) ? 'record' : 'fills';
}

/**
 * Whether an order ended with less than it asked for, so that fills which its record does not show may still come to light. Of a
 * part of the position that was not seen to trigger nothing is known but that it filled.
 */
export function mayHaveMore(order: OrderSnapshot): boolean {
  if (!isTerminal(order.state) || order.context.venueId === undefined) return false;
  const known = SHORT.get(order);
  if (known !== undefined) return known;
  const short = isShort(order);
  SHORT.set(order, short);
  return short;
}

/** Asked of each order of a run at each look; a snapshot never changes, and what it says need not be computed again. */
const SHORT = new WeakMap<OrderSnapshot, boolean>();

function isShort({ context }: OrderSnapshot): boolean {
  const { intent, lastRecord, triggered } = context;
  const filled = pickLarger(context.filled, context.recordFilled);
  if (!isPositionStop(intent)) return exceeds(context.size, filled);
  // The fraction until a record that shows it at work has given a size.
  const size = triggered === true ? lastRecord?.initial_size : undefined;
  return size === undefined || isSameDecimal(size, intent.size) ? isZeroDecimal(filled) : exceeds(size, filled);
}

/**
 * Whether a record says that the order is closed, which is filled whole, and shows less, as its fills do: its status may be newer than
 * its size. One that shows a part is taken at its word 5 s after its end, seen from `at` (epoch ms): a venue may close what no one
 * fills any more.
 */
export function isClosedShort(order: OrderSnapshot, at: number): boolean {
  const { terminalAt = at, filled, recordFilled } = order.context;
  if (order.state !== 'closed' || !isSameDecimal(filled, recordFilled)) return false;
  return isFilledUnseen(order) || (at < terminalAt + TIMINGS.closedLagMs && mayHaveMore(order));
}

/**
 * When a record shows what filled of an order that ended with less than it asked for, epoch ms: the one that showed its end may be older
 * than that, and its fills may lag for longer. Undefined of any other.
 */
export function findEndShownAt(order: OrderSnapshot): number | undefined {
  const { terminalAt } = order.context;
  return terminalAt !== undefined && mayHaveMore(order) ? terminalAt + TIMINGS.readLagMs : undefined;
}

/**
 * When a record shows what filled of an order that never rests and seems to have ended with nothing, epoch ms: the one that showed its end
 * may be older than that. Undefined of any other: where a part is known, it must not stay without a stop meanwhile.
 */
export function findShownAt(order: OrderSnapshot): number | undefined {
  const { filled, recordFilled, intent } = order.context;
  const isEmpty = isZeroDecimal(filled) && isZeroDecimal(recordFilled);
  return intent.timeInForce === 'immediate_or_cancel' && isEmpty ? findEndShownAt(order) : undefined;
}

/**
 * Decides the next act: the first reading at once, the first of the other kind at once as well, else after 1, 2, 4 and every 5 s.
 * The last reading begins when the window is over: fills that lag as long as the window are still seen.
 */
export function decideCompletion(order: OrderSnapshot, progress: CompletionProgress, now: number): Completion {
  const { since, windowMs, reads, readAt, read, turned } = progress;
  const missing = findMissing(order);
  // Where both are the same and too little, either may show the rest first.
  const either = read === 'fills' ? 'record' : 'fills';
  const what = isClosedShort(order, readAt ?? now) ? either : missing;
  const end = since + windowMs;
  if (what === undefined) {
    const due = Math.min(end, findShownAt(order) ?? since);
    if (due <= since || (readAt !== undefined && readAt >= due)) return { kind: 'done' };
    return now < due ? { kind: 'wait', until: due } : { kind: 'read', what: 'record' };
  }
  if (readAt === undefined || (read !== what && turned !== true)) return { kind: 'read', what };
  if (readAt >= end) return { kind: missing === undefined ? 'done' : 'incomplete' };
  const due = Math.min(end, readAt + (COMPLETION_PAUSES_MS[reads - 1] ?? COMPLETION_EVERY_MS));
  return now < due ? { kind: 'wait', until: due } : { kind: 'read', what };
}

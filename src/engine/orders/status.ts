/**
 * How an order stands, in the words of those who wait for it: seen, found, over, or a person's case. Questions to the book
 * alone; none of them asks the venue.
 */
import { Decimal, decimal } from '../../base/decimal.ts';
import { pluralize } from '../../base/format.ts';
import type { JsonObject } from '../../journal/entry.ts';
import type { TrackedOrder } from '../../journal/orders.ts';
import type { AwaitTarget } from '../../runbook/checked.ts';
import { isPlaced, isTerminal } from '../../venue/order/states.ts';
import type { OrderRecord } from '../../venue/records.ts';
import { Halt } from '../interruption.ts';

/** An order that is not what it was asked to be for this long is a case for a cancel, or a person (fault-matrix.md, row 29). */
export const CONFIRM_WITHIN_MS = 60_000;

export function isConfirmed(order: TrackedOrder): boolean {
  return isPlaced(order.snapshot.state);
}
export function isQuarantined(order: TrackedOrder): boolean {
  return order.snapshot.state === 'quarantined';
}
/** Whether a cancel, one of the account or a fired switch among them, is known to be at work. */
export function isBeingCancelled({ snapshot }: TrackedOrder): boolean {
  const { cancel } = snapshot.context;
  return snapshot.state === 'canceling' && cancel?.ackedAt !== undefined;
}
export function isEnded(order: TrackedOrder): boolean {
  return isTerminal(order.snapshot.state) || isQuarantined(order);
}

export function reached(order: TrackedOrder, target: AwaitTarget): boolean {
  const { state, context } = order.snapshot;
  const filled = Decimal.max(decimal(context.filled), decimal(context.recordFilled));
  switch (target) {
    case 'accepted':
      return true;
    case 'live':
      return isConfirmed(order) && state !== 'rejected';
    case 'any_fill':
      return filled.gt(0);
    case 'filled':
      return state === 'closed';
    case 'terminal':
      return isTerminal(state);
    default:
      return target satisfies never;
  }
}

export function nameOf(order: TrackedOrder): string {
  return order.snapshot.context.venueId ?? order.intent.clientOrderId;
}

/**
 * Whether an amend would change nothing. It is not sent then: it would cost the order its place in the queue, and no reading
 * could tell whether it was taken.
 */
export function hasTerms(order: TrackedOrder, price: Decimal, size: Decimal | undefined): boolean {
  const { state, context } = order.snapshot;
  return (
    state === 'open' &&
    context.price !== undefined &&
    price.eq(decimal(context.price)) &&
    (size === undefined || size.eq(decimal(context.size)))
  );
}

/** Whether the venue has shown it under a status that nobody knows for as long as `ms`, and under no other since. */
export function hasUnknownStatus(order: TrackedOrder, now: number, ms: number): boolean {
  const { strange } = order.snapshot.context;
  return strange !== undefined && now - strange.since >= ms;
}

/** An order that is not of this run, as the journal keeps it: what a person needs to find it at the venue. */
export function shownOrder(record: OrderRecord): JsonObject {
  const { id, client_order_id, market_id, side, size, price, status } = record;
  return { id, client_order_id, market_id, side, size, price, status };
}

/** A person's case: what became of the order, and where to look. */
export function quarantined(order: TrackedOrder, step: string): Halt {
  const { strange } = order.snapshot.context;
  const what =
    strange === undefined
      ? `what became of order ${nameOf(order)} can not be told`
      : `the venue shows order ${nameOf(order)} as ${JSON.stringify(strange.status)}, a status that is not known here: it may work or be over`;
  return new Halt(
    'unknown_outcome',
    `${what}; look it up at the venue by its client order id ${order.intent.clientOrderId}, then resume the run, which asks again`,
    step,
  );
}

/** Orders that were to be taken away and can not be shown to be gone: `names` of all, and why the last of them could not. */
export function leftBehind(names: readonly string[], why: string, step: string): Halt {
  return new Halt(
    'unknown_outcome',
    `${pluralize(names.length, 'order')} ${names.join(', ')} could not be cancelled and may still fill: ${why}; resume the run, which asks once more and cancels, or cancel at the venue`,
    step,
  );
}

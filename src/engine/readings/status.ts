/**
 * Answers questions about the status of a tracked order: confirmed, being cancelled, ended, quarantined. Reads the tracker alone,
 * never the venue.
 */
import { Decimal, decimal } from '../../base/decimal.ts';
import { pluralize } from '../../base/format.ts';
import type { JsonObject } from '../../journal/entry.ts';
import type { TrackedOrder } from '../../journal/orders.ts';
import type { AwaitTarget } from '../../runbook/checked.ts';
import { isPlaced, isTerminal } from '../../venue/order/states.ts';
import type { OrderRecord } from '../../venue/records.ts';
import { Halt } from '../interruption.ts';

export function isConfirmed(order: TrackedOrder): boolean {
  return isPlaced(order.snapshot.state);
}
export function isQuarantined(order: TrackedOrder): boolean {
  return order.snapshot.state === 'quarantined';
}
/** Whether the venue has ever given its id: a cancel can name it. */
export function hasBeenShown({ snapshot }: TrackedOrder): boolean {
  return snapshot.context.venueId !== undefined;
}
/** Whether a cancel was acknowledged: of the order, of the account, or by a fired switch. */
export function isBeingCancelled({ snapshot }: TrackedOrder): boolean {
  const { cancel } = snapshot.context;
  return snapshot.state === 'canceling' && cancel?.ackedAt !== undefined;
}
export function isEnded(order: TrackedOrder): boolean {
  return isTerminal(order.snapshot.state) || isQuarantined(order);
}

export function hasReached(order: TrackedOrder, target: AwaitTarget): boolean {
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

export function getOrderName(order: TrackedOrder): string {
  return order.snapshot.context.venueId ?? order.intent.clientOrderId;
}

/**
 * Whether an amend would change nothing. Then it is not sent: it would cost the order its place in the queue, and no reading
 * could show whether it was accepted.
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

/** Whether the venue has shown the order for `ms` under an unknown status, and under no other since. */
export function hasUnknownStatus(order: TrackedOrder, now: number, ms: number): boolean {
  const { unknownStatus } = order.snapshot.context;
  return unknownStatus !== undefined && now - unknownStatus.since >= ms;
}

/** An order of another origin as the journal keeps it: the fields with which a person finds it at the venue. */
export function toJsonOrder(record: OrderRecord): JsonObject {
  const { id, client_order_id, market_id, side, size, price, status } = record;
  return { id, client_order_id, market_id, side, size, price, status };
}

/** The halt for a quarantined order: what is unknown, and where to look. */
export function haltForQuarantine(order: TrackedOrder, step: string, doubt = ''): Halt {
  const { unknownStatus } = order.snapshot.context;
  const found =
    unknownStatus === undefined
      ? `the outcome of order ${getOrderName(order)} is unknown${doubt}`
      : `the venue shows order ${getOrderName(order)} as ${JSON.stringify(unknownStatus.status)}, an unknown status: it may work or have ended`;
  return new Halt(
    'unknown_outcome',
    `${found}; look it up at the venue by its client order id ${order.intent.clientOrderId}, then resume the run, which looks it up again`,
    step,
  );
}

/** The halt for orders that were to be cancelled and may still work: the `names` of all, and why the last one failed. */
export function haltForWorking(names: readonly string[], why: string, step: string): Halt {
  return new Halt(
    'unknown_outcome',
    `${pluralize(names.length, 'order')} ${names.join(', ')} could not be cancelled and may still fill: ${why}; resume the run, which looks them up and cancels again, or cancel at the venue`,
    step,
  );
}

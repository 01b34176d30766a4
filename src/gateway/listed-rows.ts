/**
 * Judges the rows of a list one by one, where its caller asks for that. A page of a market holds up to 1000 rows of other programs:
 * for orders of this run alone they are neither kept nor judged. A row that cannot be read and may be one of ours makes that order
 * unreadable, and no other.
 */
import type { OrderTracker } from '../journal/orders.ts';
import type { EndpointName, Params } from '../venue/catalogue.ts';
import { isWorking } from '../venue/order/states.ts';
import type { CallOutcome, UnreadOrder, VenueCall } from '../venue/port.ts';
import type { OrderRecord } from '../venue/records.ts';
import type { UnreadRow } from '../venue/wire/answer.ts';

type Orders = Pick<OrderTracker, 'get' | 'byId' | 'unfinished'>;

export function judgeRows<E extends EndpointName>(
  call: VenueCall<E>,
  outcome: CallOutcome<E>,
  unread: readonly UnreadRow[],
  orders: Orders,
): CallOutcome<E> {
  if (call.rows === undefined || outcome.kind !== 'confirmed') return outcome;
  if (call.rows === 'each')
    return unread.length === 0 ? outcome : { ...outcome, unread: unread.map((row) => nameOwn(row, orders)) };
  const ours = unread.flatMap((row) => findOwn(row, orders));
  const foreign = unread.length - ours.length;
  const notes = [...(outcome.notes ?? []), ...describeForeign(unread, foreign)];
  const { order_id, client_order_id } = call.params as Params<'GET /orders'>;
  const [first] = ours;
  if (order_id !== undefined || client_order_id !== undefined) {
    // The row is the order that was asked for, and nothing else was.
    if (first !== undefined)
      return {
        kind: 'unresolved',
        message: first.why,
        sentAt: outcome.sentAt ?? outcome.settledAt,
        settledAt: outcome.settledAt,
      };
    return { ...outcome, ...(notes.length === 0 ? {} : { notes }), ...(foreign === 0 ? {} : { leftOut: foreign }) };
  }
  const rows = outcome.result as unknown as readonly OrderRecord[];
  const kept = rows.filter(
    ({ id, client_order_id: given }) => orders.byId(id) !== undefined || orders.get(given) !== undefined,
  );
  const leftOut = rows.length - kept.length + foreign;
  return {
    ...outcome,
    result: kept as unknown as typeof outcome.result,
    ...(notes.length === 0 ? {} : { notes }),
    ...(leftOut === 0 ? {} : { leftOut }),
    ...(first === undefined ? {} : { unread: ours }),
  };
}

/** The order of ours that a row may be, as a list of one; empty where it cannot be ours. */
function findOwn(row: UnreadRow, orders: Orders): readonly UnreadOrder[] {
  const { orderId, clientOrderId } = row;
  const named = nameOwn(row, orders);
  if (named.clientOrderId !== undefined) return [named];
  // Every order of ours has a client order id of ours.
  if (clientOrderId !== undefined) return [];
  // Without one it may be an order whose id never arrived; without any id it may be each.
  const maybe = orders
    .unfinished()
    .some(
      ({ snapshot: { state, context } }) =>
        isWorking(state) && (orderId === undefined || context.venueId === undefined),
    );
  return maybe ? [named] : [];
}

/** The row, with the client order id where it is a known order of ours. */
function nameOwn({ orderId, clientOrderId, why }: UnreadRow, orders: Orders): UnreadOrder {
  const known =
    (orderId === undefined ? undefined : orders.byId(orderId)) ??
    (clientOrderId === undefined ? undefined : orders.get(clientOrderId));
  return known === undefined ? { why } : { clientOrderId: known.intent.clientOrderId, why };
}

function describeForeign(unread: readonly UnreadRow[], foreign: number): readonly string[] {
  const [first] = unread;
  return foreign === 0 || first === undefined
    ? []
    : [`${foreign} of the rows of other orders cannot be read, such as: ${first.why}`];
}

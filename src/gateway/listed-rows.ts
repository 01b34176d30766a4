/**
 * Judges the rows of a list one by one, where its caller asks for that. A page of a market holds up to 1000 rows of other programs:
 * for orders of this run alone they are neither kept nor judged. A row that cannot be read and may be one of ours makes that order
 * unreadable, and no other.
 */
import { decimal, parseDecimal } from '../base/decimal.ts';
import { makePrintable } from '../base/printable.ts';
import type { OrderTracker, TrackedOrder } from '../journal/orders.ts';
import type { EndpointName, Params } from '../venue/catalogue.ts';
import { isPositionStop } from '../venue/order/context.ts';
import { isWorking } from '../venue/order/states.ts';
import type { CallOutcome, UnreadOrder, VenueCall } from '../venue/port.ts';
import type { OrderRecord } from '../venue/records.ts';
import type { UnreadRow } from '../venue/wire/answer.ts';

type Orders = Pick<OrderTracker, 'get' | 'byId' | 'orders' | 'unfinished'>;

export function judgeRows<E extends EndpointName>(
  call: VenueCall<E>,
  outcome: CallOutcome<E>,
  unread: readonly UnreadRow[],
  orders: Orders,
): CallOutcome<E> {
  if (call.rows === undefined || outcome.kind !== 'confirmed') return outcome;
  if (call.rows === 'each')
    return unread.length === 0
      ? outcome
      : { ...outcome, unread: unread.map((row) => ({ ...describeRow(row), ...nameOwn(row, orders) })) };
  const { order_id, client_order_id } = call.params as Params<'GET /orders'>;
  const isLookUp = order_id !== undefined || client_order_id !== undefined;
  // Whatever else a row shows that was asked for by its id, it is that order.
  const ours = unread.flatMap((row) => findOwn(isLookUp ? { ...row, shows: {} } : row, orders));
  const foreign = unread.length - ours.length;
  const notes = [...(outcome.notes ?? []), ...describeForeign(unread, foreign)];
  const [first] = ours;
  if (isLookUp) {
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
  const isOurs = ({ id, client_order_id: given }: OrderRecord) =>
    orders.byId(id) !== undefined || orders.get(given) !== undefined;
  const kept = rows.filter(isOurs);
  // Of the list that is to prove an order absent.
  const nameless = call.purpose === 'lookup' ? findNameless(rows, isOurs, orders) : [];
  const unreadOwn = [...ours, ...nameless];
  const leftOut = rows.length - kept.length - nameless.length + foreign;
  return {
    ...outcome,
    result: kept as unknown as typeof outcome.result,
    ...(notes.length === 0 ? {} : { notes }),
    ...(leftOut === 0 ? {} : { leftOut }),
    ...(unreadOwn.length === 0 ? {} : { unread: unreadOwn }),
  };
}

/**
 * The rows without a client order id, or with the beginning of one, that may be an order of ours whose id never arrived: a venue that
 * drops or cuts client order ids shows ours so, and finds none by it. Taken for another program's, it would let the order be proven
 * absent and be sent a second time. Where the venue has shown an order of the type with its client order id, it is another's.
 */
function findNameless(
  rows: readonly OrderRecord[],
  isOurs: (row: OrderRecord) => boolean,
  orders: Orders,
): readonly UnreadOrder[] {
  const keepsNames = (type: string) => orders.orders().some((each) => each.intent.type === type && isShownByName(each));
  const doubted = orders
    .unfinished()
    .filter(({ intent: { type }, snapshot }) => snapshot.context.venueId === undefined && !keepsNames(type));
  if (doubted.length === 0) return [];
  return rows.flatMap((row) => {
    const { id: orderId, client_order_id: given, market_id, side, initial_size, price, order_type } = row;
    const shown = { orderId, shows: { market_id, side, initial_size, price }, why: '' };
    const mayBeOurs = (order: TrackedOrder) =>
      order.intent.type === order_type && order.intent.clientOrderId.startsWith(given) && mayBe(shown, order);
    if (isOurs(row) || !doubted.some(mayBeOurs)) return [];
    const name = given === '' ? 'no client order id' : `the client order id ${makePrintable(given, 60)}`;
    return [{ why: `order ${orderId} has its terms, and ${name}` }];
  });
}

function isShownByName({ intent, snapshot }: TrackedOrder): boolean {
  return snapshot.context.lastRecord?.client_order_id === intent.clientOrderId;
}

/** The order of ours that a row may be, as a list of one; empty where it cannot be ours. */
function findOwn(row: UnreadRow, orders: Orders): readonly UnreadOrder[] {
  const { clientOrderId } = row;
  const named = nameOwn(row, orders);
  if (named.clientOrderId !== undefined) return [named];
  // Every order of ours has a client order id of ours.
  if (clientOrderId !== undefined) return [];
  return orders.unfinished().some((order) => mayBe(row, order)) ? [named] : [];
}

/**
 * Whether a row without a client order id may be an order: one whose id never arrived, or each where the row has no id at all, unless it
 * shows other terms. A row of another program that stays unreadable would else keep every order from being proven absent.
 */
function mayBe({ orderId, shows }: UnreadRow, { intent, snapshot: { state, context } }: TrackedOrder): boolean {
  const wasShown = context.venueId !== undefined;
  if (!isWorking(state) || (wasShown && orderId !== undefined)) return false;
  const { market_id: market = intent.market, side, initial_size: size, price } = shows;
  if (market !== intent.market || side === (intent.side === 'long' ? 'short' : 'long')) return false;
  // An order that was shown may have been amended since.
  if (wasShown) return true;
  const differs = (shown = '', meant = '') => {
    const read = parseDecimal(shown);
    return read !== undefined && meant !== '' && !read.isZero() && !read.eq(decimal(meant));
  };
  return !(
    (!isPositionStop(intent) && differs(size, intent.size)) ||
    (intent.type === 'limit' && differs(price, intent.price))
  );
}

/** What a row shows of the order of anybody: enough to cancel it by. */
export function describeRow({ orderId, shows: { market_id: market, status }, why }: UnreadRow): UnreadOrder {
  return {
    ...(orderId === undefined ? {} : { orderId }),
    ...(market === undefined ? {} : { market }),
    ...(status === undefined ? {} : { status }),
    why,
  };
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

/**
 * The orders that a test's rules define: the effect of an acknowledgement, a record or a cancel of the script on later readings.
 * An order stays open as it was placed until a rule changes it; missing fields follow from earlier replies. It never matches or
 * fills orders by itself.
 */
import { Decimal, decimal, formatDecimal, parseDecimal, roundToStep } from '../../../base/decimal.ts';
import { type FillRecord, isTerminalStatus, type OrderRecord, type PlacementAck } from '../../../venue/records.ts';
import { completeRecord } from '../file/reply-shape.ts';

/** Sent parameters: literals by name. */
export type SentParams = Readonly<Record<string, string | undefined>>;
type Given = Readonly<Record<string, unknown>>;

interface ScriptedOrder {
  record: OrderRecord;
  /** Increases of `total_filled_size` and their times. */
  readonly executions: { readonly size: string; readonly price: string; readonly atUs: number }[];
}

/** Types of orders that wait for their trigger. */
const WAITS = /^stop_|^take_profit/;
/** Fee rate of a taker on the simulated venue. */
const FEE_RATE = '0.0005';
/** First number of scripted orders without an id: far from the simulated venue's own. */
const FIRST_NUMBER = 900_001;
/** Rows of a page when p_limit is absent. */
const DEFAULT_PAGE_ROWS = 100;

export class ScriptedOrders {
  private readonly orders = new Map<string, ScriptedOrder>();
  private readonly fillNumbers = new Map<string, { readonly number: number; readonly atUs: number }>();
  private numbers = FIRST_NUMBER;

  get size(): number {
    return this.orders.size;
  }

  /** The id of a new order where the script gives none. */
  makeNextId(market: string): string {
    const id = `${market}@${this.numbers}`;
    this.numbers += 1;
    return id;
  }

  /** The order a request is about; undefined for an order that no rule defines. */
  find({ order_id: id, client_order_id: clientId }: SentParams): OrderRecord | undefined {
    if (id !== undefined) return this.orders.get(id)?.record;
    if (clientId === undefined || clientId === '') return undefined;
    return [...this.orders.values()]
      .map(({ record }) => record)
      .findLast((record) => record.client_order_id === clientId);
  }

  /** Adds an acknowledged order: open, unless the acknowledgement ends it. */
  place(ack: PlacementAck, sent: SentParams, now: number): void {
    const size = sent['size'] ?? ack.size;
    const record = completeRecord('order', {
      id: ack.id,
      client_order_id: sent['client_order_id'] ?? ack.client_order_id,
      market_id: ack.market_id,
      order_type: sent['type'] ?? ack.type,
      side: ack.side,
      price: ack.price,
      size,
      initial_size: size,
      status: isTerminalStatus(ack.status) ? ack.status : 'open',
      timestamp: now * 1000,
      time_in_force: ack.time_in_force,
    });
    this.orders.set(record.id, { record, executions: [] });
  }

  /** Takes over an order placed elsewhere: from here on the script defines its state. */
  adopt(record: OrderRecord): void {
    if (!this.orders.has(record.id)) this.orders.set(record.id, { record, executions: [] });
  }

  /** Applies a rule's record to an order, completed from its known state; this is its state from now on. */
  applyRecord(id: string, given: Given, now: number): OrderRecord {
    const order = this.orders.get(id);
    if (order === undefined) throw new Error(`no scripted order ${id}`);
    const before = order.record;
    const record = completeRecord('order', { ...completeSizes(before, given), ...given }, { ...before });
    const grown = subtract(record.total_filled_size, before.total_filled_size);
    if (grown?.gt(0)) order.executions.push({ size: formatDecimal(grown), price: record.price, atUs: now * 1000 });
    order.record = record;
    return record;
  }

  /** Fills an order that rests by a fraction of what remains, rounded up to the lot; one that waits for a trigger stays. */
  fillResting(id: string, { fraction, lot, now }: { fraction: string; lot: string; now: number }): void {
    const record = this.orders.get(id)?.record;
    const remaining = record === undefined ? undefined : parseDecimal(record.size);
    if (record === undefined || remaining === undefined || isOver(record) || WAITS.test(record.order_type)) return;
    const part = Decimal.min(remaining, roundToStep(remaining.times(decimal(fraction)), decimal(lot), 'up'));
    const filled = formatDecimal(decimal(record.total_filled_size).plus(part));
    this.applyRecord(id, { total_filled_size: filled, ...(part.eq(remaining) ? { status: 'closed' } : {}) }, now);
  }

  cancel(id: string): void {
    const order = this.orders.get(id);
    if (order !== undefined && !isOver(order.record)) order.record = { ...order.record, status: 'canceled' };
  }

  /** Cancels every open order placed until then. */
  cancelAll(reason: string, untilMs: number): void {
    for (const order of this.orders.values()) {
      const { record } = order;
      if (record.timestamp <= untilMs * 1000 && !isOver(record))
        order.record = { ...record, status: 'canceled', reason };
    }
  }

  amend(id: string, price: string, size: string | undefined, now: number): void {
    const order = this.orders.get(id);
    if (order === undefined) return;
    const left = size === undefined ? undefined : subtract(size, order.record.total_filled_size);
    this.applyRecord(
      id,
      {
        price,
        ...(size === undefined || left === undefined ? {} : { initial_size: size, size: formatDecimal(left) }),
        status: 'open',
      },
      now,
    );
  }

  /** Orders of a listing by its filters, newest first. */
  list(params: SentParams): readonly OrderRecord[] {
    return [...this.orders.values()]
      .map(({ record }) => record)
      .filter((record) => agrees(record, params) && isInTime(record.timestamp, params))
      .reverse();
  }

  /** Whether an order of the script is in a market: then the script defines its position as well. */
  knowsMarket(market: string | undefined): boolean {
    return [...this.orders.values()].some(({ record }) => record.market_id === market);
  }

  listOpen(): readonly OrderRecord[] {
    return [...this.orders.values()].map(({ record }) => record).filter((record) => !isOver(record));
  }

  /** Fills that follow from an order's filled size, at the order's price. */
  listFills(id: string): readonly FillRecord[] {
    const order = this.orders.get(id);
    return (order?.executions ?? []).map(({ size, price, atUs }, index) =>
      this.completeFill({ size, price, timestamp: atUs }, order?.record, index),
    );
  }

  /**
   * A fill completed from its order. The same position in a list with the same price and size is the same fill in every reading:
   * otherwise a second reading would book it twice.
   */
  completeFill(given: Given, order: OrderRecord | undefined, index: number, now = 0): FillRecord {
    const known =
      order === undefined
        ? {}
        : {
            order_id: order.id,
            market_id: order.market_id,
            side: order.side,
            price: order.price,
            size: order.total_filled_size,
          };
    const draft = completeRecord('fill', given, known);
    const key = JSON.stringify([draft.order_id, index, draft.price, draft.size]);
    const same = this.fillNumbers.get(key) ?? { number: FIRST_NUMBER + this.fillNumbers.size, atUs: now * 1000 };
    this.fillNumbers.set(key, same);
    const id = `${draft.market_id}-${same.number}`;
    const [price, size] = [parseDecimal(draft.price), parseDecimal(draft.size)];
    const fee =
      price === undefined || size === undefined ? '0' : formatDecimal(price.times(size).times(decimal(FEE_RATE)));
    return completeRecord('fill', given, { ...known, id, trade_id: id, fee, timestamp: same.atUs });
  }
}

export function isOver({ status }: Pick<OrderRecord, 'status'>): boolean {
  return isTerminalStatus(status);
}

/** The sizes a rule leaves out: filled and remaining size add up to the initial size. */
function completeSizes(before: OrderRecord, given: Given): Partial<OrderRecord> {
  const text = (field: 'size' | 'initial_size' | 'total_filled_size') =>
    typeof given[field] === 'string' ? given[field] : undefined;
  const initial = text('initial_size') ?? before.initial_size;
  const [size, filled] = [text('size'), text('total_filled_size')];
  if (size !== undefined && filled !== undefined) return {};
  if (filled !== undefined) return computeRemainder('size', initial, filled);
  if (size !== undefined) return computeRemainder('total_filled_size', initial, size);
  if (given['status'] === 'closed') return { size: '0', total_filled_size: initial };
  return text('initial_size') === undefined ? {} : computeRemainder('size', initial, before.total_filled_size);
}

function computeRemainder(field: 'size' | 'total_filled_size', whole: string, part: string): Partial<OrderRecord> {
  const rest = subtract(whole, part);
  return rest === undefined || rest.isNegative() ? {} : { [field]: formatDecimal(rest) };
}

function subtract(left: string, right: string): Decimal | undefined {
  const [a, b] = [parseDecimal(left), parseDecimal(right)];
  return a === undefined || b === undefined ? undefined : a.minus(b);
}

function agrees(
  record: OrderRecord,
  { order_id: id, client_order_id: clientId, market_id: market, status }: SentParams,
): boolean {
  return (
    (id === undefined || record.id === id) &&
    (clientId === undefined || record.client_order_id === clientId) &&
    (market === undefined || record.market_id === market) &&
    (status === undefined || record.status === status)
  );
}

export function isInTime(timestampUs: number, { start_time: from, end_time: to }: SentParams): boolean {
  return (from === undefined || timestampUs >= Number(from)) && (to === undefined || timestampUs <= Number(to));
}

/** One page of rows by time, according to a listing's parameters. */
export function selectPage<R extends { readonly timestamp: number }>(
  rows: readonly R[],
  params: SentParams,
): readonly R[] {
  const limit = Number(params['p_limit'] ?? DEFAULT_PAGE_ROWS);
  const skip = Number(params['p_page'] ?? 0) * limit;
  const up = params['p_order'] === 'ASC' ? 1 : -1;
  return [...rows].sort((a, b) => up * (a.timestamp - b.timestamp)).slice(skip, skip + limit);
}

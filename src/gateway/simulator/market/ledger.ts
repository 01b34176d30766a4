/**
 * Keeps the venue's own record of orders and fills, the truth with which a simulation test compares the engine. Every change of
 * an order is kept with its time, so that a read can show an earlier state. The ledger decides nothing: orders.ts and fills.ts
 * handle prices, delays and faults.
 */
import { type Decimal, type DecimalString, formatDecimal } from '../../../base/decimal.ts';
import type { FillRecord, OrderRecord, OrderType, Side, TimeInForce } from '../../../venue/records.ts';
import type { Settings } from '../config/settings.ts';

/** The true stage of an order; the status that it shows follows from this and from actions in progress. */
export type Stage =
  /** Acknowledged; its outcome is not decided yet. */
  | 'processing'
  /** A stop or position order whose trigger has not been reached. */
  | 'waiting'
  /** In the order book. */
  | 'working'
  | 'closed'
  | 'canceled'
  | 'rejected';

export type Snapshot = {
  /** Epoch ms. */
  readonly at: number;
  readonly status: string;
  readonly reason: string;
  readonly price: DecimalString;
  /** Remaining size. */
  readonly size: DecimalString;
  readonly initial_size: DecimalString;
  readonly total_filled_size: DecimalString;
};

export interface SimOrder {
  /** The number in the order's id. */
  readonly number: number;
  readonly id: string;
  readonly clientOrderId: string;
  readonly marketId: string;
  readonly side: Side;
  readonly type: OrderType;
  readonly timeInForce: TimeInForce;
  readonly arrivedAt: number;
  readonly timestampUs: number;
  /** Time from which GET /orders shows the order, epoch ms. */
  readonly visibleAt: number;
  readonly trigger: Decimal | undefined;
  /** Age of the state that GET /orders shows, ms. */
  readonly readLagMs: number;
  /** Fields of its record that GET /orders shows as null. */
  readonly nulls?: readonly string[];
  /** Undefined for an order that accepts every price. */
  price: Decimal | undefined;
  /** Remaining size; the fraction for a position order that waits. */
  size: Decimal;
  initialSize: Decimal;
  filled: Decimal;
  stage: Stage;
  reason: string;
  priority: number;
  amendsUnderWay: number;
  /** Surprise 4: the order shows as canceled for a short time. */
  flickers: boolean;
  cancelsUnderWay: number;
  cancelsAllUnderWay: number;
  readonly history: Snapshot[];
}

export interface SimFill {
  readonly record: FillRecord;
  /** Epoch ms from which it is shown. */
  readonly shownAt: number;
}

export function isTerminal(order: SimOrder): boolean {
  return order.stage === 'closed' || order.stage === 'canceled' || order.stage === 'rejected';
}

/** Whether an order closes a fraction of a position instead of a size. */
export function isPositionOrder(order: SimOrder): boolean {
  return order.type === 'stop_loss' || order.type === 'take_profit';
}

export class OrderLedger {
  readonly orders: SimOrder[] = [];
  readonly fills: SimFill[] = [];
  private readonly byId = new Map<string, SimOrder>();
  private readonly byClientId = new Map<string, SimOrder[]>();
  private readonly fillsByOrder = new Map<string, SimFill[]>();
  /** A list that is read each second shows most orders as it did before: their records are made once. */
  private readonly records = new WeakMap<Snapshot, OrderRecord>();
  /** Orders that are not terminal, in order of arrival. */
  readonly open = new Set<SimOrder>();
  private readonly stopStatus: string;
  private readonly profileId: number;
  private readonly immediateOpenMs: number;
  private lastUs = 0;
  private readonly clockSteps: Settings['clockSteps'];
  private readonly startedAt: number;

  constructor(
    profileId: number,
    shown: { readonly stopStatus: string; readonly immediateOpenMs: number },
    { clockSteps, startedAt }: { readonly clockSteps: Settings['clockSteps']; readonly startedAt: number },
  ) {
    this.profileId = profileId;
    this.clockSteps = clockSteps;
    this.startedAt = startedAt;
    this.stopStatus = shown.stopStatus;
    this.immediateOpenMs = shown.immediateOpenMs;
  }

  /** Returns a new timestamp of the venue in µs; each is greater than the one before, as long as its clock is not set back. */
  stamp(atMs: number): number {
    this.lastUs = Math.max(this.lastUs + 1, atMs * 1000);
    const steps = this.clockSteps.filter(({ afterMs }) => atMs >= this.startedAt + afterMs);
    return this.lastUs + steps.reduce((sum, { byMs }) => sum + byMs * 1000, 0);
  }

  /** Orders and fills in rising order of their timestamps. */
  listByTime(): { readonly orders: readonly SimOrder[]; readonly fills: readonly SimFill[] } {
    if (this.clockSteps.length === 0) return this;
    return {
      orders: this.orders.toSorted((a, b) => a.timestampUs - b.timestampUs),
      fills: this.fills.toSorted((a, b) => a.record.timestamp - b.record.timestamp),
    };
  }

  add(order: SimOrder, at: number): void {
    this.orders.push(order);
    this.byId.set(order.id, order);
    if (order.clientOrderId !== '') append(this.byClientId, order.clientOrderId, order);
    this.note(order, at);
  }

  find(id: string): SimOrder | undefined {
    return this.byId.get(id);
  }

  /** Every order with a client order id, in order of arrival; there may be several (venue-notes.md, surprise 8). */
  findByClientId(clientOrderId: string): readonly SimOrder[] {
    return this.byClientId.get(clientOrderId) ?? [];
  }

  addFill(order: SimOrder, fill: SimFill): void {
    this.fills.push(fill);
    append(this.fillsByOrder, order.id, fill);
  }

  listFillsOf(orderId: string): readonly SimFill[] {
    return this.fillsByOrder.get(orderId) ?? [];
  }

  /** Adds the present state of an order to its history if it shows a difference. */
  note(order: SimOrder, at: number): void {
    if (isTerminal(order)) this.open.delete(order);
    else this.open.add(order);
    const snapshot: Snapshot = {
      at: this.isShownLater(order) ? at + this.immediateOpenMs : at,
      status: this.deriveStatus(order),
      reason: order.reason,
      price: formatDecimal(order.price ?? order.size.times(0)),
      size: formatDecimal(order.size),
      initial_size: formatDecimal(order.initialSize),
      total_filled_size: formatDecimal(order.filled),
    };
    const last = order.history.at(-1);
    if (last === undefined || SHOWN.some((field) => last[field] !== snapshot[field])) order.history.push(snapshot);
  }

  /** Returns the record as GET /orders showed it at a time. */
  readRecordAt(order: SimOrder, at: number): OrderRecord | undefined {
    const { history } = order;
    let index = history.length - 1;
    while (index > 0 && (history[index] as Snapshot).at > at) index -= 1;
    const shown = history[index] as Snapshot;
    const known = this.records.get(shown);
    if (known !== undefined) return known;
    const record: OrderRecord = {
      id: order.id,
      client_order_id: order.clientOrderId,
      market_id: order.marketId,
      order_type: order.type,
      side: order.side,
      price: shown.price,
      size: shown.size,
      initial_size: shown.initial_size,
      total_filled_size: shown.total_filled_size,
      status: shown.status,
      reason: shown.reason,
      profile_id: this.profileId,
      timestamp: order.timestampUs,
      time_in_force: order.timeInForce,
    };
    this.records.set(shown, record);
    return record;
  }

  /** Whether an order that never rests is shown as `open` for a while; what happened to it is shown after that. */
  private isShownLater({ type, timeInForce, history }: SimOrder): boolean {
    return (
      this.immediateOpenMs > 0 &&
      (type === 'market' || timeInForce === 'immediate_or_cancel' || timeInForce === 'fill_or_kill') &&
      history.some(({ status }) => status === 'open')
    );
  }

  /** Derives the status that an order shows (States and transitions): an action in progress hides the stage. */
  private deriveStatus(order: SimOrder): string {
    if (isTerminal(order)) return order.stage;
    if (order.flickers) return 'canceled';
    if (order.cancelsAllUnderWay > 0) return 'cancelingall';
    if (order.cancelsUnderWay > 0) return 'canceling';
    if (order.amendsUnderWay > 0) return 'amending';
    if (order.stage === 'processing') return 'processing';
    return order.stage === 'waiting' ? this.stopStatus : 'open';
  }
}

const SHOWN = [
  'status',
  'reason',
  'price',
  'size',
  'initial_size',
  'total_filled_size',
] as const satisfies readonly (keyof Snapshot)[];

function append<V>(lists: Map<string, V[]>, key: string, value: V): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}

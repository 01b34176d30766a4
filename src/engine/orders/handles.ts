/**
 * Holds orders for a runbook, as snapshots that change only when a step touches the order (language.md, decision 6), whatever
 * became known about it in the meantime.
 */
import { Decimal, decimal } from '../../base/decimal.ts';
import type { TrackedOrder } from '../../journal/orders.ts';
import type { OrderFields } from '../../runbook/checked.ts';
import { type RecordValue, Time, type Value } from '../../runbook/values.ts';
import { isPositionStop } from '../../venue/order/context.ts';
import { computeAveragePrice } from '../../venue/order/fills.ts';
import { readOrderedSize } from '../../venue/order/guards.ts';
import { isAtVenue, isTerminal } from '../../venue/order/states.ts';
import type { OrderTerms } from '../../venue/port.ts';
import { isTerminalStatus, type OrderRecord } from '../../venue/records.ts';
import { StepFailure } from '../interruption.ts';

/** An order of this run, or one that a list showed; its fields read like a record's. */
export class OrderHandle implements OrderFields {
  /** The tracked order, where it is ours. */
  readonly own: TrackedOrder | undefined;
  private fields: OrderFields;

  private constructor(own: TrackedOrder | undefined, fields: OrderFields) {
    this.own = own;
    this.fields = fields;
  }

  static ofOwn(order: TrackedOrder): OrderHandle {
    return new OrderHandle(order, toOwnFields(order));
  }
  static ofRecord(record: OrderRecord, own?: TrackedOrder): OrderHandle {
    return new OrderHandle(own, toRecordFields(record));
  }

  /** Updates the snapshot to what is known now. */
  touch(record?: OrderRecord): void {
    if (this.own !== undefined) this.fields = toOwnFields(this.own);
    else if (record !== undefined) this.fields = toRecordFields(record);
  }

  get id(): string {
    return this.fields.id;
  }
  get client_order_id(): string {
    return this.fields.client_order_id;
  }
  get market_id(): string {
    return this.fields.market_id;
  }
  get order_type(): string {
    return this.fields.order_type;
  }
  get side(): string {
    return this.fields.side;
  }
  get price(): Decimal {
    return this.fields.price;
  }
  get size(): Decimal {
    return this.fields.size;
  }
  get initial_size(): Decimal {
    return this.fields.initial_size;
  }
  get total_filled_size(): Decimal {
    return this.fields.total_filled_size;
  }
  get status(): string {
    return this.fields.status;
  }
  get reason(): string {
    return this.fields.reason;
  }
  get timestamp(): Time {
    return this.fields.timestamp;
  }
  get time_in_force(): string {
    return this.fields.time_in_force;
  }
  get filled(): Decimal {
    return this.fields.filled;
  }
  get remaining(): Decimal {
    return this.fields.remaining;
  }
  get avg_price(): Decimal | undefined {
    return this.fields.avg_price;
  }
  get open(): boolean {
    return this.fields.open;
  }
  get terminal(): boolean {
    return this.fields.terminal;
  }

  toJSON(): OrderFields {
    return this.fields;
  }

  /** As the value of an expression: fields are read by declared name only. */
  get value(): RecordValue {
    return this as unknown as RecordValue;
  }
}

/** The handle behind an expression's value; undefined for anything else. */
export function asHandle(value: Value): OrderHandle | undefined {
  return value instanceof OrderHandle ? value : undefined;
}

/** The handles of a run's own orders, exactly one for each. */
export class OrderHandles {
  private readonly handles = new Map<string, OrderHandle>();

  get(order: TrackedOrder): OrderHandle {
    const known = this.handles.get(order.intent.clientOrderId);
    if (known !== undefined) return known;
    const handle = OrderHandle.ofOwn(order);
    this.handles.set(order.intent.clientOrderId, handle);
    return handle;
  }
}

/** The order of this run behind a handle. Throws StepFailure where this run did not place it. */
export function requireOwnOrder(handle: OrderHandle, step: string): TrackedOrder {
  if (handle.own === undefined) {
    throw new StepFailure(
      'denied',
      `NOT_OUR_ORDER: order ${handle.id} was not placed by this run; it can only be listed, refreshed and cancelled`,
      step,
    );
  }
  return handle.own;
}

function toOwnFields(order: TrackedOrder): OrderFields {
  const { intent, snapshot } = order;
  const { context, state } = snapshot;
  const record = context.lastRecord;
  // A record may show more than the fills that were read: the larger of the two has filled.
  const filled = Decimal.max(decimal(context.filled), decimal(context.recordFilled));
  const ordered = decimal(readSize(intent, context.size, record));
  const terminal = isTerminal(state);
  const rest = Decimal.max(0, ordered.minus(filled));
  const average = computeAveragePrice(context.fills.values());
  return {
    id: context.venueId ?? '',
    client_order_id: intent.clientOrderId,
    market_id: intent.market,
    order_type: intent.type,
    side: intent.side,
    price: decimal(record?.price ?? intent.price ?? '0'),
    size: record === undefined ? ordered : decimal(record.size),
    initial_size: ordered,
    total_filled_size: record === undefined ? filled : decimal(record.total_filled_size),
    status: record?.status ?? state,
    reason: record?.reason ?? '',
    timestamp: record === undefined ? Time.ofMs(order.createdAt) : new Time(record.timestamp),
    time_in_force: intent.timeInForce ?? record?.time_in_force ?? 'good_till_cancel',
    filled,
    remaining: rest,
    avg_price: average === undefined ? undefined : decimal(average),
    open: isAtVenue(state),
    terminal,
  };
}

/** The ordered size. The last record may show an amend that is not settled yet: then what it shows. */
function readSize(intent: OrderTerms, known: string, record: OrderRecord | undefined): string {
  if (record === undefined) return intent.size;
  return isPositionStop(intent) ? record.initial_size : readOrderedSize(known, record);
}

function toRecordFields(record: OrderRecord): OrderFields {
  const filled = decimal(record.total_filled_size);
  const terminal = isTerminalStatus(record.status);
  return {
    id: record.id,
    client_order_id: record.client_order_id,
    market_id: record.market_id,
    order_type: record.order_type,
    side: record.side,
    price: decimal(record.price),
    size: decimal(record.size),
    initial_size: decimal(record.initial_size),
    total_filled_size: filled,
    status: record.status,
    reason: record.reason,
    timestamp: new Time(record.timestamp),
    time_in_force: record.time_in_force,
    filled,
    remaining: decimal(record.size),
    avg_price: undefined,
    open: !terminal,
    terminal,
  };
}

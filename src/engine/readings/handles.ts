/**
 * Holds orders for a runbook, as snapshots that change only when a step touches the order (language.md, decision 6), whatever
 * became known about it in the meantime.
 */
import { Decimal, decimal } from '../../base/decimal.ts';
import type { TrackedOrder } from '../../journal/orders.ts';
import type { OrderFields } from '../../runbook/checked.ts';
import { type JsonValue, type RecordValue, Time, toJson, type Value } from '../../runbook/values.ts';
import { isPositionStop, type OrderSnapshot } from '../../venue/order/context.ts';
import { computeAveragePrice, isZeroDecimal } from '../../venue/order/fills.ts';
import { isEndDoubted, isFilledUnseen, readOrderedSize } from '../../venue/order/guards.ts';
import { getExposure } from '../../venue/order/life.ts';
import { isAtVenue, isTerminal } from '../../venue/order/states.ts';
import { isTerminalStatus, type OrderRecord } from '../../venue/records.ts';
import { StepFailure } from '../interruption.ts';
import { findMissing } from './completion.ts';

/** An order of ours as a step has seen it. */
type Shown = Pick<TrackedOrder, 'intent' | 'createdAt' | 'snapshot'>;

/** An order of this run, or one that a list showed; its fields read like a record's. */
export class OrderHandle implements OrderFields {
  /** The tracked order, where it is ours. */
  readonly own: TrackedOrder | undefined;
  /** What the fields are made of: of an order that is ours, its snapshot. */
  private shown: OrderSnapshot | OrderRecord;
  /** Made when one is first read: no expression reads most orders of a long run. */
  private made: OrderFields | undefined;

  private constructor(own: TrackedOrder | undefined, shown: OrderSnapshot | OrderRecord) {
    this.own = own;
    this.shown = shown;
  }

  static ofOwn(order: TrackedOrder): OrderHandle {
    return new OrderHandle(order, order.snapshot);
  }
  static ofRecord(record: OrderRecord): OrderHandle {
    return new OrderHandle(undefined, record);
  }

  /** Updates the snapshot to what is known now. */
  touch(record?: OrderRecord): void {
    if (this.own !== undefined) this.shown = this.own.snapshot;
    else if (record !== undefined) this.shown = record;
    this.made = undefined;
  }

  private get fields(): OrderFields {
    this.made ??= 'context' in this.shown ? findOwnFields(this.join(this.shown)) : toRecordFields(this.shown);
    return this.made;
  }

  private join(snapshot: OrderSnapshot): Shown {
    const { intent, createdAt } = this.own as TrackedOrder;
    return { intent, createdAt, snapshot };
  }

  /**
   * What the order lacked when it was touched last, in words; undefined where it was complete. Its filled size and price are estimates
   * otherwise.
   */
  get incomplete(): string | undefined {
    return 'context' in this.shown ? describeMissing(this.join(this.shown)) : undefined;
  }

  get id(): string {
    return this.fields.id;
  }
  get client_order_id(): string {
    return this.fields.client_order_id;
  }
  get market_id(): string {
    return this.own?.intent.market ?? this.fields.market_id;
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

  toJSON(): JsonValue {
    const known = JSON_OF_FIELDS.get(this.fields);
    if (known !== undefined) return known;
    const json = toJson({ ...this.fields, ...(this.incomplete === undefined ? {} : { estimated: true }) });
    if (this.own !== undefined) JSON_OF_FIELDS.set(this.fields, json);
    return json;
  }

  /** As the value of an expression: fields are read by declared name only. */
  get value(): RecordValue {
    return this as unknown as RecordValue;
  }
}

/** The fields that depend on how much was filled, and at which prices. */
const FILLED_FIELDS: ReadonlySet<string> = new Set(['filled', 'remaining', 'avg_price', 'total_filled_size']);

/**
 * A field of a record for an expression. Of an order that is not complete the filled size and the average price are estimates,
 * which only the blocks that handle a failure may read. Throws StepFailure `transport` elsewhere.
 */
export function readOrderField(record: RecordValue, name: string, mayEstimate: boolean): Value {
  if (record instanceof OrderHandle && record.incomplete !== undefined && !mayEstimate && FILLED_FIELDS.has(name))
    throw new StepFailure('transport', record.incomplete, '');
  return record[name];
}

/** What an order of ours still lacks, with both figures; undefined where it is complete. */
export function describeMissing(order: Shown): string | undefined {
  const missing = findMissing(order.snapshot);
  if (missing === undefined) return undefined;
  const { filled, recordFilled, venueId } = order.snapshot.context;
  const name = venueId ?? order.intent.clientOrderId;
  if (isEndDoubted(order.snapshot))
    return `order ${name} was shown as cancelled soon after it was amended, and no later reading says whether it still works`;
  return isFilledUnseen(order.snapshot)
    ? `order ${name} has ended (${order.snapshot.state}), and no record shows how much of it was filled; ${filled} is in the fills that were read`
    : `the fills of order ${name} that were read add up to ${filled}, its record shows ${recordFilled}`;
}

/** The handle behind an expression's value; undefined for anything else. */
export function asHandle(value: Value): OrderHandle | undefined {
  return value instanceof OrderHandle ? value : undefined;
}

/**
 * A value for the journal, in which the orders of a list or map are named by their ids: what became of them is in their own
 * entries, and a copy at each change of a list would grow with its length.
 */
export function referToOrders(value: Value): Value {
  const refer = (item: Value): Value => {
    const handle = asHandle(item);
    return handle === undefined ? referToOrders(item) : { order: handle.client_order_id || handle.id };
  };
  if (Array.isArray(value)) return value.map(refer);
  return value instanceof Map ? new Map([...value].map(([key, item]) => [key, refer(item)])) : value;
}

/** The handles of a run's own orders, exactly one for each. */
export class OrderHandles {
  private readonly handles = new Map<string, OrderHandle>();

  list(): readonly OrderHandle[] {
    return [...this.handles.values()];
  }

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

/** A list that is read each second shows most orders as it did before: their fields and JSON are made once for each snapshot. */
const FIELDS_OF_OWN = new WeakMap<TrackedOrder['snapshot'], OrderFields>();
const JSON_OF_FIELDS = new WeakMap<OrderFields, JsonValue>();

function findOwnFields(order: Shown): OrderFields {
  const fields = FIELDS_OF_OWN.get(order.snapshot) ?? toOwnFields(order);
  FIELDS_OF_OWN.set(order.snapshot, fields);
  return fields;
}

function toOwnFields(order: Shown): OrderFields {
  const { intent, snapshot } = order;
  const { context, state } = snapshot;
  const record = context.lastRecord;
  const terminal = isTerminal(state);
  // A record may show more than the fills that were read: the larger of the two has filled.
  const filled = decimal(getExposure(snapshot).filled);
  const price = decimal(record?.price ?? intent.price ?? '0');
  return {
    id: context.venueId ?? '',
    client_order_id: intent.clientOrderId,
    market_id: intent.market,
    order_type: intent.type,
    side: intent.side,
    price,
    ...toSizes(order, filled),
    total_filled_size: filled,
    status: record?.status ?? state,
    reason: record?.reason ?? '',
    timestamp: record === undefined ? Time.ofMs(order.createdAt) : new Time(record.timestamp),
    time_in_force: intent.timeInForce ?? record?.time_in_force ?? 'good_till_cancel',
    filled,
    avg_price: filled.isZero() ? undefined : findAveragePrice(order),
    open: isAtVenue(state),
    terminal,
  };
}

/** What was ordered, what still works and what is left of it. The size of a stop for a fraction of the position is that fraction. */
function toSizes(
  { intent, snapshot: { state, context } }: Shown,
  filled: Decimal,
): Pick<OrderFields, 'size' | 'initial_size' | 'remaining'> {
  const record = context.lastRecord;
  if (isPositionStop(intent)) {
    const fraction = decimal(intent.size);
    return { size: fraction, initial_size: fraction, remaining: isTerminal(state) ? new Decimal(0) : fraction };
  }
  // The last record may show an amend that is not settled yet: then what it shows.
  const ordered = decimal(record === undefined ? intent.size : readOrderedSize(context.size, record));
  return {
    size: record === undefined ? ordered : decimal(record.size),
    initial_size: ordered,
    remaining: Decimal.max(0, ordered.minus(filled)),
  };
}

/** Of a complete order the average of its fills; else its price or trigger, never the average of a part. */
function findAveragePrice({ intent, snapshot }: Shown): Decimal | undefined {
  const { fills, lastRecord } = snapshot.context;
  if (findMissing(snapshot) === undefined) {
    const average = computeAveragePrice(fills.values());
    return average === undefined ? undefined : decimal(average);
  }
  const shown = lastRecord !== undefined && !isZeroDecimal(lastRecord.price) ? lastRecord.price : undefined;
  const estimate = shown ?? intent.price ?? intent.trigger ?? [...fills.values()].at(-1)?.price;
  return estimate === undefined ? undefined : decimal(estimate);
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

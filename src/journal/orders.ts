/**
 * Tracks a run's orders by folding journal entries. The running engine, its limits, a resumed run and the review page all use
 * this tracker, so they agree on the state of every order. It maps entries to events of the order machine and decides
 * nothing itself.
 */

import { type Decimal, type DecimalString, decimal, formatDecimal } from '../base/decimal.ts';
import { PassingMap } from '../base/passing-map.ts';
import type { EndpointName, Params } from '../venue/catalogue.ts';
import { SELF_MATCHED } from '../venue/limits/check.ts';
import {
  createOrder,
  isPositionStop,
  type OrderAlarm,
  type OrderContext,
  type OrderEvent,
  type OrderOptions,
  type OrderSnapshot,
  type OrderWant,
} from '../venue/order/context.ts';
import { computeShortfall, exceeds } from '../venue/order/fills.ts';
import { isFilledUnseen } from '../venue/order/guards.ts';
import { getExposure, isComplete, stepOrder, toObservation } from '../venue/order/life.ts';
import { isTerminal, type OrderState } from '../venue/order/states.ts';
import { isFoundMissing, type OrderTerms } from '../venue/port.ts';
import { OpenedPosition } from '../venue/position/opened.ts';
import { PositionBook } from '../venue/position/position-book.ts';
import type { AmendAck, CancelAck, FillRecord, OrderRecord, PlacementAck } from '../venue/records.ts';
import type { DataOf, Entry, EntryOf, JsonObject } from './entry.ts';
import { HeldPositions } from './held-positions.ts';

export interface TrackedOrder {
  /** Counts the orders of the run, in the order of their intents. */
  readonly place: number;
  readonly intent: OrderTerms;
  /** Epoch ms of its intent. */
  readonly createdAt: number;
  /** Path of the step that placed it. */
  readonly step: string;
  /** The position beside the run's own fills that was proven when it was decided, base currency, long positive. */
  readonly provenHeld?: DecimalString | undefined;
  /** Current state; replaced with every event, never changed in place. */
  readonly snapshot: OrderSnapshot;
}

/** The effect of one entry on one order. */
export interface TrackerChange {
  readonly order: TrackedOrder;
  readonly from: OrderState;
  readonly to: OrderState;
  readonly event: OrderEvent['type'];
  readonly alarms: readonly OrderAlarm[];
  readonly wants: readonly OrderWant[];
}

/** A settled call, with its parameters. */
export interface SettledCall {
  readonly call: string;
  readonly endpoint: string;
  readonly params: JsonObject;
  readonly kind: DataOf<'call.settled'>['kind'];
  readonly sentAt: number | undefined;
  readonly at: number;
}

/** States in which look-ups decide whether an order is at the venue. */
const DECIDED_BY_LOOK_UP: ReadonlySet<OrderState> = new Set(['unknown', 'absent']);

/** The tracker's mutable view of an order. */
type Tracked = { -readonly [K in keyof TrackedOrder]: TrackedOrder[K] } & {
  /** A record that changed nothing of the open order as it is: read once more it changes nothing again. */
  repeated?: OrderRecord | undefined;
};

/** Setting `position_orders.shown_size` of the profile, as the first entry of a run has it. */
function readShownSize({ position_orders: spelled }: JsonObject): OrderOptions {
  const isBase =
    typeof spelled === 'object' && spelled !== null && 'shown_size' in spelled && spelled['shown_size'] === 'base';
  return isBase ? { shownSize: 'base' } : {};
}

export interface OrderTrackerOptions {
  /** Setting `ambiguity.window` of the profile, ms. */
  readonly absenceHorizonMs?: number;
}

export class OrderTracker {
  /** The positions of the run's own fills, as far as the journal shows them. */
  readonly positions = new PositionBook();
  private options: OrderOptions;
  private switchIsArmed = false;
  private readonly byClientId = new Map<string, Tracked>();
  private readonly byVenueId = new Map<string, Tracked>();
  private readonly unended = new Set<Tracked>();
  private readonly counting = new Set<Tracked>();
  private readonly intended = new PassingMap<string, DataOf<'call.intended'>>();
  private readonly held = new HeldPositions();
  private readonly opened = new Map<string, OpenedPosition>();
  /** The stops of which it was said that they closed more than the run held. */
  private readonly beyond = new Set<object>();
  private readonly waitingListeners = new Set<(waiting: DataOf<'call.waiting'>) => void>();
  private readonly settledListeners = new Set<(call: SettledCall) => void>();
  private readonly changeListeners = new Set<(change: TrackerChange) => void>();
  private readonly watchers = new Set<Set<TrackedOrder>>();

  constructor(options: OrderTrackerOptions = {}) {
    this.options = options;
  }

  get(clientOrderId: string): TrackedOrder | undefined {
    return this.byClientId.get(clientOrderId);
  }
  byId(orderId: string): TrackedOrder | undefined {
    return this.byVenueId.get(orderId);
  }
  /** Whether a deadman switch that the run armed, by its block or by a step, is armed as far as the journal says. */
  get hasArmedSwitch(): boolean {
    return this.switchIsArmed;
  }
  orders(): readonly TrackedOrder[] {
    return [...this.byClientId.values()];
  }
  /** What the orders in a market have opened and not closed: what `leaves` counts, and `close` closes. */
  getOpened(market: string): OpenedPosition {
    const known = this.opened.get(market) ?? new OpenedPosition();
    this.opened.set(market, known);
    return known;
  }

  /**
   * The orders that work or may, and those that are over and not complete, in the order of their intents: what a step asks costs no
   * more after many orders than after few.
   */
  unfinished(): readonly TrackedOrder[] {
    return this.listUnended();
  }

  /** Whether an order keeps of each reading that it was there: one that was absent, or that the venue's answers contradict. */
  get countsReadings(): boolean {
    return this.counting.size > 0;
  }

  /** A set that begins with every order and gets each one again that an event changes; the caller takes them out. */
  watchOrders(): Set<TrackedOrder> {
    const changed = new Set<TrackedOrder>(this.byClientId.values());
    this.watchers.add(changed);
    return changed;
  }
  unwatchOrders(changed: Set<TrackedOrder>): void {
    this.watchers.delete(changed);
  }

  /** Calls `listener` for every settled call, after the orders have been updated. */
  onSettled(listener: (call: SettledCall) => void): () => void {
    this.settledListeners.add(listener);
    return () => void this.settledListeners.delete(listener);
  }
  /** Calls `listener` for every call that has waited for its tokens for a while. */
  onWaiting(listener: (waiting: DataOf<'call.waiting'>) => void): () => void {
    this.waitingListeners.add(listener);
    return () => void this.waitingListeners.delete(listener);
  }
  /** Calls `listener` for every change of state and every alarm, in the order of the journal. */
  onChange(listener: (change: TrackerChange) => void): () => void {
    this.changeListeners.add(listener);
    return () => void this.changeListeners.delete(listener);
  }

  /** Applies one entry; call it in the order of the journal. Entries that concern no order have no effect. */
  apply(entry: Entry): readonly TrackerChange[] {
    const changes: TrackerChange[] = [];
    switch (entry.type) {
      case 'run.started':
        this.options = { ...this.options, ...readShownSize(entry.data.settings) };
        break;
      case 'call.intended':
        this.applyIntent(entry);
        break;
      case 'call.checked':
        this.applyChecked(entry, changes);
        break;
      case 'call.attempted':
        this.applyAttempt(entry, changes);
        break;
      case 'call.waiting':
        for (const listener of this.waitingListeners) listener(entry.data);
        break;
      case 'call.settled':
        this.applySettled(entry, changes);
        break;
      case 'order.concluded': {
        const { event, clientOrderId, because, unproven } = entry.data;
        const detail = event === 'DENY' || event === 'REFUSED' ? { message: because } : unproven ? { unproven } : {};
        this.send(this.byClientId.get(clientOrderId), { type: event, at: entry.at, ...detail } as OrderEvent, changes);
        break;
      }
      case 'deadman.moved':
        this.switchIsArmed = entry.data.event === 'armed' || entry.data.event === 'renewed';
        if (entry.data.event === 'assumed_fired')
          for (const tracked of this.listUnended()) this.send(tracked, { type: 'DEADMAN', at: entry.at }, changes);
        break;
      default:
        break;
    }
    for (const change of changes) for (const listener of this.changeListeners) listener(change);
    return changes;
  }

  private applyIntent(entry: EntryOf<'call.intended'>): void {
    const { data, at, step } = entry;
    this.intended.set(data.call, data);
    const { intent } = data;
    if (intent === undefined || this.byClientId.has(intent.clientOrderId)) return;
    const snapshot = createOrder(intent, at, this.options);
    const provenHeld = this.held.findProvenHeld(intent.market, (id) => this.byVenueId.has(id), at);
    const place = this.byClientId.size;
    const tracked: Tracked = { intent, createdAt: at, step, snapshot, provenHeld, place };
    this.byClientId.set(intent.clientOrderId, tracked);
    this.unended.add(tracked);
    for (const changed of this.watchers) changed.add(tracked);
  }

  /** Raises the alarm of an order that was let out beside a resting one of our own. */
  private applyChecked({ data }: EntryOf<'call.checked'>, changes: TrackerChange[]): void {
    const resting = data.limits[SELF_MATCHED];
    const order = typeof resting === 'string' ? this.findOrder(this.intended.get(data.call)) : undefined;
    if (order === undefined) return;
    const { state } = order.snapshot;
    const alarms: OrderAlarm[] = [{ alarm: 'SelfMatchPossible', detail: { resting: String(resting) } }];
    changes.push({ order, from: state, to: state, event: 'SUBMIT', alarms, wants: [] });
  }

  private applyAttempt(entry: EntryOf<'call.attempted'>, changes: TrackerChange[]): void {
    const call = this.intended.get(entry.data.call);
    const { at } = entry;
    switch (call?.endpoint as EndpointName | undefined) {
      case 'POST /orders':
        this.send(this.findOrder(call), { type: 'SUBMIT', at }, changes);
        return;
      case 'PUT /orders': {
        const { price, size } = (call as DataOf<'call.intended'>).params as unknown as Params<'PUT /orders'>;
        this.send(this.findOrder(call), { type: 'AMEND', at, price, size }, changes);
        return;
      }
      case 'DELETE /orders':
        this.send(this.findOrder(call), { type: 'CANCEL', at }, changes);
        return;
      default:
        return;
    }
  }

  private applySettled(entry: EntryOf<'call.settled'>, changes: TrackerChange[]): void {
    const { data, at } = entry;
    const call = this.intended.get(data.call);
    if (call === undefined) return;
    this.intended.delete(data.call);
    const sentAt = data.sentAt ?? at;
    switch (call.endpoint as EndpointName) {
      case 'POST /orders': {
        const order = this.findOrder(call);
        this.send(order, toPlacementEvent(data, at, order?.snapshot.state === 'submitting'), changes);
        break;
      }
      case 'PUT /orders':
        this.send(this.findOrder(call), toAmendEvent(data, at), changes);
        break;
      case 'DELETE /orders':
        this.send(this.findOrder(call), toCancelEvent(data, at), changes);
        break;
      case 'DELETE /orders/cancel_all':
        for (const tracked of this.listUnended()) {
          if (data.kind === 'confirmed') this.send(tracked, { type: 'CANCELALL_ACK', at }, changes);
          if (data.kind === 'unresolved') this.send(tracked, { type: 'CANCELALL_UNKNOWN', at }, changes);
        }
        break;
      case 'GET /orders':
        if (data.kind === 'confirmed') this.applyRecords(call, data, sentAt, at, changes);
        else if (isFoundMissing(data)) this.applyRecords(call, { result: [] }, sentAt, at, changes);
        for (const { clientOrderId = '', why } of data.unread ?? []) {
          const order = this.byClientId.get(clientOrderId);
          // It is there, whatever look-ups find: it must never be called absent.
          if (order !== undefined && DECIDED_BY_LOOK_UP.has(order.snapshot.state))
            this.send(order, { type: 'DUPLICATE', at, message: why }, changes);
        }
        break;
      case 'GET /fills':
      case 'GET /fills/order':
        if (data.kind !== 'confirmed') break;
        this.held.take(call, data, sentAt);
        // The venue lists fills newest first; they are applied in the order in which they happened.
        for (const fill of [...(data.result as unknown as readonly FillRecord[])].reverse()) {
          const order = this.byVenueId.get(fill.order_id);
          this.send(order, { type: 'FILL', at, fill }, changes);
          if (order !== undefined) this.positions.add(order.intent.market, fill);
        }
        break;
      default:
        break;
    }
    for (const listener of this.settledListeners)
      listener({
        call: data.call,
        endpoint: call.endpoint,
        params: call.params,
        kind: data.kind,
        sentAt: data.sentAt,
        at,
      });
  }

  private applyRecords(
    call: DataOf<'call.intended'>,
    { result, leftOut = 0, unread = [] }: Pick<DataOf<'call.settled'>, 'result' | 'leftOut' | 'unread'>,
    sentAt: number,
    at: number,
    changes: TrackerChange[],
  ): void {
    const records = result as unknown as readonly OrderRecord[];
    const { order_id, client_order_id, status } = call.params as unknown as Params<'GET /orders'>;
    for (const record of records) {
      // Asked for by its own id, a second order of the client order id is known to be another one: it contradicts nothing.
      if (record.id === order_id && !this.byVenueId.has(order_id)) continue;
      const tracked = this.byVenueId.get(record.id) ?? this.byClientId.get(record.client_order_id);
      if (tracked === undefined || tracked.repeated === record) continue;
      const { snapshot } = tracked;
      this.send(tracked, toObservation(record, sentAt, at), changes);
      if (tracked.snapshot === snapshot && snapshot.state === 'open') tracked.repeated = record;
    }
    // An empty answer proves something only when the request asked for one order, and none of its rows could not be read.
    if (records.length > 0 || leftOut > 0 || unread.length > 0 || status !== undefined) return;
    if (client_order_id !== undefined)
      this.send(this.byClientId.get(client_order_id), { type: 'P_NOT_FOUND', at, sentAt }, changes);
    else if (order_id !== undefined)
      this.send(this.byVenueId.get(order_id), { type: 'P_NOT_FOUND', at, sentAt }, changes);
  }

  private listUnended(): Tracked[] {
    return [...this.unended].sort((a, b) => a.place - b.place);
  }

  private findOrder(call: DataOf<'call.intended'> | undefined): Tracked | undefined {
    if (call === undefined) return undefined;
    const id = call.intent?.clientOrderId ?? call.clientOrderId;
    const tracked = id === undefined ? undefined : this.byClientId.get(id);
    const { order_id } = call.params as unknown as { readonly order_id?: string };
    return tracked ?? (order_id === undefined ? undefined : this.byVenueId.get(order_id));
  }

  private send(order: Tracked | undefined, event: OrderEvent, changes: TrackerChange[]): void {
    if (order === undefined) return;
    const from = order.snapshot.state;
    const { snapshot, alarms, wants } = stepOrder(order.snapshot, event);
    if (snapshot === order.snapshot && alarms.length === 0 && wants.length === 0) return;
    const isTraded = hasTraded(order.snapshot.context, snapshot.context);
    order.snapshot = snapshot;
    order.repeated = undefined;
    if (isTraded) this.getOpened(order.intent.market).update(order);
    if (isTerminal(snapshot.state) && isComplete(snapshot)) this.unended.delete(order);
    else this.unended.add(order);
    if (snapshot.state === 'absent' || snapshot.context.illegal.total > 0) this.counting.add(order);
    else this.counting.delete(order);
    for (const changed of this.watchers) changed.add(order);
    const to = snapshot.state;
    const { venueId } = snapshot.context;
    if (venueId !== undefined && !this.byVenueId.has(venueId)) this.byVenueId.set(venueId, order);
    if (from !== to || alarms.length > 0 || wants.length > 0)
      changes.push({ order, from, to, event: event.type, alarms, wants });
    this.checkStops(order.intent.market, event, changes);
  }

  /**
   * Raises the alarm of a position stop that has closed more than the run held, once it has ended and the fills that records show are
   * read: their times say what came first. Orders of the other side may have filled the rest unseen while they work.
   */
  private checkStops(market: string, { type: event }: OrderEvent, changes: TrackerChange[]): void {
    const position = this.getOpened(market);
    if (!position.hasOwn) return;
    const ended = position.listBeyond().flatMap(({ order: { intent }, size }) => {
      const order = this.byClientId.get(intent.clientOrderId);
      return order === undefined || this.beyond.has(order) || !isTerminal(order.snapshot.state)
        ? []
        : [{ order, size }];
    });
    if (ended.length === 0) return;
    const here = [...this.unended].filter(({ intent }) => intent.market === market);
    if (here.some(lacksFills)) return;
    for (const { order, size } of ended) {
      const mayHave = here
        .filter(({ intent }) => intent.side !== order.intent.side)
        .reduce((sum, each) => sum.plus(countUnseen(each)), decimal('0'));
      if (size.lte(mayHave)) continue;
      this.beyond.add(order);
      const { filled } = getExposure(order.snapshot);
      const detail = {
        market,
        filled,
        held: computeShortfall(filled, formatDecimal(size)),
        beyond: formatDecimal(size),
      };
      const { state } = order.snapshot;
      changes.push({ order, from: state, to: state, event, alarms: [{ alarm: 'StopClosedMore', detail }], wants: [] });
    }
  }
}

/** Whether more, or other fills are known to be filled. */
function hasTraded(before: OrderContext, after: OrderContext): boolean {
  return before.fills !== after.fills || before.filled !== after.filled || before.recordFilled !== after.recordFilled;
}

/** Whether fills that a record shows are not read, and may still be. */
function lacksFills({ snapshot: { context } }: TrackedOrder): boolean {
  return !context.settled && exceeds(context.recordFilled, context.filled);
}

/** What an order may have filled that nothing has shown, base currency. */
function countUnseen({ intent, snapshot }: TrackedOrder): Decimal {
  if (isPositionStop(intent)) return decimal('0');
  const { filled, worstRemaining } = getExposure(snapshot);
  const { authorised, size } = snapshot.context;
  return decimal(isFilledUnseen(snapshot) ? computeShortfall(authorised ?? size, filled) : worstRemaining);
}

/** Maps the outcome of a POST to its order's event. An order that was not sent, or was rate limited, may be sent again. */
function toPlacementEvent(data: DataOf<'call.settled'>, at: number, attempted: boolean): OrderEvent {
  const message = data.message ?? '';
  switch (data.kind) {
    case 'confirmed': {
      const [ack] = data.result as unknown as readonly PlacementAck[];
      return { type: 'ACK', at, orderId: ack?.id ?? '' };
    }
    case 'denied':
      // Denied after its attempt was journaled: the journal could not be written, or took so long that the step no longer needed
      // the order. Nothing was sent, and the attempt is void.
      return attempted ? { type: 'RATE_LIMITED', at } : { type: 'DENY', at, message };
    case 'unresolved':
      return { type: 'SUBMIT_UNKNOWN', at, message };
    case 'rejected':
      if (data.failure === 'duplicate') return { type: 'DUPLICATE', at, message };
      if (data.failure === 'rate_limited' || data.failure === 'transport' || data.failure === 'unauthorized')
        return { type: 'RATE_LIMITED', at };
      return data.definite === false ? { type: 'SUBMIT_UNKNOWN', at, message } : { type: 'REFUSED', at, message };
    default:
      return data.kind satisfies never;
  }
}

function toAmendEvent(data: DataOf<'call.settled'>, at: number): OrderEvent {
  if (data.kind === 'confirmed') {
    const [ack] = data.result as unknown as readonly AmendAck[];
    return { type: 'AMEND_ACK', at, price: ack?.price, size: ack?.size };
  }
  // Words that decide nothing: the amend may take effect all the same.
  return data.kind === 'unresolved' || (data.kind === 'rejected' && data.definite === false)
    ? { type: 'AMEND_UNKNOWN', at }
    : { type: 'AMEND_REFUSED', at, message: data.message ?? '' };
}

function toCancelEvent(data: DataOf<'call.settled'>, at: number): OrderEvent {
  if (data.kind === 'confirmed') {
    const [ack] = data.result as unknown as readonly CancelAck[];
    return { type: ack?.status === 'canceled' ? 'CANCEL_FINAL' : 'CANCEL_ACK', at };
  }
  // A cancel that was not sent was not refused by the venue either, and words that decide nothing do not say that the order still works.
  return data.kind === 'unresolved' ||
    data.failure === 'transport' ||
    (data.kind === 'rejected' && data.definite === false)
    ? { type: 'CANCEL_UNKNOWN', at }
    : { type: 'CANCEL_REFUSED', at, message: data.message ?? '' };
}

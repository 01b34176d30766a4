/**
 * Orders, folded from journal entries: the run under way, its limits, a resumed run and the reviewer's page all hold this
 * book, so there is one answer to "how does this order stand". It maps entries to the order machine's events and decides
 * nothing of its own.
 */
import type { EndpointName, Params } from '../venue/catalogue.ts';
import {
  newOrder,
  type OrderAlarm,
  type OrderEvent,
  type OrderSnapshot,
  type OrderWant,
} from '../venue/order/context.ts';
import { observed, stepOrder } from '../venue/order/life.ts';
import type { OrderState } from '../venue/order/states.ts';
import type { OrderTerms } from '../venue/port.ts';
import type { AmendAck, CancelAck, FillRecord, OrderRecord, PlacementAck } from '../venue/records.ts';
import type { DataOf, Entry, EntryOf, JsonObject } from './entry.ts';

export interface TrackedOrder {
  readonly intent: OrderTerms;
  /** Epoch ms of its intent. */
  readonly createdAt: number;
  /** The step that wanted it. */
  readonly step: string;
  /** As it stands now; replaced with every event, never changed in place. */
  readonly snapshot: OrderSnapshot;
  /** Every move, oldest first. */
  readonly history: readonly {
    readonly at: number;
    readonly from: OrderState;
    readonly to: OrderState;
    readonly event: string;
  }[];
}

/** What one entry did to one order. */
export interface TrackerChange {
  readonly order: TrackedOrder;
  readonly from: OrderState;
  readonly to: OrderState;
  readonly event: OrderEvent['type'];
  readonly alarms: readonly OrderAlarm[];
  readonly wants: readonly OrderWant[];
}

/** A call that was settled, with what was asked. */
export interface SettledCall {
  readonly call: string;
  readonly endpoint: string;
  readonly params: JsonObject;
  readonly kind: DataOf<'call.settled'>['kind'];
  readonly sentAt: number | undefined;
  readonly at: number;
}

/** The book's own hold on an order, which it alone changes. */
type Tracked = { -readonly [K in keyof TrackedOrder]: TrackedOrder[K] } & {
  history: { at: number; from: OrderState; to: OrderState; event: string }[];
};

export interface OrderTrackerOptions {
  /** Profile, ambiguity.window, ms. */
  readonly absenceHorizonMs?: number;
}

export class OrderTracker {
  private readonly options: OrderTrackerOptions;
  private readonly byClientId = new Map<string, Tracked>();
  private readonly byVenueId = new Map<string, Tracked>();
  private readonly intended = new Map<string, DataOf<'call.intended'>>();
  private readonly settledListeners = new Set<(call: SettledCall) => void>();
  private readonly changeListeners = new Set<(change: TrackerChange) => void>();

  constructor(options: OrderTrackerOptions = {}) {
    this.options = options;
  }

  get(clientOrderId: string): TrackedOrder | undefined {
    return this.byClientId.get(clientOrderId);
  }
  byId(orderId: string): TrackedOrder | undefined {
    return this.byVenueId.get(orderId);
  }
  orders(): readonly TrackedOrder[] {
    return [...this.byClientId.values()];
  }

  /** Told of every settled call, after the orders have taken it in. */
  onSettled(listener: (call: SettledCall) => void): () => void {
    this.settledListeners.add(listener);
    return () => void this.settledListeners.delete(listener);
  }
  /** Told of every move and alarm, in order. */
  onChange(listener: (change: TrackerChange) => void): () => void {
    this.changeListeners.add(listener);
    return () => void this.changeListeners.delete(listener);
  }

  /** Takes in one entry, in the order of the journal. Entries that concern no order do nothing. */
  apply(entry: Entry): readonly TrackerChange[] {
    const changes: TrackerChange[] = [];
    const send = (tracked: Tracked | undefined, event: OrderEvent) => {
      const change = tracked === undefined ? undefined : this.send(tracked, event);
      if (change !== undefined) changes.push(change);
    };
    switch (entry.type) {
      case 'call.intended':
        this.intend(entry);
        break;
      case 'call.attempted':
        this.attempted(entry, send);
        break;
      case 'call.settled':
        this.settled(entry, send);
        break;
      case 'order.concluded': {
        const { event, clientOrderId, because } = entry.data;
        const detail = event === 'DENY' || event === 'REFUSED' ? { message: because } : {};
        send(this.byClientId.get(clientOrderId), { type: event, at: entry.at, ...detail } as OrderEvent);
        break;
      }
      case 'deadman.moved':
        if (entry.data.event === 'assumed_fired')
          for (const tracked of this.byClientId.values()) send(tracked, { type: 'DEADMAN', at: entry.at });
        break;
      default:
        break;
    }
    for (const change of changes) for (const listener of this.changeListeners) listener(change);
    return changes;
  }

  private intend(entry: EntryOf<'call.intended'>): void {
    const { data, at, step } = entry;
    this.intended.set(data.call, data);
    const { intent } = data;
    if (intent === undefined || this.byClientId.has(intent.clientOrderId)) return;
    const snapshot = newOrder(intent, at, this.options);
    this.byClientId.set(intent.clientOrderId, { intent, createdAt: at, step, snapshot, history: [] });
  }

  private attempted(
    entry: EntryOf<'call.attempted'>,
    send: (tracked: Tracked | undefined, event: OrderEvent) => void,
  ): void {
    const call = this.intended.get(entry.data.call);
    const { at } = entry;
    switch (call?.endpoint as EndpointName | undefined) {
      case 'POST /orders':
        send(this.ordered(call), { type: 'SUBMIT', at });
        return;
      case 'PUT /orders': {
        const { price, size } = (call as DataOf<'call.intended'>).params as unknown as Params<'PUT /orders'>;
        send(this.ordered(call), { type: 'AMEND', at, price, size });
        return;
      }
      case 'DELETE /orders':
        send(this.ordered(call), { type: 'CANCEL', at });
        return;
      default:
        return;
    }
  }

  private settled(
    entry: EntryOf<'call.settled'>,
    send: (tracked: Tracked | undefined, event: OrderEvent) => void,
  ): void {
    const { data, at } = entry;
    const call = this.intended.get(data.call);
    if (call === undefined) return;
    this.intended.delete(data.call);
    const sentAt = data.sentAt ?? at;
    switch (call.endpoint as EndpointName) {
      case 'POST /orders': {
        const ordered = this.ordered(call);
        send(ordered, placementEvent(data, at, ordered?.snapshot.state === 'submitting'));
        break;
      }
      case 'PUT /orders':
        send(this.ordered(call), amendEvent(data, at));
        break;
      case 'DELETE /orders':
        send(this.ordered(call), cancelEvent(data, at));
        break;
      case 'DELETE /orders/cancel_all':
        for (const tracked of this.byClientId.values()) {
          if (data.kind === 'confirmed') send(tracked, { type: 'CANCELALL_ACK', at });
          if (data.kind === 'unresolved') send(tracked, { type: 'CANCELALL_UNKNOWN', at });
        }
        break;
      case 'GET /orders':
        if (data.kind === 'confirmed')
          this.read(call, data.result as unknown as readonly OrderRecord[], sentAt, at, send);
        break;
      case 'GET /fills':
      case 'GET /fills/order':
        if (data.kind !== 'confirmed') break;
        // Fills come newest first; they are booked in the order in which they happened.
        for (const fill of [...(data.result as unknown as readonly FillRecord[])].reverse()) {
          send(this.byVenueId.get(fill.order_id), { type: 'FILL', at, fill });
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

  private read(
    call: DataOf<'call.intended'>,
    records: readonly OrderRecord[],
    sentAt: number,
    at: number,
    send: (tracked: Tracked | undefined, event: OrderEvent) => void,
  ): void {
    for (const record of records) {
      const tracked = this.byVenueId.get(record.id) ?? this.byClientId.get(record.client_order_id);
      send(tracked, observed(record, sentAt, at));
    }
    // Only a question for one order says anything when nothing comes back.
    const { order_id, client_order_id, status } = call.params as unknown as Params<'GET /orders'>;
    if (records.length > 0 || status !== undefined) return;
    if (client_order_id !== undefined) send(this.byClientId.get(client_order_id), { type: 'P_NOT_FOUND', at, sentAt });
    else if (order_id !== undefined) send(this.byVenueId.get(order_id), { type: 'P_NOT_FOUND', at, sentAt });
  }

  private ordered(call: DataOf<'call.intended'> | undefined): Tracked | undefined {
    if (call === undefined) return undefined;
    const id = call.intent?.clientOrderId ?? call.clientOrderId;
    const tracked = id === undefined ? undefined : this.byClientId.get(id);
    const { order_id } = call.params as unknown as { readonly order_id?: string };
    return tracked ?? (order_id === undefined ? undefined : this.byVenueId.get(order_id));
  }

  private send(order: Tracked, event: OrderEvent): TrackerChange | undefined {
    const from = order.snapshot.state;
    const { snapshot, alarms, wants } = stepOrder(order.snapshot, event);
    order.snapshot = snapshot;
    const to = snapshot.state;
    const { venueId } = snapshot.context;
    if (venueId !== undefined && !this.byVenueId.has(venueId)) this.byVenueId.set(venueId, order);
    if (from !== to) order.history.push({ at: event.at, from, to, event: event.type });
    if (from === to && alarms.length === 0 && wants.length === 0) return undefined;
    return { order, from, to, event: event.type, alarms, wants };
  }
}

/** What the outcome of a POST means for its order. What certainly never left, or was refused for want of tokens, may be sent again. */
function placementEvent(data: DataOf<'call.settled'>, at: number, attempted: boolean): OrderEvent {
  const message = data.message ?? '';
  switch (data.kind) {
    case 'confirmed': {
      const [ack] = data.result as unknown as readonly PlacementAck[];
      return { type: 'ACK', at, orderId: ack?.id ?? '' };
    }
    case 'denied':
      // Denied behind its attempt: the journal could not be written, or took so long that the order was not wanted any more. Nothing left, and the attempt is void.
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

function amendEvent(data: DataOf<'call.settled'>, at: number): OrderEvent {
  if (data.kind === 'confirmed') {
    const [ack] = data.result as unknown as readonly AmendAck[];
    return { type: 'AMEND_ACK', at, price: ack?.price, size: ack?.size };
  }
  return data.kind === 'unresolved'
    ? { type: 'AMEND_UNKNOWN', at }
    : { type: 'AMEND_REFUSED', at, message: data.message ?? '' };
}

function cancelEvent(data: DataOf<'call.settled'>, at: number): OrderEvent {
  if (data.kind === 'confirmed') {
    const [ack] = data.result as unknown as readonly CancelAck[];
    return { type: ack?.status === 'canceled' ? 'CANCEL_FINAL' : 'CANCEL_ACK', at };
  }
  // One that never left was refused by nobody.
  return data.kind === 'unresolved' || data.failure === 'transport'
    ? { type: 'CANCEL_UNKNOWN', at }
    : { type: 'CANCEL_REFUSED', at, message: data.message ?? '' };
}

/** Orders, records and events for the tests of the order's life; nothing here asserts. */
import {
  createOrder,
  type OrderEvent,
  type OrderEventType,
  type OrderSnapshot,
  type OrderStep,
} from '../../src/venue/order/context.ts';
import { stepOrder } from '../../src/venue/order/life.ts';
import type { OrderState } from '../../src/venue/order/states.ts';
import type { OrderTerms } from '../../src/venue/port.ts';
import type { FillRecord, OrderRecord } from '../../src/venue/records.ts';

/** A round instant; every test counts from here, in ms. */
export const T0 = 1_750_000_000_000;
export const ID = 'BTC-USD@1859';

export function terms(over: Partial<OrderTerms> = {}): OrderTerms {
  return {
    clientOrderId: 'rbabc',
    market: 'BTC-USD',
    side: 'long',
    type: 'limit',
    size: '10',
    price: '100',
    onAmbiguous: 'halt',
    ...over,
  };
}

export function record(status: string, over: Partial<OrderRecord> = {}): OrderRecord {
  const filled = over.total_filled_size ?? '0';
  return {
    id: ID,
    client_order_id: 'rbabc',
    market_id: 'BTC-USD',
    order_type: 'limit',
    side: 'long',
    price: '100',
    size: String(10 - Number(filled)),
    initial_size: '10',
    total_filled_size: filled,
    status,
    reason: '',
    profile_id: 1,
    timestamp: T0 * 1000,
    time_in_force: 'good_till_cancel',
    ...over,
  };
}

export function fill(id: string, size: string, over: Partial<FillRecord> = {}): FillRecord {
  return {
    id: `BTC-USD-${id}`,
    trade_id: `BTC-USD-${id}`,
    order_id: ID,
    market_id: 'BTC-USD',
    profile_id: 1,
    side: 'long',
    price: '100',
    size,
    fee: '0',
    is_maker: true,
    liquidation: false,
    timestamp: T0 * 1000,
    ...over,
  };
}

const STATUS: Readonly<Record<string, string>> = {
  P_PROCESSING: 'processing',
  P_OPEN: 'open',
  P_AMENDING: 'amending',
  P_CANCELING: 'canceling',
  P_CLOSED: 'closed',
  P_CANCELED: 'canceled',
  P_REJECTED: 'rejected',
  P_UNKNOWN_STATUS: 'limbo',
};

/** A plain event of a type at T0 + `ms`; a read is sent `took` before. */
export function eventOf(type: OrderEventType, ms: number, took = 50, over: Partial<OrderRecord> = {}): OrderEvent {
  const at = T0 + ms;
  const status = STATUS[type];
  if (status !== undefined) return { type, at, sentAt: at - took, record: record(status, over) } as OrderEvent;
  switch (type) {
    case 'AMEND':
      return { type, at, price: '101' };
    case 'ACK':
      return { type, at, orderId: ID };
    case 'P_NOT_FOUND':
      return { type, at, sentAt: at - took };
    case 'FILL':
      return { type, at, fill: fill(String(ms), '1') };
    default:
      return { type, at } as OrderEvent;
  }
}

/** Folds events over a new order and gives the last step. */
export function life(events: readonly OrderEvent[], from: OrderSnapshot = createOrder(terms(), T0)): OrderStep {
  let step: OrderStep | undefined;
  let snapshot = from;
  for (const event of events) {
    step = stepOrder(snapshot, event);
    snapshot = step.snapshot;
  }
  if (step === undefined) throw new Error('a life needs an event');
  return step;
}

/** An order in each state, led there within the first second. */
export function orderIn(state: OrderState): OrderSnapshot {
  const none = createOrder(terms(), T0, { absenceHorizonMs: 20 });
  return state === 'draft' ? none : life(eventsTo(state), none).snapshot;
}

/** The events by which `orderIn` comes to a state. */
export function eventsTo(state: OrderState): readonly OrderEvent[] {
  return PATHS[state].map((type, index) => eventOf(type, 10 * (index + 1), 5));
}

const PATHS: Readonly<Record<OrderState, readonly OrderEventType[]>> = {
  draft: [],
  submitting: ['SUBMIT'],
  unknown: ['SUBMIT', 'SUBMIT_UNKNOWN'],
  processing: ['SUBMIT', 'ACK'],
  open: ['SUBMIT', 'ACK', 'P_OPEN'],
  amending: ['SUBMIT', 'ACK', 'P_OPEN', 'AMEND', 'AMEND_ACK'],
  canceling: ['SUBMIT', 'ACK', 'P_OPEN', 'CANCEL', 'CANCEL_ACK'],
  closed: ['SUBMIT', 'ACK', 'P_CLOSED'],
  canceled: ['SUBMIT', 'ACK', 'P_CANCELED'],
  rejected: ['SUBMIT', 'ACK', 'P_REJECTED'],
  absent: [
    'SUBMIT',
    'SUBMIT_UNKNOWN',
    'P_NOT_FOUND',
    'P_NOT_FOUND',
    'P_NOT_FOUND',
    'P_NOT_FOUND',
    'P_NOT_FOUND',
    'T_EXHAUSTED',
  ],
  denied: ['DENY'],
  quarantined: ['SUBMIT', 'ACK', 'P_OPEN', 'T_EXHAUSTED'],
};

/** Creates orders in the state in which the tracker holds them while they are open at the venue. */
import type { Entry } from '../src/journal/entry.ts';
import { OrderTracker } from '../src/journal/orders.ts';
import type { OrderTerms } from '../src/venue/port.ts';
import type { OrderRecord } from '../src/venue/records.ts';

export const AT = Date.parse('2026-01-05T08:00:00Z');

export function createTerms(n: number): OrderTerms {
  return {
    clientOrderId: `rb-${n}`,
    market: 'BTC-USD',
    side: 'long',
    type: 'limit',
    size: '0.25',
    price: String(60_000 - n),
    onAmbiguous: 'halt',
  };
}

export function createOrderRecord(n: number): OrderRecord {
  const { clientOrderId, size, price = '0' } = createTerms(n);
  return {
    id: `BTC-USD@${n + 1}`,
    client_order_id: clientOrderId,
    market_id: 'BTC-USD',
    order_type: 'limit',
    side: 'long',
    price,
    size,
    initial_size: size,
    total_filled_size: '0',
    status: 'open',
    reason: '',
    profile_id: 1,
    timestamp: AT * 1000,
    time_in_force: 'good_till_cancel',
  };
}

/** Returns a tracker with `count` orders, each placed, acknowledged and read as open. */
export function trackOpenOrders(count: number): OrderTracker {
  const tracker = new OrderTracker();
  for (let n = 0; n < count; n += 1) {
    const [post, read] = [`steps/${n}#1`, `steps/${n}#2`];
    const { id } = createOrderRecord(n);
    const { clientOrderId } = createTerms(n);
    const entries = [
      {
        type: 'call.intended',
        data: { call: post, endpoint: 'POST /orders', params: {}, class: 'enter', intent: createTerms(n) },
      },
      { type: 'call.attempted', data: { call: post } },
      {
        type: 'call.settled',
        data: { call: post, kind: 'confirmed', result: [{ id, client_order_id: clientOrderId }], sentAt: AT },
      },
      { type: 'call.intended', data: { call: read, endpoint: 'GET /orders', params: { order_id: id }, class: 'read' } },
      { type: 'call.settled', data: { call: read, kind: 'confirmed', result: [createOrderRecord(n)], sentAt: AT } },
    ];
    for (const entry of entries) tracker.apply({ ...entry, at: AT, step: `steps/${n}` } as unknown as Entry);
  }
  return tracker;
}

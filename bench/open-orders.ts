/** Orders as a book holds them while they rest at the venue. */
import type { Entry } from '../src/journal/entry.ts';
import { OrderTracker } from '../src/journal/orders.ts';
import type { OrderTerms } from '../src/venue/port.ts';
import type { OrderRecord } from '../src/venue/records.ts';

export const AT = Date.parse('2026-01-05T08:00:00Z');

export function terms(n: number): OrderTerms {
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

export function orderRecord(n: number): OrderRecord {
  const { clientOrderId, size, price = '0' } = terms(n);
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

/** A book with so many orders, each placed, acknowledged and seen open. */
export function openOrders(count: number): OrderTracker {
  const tracker = new OrderTracker();
  for (let n = 0; n < count; n += 1) {
    const [post, read] = [`steps/${n}#1`, `steps/${n}#2`];
    const { id } = orderRecord(n);
    const { clientOrderId } = terms(n);
    const entries = [
      {
        type: 'call.intended',
        data: { call: post, endpoint: 'POST /orders', params: {}, class: 'enter', intent: terms(n) },
      },
      { type: 'call.attempted', data: { call: post } },
      {
        type: 'call.settled',
        data: { call: post, kind: 'confirmed', result: [{ id, client_order_id: clientOrderId }], sentAt: AT },
      },
      { type: 'call.intended', data: { call: read, endpoint: 'GET /orders', params: { order_id: id }, class: 'read' } },
      { type: 'call.settled', data: { call: read, kind: 'confirmed', result: [orderRecord(n)], sentAt: AT } },
    ];
    for (const entry of entries) tracker.apply({ ...entry, at: AT, step: `steps/${n}` } as unknown as Entry);
  }
  return tracker;
}

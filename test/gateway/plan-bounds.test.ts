/** The bounds of an approved plan: what is denied beyond them, and what never is. */
import { describe, expect, it } from 'vitest';
import { PlanAlarm } from '../../src/app/run/plan-alarm.ts';
import { findBeyondPlan, PlannedOrders } from '../../src/gateway/limits/plan-bounds.ts';
import type { ApprovedBounds, Entry } from '../../src/journal/entry.ts';
import type { TrackedOrder } from '../../src/journal/orders.ts';
import type { OrderState } from '../../src/venue/order/states.ts';
import type { OrderTerms, VenueCall } from '../../src/venue/port.ts';

function terms(id: string, more: Partial<OrderTerms> = {}): OrderTerms {
  return {
    clientOrderId: id,
    market: 'BTC-USD',
    side: 'long',
    type: 'limit',
    size: '2',
    price: '100',
    onAmbiguous: 'halt',
    ...more,
  };
}
/** An order of the run in a state. */
function order(id: string, state: OrderState, more: Partial<OrderTerms> = {}): TrackedOrder {
  const intent = terms(id, more);
  const context = { size: intent.size, price: intent.price };
  return { intent, snapshot: { state, context } } as unknown as TrackedOrder;
}
function place(id: string, more: Partial<OrderTerms> = {}): VenueCall {
  return { endpoint: 'POST /orders', clientOrderId: id, intent: terms(id, more), params: {} } as unknown as VenueCall;
}
const beyond = (call: VenueCall, orders: readonly TrackedOrder[], bounds: ApprovedBounds) => {
  const planned = new PlannedOrders();
  for (const each of orders) planned.update(each);
  return findBeyondPlan({ ...call, opens: call.intent?.allow !== 'reduce' }, planned, {
    exposure: { '': null },
    ...bounds,
  })?.figure;
};

describe('an order beyond the approved plan', () => {
  it('is one too many, counted without those that the venue refused', () => {
    const bounds = { orders: 2 };
    expect(beyond(place('c'), [order('a', 'open')], bounds)).toBeUndefined();
    expect(beyond(place('c'), [order('a', 'open'), order('b', 'closed')], bounds)).toBe('orders');
    expect(beyond(place('c'), [order('a', 'open'), order('b', 'rejected')], bounds)).toBeUndefined();
    // The same order again, after a refusal for the rate.
    expect(beyond(place('b'), [order('a', 'open'), order('b', 'submitting')], bounds)).toBeUndefined();
  });

  it('is worth too much, alone or with the others', () => {
    expect(beyond(place('a'), [], { notional: '199.99' })).toBe('notional');
    expect(beyond(place('b'), [order('a', 'open')], { notional: '400' })).toBeUndefined();
    expect(beyond(place('b'), [order('a', 'open')], { notional: '399' })).toBe('notional');
  });

  it('opens too much in a market, on its own side', () => {
    const bounds = { exposure: { 'BTC-USD': '300' } };
    expect(beyond(place('b'), [order('a', 'open')], bounds)).toBe('exposure BTC-USD');
    expect(beyond(place('b', { side: 'short' }), [order('a', 'open')], bounds)).toBeUndefined();
    // A market that the plan does not have.
    expect(beyond(place('b', { market: 'ETH-USD' }), [order('a', 'open')], bounds)).toBe('exposure ETH-USD');
  });

  it('does not count those that only reduce', () => {
    const exit = order('a', 'closed', { allow: 'reduce', size: '100' });
    expect(beyond(place('b'), [exit], { notional: '200' })).toBeUndefined();
  });

  it('is an amend that grows', () => {
    const amend = (size: string) =>
      ({ endpoint: 'PUT /orders', clientOrderId: 'a', params: { price: '100', size } }) as unknown as VenueCall;
    expect(beyond(amend('2'), [order('a', 'open')], { orders: 1, notional: '200' })).toBeUndefined();
    expect(beyond(amend('3'), [order('a', 'open')], { orders: 1, notional: '200' })).toBe('notional');
    expect(beyond(amend('1'), [order('a', 'open')], { notional: '0' })).toBeUndefined();
  });

  it('is no amend that opens no more, whatever of it was amended before', () => {
    const amend = (params: object) => ({ endpoint: 'PUT /orders', clientOrderId: 'a', params }) as unknown as VenueCall;
    const amended = (size: string, price: string) =>
      ({ ...order('a', 'open'), snapshot: { state: 'open', context: { size, price } } }) as unknown as TrackedOrder;
    // Worth exactly as much as the order was placed for.
    expect(beyond(amend({ size: '4', price: '50' }), [order('a', 'open')], { notional: '0' })).toBeUndefined();
    // More orders are no question of an amend.
    expect(beyond(amend({ size: '3' }), [order('a', 'open'), order('b', 'open')], { orders: 1 })).toBeUndefined();
    // Without a price or a size it keeps those in force.
    expect(beyond(amend({ size: '3' }), [amended('2', '100')], { notional: '299' })).toBe('notional');
    expect(beyond(amend({ size: '3' }), [amended('2', '100')], { notional: '300' })).toBeUndefined();
    expect(beyond(amend({ price: '150' }), [amended('3', '100')], { notional: '449' })).toBe('notional');
    // Of an order of another run the bounds know nothing.
    expect(beyond(amend({ size: '300' }), [], { notional: '0' })).toBeUndefined();
  });

  it('counts the others with the largest of their terms, as placed and as amended', () => {
    const amended = (size: string, price: string) =>
      ({ ...order('a', 'open'), snapshot: { state: 'open', context: { size, price } } }) as unknown as TrackedOrder;
    expect(beyond(place('b'), [amended('3', '100')], { notional: '500' })).toBeUndefined();
    expect(beyond(place('b'), [amended('3', '100')], { notional: '499' })).toBe('notional');
    expect(beyond(place('b'), [amended('1', '100')], { notional: '399' })).toBe('notional');
    const stop = order('a', 'open', { type: 'stop_market', trigger: '90', price: undefined } as never);
    expect(beyond(place('b'), [stop], { notional: '380' })).toBeUndefined();
    expect(beyond(place('b'), [stop], { notional: '379' })).toBe('notional');
    expect(beyond(place('b'), [order('a', 'open')], { exposure: { 'BTC-USD': '400' } })).toBeUndefined();
  });

  it('is none that only reduces, and no other request', () => {
    const bounds = { orders: 0, notional: '0' };
    expect(beyond(place('a', { allow: 'reduce' }), [], bounds)).toBeUndefined();
    expect(beyond(place('a', { type: 'stop_loss', size: '1' }), [], bounds)).toBeUndefined();
    const cancel = { endpoint: 'DELETE /orders', clientOrderId: 'a', params: {} } as unknown as VenueCall;
    expect(beyond(cancel, [order('a', 'open', { size: '1' })], bounds)).toBeUndefined();
  });
});

describe('requests beyond the approved plan', () => {
  const entry = (type: string, data: object) => ({ type, data, run: 'r', at: 0 }) as unknown as Entry;
  const sent = (call: string) => [
    entry('call.intended', { call, endpoint: 'GET /orders' }),
    entry('call.attempted', { call }),
    entry('call.settled', { call, kind: 'confirmed' }),
  ];
  const started = entry('run.started', { bounds: { requests: { 'GET /orders': 2 } } });

  it('are reported once, and each resume may make as many again', () => {
    const reports: string[] = [];
    const alarm = new PlanAlarm((text) => reports.push(text));
    for (const each of [started, ...sent('1'), ...sent('2')]) alarm.apply(each);
    expect(reports).toEqual([]);
    for (const each of [...sent('3'), ...sent('4')]) alarm.apply(each);
    expect(reports.length).toBe(1);
    const resumed = new PlanAlarm((text) => reports.push(text));
    for (const each of [started, ...sent('1'), ...sent('2'), entry('run.resumed', {})])
      resumed.apply(each, { recorded: true });
    for (const each of [...sent('3'), ...sent('4')]) resumed.apply(each);
    expect(reports.length).toBe(1);
    for (const each of sent('5')) resumed.apply(each);
    expect(reports.length).toBe(2);
  });
});

/** Tests an order of which a venue counts the sizes anew when it amends it: nothing that had filled before is lost, or counted twice. */
import { describe, expect, it } from 'vitest';
import type { OrderEvent, OrderSnapshot } from '../../src/venue/order/context.ts';
import { createOrder } from '../../src/venue/order/context.ts';
import { getExposure, stepOrder, toObservation } from '../../src/venue/order/life.ts';
import type { OrderRecord } from '../../src/venue/records.ts';
import { fill, ID, record, T0, terms } from './order-samples.ts';

const S = 1000;
const read = (shown: OrderRecord, at: number) => toObservation(shown, T0 + at, T0 + at + 10);

/** Places an order of size 10, fills 4, amends its price to 101, and reads the records of `shown` one after another. */
function amended(...shown: readonly Partial<OrderRecord>[]): OrderSnapshot {
  const events: OrderEvent[] = [
    { type: 'SUBMIT', at: T0 },
    { type: 'ACK', at: T0, orderId: ID },
    read(record('open', { total_filled_size: '4' }), S),
    { type: 'FILL', at: T0 + S, fill: fill('1', '4') },
    { type: 'AMEND', at: T0 + 2 * S, price: '101' },
    { type: 'AMEND_ACK', at: T0 + 2 * S, price: '101' },
    ...shown.map((over, index) => read(record(over.status ?? 'open', { price: '101', ...over }), (3 + index) * S)),
  ];
  return events.reduce((order, event) => stepOrder(order, event).snapshot, createOrder(terms(), T0));
}

/** Size in force, filled, and what is left. */
function sizes(order: OrderSnapshot): readonly string[] {
  const { context } = order;
  return [order.state, context.size, getExposure(order).filled, context.remaining];
}

describe.each([
  ['with another initial size', { initial_size: '6' }],
  ['under the same initial size', {}],
])('sizes that begin anew %s', (_, anew) => {
  it('count beside what had filled', () => {
    const rests = { ...anew, size: '6', total_filled_size: '0' };
    const more = { ...anew, size: '4', total_filled_size: '2' };
    const whole = { ...anew, status: 'closed', size: '0', total_filled_size: '6' };
    expect(sizes(amended(rests))).toEqual(['open', '10', '4', '6']);
    expect(sizes(amended(rests, more))).toEqual(['open', '10', '6', '4']);
    expect(sizes(amended(rests, more, whole))).toEqual(['closed', '10', '10', '0']);
    expect(sizes(amended(whole))).toEqual(['closed', '10', '10', '0']);
  });
});

it('include what filled while the amend was on its way', () => {
  const rests = { initial_size: '5', size: '5', total_filled_size: '0' };
  expect(sizes(amended(rests))).toEqual(['open', '10', '5', '5']);
});

it.each([
  ['goes on', { size: '3', total_filled_size: '7' }, ['open', '10', '7', '3']],
  ['shows no rest of a cancelled order', { status: 'canceled', size: '0', total_filled_size: '4' }, '4'],
  ['makes another program’s size', { initial_size: '5', size: '1', total_filled_size: '4' }, ['open', '5', '4', '1']],
] as const)('are as shown where the venue %s', (_, shown, expected) => {
  const order = amended({ status: 'open', size: '6', total_filled_size: '4' }, {}, {}, {}, shown, shown, shown);
  expect(typeof expected === 'string' ? getExposure(order).filled : sizes(order)).toEqual(expected);
});

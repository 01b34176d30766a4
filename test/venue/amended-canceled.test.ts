/** Tests when a `canceled` that a record shows around an amend is believed: the venue may show it for an instant. */
import { expect, it } from 'vitest';
import type { OrderEvent } from '../../src/venue/order/context.ts';
import { createOrder } from '../../src/venue/order/context.ts';
import { stepOrder } from '../../src/venue/order/life.ts';
import { ID, record, T0, terms } from './order-samples.ts';

/** Of an order that is being amended: records that show it canceled, by when they were asked for and answered, ms. */
function stateAfter(...readings: readonly (readonly [sentAt: number, at: number])[]): string {
  const events: readonly OrderEvent[] = [
    { type: 'SUBMIT', at: T0 },
    { type: 'ACK', at: T0, orderId: ID },
    { type: 'P_OPEN', at: T0, sentAt: T0, record: record('open') },
    { type: 'AMEND', at: T0, price: '62000' },
    ...readings.map(([sentAt, at]): OrderEvent => {
      return { type: 'P_CANCELED', at: T0 + at, sentAt: T0 + sentAt, record: record('canceled') };
    }),
  ];
  return events.reduce((order, event) => stepOrder(order, event).snapshot, createOrder(terms(), T0)).state;
}

it.each<[string, [number, number][], string]>([
  ['one', [[500, 510]], 'amending'],
  [
    'a second one at once',
    [
      [500, 510],
      [1_000, 1_010],
    ],
    'amending',
  ],
  [
    'a second one that may be as old as the first',
    [
      [500, 510],
      [4_509, 4_520],
    ],
    'amending',
  ],
  [
    'a second one that cannot be',
    [
      [500, 510],
      [4_510, 4_520],
    ],
    'canceled',
  ],
  [
    'a second one behind an answer that took long: the first may have been shown at its very end',
    [
      [500, 2_200],
      [6_199, 6_210],
    ],
    'amending',
  ],
  [
    'a second one well behind such an answer',
    [
      [500, 2_200],
      [6_200, 6_210],
    ],
    'canceled',
  ],
])('a record of canceled: %s', (_, readings, state) => {
  expect(stateAfter(...readings)).toBe(state);
});

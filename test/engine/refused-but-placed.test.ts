/** Tests an order whose POST was refused although the venue accepted it: it is found and kept, and never sent again. */
import { expect, it } from 'vitest';
import type { SimulatorConfig } from '../../src/gateway/simulator/simulator.ts';
import { inputsFrom, loadedFrom, type Performance, perform, replay, type Scene } from './stage.ts';

const AT_ONCE: SimulatorConfig = { visibilityLagMs: { min: 0, max: 0 }, processingMs: { min: 1, max: 1 } };
const AFTER_A_SECOND: SimulatorConfig = { visibilityLagMs: { min: 900, max: 900 } };

/** The first POST of an order is carried out, and its answer says that it was not. */
async function refused(
  status: number,
  error: string,
  config: SimulatorConfig,
  more = '',
  text = `runbook: orders
dsl: 1
leaves: {position: open, because: the case is about something else}
steps:
  - id: o
    place: {type: limit, market: BTC-USD, side: long, size: 0.01, price: 50000}
${more}`,
): Promise<Performance> {
  const loaded = loadedFrom({ file: 'orders.yaml', text });
  let posts = 0;
  const scene: Scene = {
    loaded,
    inputs: inputsFrom(loaded, {}),
    config,
    between: (venue) => ({
      async send(request, options) {
        const reply = await venue.send(request, options);
        if (request.endpoint !== 'POST /orders' || reply.kind !== 'answer') return reply;
        posts += 1;
        if (posts > 1) return reply;
        return { ...reply, status, body: JSON.stringify({ success: false, error, result: [] }) };
      },
    }),
  };
  const performance = await perform(scene);
  await replay(performance, scene);
  return performance;
}

it.each([
  ['for its session, and shown at once', 401, 'JWT_EXPIRED', AT_ONCE, ''],
  ['for its session, and shown a second later', 401, 'JWT_EXPIRED', AFTER_A_SECOND, ''],
  ['for want of tokens, and tried again', 429, 'RATE', AT_ONCE, '    retry: {on: [rate_limited], max: 3}\n'],
])('refused %s', async (_, status, error, config, more) => {
  const { report, books } = await refused(status, error, config, more);
  expect(books.orders.map(({ client_order_id: id, status: shown }) => [id, shown])).toEqual([
    [report.orders[0]?.clientOrderId, 'open'],
  ]);
  expect(report.orders.map(({ state }) => state)).toEqual(['open']);
  expect(report.outcome).toBe('succeeded');
});

it('refused for its session twice, and there the second time: an exit sells nothing once more', async () => {
  const body = JSON.stringify({ success: false, error: 'JWT_EXPIRED', result: [] });
  const faults = [false, true].map((processed, index) => ({
    on: 'POST /orders',
    when: { call: index + 2 },
    do: 'status' as const,
    status: 401,
    body,
    processed,
  }));
  const text = `runbook: orders
dsl: 1
leaves: {position: none}
steps:
  - place: {type: market, market: BTC-USD, side: long, size: 0.01, price: 70000}
  - close: BTC-USD
`;
  const loaded = loadedFrom({ file: 'orders.yaml', text });
  const scene: Scene = { loaded, inputs: inputsFrom(loaded, {}), config: { ...AFTER_A_SECOND, faults } };
  const performance = await perform(scene);
  await replay(performance, scene);
  expect(performance.books.orders.map(({ side, filled }) => [side, filled])).toEqual([
    ['long', '0.01'],
    ['short', '0.01'],
  ]);
  expect(performance.report.outcome).toBe('succeeded');
});

const SHOWN_LATE: SimulatorConfig = { visibilityLagMs: { min: 9_000, max: 9_000 } };

it('refused in words of a session without a 401 is not sent again before its absence is proven', async () => {
  const { report, books } = await refused(400, 'JWT_EXPIRED', SHOWN_LATE, '    retry: {on: [rejected], max: 3}\n');
  expect(books.orders.map(({ status }) => status)).toEqual(['open']);
  expect(report.orders.map(({ state }) => state)).toEqual(['open']);
  expect(report.outcome).toBe('succeeded');
});

it('refused for want of tokens is looked up too where the next attempt wants other terms', async () => {
  const text = `runbook: orders
dsl: 1
leaves: {position: open, because: the case is about something else}
feeds: {bid: {type: price, max_age: 1s}}
steps:
  - id: o
    place: {type: limit, market: BTC-USD, side: long, size: 0.01, price: tick(feeds.bid * 0.8)}
    retry: {on: [rate_limited, rejected], max: 3, first: 2s}
`;
  const points = [
    { afterMs: 0, price: '64000' },
    { afterMs: 1000, price: '63000' },
  ];
  const moving: SimulatorConfig = { ...AT_ONCE, markets: { 'BTC-USD': { path: { kind: 'points', points } } } };
  const { report, books } = await refused(429, 'RATE', moving, '', text);
  expect(books.orders.map(({ status }) => status)).toEqual(['canceled', 'open']);
  expect(report.outcome).toBe('succeeded');
});

it('refused, then shown with the terms of an earlier attempt, is not taken for the order of a later one', async () => {
  const text = `runbook: orders
dsl: 1
leaves: {position: open, because: the case is about something else}
feeds: {bid: {type: price, max_age: 1s}}
steps:
  - id: o
    place: {type: limit, market: BTC-USD, side: long, size: 0.01, price: tick(feeds.bid * 0.8)}
    retry: {on: [rejected], max: 3}
limits: {markets: [BTC-USD]}
`;
  const points = [
    { afterMs: 0, price: '64000' },
    { afterMs: 1000, price: '63000' },
  ];
  const moving: SimulatorConfig = { ...SHOWN_LATE, markets: { 'BTC-USD': { path: { kind: 'points', points } } } };
  const { entries, report, books } = await refused(400, 'NOT_NOW', moving, '', text);
  expect(books.orders.map(({ status }) => status)).toEqual(['canceled', 'open']);
  expect(new Set(books.orders.map(({ price }) => price)).size).toBe(2);
  const alarms = entries.flatMap((entry) => (entry.type === 'order.alarmed' ? [entry.data.alarm] : []));
  expect(alarms).toContain('EarlierTerms');
  expect(report.outcome).toBe('succeeded');
});

const ENTRY = `runbook: orders
dsl: 1
leaves: {position: none}
steps:
  - place: {type: market, market: BTC-USD, side: long, size: 0.01, price: 70000}
    retry: {on: [transport], max: 1}
    catch: [{on: [rate_limited], then: continue}]
on_error:
  - close: BTC-USD
`;

it('refused for want of tokens is looked up where no attempt follows: what it filled is closed', async () => {
  const { report, books } = await refused(429, 'RATE', AT_ONCE, '', ENTRY);
  expect(books.orders.map(({ side, filled }) => [side, filled])).toEqual([
    ['long', '0.01'],
    ['short', '0.01'],
  ]);
  expect([report.outcome, report.error?.kind, report.residual]).toEqual(['failed', 'unprotected_position', []]);
});

it.each(['limit', 'market'])('and is taken back, or said, where the run fails for it: a %s order', async (type) => {
  const failing = `runbook: orders
dsl: 1
leaves: {position: none}
steps:
  - place: {type: ${type}, market: BTC-USD, side: long, size: 0.01, price: ${type === 'limit' ? 50_000 : 70_000}}
    retry: {on: [transport], max: 1}
on_error:
  - close: BTC-USD
`;
  const { report, books } = await refused(429, 'RATE', AT_ONCE, '', failing);
  expect(books.orders.map(({ side, status }) => [side, status])).toEqual(
    type === 'limit'
      ? [['long', 'canceled']]
      : [
          ['long', 'closed'],
          ['short', 'closed'],
        ],
  );
  expect([report.outcome, report.residual]).toEqual(['failed', []]);
});

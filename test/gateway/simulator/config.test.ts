import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../src/base/clock.ts';
import { SIMULATOR_SCHEMA } from '../../../src/gateway/simulator/config/schema.ts';
import { readFaults, readSimulatorConfig, Simulator } from '../../../src/gateway/simulator/simulator.ts';

const findProblems = (data: unknown) => {
  const read = readSimulatorConfig(data);
  return 'problems' in read ? read.problems : [];
};

describe('readSimulatorConfig', () => {
  it('accepts an empty configuration and a full one', () => {
    expect(readSimulatorConfig({})).toEqual({ config: {} });
    const full = {
      markets: {
        'BTC-USD': {
          path: {
            kind: 'points',
            points: [
              { afterMs: 0, price: '64000' },
              { afterMs: 5000, price: '64200' },
            ],
          },
        },
        'DOGE-USD': { tick: '0.0001', lot: '1', start: '0.1', path: { kind: 'walk', volatilityBps: 3 } },
      },
      account: {
        equity: '18234.10',
        fees: { maker: '0' },
        positions: [{ market: 'DOGE-USD', size: '-5', price: '0.1', agoMs: 0 }],
      },
      tokens: { algorithm: 'token_bucket', costs: { 'GET /orders': 1 } },
      surprises: { amendFlickerMs: 200, refusalStatus: 200 },
      faults: [{ on: 'POST /orders', when: { call: '2+', type: 'stop_loss' }, do: 'late_reject', reason: 'RISK' }],
    };
    expect(readSimulatorConfig(full)).toEqual({ config: full });
  });

  it.each([
    [{ market: {} }, 'the configuration: "market" is not a key here; did you mean "markets"?'],
    [
      { faults: [{ on: 'POST /order', do: 'lost_before' }] },
      'faults.0.on: "POST /order" is neither an endpoint nor "*"; did you mean "POST /orders"?',
    ],
    [{ account: { equity: 18234.1 } }, 'account.equity: must be a text: a number is written in quotes'],
    [{ account: { equity: '1e5' } }, 'account.equity: must be a decimal, such as "-0.5"; found 1e5'],
    [{ latencyMs: { min: 5, max: 4 } }, 'latencyMs: max 4 is below min 5'],
    [{ markets: { 'X-USD': { tick: '1', lot: '1' } } }, 'markets.X-USD.start: is missing'],
    [
      { markets: { 'BTC-USD': { start: '64000.5' } } },
      'markets.BTC-USD: 64000.5 is not a positive multiple of the tick 1',
    ],
    [
      { markets: { 'BTC-USD': { tick: '0.0000000001' } } },
      'markets.BTC-USD: 64000 is more than 2^40 ticks of 0.0000000001',
    ],
    [
      { markets: { bitcoin: { tick: '1', lot: '1', start: '1' } } },
      'markets: "bitcoin" is not of the form <BASE>-<QUOTE>',
    ],
    [
      {
        markets: {
          'BTC-USD': {
            path: {
              kind: 'points',
              points: [
                { afterMs: 5, price: '1' },
                { afterMs: 5, price: '2' },
              ],
            },
          },
        },
      },
      'markets.BTC-USD.path.points: afterMs must rise',
    ],
    [
      { account: { positions: [{ market: 'X-USD', size: '1', price: '1', agoMs: 0 }] } },
      'account.positions.0: there is no market "X-USD"',
    ],
    [{ auth: { mode: 'api_key' } }, 'auth.apiKey: is missing'],
  ])('reports %j', (data, problem) => {
    expect(findProblems(data)).toEqual([expect.stringContaining(problem)]);
  });

  it('names the problem of a path and of an unknown fault', () => {
    expect(findProblems({ markets: { 'BTC-USD': { path: { kind: 'jump' } } } }).length).toBeGreaterThan(0);
    expect(findProblems({ faults: [{ on: '*', do: 'explode' }] })).toEqual([
      expect.stringMatching(/^faults\.0\.do: must be one of lost_before, lost_after, /),
    ]);
  });
});

it('readFaults accepts only a list', () => {
  expect(readFaults([{ on: '*', do: 'empty' }])).toEqual({ faults: [{ on: '*', do: 'empty' }] });
  expect(readFaults({ on: '*' })).toEqual({ problems: ['faults: must be array'] });
});

it('the schema describes every top-level key', () => {
  expect(Object.keys(SIMULATOR_SCHEMA.properties)).toEqual([
    'markets',
    'account',
    'latencyMs',
    'processingMs',
    'visibilityLagMs',
    'readLagMs',
    'fillLagMs',
    'clockSteps',
    'fullScanFactor',
    'tokens',
    'auth',
    'surprises',
    'faults',
  ]);
});

it('an order of another program comes before the start, or so long after it', async () => {
  const row = { market: 'BTC-USD', side: 'long', size: '0.01', price: '60000' } as const;
  const resting = [
    { ...row, agoMs: 1000, client_order_id: 'before' },
    { ...row, agoMs: -500, client_order_id: 'behind' },
  ];
  const read = readSimulatorConfig({ account: { resting } });
  if ('problems' in read) throw new Error(read.problems.join('; '));
  const clock = new VirtualClock(1_767_600_000_000);
  const simulator = new Simulator(read.config, clock, 1);
  const listed = () => simulator.books().orders.map((order) => [order.client_order_id, order.status]);
  await clock.advanceTo(clock.now() + 499);
  expect(listed()).toEqual([['before', 'open']]);
  await clock.advanceTo(clock.now() + 1);
  expect(listed()).toEqual([
    ['before', 'open'],
    ['behind', 'open'],
  ]);
});

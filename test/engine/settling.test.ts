/** Tests what resuming a halted run settles: orders that the venue never showed, and those that rest beside them. */
import { describe, expect, it } from 'vitest';
import type { FaultRule } from '../../src/gateway/simulator/config/faults.ts';
import { findDeparture } from './chart-oracle.ts';
import { loadedFrom, type Performance, perform, replay, type Scene } from './stage.ts';

const TWO = `runbook: case
dsl: 1
steps:
  - place: {type: limit, market: BTC-USD, side: long, size: 0.1, price: 60000}
    undo: keep
  - place: {type: limit, market: BTC-USD, side: long, size: 0.1, price: 59000}
`;
const STOPPED = `runbook: case
dsl: 1
steps:
  - place: {type: market, market: BTC-USD, side: long, size: 0.1, price: 65000}
  - place: {type: limit, market: BTC-USD, side: short, size: 0.1, price: 70000}
    allow: reduce
    undo: keep
  - protect: {market: BTC-USD, side: short, stop_loss: {fraction: 1, trigger: 60000, price: 59000}}
  - wait: 20s
  - place: {type: limit, market: BTC-USD, side: long, size: 0.1, price: 59500}
`;
const DONE = (last: string) => `runbook: case
dsl: 1
leaves: {position: open, because: it is held}
steps:
  - place: {type: market, market: BTC-USD, side: long, size: 0.1, price: 65000}
    undo: [{place: {type: limit, market: BTC-USD, side: short, size: 0.1, price: 63000}, allow: reduce}]
  - place: {type: limit, market: BTC-USD, side: long, size: 0.1, price: 60000}
${last}finally:
  - cancel: {mine: BTC-USD}
`;
const LOST = { on: 'POST /orders', when: { call: 2 }, do: 'lost_before' } as const;
const CLAIMED = { ...LOST, do: 'error', status: 400, error: 'CLIENT_ORDER_ID_DUPLICATE' } as const;
const UNREADABLE = (untilMs: number, afterMs = 1000) =>
  ({ on: 'GET /orders', when: { afterMs, untilMs }, do: 'error', status: 503, error: 'UNAVAILABLE' }) as const;
const MARKETS = { 'BTC-USD': { path: { kind: 'points', points: [{ afterMs: 0, price: '64000' }] } } } as const;

/** Performs a run of these steps, and replays it. */
async function performSteps(steps: string, config: Scene['config']): Promise<Performance> {
  const text = `runbook: case\ndsl: 1\nsteps:\n${steps}`;
  const scene: Scene = { loaded: loadedFrom({ file: 'case.yaml', text }), inputs: {}, config };
  const performance = await perform(scene);
  await replay(performance, scene);
  return performance;
}

async function resumed(faults: readonly FaultRule[], resumedAfterMs: readonly number[], text = TWO) {
  const scene: Scene = {
    loaded: loadedFrom({ file: 'case.yaml', text }),
    inputs: {},
    config: { markets: MARKETS, faults },
    resumedAfterMs,
  };
  const performance = await perform(scene);
  await replay(performance, scene);
  const { entries, report, books } = performance;
  const ends = entries.flatMap((entry) => (entry.type === 'run.ended' ? [entry.data.outcome] : []));
  const cancels = books.requests.filter(({ method, path }) => method === 'DELETE' && path === '/orders');
  return {
    ends,
    orders: report.orders.map(({ state }) => state),
    atVenue: books.orders.map(({ status }) => status),
    withoutId: cancels.filter(({ params }) => params['order_id'] === undefined).length,
  };
}

describe('a halted run that is resumed', () => {
  it('ends as failed once the absence of an order is proven that the venue never showed', async () => {
    expect(await resumed([LOST, UNREADABLE(1_100_000)], [300_000])).toEqual({
      ends: ['halted', 'failed'],
      orders: ['canceled', 'absent'],
      atVenue: ['canceled'],
      withoutId: 0,
    });
  });

  it('cancels the order where the venue shows it after all', async () => {
    const answerLost = { ...LOST, do: 'lost_after' } as const;
    expect(await resumed([answerLost, UNREADABLE(1_100_000)], [300_000])).toEqual({
      ends: ['halted', 'failed'],
      orders: ['canceled', 'canceled'],
      atVenue: ['canceled', 'canceled'],
      withoutId: 0,
    });
  });

  it('closes an order that the venue had no tokens for', async () => {
    const limited = { on: 'POST /orders', when: { afterMs: 300 }, do: 'rate_limited' } as const;
    const refused = { on: 'DELETE /orders', do: 'error', status: 400, error: 'INSUFFICIENT_MARGIN' } as const;
    const faults = [limited, { ...refused, when: { untilMs: 1_100_000 } }];
    expect(await resumed(faults, [1_500_000], TWO.replace('    undo: keep\n', ''))).toEqual({
      ends: ['halted', 'failed'],
      orders: ['canceled', 'denied'],
      atVenue: ['canceled'],
      withoutId: 0,
    });
  });

  it('leaves a stop alone that covers what it has opened, and cancels what rests beside it', async () => {
    const scene: Scene = {
      loaded: loadedFrom({ file: 'case.yaml', text: STOPPED }),
      inputs: {},
      config: { markets: MARKETS, faults: [{ ...LOST, when: { call: 4 } }, UNREADABLE(1_100_000, 15_000)] },
      resumedAfterMs: [300_000],
    };
    const performance = await perform(scene);
    await replay(performance, scene);
    const { entries, books } = performance;
    expect(books.orders.map(({ type, status }) => [type, status])).toEqual([
      ['market', 'closed'],
      ['limit', 'canceled'],
      ['stop_loss', 'open'],
    ]);
    const alarms = entries.flatMap((entry) => (entry.type === 'order.alarmed' ? [entry.data.alarm] : []));
    expect(alarms).toContain('StopKept');
    const ends = entries.flatMap((entry) => (entry.type === 'run.residual' ? [entry.data.ok] : []));
    expect(ends.at(-1)).toBe(true);
  });

  it('knows of a stop that has filled since it halted', async () => {
    const points = [
      { afterMs: 0, price: '64000' },
      { afterMs: 1_200_000, price: '59500' },
    ];
    const begun = STOPPED.slice(0, STOPPED.indexOf('  - wait')).replace('    undo: keep\n', '');
    const text = `${begun}  - fail: {because: it does}\n`;
    const scene: Scene = {
      loaded: loadedFrom({ file: 'case.yaml', text }),
      inputs: {},
      config: {
        markets: { 'BTC-USD': { path: { kind: 'points', points } } },
        faults: [
          { on: 'DELETE /orders', when: { untilMs: 60_000 }, do: 'error', status: 400, error: 'INSUFFICIENT_MARGIN' },
        ],
      },
      resumedAfterMs: [1_500_000],
    };
    const performance = await perform(scene);
    await replay(performance, scene);
    expect(performance.books.orders.map(({ type, status }) => [type, status])).toContainEqual(['stop_loss', 'closed']);
    expect(performance.report.residual).toEqual([]);
  });

  it('halts again while nothing can be read, and fails at the next time', async () => {
    const { ends, orders } = await resumed([LOST, UNREADABLE(1_400_000)], [300_000, 600_000]);
    expect([ends, orders]).toEqual([
      ['halted', 'halted', 'failed'],
      ['canceled', 'absent'],
    ]);
  });

  it('cancels what rests although the fate of another order stays unknown, and sends no cancel without an id', async () => {
    expect(await resumed([CLAIMED], [60_000, 60_000])).toEqual({
      ends: ['halted', 'halted', 'halted'],
      orders: ['canceled', 'quarantined'],
      atVenue: ['canceled'],
      withoutId: 0,
    });
  });
});

it('of an order whose fate stays unknown halts the run, although a step handled it', async () => {
  const scene: Scene = {
    loaded: loadedFrom({
      file: 'case.yaml',
      text: `runbook: case
dsl: 1
leaves: {position: open, because: the case is about something else}
steps:
  - place: {type: limit, market: BTC-USD, side: long, size: 0.1, price: 60000}
    catch: [{on: [unknown_outcome], then: continue}]
  - wait: 1s
`,
    }),
    inputs: {},
    config: { markets: MARKETS, faults: [{ ...CLAIMED, when: { call: 1 } }] },
  };
  const performance = await perform(scene);
  await replay(performance, scene);
  const { entries, report } = performance;
  const steps = entries.flatMap((entry) => (entry.type === 'step.ended' ? [entry.data.verb] : []));
  expect([report.outcome, report.orders.map(({ state }) => state)]).toEqual(['halted', ['quarantined']]);
  // What follows the step is done all the same.
  expect(steps).toContain('wait');
});

it('of an order about which nothing can be read cancels the others of a run that failed', async () => {
  const order = (price: number) =>
    `[{place: {type: limit, market: BTC-USD, side: long, size: 0.1, price: ${price}}, await: accepted, undo: keep}]`;
  const performance = await performSteps(
    `  - parallel:
      branches:
        a: ${order(60_000)}
        b: ${order(59_000)}
  - fail: {because: as meant}
`,
    { markets: MARKETS, faults: [{ on: 'GET /orders', do: 'refused' }] },
  );
  const { report, books } = performance;
  expect(report.outcome).toBe('halted');
  expect(books.orders.map(({ status }) => status)).toEqual(['canceled', 'canceled']);
});

it('of a stop whose cancel shows nothing asks once more after one wait, and a replay finds it there', async () => {
  const performance = await performSteps(
    `  - id: stop
    place: {type: stop_limit, market: BTC-USD, side: short, size: 0.1, trigger: 60000, price: 59000}
    allow: reduce
  - cancel: stop
    await: accepted
`,
    {
      markets: MARKETS,
      account: { positions: [{ market: 'BTC-USD', size: '0.1', price: '64000', agoMs: 60_000 }] },
      faults: [
        { on: 'DELETE /orders', when: { call: 1 }, do: 'cancel_lost' },
        { on: 'GET /orders', when: { afterMs: 1_500, untilMs: 120_000 }, do: 'lost_before' },
      ],
    },
  );
  const cancels = performance.books.requests.filter(({ method, path }) => method === 'DELETE' && path === '/orders');
  const [first = 0, second = 0] = cancels.map(({ arrivedAt }) => arrivedAt);
  expect(Math.round((second - first) / 1000)).toBe(30);
});

describe('a stop that covers, whose cancel was refused', () => {
  const HEAD = `runbook: case
dsl: 1
leaves: {position: open, because: somebody looks after it}
steps:
  - place: {type: market, market: BTC-USD, side: long, size: 0.1, price: 65000}
  - id: guard
    protect: {market: BTC-USD, side: short, stop_loss: {fraction: 1, trigger: 60000, price: 59000}}
`;
  const CANCEL = 'cancel: {mine: BTC-USD}';
  const REFUSED = { on: 'DELETE /orders', when: { call: 1 }, do: 'error', error: 'INVALID_PARAMETER' } as const;

  const INNER = {
    file: 'inner.yaml',
    text: `runbook: inner\ndsl: 1\nsteps:\n  - wait: 1s\nfinally:\n  - ${CANCEL}\n`,
  };

  async function settle(rest: string, faults: readonly FaultRule[]) {
    const scene: Scene = {
      loaded: loadedFrom({ file: 'case.yaml', text: `${HEAD}${rest}` }, () => INNER),
      inputs: {},
      config: { markets: MARKETS, faults },
    };
    const performance = await perform(scene);
    await replay(performance, scene);
    return performance;
  }

  async function end(rest: string): Promise<readonly unknown[]> {
    const { entries, report, books } = await settle(rest, [REFUSED]);
    const alarms = entries.flatMap((entry) => (entry.type === 'order.alarmed' ? [entry.data.alarm] : []));
    return [report.outcome, books.orders[1]?.status, alarms.includes('StopKept')];
  }

  it.each([
    ['a step', `  - ${CANCEL}\n`],
    ['a step that is caught', `  - ${CANCEL}\n    catch: [{on: any, then: fail}]\n`],
    ['on_error', `  - fail: {because: it does}\non_error:\n  - ${CANCEL}\n`],
    ['a step called undo', `  - id: undo\n    ${CANCEL}\n`],
    ['a step in one called finally', `  - id: finally\n    parallel: {join: all, branches: {only: [{${CANCEL}}]}}\n`],
    // Its caller may go on, with an exit or another stop.
    ['the finally of a called runbook', '  - call: {runbook: inner, with: {}}\n'],
  ])('is left alone where %s asked', async (_what, rest) => {
    expect(await end(rest)).toEqual(['failed', 'open', true]);
  });

  it.each([
    ['finally', `finally:\n  - ${CANCEL}\n`],
    ['a written undo', '    undo: cancel\n  - fail: {because: it does}\n'],
    ['a runbook that finally calls', 'finally:\n  - call: {runbook: inner, with: {}}\n'],
  ])('is cancelled again where %s asked: nothing was to follow', async (_what, rest) => {
    const [, status, isKept] = await end(rest);
    expect([status, isKept]).toEqual(['canceled', false]);
  });

  it('counts for nothing where words that decide nothing refused its cancel, and no reading shows it since', async () => {
    const odd = {
      on: 'DELETE /orders',
      when: { call: '1+' },
      do: 'error',
      error: 'SOMETHING_ODD',
      processed: true,
    } as const;
    const { report, books } = await settle(`  - ${CANCEL}\n`, [
      odd,
      { on: 'GET /orders', when: { call: '3+' }, do: 'refused' },
    ]);
    expect(books.orders[1]?.status).toBe('canceled');
    expect([report.outcome, report.residual.map(({ covered }) => covered)]).toEqual(['halted', ['0']]);
  });

  it('is cancelled again where words that decide nothing refused its cancel', async () => {
    const { report, books } = await settle(`  - ${CANCEL}\n`, [{ ...REFUSED, error: 'SOMETHING_ODD' }]);
    expect([report.outcome, books.orders[1]?.status]).toEqual(['succeeded', 'canceled']);
  });

  it('is cancelled again where another stop covers as well', async () => {
    const other =
      '  - protect: {market: BTC-USD, side: short, stop_loss: {fraction: 1, trigger: 61000, price: 60000}}\n';
    expect(await end(`${other}  - cancel: guard.stop_loss\n`)).toEqual(['failed', 'canceled', false]);
  });
});

it.each(['', '  - stop: {outcome: enough}\n'])(
  'undoes no step of a run whose steps were done when its end halted: %j',
  async (last) => {
    const scene: Scene = {
      loaded: loadedFrom({ file: 'case.yaml', text: DONE(last) }),
      inputs: {},
      config: {
        markets: MARKETS,
        faults: [
          { on: 'DELETE /orders', when: { untilMs: 60_000 }, do: 'error', status: 400, error: 'INSUFFICIENT_MARGIN' },
        ],
      },
      resumedAfterMs: [300_000],
    };
    const performance = await perform(scene);
    await replay(performance, scene);
    const { entries, books } = performance;
    expect(findDeparture(scene.loaded.runbook, entries)).toBeUndefined();
    const ends = entries.flatMap((entry) => (entry.type === 'run.ended' ? [entry.data.outcome] : []));
    expect(ends).toEqual(['halted', 'failed']);
    expect(books.orders.map(({ type, status }) => [type, status])).toEqual([
      ['market', 'closed'],
      ['limit', 'canceled'],
    ]);
  },
);

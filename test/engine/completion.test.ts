/** Tests that an order which a step hands out is complete: its filled size, its fills and its end agree (orders.md, Completion). */
import { describe, expect, it } from 'vitest';
import type { SimulatorConfig } from '../../src/gateway/simulator/simulator.ts';
import { inputsFrom, loadedFrom, type Performance, perform, replay, type Scene } from './stage.ts';

/** A market that stays at 64000, 0.1 on each level. */
const STILL: SimulatorConfig = {
  markets: {
    'BTC-USD': {
      tick: '1',
      lot: '0.0001',
      start: '64000',
      spreadBps: 0,
      depth: '0.1',
      levels: 10,
      path: { kind: 'points', points: [{ afterMs: 0, price: '64000' }] },
    },
  },
};
const TAKE = '{type: limit, market: BTC-USD, side: long, size: 0.15, price: 64005, tif: immediate_or_cancel}';
const REST = '{type: limit, market: BTC-USD, side: long, size: 0.1, price: 63990}';

/** What the orders leave is not the subject here. */
const HEAD = 'runbook: orders\ndsl: 1\nleaves: {position: open, because: what it leaves is not tested here}\n';

async function play(steps: string, config: SimulatorConfig, rest: Partial<Scene> = {}): Promise<Performance> {
  const loaded = loadedFrom({ file: 'orders.yaml', text: `${HEAD}steps:\n${steps}` });
  const scene: Scene = { loaded, inputs: inputsFrom(loaded, {}), config: { ...STILL, ...config }, ...rest };
  const performance = await perform(scene);
  await replay(performance, scene);
  return performance;
}

const OUTPUTS = 'outputs: {filled: o.filled, avg: o.avg_price, status: "${o.status}", terminal: o.terminal}\n';
/** 0.1 at 64001 and 0.05 at 64002, as the venue has it. */
const FILLED = { filled: '0.15', avg: '64001.333333333333333333', status: 'closed', terminal: true };

it('closes the whole position in on_error while its fills are not shown yet', async () => {
  const close = "{type: market, market: BTC-USD, side: short, size: position('BTC-USD'), price: 63900}";
  const { report, books } = await play(
    `  - id: o\n    place: ${TAKE}\non_error:\n  - if: position('BTC-USD') > 0\n    place: ${close}\n`,
    { fillLagMs: 300_000 },
  );
  expect(report.error).toMatchObject({ kind: 'transport' });
  expect(books.orders.map(({ side, filled }) => [side, filled])).toEqual([
    ['long', '0.15'],
    ['short', '0.15'],
  ]);
});

describe('an order that never rests', () => {
  it.each([0, 400, 12_000, 59_000])(
    'is handed out with all its fills where they come %s ms late',
    async (fillLagMs) => {
      const { report } = await play(`  - id: o\n    place: ${TAKE}\n${OUTPUTS}`, { fillLagMs });
      expect(report.outcome).toBe('succeeded');
      expect(report.outputs).toEqual(FILLED);
    },
  );

  it.each([
    ['canceled', {}],
    ['rejected', { await: 'terminal' }],
  ] as const)(
    'is handed out with what it filled where the record of its end shows nothing: %s',
    async (iocRest, more) => {
      const part = TAKE.replace('64005', '64001');
      const awaits = 'await' in more ? `    await: ${more.await}\n    timeout: 1m\n` : '';
      const { report } = await play(`  - id: o\n    place: ${part}\n${awaits}${OUTPUTS}`, {
        surprises: { iocRest, filledLagMs: 800 },
        fillLagMs: 12_000,
      });
      expect(report.outputs).toEqual({ filled: '0.1', avg: '64001', status: iocRest, terminal: true });
    },
  );

  it('is awaited to its end where it shows as open first', async () => {
    const { report } = await play(`  - id: o\n    place: ${TAKE}\n${OUTPUTS}`, {
      surprises: { immediateOpenMs: 5000 },
    });
    expect(report.outputs).toEqual(FILLED);
  });

  it('leaves no step without an end where the run is cancelled while a handled one reads it again', async () => {
    const { report, entries } = await play(
      `  - id: o\n    place: ${TAKE}\n    catch: [{on: [transport], then: continue}]\n  - wait: 1s\n`,
      { fillLagMs: 300_000 },
      { commands: [{ command: 'cancel', by: 'ada', reason: 'enough', afterMs: 90_000 }] },
    );
    expect(report.outcome).toBe('failed');
    const ended = entries.flatMap((entry) => (entry.type === 'step.ended' ? [[entry.step, entry.data.outcome]] : []));
    expect(ended).toEqual([['steps/o', 'failed']]);
  });

  it('fails its step with both figures where its fills are not shown in time', async () => {
    const { report, entries } = await play(`  - id: o\n    place: ${TAKE}\n${OUTPUTS}`, { fillLagMs: 300_000 });
    expect(report.outcome).toBe('failed');
    expect(report.error).toMatchObject({ kind: 'transport' });
    expect(report.error?.message).toMatch(/add up to 0, its record shows 0\.15/);
    const alarms = entries.flatMap((entry) => (entry.type === 'order.alarmed' ? [entry.data.alarm] : []));
    expect(alarms).toContain('FillsIncomplete');
  });
});

it('a fills endpoint that is down for a while is asked until it answers', async () => {
  const { report } = await play(`  - id: o\n    place: ${TAKE}\n${OUTPUTS}`, {
    faults: [{ on: 'GET /fills/order', do: 'status', status: 503, when: { untilMs: 20_000 } }],
  });
  expect(report.outputs).toEqual(FILLED);
});

it('the window is the timeout of the step where that is shorter', async () => {
  const { report, entries } = await play(`  - id: o\n    place: ${TAKE}\n    timeout: 10s\n${OUTPUTS}`, {
    fillLagMs: 30_000,
  });
  expect(report.error).toMatchObject({ kind: 'transport' });
  const ended = entries.find((entry) => entry.type === 'step.ended');
  expect((ended?.at ?? 0) - (entries[0]?.at ?? 0)).toBeLessThan(13_000);
});

it('a step that timed out is a time-out, also where the fills of its order are not shown', async () => {
  const slow = '{type: limit, market: BTC-USD, side: long, size: 0.15, price: 64001}';
  const thin = { 'BTC-USD': { ...STILL.markets?.['BTC-USD'], depth: '0.001' } };
  const { report, entries } = await play(
    `  - id: o\n    place: ${slow}\n    await: filled\n    timeout: 5s\n${OUTPUTS}`,
    {
      markets: thin,
      fillLagMs: 300_000,
    },
  );
  expect(report.error).toMatchObject({ kind: 'timeout' });
  const alarms = entries.flatMap((entry) => (entry.type === 'order.alarmed' ? [entry.data.alarm] : []));
  expect(alarms).toContain('FillsIncomplete');
});

describe('an order that is not complete', () => {
  const LATE: SimulatorConfig = {
    fillLagMs: 30_000,
    faults: [{ on: 'DELETE /orders', do: 'fill_first', fraction: '0.5' }],
  };
  const handled = (lines: string) => `  - id: o
    place: ${REST}
  - wait_for: {order: o, is: filled, within: 3s}
    on_timeout:
      - cancel: o
      - set: {filled: o.filled, price: "o.avg_price.orValue(1)"}
${lines}`;
  const VARS = 'vars: {filled: {type: size, init: 0}, price: {type: price, init: 1}}\n';
  /** What the steps that handled the failure have read. */
  const READ = 'was: filled, at: price';

  it('gives estimates to the steps that handle a failure, and no cancel there waits for fills', async () => {
    const { report, entries, books } = await play(
      `${handled('      - stop: {outcome: late, because: it came too late}\n')}outputs: {${READ}}\n${VARS}`,
      LATE,
    );
    expect(report.outputs).toEqual({ was: '0.05', at: '63990' });
    const cancelled = entries.find((entry) => entry.type === 'step.ended' && entry.data.verb === 'cancel');
    const deleted = books.requests.find(({ method }) => method === 'DELETE');
    expect((cancelled?.at ?? 0) - (deleted?.sentAt ?? 0)).toBeLessThan(3000);
    // The run's own figures are whole before it ends.
    expect(report.orders.map(({ filled, averagePrice }) => [filled, averagePrice])).toEqual([['0.05', '63990']]);
  });

  it('is read again when its failure has been handled, so that later steps read what happened', async () => {
    const { report } = await play(`${handled('')}${OUTPUTS.replace('{', `{${READ}, `)}${VARS}`, LATE);
    expect(report.outcome).toBe('succeeded');
    expect(report.outputs).toMatchObject({ filled: '0.05', avg: '63990', status: 'canceled', terminal: true });
  });

  it('fails a later step that reads its figures where they are never shown', async () => {
    const { report } = await play(`${handled('  - assert: o.filled > 0\n')}outputs: {${READ}}\n${VARS}`, {
      ...LATE,
      fillLagMs: 900_000,
    });
    expect(report.error).toMatchObject({ kind: 'transport' });
  });
});

describe('an end that is learned outside the step that placed the order', () => {
  /** It fills between the step that placed it and the one that learns its end. */
  const CROSSED: SimulatorConfig = {
    markets: {
      'BTC-USD': {
        ...STILL.markets?.['BTC-USD'],
        path: {
          kind: 'points',
          points: [
            { afterMs: 0, price: '64000' },
            { afterMs: 3000, price: '63900' },
          ],
        },
      },
    },
    fillLagMs: 8000,
  };
  const DONE = [['closed', '0.1', '63990']];

  it.each([
    ['list_orders', '  - list_orders: {market: BTC-USD}\n'],
    ['cancel_all', '  - cancel_all: {everyone: true}\n'],
    ['refresh', '  - refresh: o\n'],
    ['cancel', '  - cancel: o\n'],
    ['cancel mine', '  - cancel: {mine: BTC-USD}\n'],
    ['a cancel that is only accepted', '  - cancel: o\n    await: accepted\n'],
    ['wait_for', '  - wait_for: {order: o, is: terminal, within: 30s}\n'],
    ['an amend that comes too late', '  - amend: {order: o, price: 63980}\n    catch: [{on: any, then: continue}]\n'],
    ['the end of a run that fails', '  - fail: {because: as meant}\n'],
  ])('%s: the run has its fills and their price before it ends', async (_name, lines) => {
    const text = `  - id: o\n    place: ${REST}\n  - wait: 6s\n${lines}needs: [cancel_all]\n`;
    const { report, books } = await play(text, CROSSED);
    expect(books.fills.map(({ size, price }) => [size, price])).toEqual([['0.1', '63990']]);
    expect(report.orders.map(({ state, filled, averagePrice }) => [state, filled, averagePrice])).toEqual(DONE);
  });

  it('list_orders hands out an order of this run with its average price', async () => {
    const text = `  - id: o
    place: ${REST}
  - wait: 6s
  - id: all
    list_orders: {market: BTC-USD}
outputs: {avg: "all.orders[0].avg_price", filled: "all.orders[0].filled"}
`;
    expect((await play(text, CROSSED)).report.outputs).toEqual({ avg: '63990', filled: '0.1' });
  });
});

describe('a second order for one intent', () => {
  it('is never placed where the record of the first shows a fill, though no fill was read', async () => {
    const text = `  - id: o
    place: {type: limit, market: BTC-USD, side: long, size: 0.01, price: 63990}
    await: filled
    timeout: 3s
    retry: {on: [timeout], max: 2, first: 250ms}
`;
    const { books, report } = await play(text, {
      fillLagMs: 900_000,
      faults: [{ on: 'DELETE /orders', do: 'fill_first', fraction: '0.9' }],
    });
    expect(books.orders).toHaveLength(1);
    expect(report.outcome).toBe('failed');
  });
});

describe('a stop for a fraction of the position', () => {
  it('keeps its fraction as its size; what it filled is a size', async () => {
    const text = `  - id: guard
    protect: {market: BTC-USD, side: short, stop_loss: {fraction: 0.5, trigger: 63950, price: 63000}}
  - wait: 8s
  - refresh: guard.stop_loss
outputs: {size: guard.stop_loss.size, initial: guard.stop_loss.initial_size, filled: guard.stop_loss.filled, remaining: guard.stop_loss.remaining}
`;
    const { report } = await play(text, {
      markets: {
        'BTC-USD': {
          ...STILL.markets?.['BTC-USD'],
          path: {
            kind: 'points',
            points: [
              { afterMs: 0, price: '64000' },
              { afterMs: 4000, price: '63940' },
            ],
          },
        },
      },
      account: { positions: [{ market: 'BTC-USD', size: '0.2', price: '64000', agoMs: 60_000 }] },
    });
    expect(report.outputs).toEqual({ size: '0.5', initial: '0.5', filled: '0.1', remaining: '0' });
    expect(report.orders.map(({ size, filled }) => [size, filled])).toEqual([['0.5', '0.1']]);
  });
});

/** Fills of several orders of a market are read in one page, whichever branches wait for them, and by order where a page is full. */
import { describe, expect, it } from 'vitest';
import type { SimulatorConfig } from '../../src/gateway/simulator/simulator.ts';
import { inputsFrom, loadedFrom, perform, replay, type Scene } from './stage.ts';

const TEXT = `runbook: branches
dsl: 1
leaves: {position: open, because: the case is about something else}
steps:
  - parallel:
      branches:
        a: [{id: a, place: {type: limit, market: BTC-USD, side: long, size: 0.1, price: 63000}, await: filled}]
        b: [{id: b, place: {type: limit, market: BTC-USD, side: long, size: 0.1, price: 63100}, await: filled}]
        c: [{id: c, place: {type: limit, market: BTC-USD, side: long, size: 0.1, price: 63200}, await: filled}]
`;
const points = [
  { afterMs: 0, price: '64000' },
  { afterMs: 10_000, price: '62000' },
];
const CONFIG: SimulatorConfig = {
  latencyMs: { min: 10, max: 10 },
  processingMs: { min: 50, max: 50 },
  visibilityLagMs: { min: 0, max: 0 },
  markets: { 'BTC-USD': { path: { kind: 'points', points } } },
};

async function performed(between?: Scene['between']) {
  const loaded = loadedFrom({ file: 'branches.yaml', text: TEXT });
  const scene: Scene = {
    loaded,
    inputs: inputsFrom(loaded, {}),
    config: CONFIG,
    ...(between === undefined ? {} : { between }),
  };
  const performance = await perform(scene);
  await replay(performance, scene);
  const { report } = performance;
  const count = (path: string) => report.requests.filter((each) => each.method === 'GET' && each.path === path).length;
  return {
    outcome: report.outcome,
    filled: report.orders.map(({ filled, averagePrice }) => [filled, averagePrice !== undefined]),
    pages: count('/fills'),
    byOrder: count('/fills/order'),
  };
}

const FILLED = [
  ['0.1', true],
  ['0.1', true],
  ['0.1', true],
];

type Row = Readonly<Record<string, unknown>>;

const makeForeign = (row: Row | undefined, index: number): Row => ({
  ...row,
  id: `BTC-USD-${90_000 + index}`,
  order_id: `BTC-USD@${90_000 + index}`,
});

/** A venue whose pages of fills `change` rewrites. */
const changingPages =
  (change: (rows: readonly Row[]) => readonly Row[]): Scene['between'] =>
  (venue) => ({
    async send(request, options) {
      const reply = await venue.send(request, options);
      if (request.endpoint !== 'GET /fills' || reply.kind !== 'answer') return reply;
      const { result, ...rest } = JSON.parse(reply.body) as { result: readonly Row[] };
      return { ...reply, body: JSON.stringify({ ...rest, result: change(result) }) };
    },
  });

describe('the fills of three branches', () => {
  it('are read in one page', async () => {
    expect(await performed()).toEqual({ outcome: 'succeeded', filled: FILLED, pages: 1, byOrder: 0 });
  });

  it('are read by order where newer fills of other programs fill the page', async () => {
    const full = await performed(
      changingPages(([sample = {}]) => Array.from({ length: 1000 }, (_, index) => makeForeign(sample, index))),
    );
    expect(full).toEqual({ outcome: 'succeeded', filled: FILLED, pages: 1, byOrder: 3 });
  });

  it('are taken from a page with a fill of another program that cannot be read', async () => {
    const odd = await performed(changingPages((rows) => [{ ...makeForeign(rows[0], 0), size: null }, ...rows]));
    expect(odd).toEqual({ outcome: 'succeeded', filled: FILLED, pages: 1, byOrder: 0 });
  });

  it('are read by order where the venue gives no page', async () => {
    const refused = await performed((venue) => ({
      async send(request, options) {
        const reply = await venue.send(request, options);
        return request.endpoint === 'GET /fills' && reply.kind === 'answer'
          ? { ...reply, status: 500, body: '' }
          : reply;
      },
    }));
    expect(refused).toEqual({ outcome: 'succeeded', filled: FILLED, pages: 1, byOrder: 3 });
  });

  it('are read by order where they themselves cannot be read in the page', async () => {
    const odd = await performed(changingPages(([first, ...rows]) => [{ ...first, order_id: null }, ...rows]));
    expect(odd).toEqual({ outcome: 'succeeded', filled: FILLED, pages: 1, byOrder: 1 });
  });
});

import { describe, expect, it } from 'vitest';
import type { SimulatorConfig } from '../../src/gateway/simulator/simulator.ts';
import { inputsFrom, loadedFrom, perform, type Scene, START } from './stage.ts';

/** 1005 fills, a second apart: more than the 1000 rows that one page holds (venue-api.md, Fills). */
const positions = Array.from({ length: 1005 }, (_, index) => ({
  market: 'BTC-USD',
  size: '0.001',
  price: String(60_000 + index),
  agoMs: (1005 - index) * 1000,
}));

async function outputsOf(list: string, between?: Scene['between'], surprises: SimulatorConfig['surprises'] = {}) {
  const text = `runbook: pages
dsl: 1
leaves: {position: open, because: the case is about something else}
steps:
  - id: f
    list_fills: {market: BTC-USD, since: now - days(1), ${list}}
outputs: {count: f.fills.size(), first: "f.fills[0].price", net: net_size(f.fills)}
`;
  const loaded = loadedFrom({ file: 'pages.yaml', text });
  const { report } = await perform({
    loaded,
    inputs: inputsFrom(loaded, {}),
    config: { account: { positions }, surprises },
    ...(between === undefined ? {} : { between }),
  });
  return {
    error: report.error?.kind,
    outputs: report.outputs,
    pages: report.requests.map(({ params }) => [params['p_page'] ?? '', params['p_order'] ?? '']),
  };
}

describe('lists longer than a page', () => {
  it('are read to their end with all_pages, oldest first, and given newest first', async () => {
    expect(await outputsOf('all_pages: true')).toEqual({
      error: undefined,
      outputs: { count: '1005', first: '61004', net: '1.005' },
      pages: [
        ['0', 'ASC'],
        ['1', 'ASC'],
      ],
    });
  });

  it('lose none and double none at a page’s edge where all have one time: pages go by number, rows are distinguished by id', async () => {
    const { outputs, pages } = await outputsOf('all_pages: true', (venue) => ({
      async send(request, options) {
        const reply = await venue.send(request, options);
        if (reply.kind === 'failure') return reply;
        return { ...reply, body: reply.body.replace(/"timestamp":\d+/g, `"timestamp":${START - 1000}000`) };
      },
    }));
    expect([outputs, pages.length]).toMatchObject([{ count: '1005', net: '1.005' }, 2]);
  });

  it('are given oldest first when asked', async () => {
    expect((await outputsOf('all_pages: true, sort: asc')).outputs).toMatchObject({ count: '1005', first: '60000' });
  });

  it('are not whole where the venue answers every page with the first one, and are not asked for without end', async () => {
    const { error, pages } = await outputsOf('all_pages: true', undefined, { pages: 'first' });
    expect(error).toBe('transport');
    // Five attempts, as of any reading, of two pages each.
    expect(pages.map(([page]) => page).join(' ')).toBe('0 1 0 1 0 1 0 1 0 1');
  });

  it('are cut off without it', async () => {
    const { outputs, pages } = await outputsOf('limit: 1000');
    expect(outputs).toMatchObject({ count: '1000', first: '61004' });
    expect(pages).toHaveLength(1);
  });
});

describe('a list of one order', () => {
  it.each(['a', 'a.id', '"${a.id}"', 'BTC-USD@1001'])('is asked for with order: %s', async (order) => {
    const text = `runbook: one
dsl: 1
leaves: {position: open, because: the case is about something else}
steps:
  - id: a
    place: {type: limit, market: BTC-USD, side: long, size: 0.01, price: 40000, tif: post_only}
  - id: listed
    list_orders: {order: ${order}, since: now - days(1)}
  - id: filled
    list_fills: {order: ${order}}
outputs: {ids: "listed.orders.map(o, o.id)", fills: filled.fills.size()}
`;
    const loaded = loadedFrom({ file: 'one.yaml', text });
    const { report } = await perform({ loaded, inputs: inputsFrom(loaded, {}), config: {} });
    expect(report.outputs).toEqual({ ids: ['BTC-USD@1001'], fills: '0' });
    const [list, fills] = report.requests.slice(-2);
    expect([list?.path, list?.params['order_id']]).toEqual(['/orders', 'BTC-USD@1001']);
    expect([fills?.path, fills?.params['order_id']]).toEqual(['/fills/order', 'BTC-USD@1001']);
  });
});

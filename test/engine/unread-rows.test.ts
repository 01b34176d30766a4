/** Tests lists of orders with rows that cannot be read: each is judged by itself, and none hides or invents an order. */
import { describe, expect, it } from 'vitest';
import type { SimulatorConfig } from '../../src/gateway/simulator/simulator.ts';
import type { Transport, WireRequest } from '../../src/gateway/transport.ts';
import { RunPageFold } from '../../src/report/folds/run-facts.ts';
import { inputsFrom, loadedFrom, type Performance, perform, replay } from './stage.ts';

const CONFIG: SimulatorConfig = {
  latencyMs: { min: 10, max: 10 },
  processingMs: { min: 50, max: 50 },
  visibilityLagMs: { min: 0, max: 0 },
  markets: { 'BTC-USD': { path: { kind: 'points', points: [{ afterMs: 0, price: '64000' }] } } },
};
type Row = Record<string, unknown>;

/** Performs and replays a runbook against a venue whose answers to GET /orders `change` may rewrite; undefined: a 500. */
async function performed(
  steps: string,
  change: (rows: readonly Row[], params: WireRequest['params'], atMs: number) => readonly Row[] | undefined,
  config: SimulatorConfig = CONFIG,
): Promise<Performance> {
  const loaded = loadedFrom({
    file: 'rows.yaml',
    text: `runbook: rows\ndsl: 1\nneeds: [cancel_all]\nleaves: {position: open, because: the case is about the rows}\nsteps:\n${steps}`,
  });
  const between = (venue: Transport, time: { now(): number }): Transport => {
    const start = time.now();
    return {
      async send(request, options) {
        const reply = await venue.send(request, options);
        if (request.endpoint !== 'GET /orders' || reply.kind !== 'answer') return reply;
        const { result } = JSON.parse(reply.body) as { result: Row[] };
        const rows = change(result, request.params, time.now() - start);
        if (rows === undefined) return { ...reply, status: 500, body: 'no' };
        return { ...reply, body: JSON.stringify({ success: true, error: '', result: rows }) };
      },
    };
  };
  const scene = { loaded, inputs: inputsFrom(loaded, {}), config, between };
  const performance = await perform(scene);
  await replay(performance, scene);
  return performance;
}

const TWO = `  - parallel:
      branches:
        a: [{place: {type: limit, market: BTC-USD, side: long, size: 0.1, price: 60000}}]
        b: [{place: {type: limit, market: BTC-USD, side: long, size: 0.1, price: 59000}}]
`;
const isPage = (params: WireRequest['params']) =>
  params['order_id'] === undefined && params['client_order_id'] === undefined;

describe('a page of a market', () => {
  it('shows every order but the one whose row cannot be read', async () => {
    const { report } = await performed(TWO, (rows, _, atMs) =>
      rows.map((row) => (row['price'] === '60000' && atMs < 5000 ? { ...row, size: null } : row)),
    );
    const ends = report.steps.filter(({ verb }) => verb === 'place').map(({ endedAt }) => Date.parse(endedAt ?? ''));
    const start = Date.parse(report.startedAt);
    expect(report.outcome).toBe('succeeded');
    expect(Math.min(...ends) - start).toBeLessThan(1000);
    expect(Math.max(...ends) - start).toBeGreaterThan(5000);
  });

  it('keeps no row of another program in the journal', async () => {
    const resting = Array.from({ length: 300 }, (_, index) => ({
      market: 'BTC-USD',
      side: 'long' as const,
      size: '0.0001',
      price: '50000',
      agoMs: 60_000,
      client_order_id: `grid-${index}`,
      ...(index === 7 ? { nulls: ['side'] } : {}),
    }));
    const { entries, report } = await performed(TWO, (rows) => rows, { ...CONFIG, account: { resting } });
    const pages = entries.flatMap((entry) =>
      entry.type === 'call.settled' && entry.data.leftOut !== undefined ? [entry.data] : [],
    );
    expect(report.outcome).toBe('succeeded');
    expect(pages.map(({ result, leftOut }) => [(result as object[]).length, leftOut])).toEqual([[2, 300]]);
    expect(pages[0]?.notes).toEqual([expect.stringContaining('order.side')]);
  });
});

it('repeats a refresh of several orders until the row of each can be read', async () => {
  const place = (id: string, price: number) =>
    `  - id: ${id}\n    place: {type: limit, market: BTC-USD, side: long, size: 0.1, price: ${price}}\n`;
  const steps = `${place('a', 60000)}${place('b', 59000)}${place('c', 58000)}  - wait: 1m\n  - refresh: [a, b, c]\n`;
  const { report } = await performed(steps, (rows, _, atMs) =>
    rows.map((row) => (row['price'] === '60000' && Math.abs(atMs - 61_500) < 1500 ? { ...row, size: null } : row)),
  );
  const [refresh] = report.steps.filter(({ verb }) => verb === 'refresh');
  expect(Date.parse(refresh?.endedAt ?? '') - Date.parse(report.startedAt)).toBeGreaterThan(63_000);
});

it('repeats a refresh until the venue shows an order that is only accepted', async () => {
  const steps = `  - id: entry
    place: {type: limit, market: BTC-USD, side: long, size: 0.1, price: 64500}
    await: accepted
  - refresh: entry
  - assert: entry.filled > 0
`;
  const { report } = await performed(steps, (rows, _, atMs) => (atMs < 1000 ? [] : rows));
  expect([report.outcome, report.orders[0]?.filled]).toEqual(['succeeded', '0.1']);
});

it('takes an order that the venue shows under an unknown status for shown', async () => {
  const steps = `  - id: entry
    place: {type: limit, market: BTC-USD, side: long, size: 0.1, price: 64500}
    await: accepted
  - wait: 1s
  - refresh: entry
  - assert: entry.filled > 0
`;
  const { report } = await performed(steps, (rows, _, atMs) =>
    rows.map((row) => (atMs < 20_000 ? { ...row, status: 'in_limbo' } : row)),
  );
  expect([report.outcome, report.orders[0]?.filled]).toEqual(['succeeded', '0.1']);
});

it.each([
  ['drops client order ids', () => ''],
  ['cuts them', (name: unknown) => String(name).slice(0, 12)],
])('knows its own order in a list of a venue that %s', async (_, cut) => {
  const steps = `  - place: {type: limit, market: BTC-USD, side: long, size: 0.1, price: 60000}
  - id: listed
    list_orders: {market: BTC-USD, status: open}
  - for_each: {each: order, in: listed.orders, do: [{amend: {order: order, price: 60001}}]}
`;
  const { report } = await performed(steps, (rows) =>
    rows.map((row) => ({ ...row, client_order_id: cut(row['client_order_id']) })),
  );
  expect([report.outcome, report.orders.map(({ price }) => price)]).toEqual(['succeeded', ['60001']]);
});

it('cancels a second order under the client order id of its own as another one', async () => {
  const steps = `  - place: {type: limit, market: BTC-USD, side: long, size: 0.1, price: 60000}
  - id: listed
    list_orders: {market: BTC-USD, status: open}
  - cancel: {ids: listed.orders}
`;
  const { report, entries } = await performed(steps, (rows, params) =>
    isPage(params) ? rows.flatMap((row) => [row, { ...row, id: 'BTC-USD@77' }]) : rows,
  );
  const cancelled = entries.flatMap(({ type, data }) =>
    type === 'call.intended' && data.endpoint === 'DELETE /orders' ? [data.params['order_id']] : [],
  );
  expect([report.outcome, cancelled.toSorted()]).toEqual(['failed', ['BTC-USD@1001', 'BTC-USD@77']]);
});

it('writes prices and sizes without the zeros that a venue puts behind them', async () => {
  const padded = (row: Row) => ({
    ...row,
    price: `${row['price']}.00000000`,
    initial_size: `${row['initial_size']}00000`,
  });
  const { report } = await performed(TWO, (rows) => rows.map(padded));
  expect(report.orders.map(({ price, size, filled }) => [price, size, filled])).toEqual([
    ['60000', '0.1', '0'],
    ['59000', '0.1', '0'],
  ]);
});

describe('list_orders beside a row that cannot be read', () => {
  const LISTS = (
    skips: boolean,
    unread = 1,
  ) => `  - place: {type: limit, market: BTC-USD, side: long, size: 0.1, price: 60000}
    undo: keep
  - id: book
    list_orders: {status: open, since: now - days(1), all_pages: true, skip_unread: ${skips}}
  - assert: ${skips ? `book.orders.size() == 1 && book.unread == ${unread}` : 'book.orders.size() == 1'}
`;

  it.each([
    ['hands out the others', true, 'succeeded', undefined],
    ['fails', false, 'failed', 'transport'],
  ])('%s where it is of another program and skip_unread is %s', async (_, skips, outcome, kind) => {
    const odd = { id: 'BTC-USD@7', client_order_id: 'of-another', market_id: 'BTC-USD', status: 'open', size: null };
    const { report } = await performed(LISTS(skips), (rows, params) => (isPage(params) ? [...rows, odd] : rows));
    expect([report.outcome, report.error?.kind]).toEqual([outcome, kind]);
  });

  it.each([
    [true, ['orders', 'unread']],
    [false, ['orders']],
  ])('journals the number of rows only with skip_unread, which earlier versions had not: %s', async (skips, keys) => {
    const { entries } = await performed(LISTS(skips, 0), (rows) => rows);
    const values = entries.flatMap(({ type, step, data }) =>
      type === 'step.ended' && step === 'steps/book' ? [Object.keys(data.value as object)] : [],
    );
    expect(values).toEqual([keys]);
  });

  it('fails where it is of the order that was asked for', async () => {
    const steps = `  - id: entry
    place: {type: limit, market: BTC-USD, side: long, size: 0.1, price: 60000}
    undo: keep
  - wait: 5s
  - list_orders: {order: entry, since: now - days(1)}
`;
    const { report } = await performed(steps, (rows, _, atMs) => (atMs < 5000 ? rows : rows.map(() => ({ id: null }))));
    expect([report.outcome, report.error?.step]).toEqual(['failed', 'steps/3:list_orders']);
  });

  it('fails where it is an order of the run', async () => {
    const { report } = await performed(LISTS(true), (rows, params) =>
      isPage(params) ? rows.map((row) => ({ ...row, size: null })) : rows,
    );
    expect([report.outcome, report.error?.kind]).toEqual(['failed', 'transport']);
  });
});

describe('cancel_all beside a row of another program that cannot be read', () => {
  const CLOSES = `  - place: {type: limit, market: BTC-USD, side: long, size: 0.1, price: 64500, tif: immediate_or_cancel}
  - cancel_all: {everyone: true}
  - close: {market: BTC-USD, feed: 64000, slip: 5%}
`;

  it.each<[string, Row, number]>([
    ['takes no notice of one that has ended', { id: 'BTC-USD@7', status: 'closed', size: null }, 0],
    ['names one that may still fill', { id: 'BTC-USD@7', market_id: 'BTC-USD', status: 'open', size: null }, 1],
    ['names one without an id', { id: null, status: null, size: null }, 1],
  ])('%s, and the position is closed behind it', async (_, odd, left) => {
    const performance = await performed(CLOSES, (rows, params) => (isPage(params) ? [...rows, odd] : rows));
    const { entries, report, books } = performance;
    const [swept] = entries.filter((entry) => entry.type === 'account.swept');
    const cancelled = books.requests.filter(
      ({ method, params }) => method === 'DELETE' && params['order_id'] === 'BTC-USD@7',
    );
    expect(report.outcome).toBe('succeeded');
    expect(books.fills.map(({ side, size }) => [side, size])).toEqual([
      ['long', '0.1'],
      ['short', '0.1'],
    ]);
    expect([swept?.data.left?.length, swept?.data.unread?.length ?? 0]).toEqual([0, left]);
    expect(cancelled.length > 0).toBe(odd['status'] === 'open');
    expect(report.alarms.filter(({ alarm }) => alarm === 'LeftByCancelAll')).toHaveLength(left);
    const page = new RunPageFold();
    for (const entry of entries) page.apply(entry);
    expect(page.document().unaccounted.alarms.filter(({ alarm }) => alarm === 'LeftByCancelAll')).toHaveLength(left);
  });
});

describe('an order whose POST got no answer', () => {
  const RESENT =
    '  - place: {type: limit, market: BTC-USD, side: long, size: 0.1, price: 60000, on_ambiguous: resend}\n';
  const lost: SimulatorConfig = { ...CONFIG, faults: [{ on: 'POST /orders', when: { call: 1 }, do: 'lost_after' }] };
  const arrived = ({ books }: Performance) => books.orders.filter(({ type }) => type === 'limit').length;

  it.each<[string, (row: Row) => Row]>([
    ['shows its client order id', (row: Row) => ({ ...row, size: null })],
    ['shows none', (row: Row) => ({ ...row, size: null, client_order_id: '' })],
    ['shows no id at all', (row: Row) => ({ ...row, id: 7, client_order_id: null })],
  ])('is not called absent where a row that cannot be read %s', async (_, spoiled) => {
    const performance = await performed(RESENT, (rows, params) => (isPage(params) ? rows.map(spoiled) : []), lost);
    expect(performance.report.outcome).toBe('halted');
    expect(arrived(performance)).toBe(1);
  });

  it.each([
    ['drops client order ids', () => ''],
    ['cuts them', (name: unknown) => String(name).slice(0, 12)],
  ])('is not called absent where the venue %s and lists an order of its terms', async (_, cut) => {
    const performance = await performed(
      RESENT,
      (rows, params) =>
        params['client_order_id'] === undefined
          ? rows.map((row) => ({ ...row, client_order_id: cut(row['client_order_id']) }))
          : [],
      lost,
    );
    expect(performance.report.outcome).toBe('halted');
    expect(arrived(performance)).toBe(1);
  });

  it.each([
    ['of other terms', RESENT, '0.2'],
    [
      'of its terms, after the venue has shown another under its name',
      `  - place: {type: limit, market: BTC-USD, side: long, size: 0.3, price: 60000}\n${RESENT}`,
      '0.1',
    ],
  ])('is sent again where an order without a client order id is there %s', async (_, steps, size) => {
    const resting = [{ market: 'BTC-USD', side: 'long', size, price: '60000', agoMs: 0 }] as const;
    const performance = await performed(steps, (rows) => rows, {
      ...CONFIG,
      account: { resting },
      faults: [{ on: 'POST /orders', when: { call: steps === RESENT ? 1 : 2 }, do: 'lost_before' }],
    });
    expect(performance.report.outcome).toBe('succeeded');
  });

  it('is not called absent where no page of the market can be read', async () => {
    const performance = await performed(RESENT, (_, params) => (isPage(params) ? undefined : []), lost);
    expect(performance.report.outcome).toBe('halted');
    expect(performance.report.orders.map(({ state }) => state)).toEqual(['quarantined']);
    expect(arrived(performance)).toBe(1);
  });

  it.each([
    ['is not called absent', 'lost_before', 'halted', 0],
    ['is found', 'lost_after', 'succeeded', 1],
  ] as const)('%s where its look-ups show every order of the market', async (_, what, outcome, orders) => {
    const resting = [{ market: 'BTC-USD', side: 'long', size: '0.1', price: '50000', agoMs: 0 }] as const;
    const performance = await performed(RESENT, (rows) => rows, {
      ...CONFIG,
      account: { resting },
      surprises: { lookups: 'all' },
      faults: [{ on: 'POST /orders', when: { call: 1 }, do: what }],
    });
    const posts = performance.books.requests.filter(({ method, path }) => `${method} ${path}` === 'POST /orders');
    const own = performance.books.orders.filter(({ client_order_id: id }) => id !== '');
    expect([performance.report.outcome, posts.length, own.length]).toEqual([outcome, 1, orders]);
  });

  it('is absent only when a look-up behind the window found nothing, whatever the list of the market shows', async () => {
    const { entries } = await performed(
      RESENT,
      (rows, params, atMs) => (!isPage(params) && atMs > 95_000 && atMs < 115_000 ? undefined : rows),
      { ...CONFIG, faults: [{ on: 'POST /orders', when: { call: 1 }, do: 'lost_before' }] },
    );
    const [start] = entries;
    const absent = entries.find(({ type, data }) => type === 'order.moved' && data.to === 'absent');
    expect((absent?.at ?? 0) - (start?.at ?? 0)).toBeGreaterThan(115_000);
  });

  it('is found all the same when its own look-up cannot be read for a while', async () => {
    const performance = await performed(
      RESENT,
      (rows, _, atMs) => rows.map((row) => (atMs < 60_000 ? { ...row, size: null } : row)),
      lost,
    );
    expect(performance.report.orders.map(({ state }) => state)).toEqual(['open']);
    expect(arrived(performance)).toBe(1);
  });

  it.each([
    ['another side', { side: 'short' }],
    ['another size', { initial_size: '7' }],
    ['another price', { price: '51000' }],
    ['another market', { market_id: 'ETH-USD' }],
  ])('is sent again where a row that cannot be read shows no id and %s', async (_, shown) => {
    const terms = { market_id: 'BTC-USD', side: 'long', initial_size: '0.1', price: '60000', size: null };
    const foreign = { ...terms, id: null, client_order_id: null, ...shown };
    const performance = await performed(RESENT, (rows, params) => (isPage(params) ? [...rows, foreign] : rows), {
      ...CONFIG,
      faults: [{ on: 'POST /orders', when: { call: 1 }, do: 'lost_before' }],
    });
    expect([performance.report.outcome, arrived(performance)]).toEqual(['succeeded', 1]);
  });

  it('is sent again where only rows of other programs cannot be read', async () => {
    const performance = await performed(
      RESENT,
      (rows, params) => (isPage(params) ? [...rows, { id: 'BTC-USD@7', client_order_id: 'grid-7', size: null }] : rows),
      { ...CONFIG, faults: [{ on: 'POST /orders', when: { call: 1 }, do: 'lost_before' }] },
    );
    expect(performance.report.outcome).toBe('succeeded');
    expect(arrived(performance)).toBe(1);
  });
});

/** Tests `close` against the simulated venue: what it sends, what it leaves, and what the venue's books show then. */
import { describe, expect, it } from 'vitest';
import type { VirtualClock } from '../../src/base/clock.ts';
import type { FaultRule } from '../../src/gateway/simulator/config/faults.ts';
import type { Transport, WireRequest } from '../../src/gateway/transport.ts';
import { SIMULATED_PROFILE } from '../../src/venue/profile/profile.ts';
import { toWireRequest } from '../../src/venue/wire/request.ts';
import { inputsFrom, loadedFrom, type Performance, perform, replay, type Scene, START } from './stage.ts';

const LONG = '  - place: {type: market, market: BTC-USD, side: long, size: 0.1, price: 64100}\n';
const STOP = '  - protect: {market: BTC-USD, side: short, stop_loss: {fraction: 1, trigger: 60000, price: 59000}}\n';
const ADDING = '  - place: {type: limit, market: BTC-USD, side: long, size: 0.1, price: 63000}\n';
/** Its price is within the bound of a market order that closes. */
const NEAR = ADDING.replace('63000', '63900');
const TAKING = '  - place: {type: limit, market: BTC-USD, side: short, size: 0.1, price: 65000}\n';
const MANAGE = 'manage: {market: BTC-USD, side: short, stop_loss: {trigger: 60000, price: 59000}';
/** Every market order but the first. */
const REFUSED: FaultRule[] = [
  { on: 'POST /orders', when: { type: 'market', call: '2+' }, do: 'error', error: 'INSUFFICIENT_MARGIN' },
];
const CLOSE = '  - id: out\n    close: BTC-USD\n';

async function play(
  steps: string,
  { head = '', feed = 'price', ...rest }: Partial<Scene> & { readonly head?: string; readonly feed?: string } = {},
): Promise<Performance> {
  const text = `runbook: case\ndsl: 1\nfeeds: {mid: {type: ${feed}, max_age: 5s}}\nleaves: {position: none}\n${head}steps:\n${steps}`;
  const loaded = loadedFrom({ file: 'case.yaml', text });
  const path = { kind: 'points', points: [{ afterMs: 0, price: '64000' }] } as const;
  const markets = {
    'BTC-USD': { tick: '1', lot: '0.0001', start: '64000', spreadBps: 0, depth: '100', path },
  } as const;
  const scene: Scene = { loaded, inputs: inputsFrom(loaded, {}), ...rest, config: { markets, ...rest.config } };
  const performance = await perform(scene);
  await replay(performance, scene);
  return performance;
}

/** The orders of the venue's books: type, side, price and status. */
function listOrders({ books }: Performance): readonly string[] {
  return books.orders.map(({ type, side, status }) => `${type} ${side} ${status}`);
}

function isFlat({ books }: Performance): boolean {
  const net = books.orders.reduce((sum, { side, filled }) => sum + (side === 'long' ? 1 : -1) * Number(filled), 0);
  return Math.abs(net) < 1e-9 && books.orders.every(({ terminal }) => terminal);
}

it('closes what an order has filled whose record is older than its fills', async () => {
  const between = (venue: Transport, time: { now(): number }): Transport => ({
    async send(request, options) {
      const reply = await venue.send(request, options);
      if (reply.kind !== 'answer' || request.endpoint !== 'GET /orders' || time.now() > START + 700) return reply;
      const { result } = JSON.parse(reply.body) as { result: Record<string, unknown>[] };
      const rows = result.map((row) => ({ ...row, status: 'canceled', total_filled_size: '0' }));
      return { ...reply, body: JSON.stringify({ success: true, error: '', result: rows }) };
    },
  });
  const head = 'on_error: [{close: {market: BTC-USD, feed: 64000}}]\n';
  const steps = LONG.replace('- place', '- id: entry\n    place');
  const played = await play(`${steps}  - assert: entry.filled > 0\n`, {
    head,
    between,
    config: { latencyMs: { min: 10, max: 10 }, visibilityLagMs: { min: 0, max: 0 } },
  });
  expect([listOrders(played), played.report.outcome]).toEqual([
    ['market long closed', 'market short closed'],
    'failed',
  ]);
});

it.each([
  ['its fills', { surprises: { filledLagMs: 20_000 } }],
  ['a later record', { surprises: { filledLagMs: 1500 }, fillLagMs: 40_000 }],
  [
    'a later record, where others use up the tokens',
    {
      surprises: { filledLagMs: 1500 },
      fillLagMs: 40_000,
      tokens: { foreign: [{ afterMs: 110_000, tokens: 1110 }] },
    },
  ],
])(
  'sends a second market order for what the first has left, where its first record shows nothing filled: %s',
  async (_, late) => {
    const path = { kind: 'points', points: [{ afterMs: 0, price: '64000' }] } as const;
    const market = { tick: '1', lot: '0.0001', start: '64000', spreadBps: 0, depth: '0.06', levels: 1, path };
    const entry = LONG.replace('price: 64100}', 'price: 64100}\n    await: accepted\n  - wait: 60s');
    const more = entry.replace('size: 0.1', 'size: 0.04');
    const played = await play(`${entry}${more}${CLOSE}`, { config: { ...late, markets: { 'BTC-USD': market } } });
    const exits = played.books.orders.filter(({ side }) => side === 'short').map(({ initial_size: size }) => size);
    expect([exits, isFlat(played)]).toEqual([['0.1', '0.04'], true]);
  },
);

it.each(['0.02', '0.05'])(
  'counts what a stop fills just before it is cancelled, where its first record shows less: %s at a time',
  async (depth) => {
    const points = [
      { afterMs: 0, price: '64000' },
      { afterMs: 60_000, price: '63800' },
    ];
    const market = { tick: '1', lot: '0.0001', start: '64000', spreadBps: 0, depth, levels: 1 };
    const markets = { 'BTC-USD': { ...market, path: { kind: 'points', points, stepMs: 500 } as const } };
    const stop = STOP.replace('60000, price: 59000', '63900, price: 63000');
    const entry = LONG.replace('type: market', 'type: limit').replace('}\n', '}\n    await: filled\n    timeout: 1m\n');
    const least: number[] = [];
    for (let waits = 0; waits < 1500; waits += 100) {
      const steps = `${entry}${stop}  - wait: {until: run.started_at + seconds(${59 + waits / 1000})}\n${CLOSE}`;
      const late = { fillLagMs: 40_000, surprises: { filledLagMs: 1800 } };
      const config = { markets, ...late, processingMs: { min: 700, max: 700 } };
      const { books } = await play(steps, { config, head: 'limits: {markets: [BTC-USD]}\n' });
      let net = 0;
      least.push(
        Math.min(...books.fills.map(({ side, size }) => (net += (side === 'long' ? 1 : -1) * Number(size) * 1e4))),
      );
    }
    expect(least.map(Math.round)).toEqual(least.map(() => 0));
  },
);

it('waits for no fills of ended orders where the venue does not answer', async () => {
  const between = (venue: Transport, time: VirtualClock): Transport => ({
    async send(request, options) {
      if (request.endpoint !== 'GET /fills' && request.endpoint !== 'GET /fills/order')
        return venue.send(request, options);
      await new Promise<void>((done) => void time.after(options.timeoutMs, done));
      return { kind: 'failure', sent: true, message: 'timeout: response' };
    },
  });
  const resting = [61000, 61100, 61200, 61300].map((price) => ADDING.replace('63000', String(price))).join('');
  const played = await play(`${resting}${CLOSE}`, { between });
  const ofClose = played.report.steps.find(({ verb }) => verb === 'close');
  expect(played.report.outcome).toBe('succeeded');
  expect(Date.parse(ofClose?.endedAt ?? '') - Date.parse(ofClose?.startedAt ?? '')).toBeLessThan(7500);
});

it('reads for that the orders that ended short in its market alone, however long ago', async () => {
  const ended = (id: string, market: string, size: string) =>
    `  - id: ${id}
    place: {type: limit, market: ${market}, side: long, size: ${size}, price: 1000}
  - cancel: ${id}
`;
  const old = `${ended('old', 'BTC-USD', '0.01')}  - wait: 2m\n`;
  const steps = `${old}${ended('other', 'ETH-USD', '0.02')}${ended('late', 'BTC-USD', '0.03')}${CLOSE}`;
  const market = { tick: '1', lot: '0.0001', start: '64000', spreadBps: 0, depth: '100' };
  const { entries, books } = await play(steps, { config: { markets: { 'BTC-USD': market, 'ETH-USD': market } } });
  const asked = entries.flatMap((entry) =>
    entry.type === 'call.intended' && entry.step === 'steps/out' && entry.data.endpoint === 'GET /fills/order'
      ? [entry.data.params['order_id']]
      : [],
  );
  expect(books.orders.map(({ initial_size: size }) => size)).toEqual(['0.01', '0.02', '0.03']);
  expect(asked).toEqual([books.orders[0]?.id, books.orders[2]?.id]);
});

it('closes what the run holds, and leaves nothing working', async () => {
  const played = await play(LONG + STOP + ADDING + TAKING + CLOSE);
  expect(listOrders(played)).toEqual([
    'market long closed',
    'stop_loss short canceled',
    'limit long canceled',
    'limit short canceled',
    'market short closed',
  ]);
  expect([played.report.outcome, isFlat(played), played.books.orders.at(-1)?.price]).toEqual([
    'succeeded',
    true,
    '63360',
  ]);
});

it('cancels its stop after everything else', async () => {
  const { entries, books } = await play(LONG + STOP + ADDING + TAKING + CLOSE);
  const cancelled = entries.flatMap((entry) =>
    entry.type === 'call.intended' && entry.data.endpoint === 'DELETE /orders' ? [entry.data.clientOrderId] : [],
  );
  const types = cancelled.map((id) => books.orders.find((order) => order.client_order_id === id)?.type);
  expect(types.at(-1)).toBe('stop_loss');
  expect(types).toHaveLength(3);
});

it('keeps back what another branch places on its side until it is over: nothing is sold twice', async () => {
  const target = 'protect: {market: BTC-USD, side: short, take_profit: {fraction: 1, trigger: 63990, price: 63000}}';
  const branches = `{a: [{close: BTC-USD}], b: [{wait: 100ms}, {${target}, catch: [{on: any, then: continue}]}]}`;
  const config = { visibilityLagMs: { min: 1500, max: 1500 } };
  const { books, report } = await play(`${LONG}${STOP}  - parallel: {branches: ${branches}}\n`, { config });
  const sold = books.fills.filter(({ side }) => side === 'short').map(({ size }) => size);
  expect([report.outcome, sold]).toEqual(['succeeded', ['0.1']]);
});

it('closes a short position within the slip that is written', async () => {
  const short = LONG.replace('long', 'short').replace('64100', '63900');
  const played = await play(`${short}  - close: {market: BTC-USD, slip: 5%}\n`);
  expect([isFlat(played), played.books.orders.at(-1)?.price]).toEqual([true, '67200']);
});

it.each([
  ['BTC-USD', 'close: BTC-USD'],
  ['an input', 'close: ${inputs.market}'],
  ['an item', 'for_each: {each: m, in: "[inputs.market]", do: [{close: {market: "${m}", slip: 1%}}]}'],
])('is bounded by the only feed by market too: %s', async (_name, close) => {
  const head = 'inputs: {market: {type: market, default: BTC-USD}}\n';
  const played = await play(`${LONG}  - ${close}\n`, { head, feed: 'map<price>' });
  expect([isFlat(played), played.books.orders.at(-1)?.price]).toEqual([true, '63360']);
});

it.each([
  ['close', CLOSE],
  ['manage', `  - ${MANAGE}, time_limit: 10s}\n`],
])('reads no other market of a feed by market: %s', async (_verb, steps) => {
  const own = { tick: '1', lot: '0.0001', start: '64000', spreadBps: 0, depth: '100' };
  const markets = { 'BTC-USD': own, 'ETH-USD': { ...own, start: '2000' } };
  const played = await play(`${LONG}  - wait: 20s\n${steps}`, { feed: 'map<price>', config: { markets } });
  const read = played.entries.flatMap((entry) =>
    entry.type === 'feed.read' && entry.at >= START + 20_000 ? [entry.data.key] : [],
  );
  expect([isFlat(played), new Set(read)]).toEqual([true, new Set(['BTC-USD'])]);
});

/** The venue shows that it has filled the entry with a part of a lot. */
const fillsInPart = (venue: Transport) => ({
  async send(request: WireRequest, options: Parameters<Transport['send']>[1]) {
    const reply = await venue.send(request, options);
    if (reply.kind !== 'answer') return reply;
    const part = {
      '"total_filled_size":"0.1"': '"total_filled_size":"0.05005"',
      '"size":"0.1"': '"size":"0.05005"',
    };
    const body = Object.entries(part).reduce((text, [whole, shown]) => text.replaceAll(whole, shown), reply.body);
    return { ...reply, body: body.replaceAll('"status":"closed"', '"status":"canceled"') };
  },
});

it.each([
  ['close', CLOSE],
  ['manage', `  - ${MANAGE}, time_limit: 10s}\n`],
])(
  'closes the whole lots of a position that has a part of one, and leaves that to its stop: %s',
  async (_verb, steps) => {
    const played = await play(LONG + STOP + steps, { between: fillsInPart });
    const exits = played.books.orders.slice(1).filter(({ type }) => type === 'market');
    expect([exits.map(({ filled }) => filled), played.report.outcome]).toEqual([['0.05'], 'failed']);
    expect(played.report.residual).toMatchObject([{ size: '0.00005', covered: '0.00005' }]);
  },
);

it('puts a stop with a size back for the whole lots of what is left', async () => {
  const stop = '  - place: {type: stop_limit, market: BTC-USD, side: short, size: 0.1, price: 59000, trigger: 60000}\n';
  const played = await play(LONG + stop + CLOSE, { between: fillsInPart, config: { faults: REFUSED } });
  expect(played.report.residual).toMatchObject([{ size: '0.05005', covered: '0.05' }]);
});

it('sends no order where the run holds nothing', async () => {
  const played = await play(ADDING + CLOSE);
  expect([played.report.outcome, listOrders(played)]).toEqual(['succeeded', ['limit long canceled']]);
});

it('buys back nothing of what its stop has closed beyond its own', async () => {
  const points = [
    { afterMs: 0, price: '64000' },
    { afterMs: 20_000, price: '63500' },
  ];
  const market = { tick: '1', lot: '0.0001', start: '64000', spreadBps: 0, depth: '100' };
  const markets = { 'BTC-USD': { ...market, path: { kind: 'points', points } } } as const;
  const positions = [{ market: 'BTC-USD', size: '0.3', price: '60000', agoMs: 3_600_000 }];
  const near = STOP.replace('60000', '63600');
  const played = await play(`${LONG}${near}  - wait: 30s\n${CLOSE}`, { config: { markets, account: { positions } } });
  expect(listOrders(played).slice(-2)).toEqual(['market long closed', 'stop_loss short closed']);
  expect([played.report.outcome, played.report.residual]).toEqual(['succeeded', []]);
  const alarms = played.entries.flatMap((entry) => (entry.type === 'order.alarmed' ? [entry.data] : []));
  const detail = { market: 'BTC-USD', filled: '0.4', held: '0.1', beyond: '0.3' };
  expect(alarms).toMatchObject([{ alarm: 'StopClosedMore', detail }]);
});

it('counts what only the record of a stop shows after what was bought before: fills come late', async () => {
  const points = [
    { afterMs: 0, price: '64000' },
    { afterMs: 100_000, price: '63500' },
  ];
  const market = { tick: '1', lot: '0.0001', start: '64000', spreadBps: 0, depth: '100' };
  const markets = { 'BTC-USD': { ...market, path: { kind: 'points', points } } } as const;
  const near = STOP.replace('60000', '63600');
  const steps = `${LONG}${near}${LONG}  - wait: 65s\n${CLOSE}`;
  const played = await play(steps, { config: { markets, fillLagMs: 20_000 } });
  expect(listOrders(played)).toEqual(['market long closed', 'stop_loss short closed', 'market long closed']);
  expect(isFlat(played)).toBe(true);
});

it('leaves the orders and positions of other markets alone', async () => {
  const other = '  - place: {type: limit, market: ETH-USD, side: long, size: 1, price: 2000}\n';
  const played = await play(LONG + other + CLOSE, {
    head: '',
    config: { markets: { 'BTC-USD': { start: '64000' }, 'ETH-USD': { start: '3000' } } },
  });
  expect(played.books.orders.map(({ market_id: market, status }) => [market, status])).toEqual([
    ['BTC-USD', 'closed'],
    ['ETH-USD', 'open'],
    ['BTC-USD', 'closed'],
  ]);
});

describe('as the way out of a failure', () => {
  const FAILS = '  - fail: {because: it does}\non_error:\n';

  it('closes the position', async () => {
    const played = await play(LONG + STOP + FAILS + CLOSE);
    expect([played.report.outcome, isFlat(played), played.report.residual]).toEqual(['failed', true, []]);
  });

  it('closes it within the last price that was read, where the feed is down', async () => {
    const played = await play(LONG + FAILS + CLOSE, { feedAgeMs: 60_000 });
    expect([isFlat(played), played.books.orders.at(-1)?.price]).toEqual([true, '63360']);
  });

  it('closes it once the venue is back that was away for longer than five orders take', async () => {
    const faults: FaultRule[] = [{ on: '*', when: { afterMs: 4000, untilMs: 45_000 }, do: 'refused' }];
    const played = await play(`${LONG}  - wait: 5s\n${FAILS}${CLOSE}`, { config: { faults } });
    expect([played.report.outcome, isFlat(played), played.report.residual]).toEqual(['failed', true, []]);
  });

  it('gives up where the venue stays away, and says what is left', async () => {
    const faults: FaultRule[] = [{ on: '*', when: { afterMs: 4000 }, do: 'refused' }];
    const played = await play(`${LONG}  - wait: 5s\n${FAILS}${CLOSE}`, { config: { faults } });
    expect([played.report.outcome, played.report.residual.map(({ size }) => size)]).toEqual(['failed', ['0.1']]);
    expect((played.entries.at(-1)?.at ?? 0) - START).toBeLessThan(120_000);
  });

  it('closes it although an order that can only add to it does not end', async () => {
    const faults: FaultRule[] = [{ on: 'DELETE /orders', when: { call: 1 }, do: 'error', error: 'INVALID_PARAMETER' }];
    const played = await play(LONG + ADDING + FAILS + CLOSE, { config: { faults } });
    expect(listOrders(played)).toEqual(['market long closed', 'limit long canceled', 'market short closed']);
  });

  it('closes it although it could trade with an order that can only add to it and whose cancel gets no answer', async () => {
    const faults: FaultRule[] = [{ on: 'DELETE /orders', when: { call: '1+' }, do: 'lost_before' }];
    const played = await play(LONG + NEAR + FAILS + CLOSE, { config: { faults } });
    expect(listOrders(played)).toEqual(['market long closed', 'limit long open', 'market short closed']);
  });

  it.each([
    ['is not there', false],
    ['is there', true],
  ])(
    'closes it beside an order of the other side that was refused in unknown words and %s',
    async (_what, processed) => {
      const faults: FaultRule[] = [
        { on: 'POST /orders', when: { type: 'limit' }, do: 'error', error: 'SOMETHING_ODD', processed },
      ];
      const config = { visibilityLagMs: { min: 9000, max: 9000 }, faults };
      const played = await play(`${LONG}${NEAR}on_error:\n${CLOSE}`, { config });
      expect([played.report.outcome, isFlat(played), played.report.residual]).toEqual(['failed', true, []]);
    },
  );

  it('sends nothing beside an order of its own side that does not end', async () => {
    const faults = [1, 2].map(
      (call): FaultRule => ({ on: 'DELETE /orders', when: { call }, do: 'error', error: 'INVALID_PARAMETER' }),
    );
    const kept = `${TAKING}    undo: keep\n`;
    const played = await play(LONG + STOP + kept + FAILS + CLOSE, { config: { faults } });
    expect(listOrders(played).slice(0, 3)).toEqual(['market long closed', 'stop_loss short open', 'limit short open']);
    expect(played.books.orders).toHaveLength(3);
  });
});

describe('where the market order is refused', () => {
  it.each([
    [
      'a position stop',
      '  - protect: {market: BTC-USD, side: short, stop_loss: {fraction: 1, trigger: 63990, price: 63980}}\n',
      '1',
    ],
    [
      'a stop with a size',
      '  - place: {type: stop_limit, market: BTC-USD, side: short, size: 0.2, trigger: 63990, price: 63980}\n    allow: reduce\n',
      '0.1',
    ],
  ])('puts %s back, for no more than is left', async (_what, stop, size) => {
    const played = await play(LONG.replace('64100', '64050') + stop + CLOSE, { config: { faults: REFUSED } });
    expect(played.report.error?.kind).toBe('rejected');
    const [, , back] = played.books.orders;
    expect([back?.status, back?.initial_size]).toEqual(['open', size]);
    expect(played.report.residual[0]?.covered).toBe('0.1');
  });
});

describe('where its market order would be denied', () => {
  it.each([
    ['out of the price band', { head: 'limits: {price_band: {around: "64000", within: 0.1%}}\n' }],
    [
      'while a kill switch is engaged',
      { forbidden: (time: { now(): number }) => (time.now() > START + 4000 ? 'KILLED' : undefined) },
    ],
  ])('keeps the stop: %s', async (_what, rest) => {
    const played = await play(`${LONG.replace('64100', '64050') + STOP}  - wait: 5s\n${CLOSE}`, rest);
    expect(played.report.error?.kind).toBe('denied');
    expect(listOrders(played)).toEqual(['market long closed', 'stop_loss short open']);
  });

  it('waits where too many orders were sent in the last minute', async () => {
    const played = await play(LONG + STOP + CLOSE, { limits: { maxOrdersPerMinute: 2 } });
    expect([played.report.outcome, isFlat(played)]).toEqual(['succeeded', true]);
    expect(new Set(played.report.orders.map(({ size }) => size))).toEqual(new Set(['0.1', '1']));
    const at = (end: string) =>
      played.entries.find(
        (entry) => entry.type === 'call.attempted' && entry.data.path === '/orders' && entry.data.method === end,
      )?.at ?? 0;
    expect(at('DELETE') - at('POST')).toBeGreaterThanOrEqual(60_000);
  });
});

it.each([
  ['for the position', STOP, 'stop_loss'],
  [
    'with a size',
    '  - place: {type: stop_market, market: BTC-USD, side: short, size: 0.1, trigger: 60000}\n    allow: reduce\n',
    'stop_market',
  ],
])('is not the way out of a stop that only the orders of the last minute deny: %s', async (_what, stop, type) => {
  const caught = stop.replace(/\n$/, '\n    catch: [{on: any, do: [{close: BTC-USD}], then: fail}]\n');
  const played = await play(LONG + caught, { limits: { maxOrdersPerMinute: 1 } });
  expect(listOrders(played)).toEqual(['market long closed', `${type} short open`]);
});

describe('where several stops cover the position and its market order is refused', () => {
  const third = (trigger: number) =>
    `  - place: {type: stop_limit, market: BTC-USD, side: short, size: 0.03, trigger: ${trigger}, price: ${trigger - 10}}\n    allow: reduce\n`;
  const playRefused = (triggers: readonly number[]) =>
    play(LONG.replace('0.1', '0.09').replace('64100', '64050') + triggers.map(third).join('') + CLOSE, {
      config: { faults: REFUSED },
    });

  it('puts each of them back', async () => {
    const { report, books } = await playRefused([63985, 63990, 63980]);
    expect(books.orders.slice(4).map(({ trigger_price: at }) => at)).toEqual(['63990', '63985', '63980']);
    expect(report.residual.map(({ size, covered }) => [size, covered])).toEqual([['0.09', '0.09']]);
  });

  it('puts it back with the terms in force, and as its author placed it', async () => {
    const stop = third(63985)
      .replace('- place:', '- id: stop\n    place:')
      .replace('price: 63975', 'price: 63975, tif: post_only');
    const { books } = await play(`${LONG}${stop}  - amend: {order: stop, price: 63900, size: 0.05}\n${CLOSE}`, {
      config: { faults: REFUSED },
    });
    const last = books.orders.at(-1);
    expect([last?.trigger_price, last?.price, last?.initial_size, last?.time_in_force]).toEqual([
      '63985',
      '63900',
      '0.05',
      'post_only',
    ]);
  });

  it('puts no more back than is left', async () => {
    const { books } = await playRefused([63985, 63990, 63980, 63975]);
    expect(books.orders.slice(5).map(({ initial_size: size }) => size)).toEqual(['0.03', '0.03', '0.03']);
  });

  it('says of each that is not put back that it is not', async () => {
    const fractions = [1, 2, 3, 4, 5, 6, 7, 8].map(
      (n) =>
        `  - protect: {market: BTC-USD, side: short, stop_loss: {fraction: 0.125, trigger: ${60000 - n}, price: 59000}}\n`,
    );
    const { books, entries } = await play(LONG.replace('64100', '64050') + fractions.join('') + CLOSE, {
      config: { faults: REFUSED },
    });
    expect(books.orders.slice(9).map(({ trigger_price: at }) => at)).toEqual(
      [1, 2, 3, 4, 5, 6].map((n) => String(60000 - n)),
    );
    const alarms = entries.flatMap((entry) => (entry.type === 'order.alarmed' ? [entry.data.alarm] : []));
    expect(alarms.filter((alarm) => alarm === 'StopNotPutBack')).toHaveLength(2);
  });
});

it('counts a market order that appears after it was refused in unknown words', async () => {
  const faults: FaultRule[] = [
    { on: 'POST /orders', when: { call: 3 }, do: 'error', error: 'SOMETHING_ODD', processed: true },
  ];
  const played = await play(LONG + STOP + CLOSE, { config: { visibilityLagMs: { min: 9000, max: 9000 }, faults } });
  expect([played.report.outcome, listOrders(played)]).toEqual([
    'succeeded',
    // Its stop was to come back meanwhile: the venue had no position any more.
    ['market long closed', 'stop_loss short canceled', 'market short closed', 'stop_loss short rejected'],
  ]);
});

it('closes what an order opened that appears after it was refused in unknown words', async () => {
  const faults: FaultRule[] = [
    { on: 'POST /orders', when: { call: 1 }, do: 'error', error: 'SOMETHING_ODD', processed: true },
  ];
  const config = { visibilityLagMs: { min: 9000, max: 9000 }, faults };
  const played = await play(`${LONG}on_error:\n${CLOSE}`, { config });
  expect(listOrders(played)).toEqual(['market long closed', 'market short closed']);
  expect([played.report.outcome, isFlat(played), played.report.residual]).toEqual(['failed', true, []]);
});

describe('while it is unknown what became of its market order', () => {
  const SIZED =
    '  - place: {type: stop_limit, market: BTC-USD, side: short, size: 0.1, trigger: 60000, price: 59000}\n    allow: reduce\n';
  /** The market falls through the trigger of the stop while the third order is unknown. */
  function playUnknown(stop: string, fault: Partial<FaultRule>, afterMs = 30_000, lag = 500): Promise<Performance> {
    const points = [
      { afterMs: 0, price: '64000' },
      { afterMs, price: '59500' },
    ];
    const market = { tick: '1', lot: '0.0001', start: '64000', spreadBps: 0, depth: '100' };
    const markets = { 'BTC-USD': { ...market, path: { kind: 'points', points } } } as const;
    const faults = [{ on: 'POST /orders', when: { call: 3 }, ...fault } as FaultRule];
    return play(LONG + stop + CLOSE, { config: { markets, faults, visibilityLagMs: { min: lag, max: lag } } });
  }
  const ODD = { do: 'error', error: 'SOMETHING_ODD' } as const;
  /** What becomes of those of the market orders; the first one opens. */
  const fail = (call: string, what: 'lost_before' | 'refused'): FaultRule => ({
    on: 'POST /orders',
    when: { type: 'market', call },
    do: what,
  });

  it.each([
    ['was refused in unknown words', ODD],
    ['got no answer', { do: 'lost_before' }],
  ] as const)('has its position stop back where it %s', async (_what, fault) => {
    const played = await playUnknown(STOP, fault);
    expect(listOrders(played)).toEqual(['market long closed', 'stop_loss short canceled', 'stop_loss short closed']);
    const back = played.entries.filter(
      (entry) => entry.type === 'call.intended' && entry.data.intent?.type === 'stop_loss',
    );
    expect([isFlat(played), (back[1]?.at ?? 0) - (back[0]?.at ?? 0) < 20_000]).toEqual([true, true]);
  });

  it.each([
    ['a position stop', STOP],
    ['a stop with a size', SIZED],
  ])('never closes more than there is, with %s', async (_what, stop) => {
    for (const fault of [{ ...ODD, processed: true }, { do: 'lost_after' }] as const) {
      const played = await playUnknown(stop, fault, 14_000, 20_000);
      expect([fault.do, isFlat(played), played.report.outcome]).toEqual([fault.do, true, 'succeeded']);
    }
  });

  it('has no stop with a size back where that stays unknown: it would open the opposite position', async () => {
    const unread: FaultRule = { on: 'GET /orders', when: { call: '4+', untilMs: 110_000 }, do: 'refused' };
    const odd: FaultRule = { on: 'DELETE /orders', when: { call: '2+' }, ...ODD };
    const points = [
      { afterMs: 0, price: '64000' },
      { afterMs: 20_000, price: '59500' },
    ];
    const market = { tick: '1', lot: '0.0001', start: '64000', spreadBps: 0, depth: '100' };
    const markets = { 'BTC-USD': { ...market, path: { kind: 'points', points } } } as const;
    const played = await play(LONG + SIZED + CLOSE, { config: { markets, faults: [unread, odd] } });
    expect([played.report.outcome, isFlat(played)]).toEqual(['halted', true]);
    const alarms = played.entries.flatMap((entry) => (entry.type === 'order.alarmed' ? [entry.data.alarm] : []));
    expect(alarms).toContain('StopNotPutBack');
  });

  it('is sent once more when it is proven absent', async () => {
    const played = await playUnknown(STOP, { do: 'lost_before' }, 600_000);
    expect(listOrders(played)).toEqual([
      'market long closed',
      'stop_loss short canceled',
      'stop_loss short canceled',
      'market short closed',
    ]);
    expect([played.report.outcome, isFlat(played)]).toEqual(['succeeded', true]);
  });

  it.each<[string, number, number, FaultRule[]]>([
    ['that is absent too', 2, 0.1, [fail('2+', 'lost_before')]],
    ['of which no byte left is tried again', 5, 0, [fail('2', 'lost_before'), fail('3-5', 'refused')]],
    [
      'is as absent behind one of which no byte left',
      4,
      0.1,
      [fail('2', 'lost_before'), fail('3-4', 'refused'), fail('5+', 'lost_before')],
    ],
  ])('is sent once more when it is proven absent: one %s', async (_what, exits, left, faults) => {
    const played = await play(LONG + SIZED + CLOSE, { config: { faults } });
    const sent = played.books.requests.filter(
      ({ params }) => params['type'] === 'market' && params['side'] === 'short',
    );
    expect([sent.length, Number(played.report.residual[0]?.size ?? 0)]).toEqual([exits, left]);
  });

  it('uses up no max_writes with orders of which no byte leaves', async () => {
    const faults: FaultRule[] = [fail('2-8', 'refused')];
    const played = await play(LONG + STOP + CLOSE, { head: 'limits: {max_writes: 4}\n', config: { faults } });
    expect([played.report.outcome, isFlat(played), played.report.residual]).toEqual(['succeeded', true, []]);
  });

  it('uses up none of the orders of a minute with those of which no byte leaves: the position is not bare for longer', async () => {
    const faults: FaultRule[] = [fail('2-8', 'refused')];
    const [free, bound] = await Promise.all(
      [{}, { maxOrdersPerMinute: 5 }].map((limits) => play(LONG + STOP + CLOSE, { limits, config: { faults } })),
    );
    const closedAt = (played?: Performance) =>
      played?.entries.findLast(({ type, data }) => type === 'order.moved' && data.to === 'closed')?.at;
    expect([bound?.report.outcome, closedAt(bound)]).toEqual(['succeeded', closedAt(free)]);
  });

  it('leaves the position under its stop where that happens again and again', async () => {
    const faults: FaultRule[] = [{ on: 'POST /orders', when: { type: 'market', call: '2+' }, ...ODD }];
    const played = await play(LONG + STOP + CLOSE, { config: { faults } });
    expect([played.report.outcome, played.report.residual[0]?.covered]).toEqual(['failed', '0.1']);
    expect(listOrders(played).filter((each) => each.endsWith('open'))).toEqual(['stop_loss short open']);
  });
});

it('sends no second market order, and puts no stop back, where the first is closed and shows nothing that it filled', async () => {
  const sized =
    '  - place: {type: stop_limit, market: BTC-USD, side: short, size: 0.1, trigger: 60000, price: 59000}\n    allow: reduce\n';
  const hide = (row: Record<string, string>): Record<string, string> => ({
    ...row,
    size: row['initial_size'] ?? '',
    total_filled_size: '0',
  });
  const isExit = ({ side, status, order_id }: Record<string, string>) =>
    side === 'short' && (order_id !== undefined || status === 'closed');
  const between: Scene['between'] = (venue) => ({
    async send(request, options) {
      const reply = await venue.send(request, options);
      if (reply.kind !== 'answer' || !/^GET .(orders|fills)/.test(request.endpoint)) return reply;
      const { result, ...envelope } = JSON.parse(reply.body) as { result: Record<string, string>[] };
      const shown = result.flatMap((row) => (isExit(row) ? (row['order_id'] === undefined ? [hide(row)] : []) : [row]));
      return { ...reply, body: JSON.stringify({ ...envelope, result: shown }) };
    },
  });
  const played = await play(LONG + sized + CLOSE, { between });
  expect(listOrders(played)).toEqual(['market long closed', 'stop_limit short canceled', 'market short closed']);
  expect([played.report.outcome, isFlat(played)]).toEqual(['failed', true]);
});

/** The nth order is carried out although it is answered with 429. */
function limit(nth: number): NonNullable<Scene['between']> {
  let posts = 0;
  return (venue) => ({
    async send(request, options) {
      const reply = await venue.send(request, options);
      if (request.endpoint !== 'POST /orders' || reply.kind !== 'answer' || ++posts !== nth) return reply;
      return { ...reply, status: 429, body: JSON.stringify({ success: false, error: 'RATE', result: [] }) };
    },
  });
}

it('puts no stop back beside the last market order where that was carried out although it was answered with 429', async () => {
  const faults: FaultRule[] = [
    { on: 'POST /orders', when: { type: 'market', call: '2-5' }, do: 'rate_limited', retryAfter: '1' },
  ];
  const sized =
    '  - place: {type: stop_limit, market: BTC-USD, side: short, size: 0.1, trigger: 60000, price: 59000}\n    allow: reduce\n';
  const played = await play(LONG + sized + CLOSE, { between: limit(7), config: { faults } });
  expect(listOrders(played)).toEqual(['market long closed', 'stop_limit short canceled', 'market short closed']);
  expect([played.report.outcome, isFlat(played), played.report.residual]).toEqual(['succeeded', true, []]);
});

it('sends no second market order where the first was carried out although it was answered with 429', async () => {
  const between = limit(3);
  const played = await play(LONG + STOP + CLOSE, { between });
  expect(listOrders(played)).toEqual(['market long closed', 'stop_loss short canceled', 'market short closed']);
  expect([played.report.outcome, isFlat(played)]).toEqual(['succeeded', true]);
});

it.each([
  ['another close', 'close: BTC-USD', '0ms'],
  ['a manage that exits', `${MANAGE}, time_limit: 2s}`, '1900ms'],
  ['a manage whose stop it cancels', `${MANAGE}, time_limit: 1m}`, '3s'],
])('closes the position once beside %s', async (_what, beside, after) => {
  const branches = `  - parallel:
      join: all
      branches:
        a: [{wait: ${after}}, {close: BTC-USD}]
        b: [{${beside}}]
`;
  const lag = { visibilityLagMs: { min: 700, max: 700 } };
  const { report, books } = await play(LONG + STOP + branches, { config: lag });
  const closing = books.orders.filter(({ type, side }) => type === 'market' && side === 'short');
  expect([report.outcome, closing.map(({ filled }) => filled)]).toEqual(['succeeded', ['0.1']]);
});

it('keeps the stop where the journal cannot record the exit', async () => {
  const played = await play(`${LONG + STOP}  - wait: 20s\n${CLOSE}`, { diskFullAfterMs: 15_000 });
  expect([played.report.outcome, listOrders(played)]).toEqual([
    'halted',
    ['market long closed', 'stop_loss short open'],
  ]);
});

it('leaves no position without its stop where a person cancels the run meanwhile', async () => {
  const commitMs = () => 300;
  const { entries } = await play(LONG + STOP + CLOSE, { commitMs });
  const within = entries.filter(({ step }) => step === 'steps/out').map(({ at }) => at - START);
  const known = new Set(within);
  for (const afterMs of [...known].map((at) => at + 1).filter((at) => !known.has(at))) {
    const { report } = await play(LONG + STOP + CLOSE, {
      commitMs,
      commands: [{ command: 'cancel', by: 'ada', afterMs }],
    });
    expect([afterMs, report.residual.filter(({ size, covered }) => size !== covered)]).toEqual([afterMs, []]);
  }
});

describe('with a person who is asked (run --step)', () => {
  /** A person who says yes but to the exit: `answer`. What they were asked for. */
  async function ask(steps: string, answer: boolean | 'none', rest: Partial<Scene> = {}) {
    const asked: string[] = [];
    const confirm: Scene['confirm'] = ({ endpoint, consent, wanted = consent?.wanted }) => {
      asked.push(`${endpoint}${consent === undefined ? '' : ' of the exit'}`);
      if (consent === undefined) return Promise.resolve(true);
      if (answer !== 'none') return Promise.resolve(answer);
      return new Promise((resolve) => wanted?.onWithdrawn(() => resolve(false)));
    };
    return { played: await play(LONG + steps, { confirm, ...rest }), asked };
  }
  const ENTRY = ['POST /orders', 'POST /orders'];

  const EXITS = [
    ['close', STOP + CLOSE],
    ['manage', `  - ${MANAGE}, time_limit: 2s}\n`],
  ] as const;

  it.each(EXITS)('asks once for the exit of %s, before its first cancel', async (_name, steps) => {
    const { played, asked } = await ask(steps, true);
    expect(asked).toEqual([...ENTRY, 'DELETE /orders of the exit']);
    expect([played.report.outcome, played.report.residual]).toEqual(['succeeded', []]);
  });

  it.each(EXITS)('keeps the stop where they refuse the exit of %s, and asks no second time', async (_name, steps) => {
    const { played, asked } = await ask(steps, false);
    expect(asked.filter((each) => each.endsWith('of the exit'))).toHaveLength(1);
    expect([played.report.error?.kind, played.report.residual[0]?.covered]).toEqual(['denied', '0.1']);
    expect(listOrders(played)).toContain('stop_loss short open');
  });

  it('keeps the stop of a run that is cancelled while they do not answer', async () => {
    const { played } = await ask(STOP + CLOSE, 'none', {
      commands: [{ command: 'cancel', by: 'ada', afterMs: 600_000 }],
    });
    expect(listOrders(played)).toEqual(['market long closed', 'stop_loss short open']);
    expect(played.report.residual[0]?.covered).toBe('0.1');
  });

  it('puts the stop back without another question', async () => {
    const { played, asked } = await ask(STOP + CLOSE, true, { config: { faults: REFUSED } });
    expect(asked).toHaveLength(3);
    expect(played.report.residual[0]?.covered).toBe('0.1');
  });
});

it('puts a stop_market back with its own price, not with the one that the venue shows', async () => {
  const own = '  - place: {type: stop_market, market: BTC-USD, side: short, size: 0.1, trigger: 60000, price: 59000}\n';
  const played = await play(`${LONG}${own}    allow: reduce\n${CLOSE}`, {
    config: { faults: REFUSED },
    between: (venue) => ({
      async send(...sent: Parameters<Transport['send']>) {
        const reply = await venue.send(...sent);
        if (reply.kind !== 'answer' || sent[0].endpoint !== 'GET /orders') return reply;
        return { ...reply, body: reply.body.replaceAll('"59000"', '"0"') };
      },
    }),
  });
  expect(listOrders(played)).toEqual(['market long closed', 'stop_market short canceled', 'stop_market short open']);
  expect(played.books.orders.at(-1)?.price).toBe('59000');
});

describe('what others have closed after they ended the stop', () => {
  /** As from the second reading of the stop on: it is cancelled, and the position is traded by `fills` that no order of the run made. */
  const taken =
    (
      fills: readonly Record<string, unknown>[],
      stop: Record<string, unknown>,
      orders: readonly Record<string, unknown>[] = [],
    ) =>
    (venue: Transport) => ({
      async send(request: WireRequest, options: Parameters<Transport['send']>[1]) {
        const reply = await venue.send(request, options);
        if (reply.kind !== 'answer') return reply;
        const { result } = JSON.parse(reply.body) as { result: Record<string, unknown>[] };
        const answer = (rows: unknown) => ({
          ...reply,
          body: JSON.stringify({ success: true, error: '', result: rows }),
        });
        if (request.endpoint === 'GET /fills') return answer([...result, ...fills]);
        if (request.endpoint !== 'GET /orders') return reply;
        const isOfMarket = request.params['order_id'] === undefined;
        const rows = result.map((row) => (row['order_type'] === 'stop_loss' ? { ...row, ...stop } : row));
        return answer(isOfMarket ? [...rows, ...orders.map((order) => ({ ...result[0], ...order }))] : rows);
      },
    });
  const fill = (size: string, side: string, at = START + 60_000) => ({
    id: `BTC-USD-9${size.slice(2)}`,
    trade_id: 'BTC-USD-9',
    order_id: 'BTC-USD@999',
    market_id: 'BTC-USD',
    profile_id: 1,
    side,
    price: '63000',
    size,
    fee: '0',
    is_maker: false,
    liquidation: true,
    timestamp: at * 1000,
  });
  const ROW = {
    market_id: 'BTC-USD',
    side: 'short',
    price: '63000',
    size: '0',
    initial_size: '0.1',
    total_filled_size: '0.1',
    status: 'closed',
    reason: '',
    profile_id: 1,
    timestamp: (START + 60_000) * 1000,
    time_in_force: 'immediate_or_cancel',
  };
  const CANCELED = { status: 'canceled', reason: 'LIQUIDATION' };
  const LATER = (START + 600_000) * 1000;
  const GUARDED = `${LONG}${STOP.replace('- protect', '- id: guard\n    protect')}  - refresh: guard.stop_loss\n${CLOSE}`;
  const listExits = ({ books }: Performance) =>
    books.orders.filter(({ type, side }) => type === 'market' && side === 'short').map(({ filled }) => filled);

  it.each([
    ['all of it', [fill('0.1', 'short')], CANCELED, [], 'failed'],
    ['more than it', [fill('0.3', 'short')], CANCELED, [], 'failed'],
    ['it, before the record changed', [fill('0.1', 'short')], { ...CANCELED, timestamp: LATER }, [], 'failed'],
    ['a part', [fill('0.04', 'short')], CANCELED, ['0.06'], 'failed'],
    ['nothing', [], CANCELED, ['0.1'], 'succeeded'],
    ['nothing, as both ways come to', [fill('0.1', 'short'), fill('0.2', 'long')], CANCELED, ['0.1'], 'succeeded'],
    ['nothing since then', [fill('0.1', 'short', START - 60_000)], CANCELED, ['0.1'], 'succeeded'],
    ['nothing, because the stop works', [fill('0.1', 'short')], {}, ['0.1'], 'succeeded'],
  ] as const)('%s: is not closed once more', async (_, fills, stop, exits, outcome) => {
    const played = await play(GUARDED, { between: taken(fills, stop) });
    expect([listExits(played), played.report.outcome]).toEqual([exits, outcome]);
    const alarms = played.entries.flatMap(({ type, data }) => (type === 'order.alarmed' ? [data.alarm] : []));
    expect(alarms.includes('ClosedByOthers')).toBe(outcome === 'failed');
  });

  it('is asked from the first order of the run on where no fill of it was shown yet', async () => {
    const asked: unknown[] = [];
    const between = (venue: Transport): Transport => {
      const inner = taken([fill('0.1', 'short')], CANCELED)(venue);
      return {
        async send(request, options) {
          if (request.endpoint === 'GET /fills') asked.push(request.params['start_time']);
          // Its own fills are not shown.
          const reply = await inner.send(request, options);
          if (reply.kind !== 'answer' || !request.endpoint.startsWith('GET /fills')) return reply;
          const { result } = JSON.parse(reply.body) as { result: Record<string, unknown>[] };
          const others = result.filter(({ order_id: id }) => id === 'BTC-USD@999');
          return { ...reply, body: JSON.stringify({ success: true, error: '', result: others }) };
        },
      };
    };
    const late = LONG.replace(/\n$/, '\n    catch: [{on: [transport], then: continue}]\n');
    const played = await play(GUARDED.replace(LONG, late), { between });
    expect(asked).not.toEqual([]);
    for (const since of asked) expect(JSON.stringify(since)).toMatch(/"text":"1767\d{12}"/);
    expect([listExits(played), played.report.outcome]).toEqual([[], 'failed']);
  });

  it.each([
    ['no reading of the orders gets an answer', 10_000],
    ['each reading takes long', 1_900],
  ])('is soon known, or not at all, where %s', async (_, answersMs) => {
    const fills = Array.from({ length: 30 }, (_fill, index) => ({
      ...fill('0.001', 'short'),
      id: `BTC-USD-${5000 + index}`,
      order_id: `BTC-USD@${5000 + index}`,
    }));
    const between = (venue: Transport, time: VirtualClock): Transport => {
      const inner = taken(fills, CANCELED)(venue);
      return {
        async send(request, options) {
          const { order_id: id } = request.params as { order_id?: { text: string } };
          const isOwn = request.endpoint !== 'GET /orders' || (id !== undefined && !id.text.startsWith('BTC-USD@50'));
          if (isOwn) return inner.send(request, options);
          await new Promise<void>((done) => void time.after(Math.min(answersMs, options.timeoutMs), done));
          if (answersMs > options.timeoutMs) return { kind: 'failure', sent: true, message: 'timeout: response' };
          return inner.send(request, options);
        },
      };
    };
    const { report } = await play(GUARDED, { between });
    const ofClose = report.steps.find(({ verb }) => verb === 'close');
    expect(Date.parse(ofClose?.endedAt ?? '') - Date.parse(ofClose?.startedAt ?? '')).toBeLessThan(15_000);
  });

  it('keeps the rest from being closed by no limit of refusals: nothing was refused', async () => {
    const limits = { refusals: { max: 0, windowMs: 3_600_000 } };
    const between = taken([fill('0.04', 'short')], CANCELED);
    expect(listExits(await play(GUARDED, { between, limits }))).toEqual(['0.06']);
  });

  it.each([
    ['by a run that trades its own position', 'market', `rb${'a'.repeat(20)}`, ['0.1'], 'succeeded'],
    ['by the stop of another run', 'stop_loss', `rb${'a'.repeat(20)}`, [], 'failed'],
    ['by another program', 'market', 'mine', [], 'failed'],
  ] as const)('%s', async (_, order_type, client_order_id, exits, outcome) => {
    const order = { id: 'BTC-USD@999', order_type, client_order_id };
    const played = await play(GUARDED, { between: taken([fill('0.1', 'short')], CANCELED, [order]) });
    expect([listExits(played), played.report.outcome]).toEqual([exits, outcome]);
  });

  /** Answers as `venue`, with a full page of rows of other programs before what it has, but for one that is asked for by its id. */
  const crowded =
    (endpoint: string, make: (index: number) => Record<string, unknown>) =>
    (venue: Transport): Transport => ({
      async send(request, options) {
        const reply = await venue.send(request, options);
        if (reply.kind !== 'answer' || request.endpoint !== endpoint || request.params['order_id'] !== undefined)
          return reply;
        const { result } = JSON.parse(reply.body) as { result: Record<string, unknown>[] };
        const newer = Array.from({ length: 1000 }, (_, index) => ({ ...result[0], ...make(index) }));
        const rows = request.params['p_page'] === undefined ? newer : result;
        return { ...reply, body: JSON.stringify({ success: true, error: '', result: rows }) };
      },
    });

  it('is closed where newer orders hide that another run of this program traded', async () => {
    const order = { id: 'BTC-USD@999', order_type: 'market', client_order_id: `rb${'a'.repeat(20)}` };
    const shows = (venue: Transport) => {
      const inner = crowded('GET /orders', (index) => ({ id: `BTC-USD@${5000 + index}`, client_order_id: 'mine' }))(
        taken([fill('0.1', 'short')], CANCELED, [order])(venue),
      );
      return {
        async send(request: WireRequest, options: Parameters<Transport['send']>[1]) {
          const reply = await inner.send(request, options);
          const { order_id: id } = request.params as { order_id?: { text: string } };
          if (reply.kind !== 'answer' || id?.text !== order.id) return reply;
          const row = { ...ROW, ...order };
          return { ...reply, body: JSON.stringify({ success: true, error: '', result: [row] }) };
        },
      };
    };
    const played = await play(GUARDED, { between: shows });
    expect([listExits(played), played.report.outcome]).toEqual([['0.1'], 'succeeded']);
  });

  it('is not closed once more where newer fills of other programs hide it', async () => {
    const newer = (index: number) => ({ ...fill('0.001', 'long'), id: `BTC-USD-${5000 + index}`, size: '0' });
    const between = (venue: Transport) => crowded('GET /fills', newer)(taken([fill('0.1', 'short')], CANCELED)(venue));
    const played = await play(GUARDED, { between });
    expect([listExits(played), played.report.outcome]).toEqual([[], 'failed']);
  });

  /** Another program of the account sells so much 10 s after the start. */
  const sold =
    (size: string): NonNullable<Scene['between']> =>
    (venue, time) => {
      const params = { market_id: 'BTC-USD', type: 'market', side: 'short', size, price: '60000' } as never;
      time.at(START + 10_000, () => {
        void venue.send(toWireRequest('POST /orders', params, SIMULATED_PROFILE), { timeoutMs: 1000 });
      });
      return venue;
    };
  const TRIGGERED = `${LONG}${STOP.replace('60000', '63000')}  - wait: 40s\n${CLOSE}`;
  const HELD = `${LONG}  - manage: {market: BTC-USD, side: short, stop_loss: {trigger: 63000, price: 59000}`;
  const TARGET = 'take_profit: {trigger: 65000, price: 64900}, time_limit: 40s';
  const TWICE = `${LONG}  - wait: 15s\n${LONG}${STOP}    catch: [{on: [rejected], then: continue}]\n${CLOSE}`;
  const THEN_CLOSE = 'on_error: [{close: BTC-USD}]\n';

  /** What market orders of the run have sold. */
  const listSells = ({ books }: Performance) =>
    books.orders.flatMap(({ client_order_id: id, type, side, filled }) =>
      id !== '' && type === 'market' && side === 'short' && filled !== '0' ? [filled] : [],
    );

  it.each([
    ['all of it, which shows as the stop is cancelled', 0.1, TRIGGERED, '', '62900', []],
    ['more than it', 0.3, TRIGGERED, '', '62900', []],
    ['a part, and the stop the rest', 0.06, TRIGGERED, '', '62900', []],
    ['a part, and the stop of manage the rest', 0.06, `${HELD}}\n`, THEN_CLOSE, '62900', []],
    ['a part, and the target of manage the rest', 0.06, `${HELD}, ${TARGET}}\n`, THEN_CLOSE, '65100', []],
    ['all of it, before the run bought more', 0.2, TWICE, '', '64000', []],
    ['nothing: the stop has', 0, TRIGGERED, '', '62900', []],
  ] as const)('by orders at the venue, %s: is not closed once more', async (_, size, steps, head, price, exits) => {
    const points = [
      { afterMs: 0, price: '64000' },
      { afterMs: 30_000, price },
    ];
    const path = { kind: 'points', points } as const;
    const market = { tick: '1', lot: '0.0001', start: '64000', spreadBps: 0, depth: '100', path } as const;
    const config = { markets: { 'BTC-USD': market } };
    const between: NonNullable<Scene['between']> = size === 0 ? (venue) => venue : sold(String(size));
    const played = await play(steps, { head, config, between });
    expect(listSells(played)).toEqual(exits);
    const taken = Math.min(steps === TWICE ? 0.2 : 0.1, size);
    expect(played.report.outcome).toBe(taken === 0 ? 'succeeded' : 'failed');
    expect(played.report.residual.map((left) => [left.side, Number(left.size)])).toEqual(
      taken === 0 ? [] : [['long', taken]],
    );
  });

  it('is not closed once more where it was long before the last stop', async () => {
    const later = `${LONG}  - wait: 2h\n${LONG}${STOP}    catch: [{on: [rejected], then: continue}]\n${CLOSE}`;
    const played = await play(later, { between: sold('0.2') });
    expect([listSells(played), played.report.outcome]).toEqual([[], 'failed']);
  });

  it.each([
    ['the first question about it', 1, ''],
    ['that behind the end of another stop', 2, STOP.replace('60000', '60500')],
  ])('is known where %s gets no answer', async (_, lost, second) => {
    const between: NonNullable<Scene['between']> = (venue, time) => {
      time.at(START + 11_000, () => {
        for (const order_id of ['BTC-USD@1002', 'BTC-USD@1003']) {
          const params = { order_id, market_id: 'BTC-USD' } as never;
          void venue.send(toWireRequest('DELETE /orders', params, SIMULATED_PROFILE), { timeoutMs: 1000 });
        }
      });
      const inner = sold('0.06')(venue, time);
      let asked = 0;
      return {
        async send(request, options) {
          if (request.endpoint === 'GET /fills') asked += 1;
          if (request.endpoint !== 'GET /fills' || asked !== lost) return inner.send(request, options);
          return { kind: 'failure', sent: true, message: 'timeout: response' };
        },
      };
    };
    const guard = STOP.replace('- protect', '- id: guard\n    protect');
    const steps = `${LONG}${guard}${second}  - wait: 40s\n  - refresh: guard.stop_loss\n${CLOSE}`;
    const played = await play(steps, { between });
    expect([listSells(played), played.report.outcome]).toEqual([['0.04'], 'failed']);
  });

  it('is not asked where a fraction has closed its part, rounded down to a lot', async () => {
    const target =
      '  - protect: {market: BTC-USD, side: short, take_profit: {fraction: 1 / 3, trigger: 64000, price: 63900}}\n';
    const played = await play(`${LONG}${target}  - wait: 10s\n${CLOSE}`);
    expect([listSells(played), played.report.outcome]).toEqual([['0.0667'], 'succeeded']);
    expect(played.report.requests.filter(({ path }) => path === '/fills')).toEqual([]);
  });

  it('is asked where the venue refuses to cancel the stop, because it has ended it', async () => {
    const params = { order_id: 'BTC-USD@1002', market_id: 'BTC-USD' } as never;
    const between: NonNullable<Scene['between']> = (venue, time) => {
      time.at(START + 11_000, () => {
        void venue.send(toWireRequest('DELETE /orders', params, SIMULATED_PROFILE), { timeoutMs: 1000 });
      });
      return sold('0.1')(venue, time);
    };
    const played = await play(`${LONG}${STOP}  - wait: 40s\n${CLOSE}`, { between });
    const own = played.books.orders.filter(({ client_order_id: id }) => id !== '');
    expect(own.map(({ type, filled }) => [type, filled])).toEqual([
      ['market', '0.1'],
      ['stop_loss', '0'],
    ]);
    expect(played.report.outcome).toBe('failed');
  });

  it('is asked where the venue has rejected the stop, because there is no position', async () => {
    const steps = `${LONG}${STOP}    catch: [{on: [rejected], then: continue}]\n${CLOSE}`;
    const rejected = { status: 'rejected', reason: 'NO_POSITION' };
    const played = await play(steps, { between: taken([fill('0.1', 'short')], rejected) });
    expect([listExits(played), played.report.outcome]).toEqual([[], 'failed']);
  });
});

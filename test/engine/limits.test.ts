/** Tests limits against the simulated venue: asserts what the venue holds at the end, not what a verdict was. */
import { describe, expect, it } from 'vitest';
import { Decimal } from '../../src/base/decimal.ts';
import type { SimulatorConfig } from '../../src/gateway/simulator/simulator.ts';
import { planRun } from '../../src/runbook/plan/plan.ts';
import type { LimitRules } from '../../src/venue/limits/check.ts';
import { makePlanContext } from '../runbook/plan-context.ts';
import { inputsFrom, loadedFrom, type Performance, perform, replay, type Scene, START } from './stage.ts';

const STILL: SimulatorConfig = {
  markets: {
    'BTC-USD': {
      tick: '1',
      lot: '0.0001',
      start: '64000',
      depth: '10',
      path: { kind: 'points', points: [{ afterMs: 0, price: '64000' }] },
    },
  },
};

async function staged(text: string, more: Partial<Scene> = {}): Promise<Performance> {
  const loaded = loadedFrom({ file: 'case.yaml', text: `runbook: case\ndsl: 1\n${text}` });
  const scene = { loaded, inputs: inputsFrom(loaded, {}), config: STILL, ...more };
  const performance = await perform(scene);
  await replay(performance, scene);
  return performance;
}

/** The account's net position, by the venue's own books. */
function net({ books }: Performance): string {
  return books.fills
    .reduce((sum, { side, size }) => (side === 'long' ? sum.plus(size) : sum.minus(size)), new Decimal(0))
    .toFixed();
}

function denials({ entries }: Performance): readonly string[] {
  return entries.flatMap((entry) =>
    entry.type === 'call.settled' && entry.data.kind === 'denied' ? [entry.data.message ?? ''] : [],
  );
}

/** What was checked before each write that was not denied. */
function checks({ entries }: Performance) {
  return entries.flatMap((entry) => (entry.type === 'call.checked' ? [entry.data.limits] : []));
}

describe('a price band whose feed was not read yet', () => {
  it('lets a position stop and a cancel pass', async () => {
    const { report, books } = await staged(
      `feeds: {mid: {type: price, max_age: 5s}}
limits: {price_band: {around: feeds.mid, within: 5%}}
steps:
  - protect: {market: BTC-USD, side: short, stop_loss: {fraction: 1, trigger: 60000, price: 59000}}
  - id: others
    list_orders: {market: BTC-USD, status: open}
  - cancel: {ids: "others.orders.map(x, x.id)"}
`,
      {
        config: {
          ...STILL,
          account: {
            positions: [{ market: 'BTC-USD', size: '0.1', price: '64000', agoMs: 60_000 }],
            resting: [{ market: 'BTC-USD', side: 'long', size: '0.1', price: '50000', agoMs: 60_000 }],
          },
        },
      },
    );
    expect(report.outcome).toBe('succeeded');
    expect(books.orders.filter(({ terminal }) => !terminal)).toEqual([]);
  });
});

describe('max_position', () => {
  it('counts what a record says has filled, though no fill was read', async () => {
    const performance = await staged(
      `steps:
  - repeat:
      max: 5
      every: 10s
      do:
        - place: {type: market, market: BTC-USD, side: long, size: 0.01, price: 70000}
          await: accepted
        - wait: 2s
        - list_orders: {market: BTC-USD, since: run.started_at}
`,
      { limits: { maxPosition: '0.01', selfMatch: 'allow' } },
    );
    expect([net(performance), denials(performance)]).toEqual([
      '0.01',
      ['POSITION_EXCEEDS_MAX: position=0.02, max=0.01'],
    ]);
  });

  it('holds while fills cannot be read', async () => {
    const performance = await staged(
      `steps:
  - repeat:
      max: 4
      do:
        - place: {type: market, market: BTC-USD, side: long, size: 0.01, price: 70000}
          await: filled
`,
      {
        limits: { maxPosition: '0.01', selfMatch: 'allow' },
        config: { ...STILL, faults: [{ on: 'GET /fills/order', do: 'status', status: 503, body: 'x' }] },
      },
    );
    expect(net(performance)).toBe('0.01');
  });

  it('does not set fills of other clients off against its own', async () => {
    const performance = await staged(
      `steps:
  - list_fills: {market: BTC-USD, since: run.started_at - hours(1)}
  - place: {type: market, market: BTC-USD, side: long, size: 0.5, price: 70000}
    await: filled
`,
      {
        limits: { maxPosition: '0.4' },
        config: {
          ...STILL,
          account: {
            positions: [
              { market: 'BTC-USD', size: '1', price: '60000', agoMs: 7 * 86_400_000 },
              { market: 'BTC-USD', size: '-0.5', price: '61000', agoMs: 600_000 },
            ],
          },
        },
      },
    );
    expect(denials(performance)).toEqual(['POSITION_EXCEEDS_MAX: position=0.5, max=0.4']);
  });
});

describe('max_run_notional', () => {
  it('adds up market orders at the price they were measured with', async () => {
    const performance = await staged(`feeds:
  mid: {type: price, max_age: 5s}
limits: {max_run_notional: 1000, price_band: {around: feeds.mid, within: 5%}}
steps:
  - repeat:
      max: 10
      every: 5s
      do:
        - place: {type: market, market: BTC-USD, side: short, size: 0.005, price: 62000}
`);
    expect([net(performance), denials(performance)]).toEqual([
      '-0.015',
      ['NOTIONAL_EXCEEDS_MAX_PER_RUN: notional=320, sent=960, max=1000'],
    ]);
  });

  it('counts every raise of an order once, however many amends it took', async () => {
    const performance = await staged(`limits: {max_run_notional: 1000}
vars: {n: {type: size, init: 0.01}}
steps:
  - id: o
    place: {type: limit, market: BTC-USD, side: long, size: 0.01, price: 50000}
  - repeat:
      max: 9
      do:
        - set: {n: n + 0.004}
        - amend: {order: o, price: 50000, size: n}
`);
    const [order] = performance.books.orders;
    expect([order?.initial_size, denials(performance)]).toEqual([
      '0.018',
      ['NOTIONAL_EXCEEDS_MAX_PER_RUN: notional=200, sent=900, max=1000'],
    ]);
  });

  it('measures an amend that raises the price', async () => {
    const performance = await staged(`limits: {max_run_notional: 1000}
steps:
  - id: o
    place: {type: limit, market: BTC-USD, side: long, size: 0.9, price: 1000}
  - amend: {order: o, price: 70000}
`);
    expect([net(performance), denials(performance)]).toEqual([
      '0',
      ['NOTIONAL_EXCEEDS_MAX_PER_RUN: notional=62100, sent=900, max=1000'],
    ]);
  });

  it('lets a quote follow the market, and counts it for more from then on', async () => {
    const rising: SimulatorConfig = {
      markets: {
        'BTC-USD': {
          ...STILL.markets?.['BTC-USD'],
          path: {
            kind: 'points',
            points: [0, 60_000].map((afterMs) => ({ afterMs, price: afterMs === 0 ? '64000' : '66000' })),
          },
        },
      },
    };
    const performance = await staged(
      `feeds:
  mid: {type: price, max_age: 2s}
limits: {max_run_notional: 1300, price_band: {around: feeds.mid, within: 3%}}
steps:
  - id: o
    place: {type: limit, market: BTC-USD, side: long, size: 0.02, price: tick(feeds.mid * 0.99), tif: post_only}
  - wait: 61s
  - amend: {order: o, price: tick(feeds.mid * 0.99)}
  - place: {type: limit, market: BTC-USD, side: long, size: 0.001, price: tick(feeds.mid * 0.98), tif: post_only}
`,
      { config: rising },
    );
    const [order] = performance.books.orders;
    expect([order?.price, denials(performance)]).toEqual([
      '65340',
      ['NOTIONAL_EXCEEDS_MAX_PER_RUN: notional=64.68, sent=1306.8, max=1300'],
    ]);
  });
});

describe('an order that certainly only lowers exposure', () => {
  const half: SimulatorConfig = {
    ...STILL,
    account: {
      positions: [
        { market: 'BTC-USD', size: '1', price: '60000', agoMs: 7 * 86_400_000 },
        { market: 'BTC-USD', size: '-0.5', price: '61000', agoMs: 600_000 },
      ],
    },
  };

  it.each([
    ['a page of them', 'since: run.started_at - hours(1)'],
    ['all of an hour', 'since: run.started_at - hours(1), all_pages: true'],
    ['all of days that are over', 'since: run.started_at - days(8), until: run.started_at - hours(1), all_pages: true'],
  ])('is not proven by fills of other clients: %s', async (_, list) => {
    const performance = await staged(
      `limits: {mode: reducing}
steps:
  - list_fills: {market: BTC-USD, ${list}}
  - place: {type: market, market: BTC-USD, side: long, size: 0.5, price: 70000}
    await: filled
`,
      { config: half },
    );
    expect(net(performance)).toBe('0.5');
    expect(denials(performance)).toEqual([
      "REDUCING_ONLY: mode=reducing, side=long, size=0.5, position=0, working=0; what is held is proven by fills of this run's own orders, or by list_fills of BTC-USD with all_pages: true, from a day ago or earlier and read in the last 2 min; a position stop passes in any case",
    ]);
  });

  it('is proven by a whole list, for as long as it is fresh', async () => {
    const exit = (
      side: string,
      price: number,
    ) => `  - place: {type: market, market: BTC-USD, side: ${side}, size: 0.5, price: ${price}}
    await: filled
    catch: [{on: [denied], then: continue}]
`;
    const list = '  - list_fills: {market: BTC-USD, since: run.started_at - days(8), all_pages: true}\n';
    const runbook = (between: string) =>
      `limits: {mode: reducing}\nsteps:\n${list}${exit('long', 70000)}${between}${exit('short', 60000)}`;
    const fresh = await staged(runbook(''), { config: half });
    expect([denials(fresh).length, net(fresh)]).toEqual([1, '0']);
    const stale = await staged(runbook('  - wait: 121s\n'), { config: half });
    expect([denials(stale).length, net(stale)]).toEqual([2, '0.5']);
  });

  it('is not an exit beside a stop that may have fired unseen; a reading of the stop decides', async () => {
    const runbook = (between: string) => `limits: {mode: reducing}
steps:
  - id: guard
    protect: {market: BTC-USD, side: short, stop_loss: {fraction: 1, trigger: 63000, price: 60000}}
  - list_fills: {market: BTC-USD, since: run.started_at - days(8), all_pages: true}
${between}  - place: {type: market, market: BTC-USD, side: short, size: 0.1, price: 50000}
    await: filled
    allow: reduce
`;
    const falling = (price: string): SimulatorConfig => ({
      account: { positions: [{ market: 'BTC-USD', size: '0.1', price: '64000', agoMs: 600_000 }] },
      markets: {
        'BTC-USD': {
          ...STILL.markets?.['BTC-USD'],
          path: {
            kind: 'points',
            points: [
              { afterMs: 0, price: '64000' },
              { afterMs: 20_000, price },
            ],
          },
        },
      },
    });
    const unseen = await staged(runbook('  - wait: 60s\n'), { config: falling('62000') });
    expect([net(unseen), denials(unseen).length]).toEqual(['0', 1]);
    expect(denials(unseen)[0]).toContain('(BTC-USD@1002) may close 1 of the position');
    const read = await staged(runbook('  - wait: 60s\n  - refresh: guard.stop_loss\n'), { config: falling('62000') });
    expect([net(read), denials(read).length]).toEqual(['0', 1]);
    expect(denials(read)[0]).toContain('position=0, ');
    const gone = await staged(runbook('  - cancel: guard.stop_loss\n    await: terminal\n'), {
      config: falling('64000'),
    });
    expect([net(gone), denials(gone)]).toEqual(['0', []]);
  });
});

describe('the verdict that is journaled', () => {
  it('is the one that let the order leave, not the first', async () => {
    const performance = await staged(
      `steps:
  - parallel:
      branches:
        a: [{place: {type: limit, market: BTC-USD, side: long, size: 0.001, price: 50000}}]
        b: [{place: {type: limit, market: BTC-USD, side: long, size: 0.001, price: 50000}}]
        c: [{place: {type: limit, market: BTC-USD, side: long, size: 0.001, price: 50000}}]
`,
      { limits: { maxOpenOrders: 3, maxRunNotional: '150', maxWrites: 3, maxOrdersPerMinute: 3 } },
    );
    expect(performance.books.orders).toHaveLength(3);
    expect(checks(performance)).toEqual(
      [1, 2, 3].map((n) => ({
        max_writes: `${n}/3`,
        orders_per_minute: `${n}/3`,
        max_open_orders: `${n}/3`,
        max_run_notional: `${50 * n}/150`,
      })),
    );
    const sent = performance.entries.filter(({ type }) => type === 'call.checked' || type === 'call.attempted');
    expect(sent.slice(0, 2).map(({ type }) => type)).toEqual(['call.checked', 'call.attempted']);
  });
});

describe('the price of a notional', () => {
  it('of a short is not its own where the market is higher or unknown', async () => {
    const short = (limits: string, extra = '') => `limits: ${limits}
${extra}steps:
  - place: {type: limit, market: BTC-USD, side: short, size: 1, price: 100}
    await: terminal
`;
    const unknown = await staged(short('{max_order_notional: 1000, unknown_price: deny}'));
    expect([net(unknown), denials(unknown)]).toEqual([
      '0',
      [expect.stringMatching(/^NOTIONAL_UNKNOWN: market=BTC-USD;/)],
    ]);
    const least = await staged(short('{max_order_notional: 1000, max_run_notional: 100}'));
    expect([net(least), denials(least), checks(least)]).toEqual([
      '-1',
      [],
      [{ max_order_notional: 'at least 100/1000', max_run_notional: 'at least 100/100' }],
    ]);
    const known = await staged(
      short(
        '{max_order_notional: 1000, price_band: {around: feeds.mid, within: 99.9%}}',
        'feeds: {mid: {type: price, max_age: 5s}}\n',
      ),
    );
    expect([net(known), denials(known)]).toEqual(['0', ['NOTIONAL_EXCEEDS_MAX_PER_ORDER: notional=64000, max=1000']]);
    const exposed = await staged(
      `steps:
  - place: {type: market, market: BTC-USD, side: short, size: 1, price: 1}
`,
      { limits: { maxExposure: '500' } },
    );
    expect([net(exposed), denials(exposed).length]).toEqual(['0', 1]);
  });

  it('of a short is what the price feed of the profile shows, which the gate reads once for orders side by side', async () => {
    const sell = (size: string) => `place: {type: limit, market: BTC-USD, side: short, size: ${size}, price: 100}`;
    const text = `steps:
  - ${sell('0.002')}
  - parallel:
      branches:
        a: [{${sell('0.001')}}]
        b: [{${sell('0.001')}}]
  - wait: 11s
  - parallel:
      branches:
        a: [{${sell('0.001')}}]
        b: [{${sell('0.002')}}]
`;
    const limits: LimitRules = { maxOrderNotional: '127', unknownPrice: 'deny', selfMatch: 'allow' };
    const small = await staged(text.replaceAll('0.002', '0.0019'), { limits, priceFeed: true, feedAfterMs: 300 });
    expect(checks(small).map(({ max_order_notional: figure }) => figure)).toEqual(
      ['121.6', '64', '64', '64', '121.6'].map((figure) => `${figure}/127`),
    );
    const read = (of: Performance) =>
      of.entries.flatMap((entry) => (entry.type === 'feed.read' ? [[entry.data.by, entry.data.value]] : []));
    expect(read(small)).toEqual([
      ['limits', '64000'],
      ['limits', '64000'],
    ]);
    const large = await staged(text, { limits, priceFeed: true });
    expect([net(large), denials(large)]).toEqual(['0', ['NOTIONAL_EXCEEDS_MAX_PER_ORDER: notional=128, max=127']]);
  });

  it('of a short that follows a fill is what was paid there', async () => {
    const performance = await staged(`limits: {max_order_notional: 650}
steps:
  - place: {type: market, market: BTC-USD, side: long, size: 0.01, price: 64500}
    await: filled
  - place: {type: market, market: BTC-USD, side: short, size: 0.01, price: 60000}
    await: filled
  - place: {type: market, market: BTC-USD, side: short, size: 0.0102, price: 60000}
    await: filled
`);
    expect(net(performance)).toBe('0');
    expect(denials(performance)).toHaveLength(1);
    expect(denials(performance)[0]).toMatch(/^NOTIONAL_EXCEEDS_MAX_PER_ORDER: notional=65[0-9.]+, max=650$/);
  });
});

describe('a price band', () => {
  it('denies a market order without a price, and says what to add', async () => {
    const performance = await staged(`inputs: {ref: {type: price, default: 1000}}
limits: {price_band: {around: inputs.ref, within: 1%}, max_order_notional: 2000}
steps:
  - place: {type: market, market: BTC-USD, side: long, size: 1}
`);
    expect([net(performance), denials(performance)]).toEqual([
      '0',
      [expect.stringMatching(/^PRICE_MISSING: type=market;/)],
    ]);
  });

  it.each([
    ["feeds.mark['BTC-USD']", ['BTC-USD']],
    ['feeds.mark[inputs.m]', ['BTC-USD']],
    ["feeds.mark['ETH-USD'] * 32", ['BTC-USD', 'ETH-USD']],
  ])('around %s is read of %j for an order and for an amend', async (around, markets) => {
    const own = { tick: '1', lot: '0.0001', start: '64000', spreadBps: 0, depth: '100' };
    const { report, entries } = await staged(
      `inputs: {m: {type: market, default: BTC-USD}}
feeds: {mark: {type: map<price>, max_age: 5s}}
limits: {price_band: {around: "${around}", within: 50%}}
steps:
  - {id: o, place: {type: limit, market: BTC-USD, side: long, size: 0.01, price: 60000, tif: post_only}}
  - wait: 10s
  - {amend: {order: o, price: 61000}}
  - {cancel: o}
`,
      { config: { markets: { 'BTC-USD': own, 'ETH-USD': { ...own, start: '2000' } } } },
    );
    expect(report.error).toBeUndefined();
    const read = entries.flatMap((entry) => (entry.type === 'feed.read' ? [entry.data.key] : []));
    expect(read).toEqual([...markets, ...markets]);
  });

  const banded = (around: string, head = '') => `feeds: {mid: {type: price, max_age: 1h}}
${head}limits: {price_band: {around: ${around}, within: 1%}}
steps:
  - place: {type: limit, market: BTC-USD, side: long, size: 0.001, price: 63900}
`;
  const limits = { priceBandWithin: '0.01', maxReferenceAgeMs: 5_000, selfMatch: 'allow' } as const;

  it("is as old as the feed behind it, and not younger than the profile's max_age", async () => {
    const old = await staged(banded('feeds.mid'), { feedAgeMs: 1_700_000, limits });
    expect(old.books.orders).toEqual([]);
    expect(denials(old)).toEqual(['REFERENCE_STALE: age_ms=1700000, max_ms=5000']);
    const inside = await staged(banded('feeds.mid'), { feedAgeMs: 5_000, limits });
    expect(inside.books.orders).toHaveLength(1);
    const named = await staged(banded('mid', 'def: {mid: (feeds.mid + feeds.mid) / 2}\n'), {
      feedAgeMs: 5_001,
      limits,
    });
    expect(denials(named)).toEqual(['REFERENCE_STALE: age_ms=5001, max_ms=5000']);
  });

  it('has no age where the author pinned the price', async () => {
    const pinned = await staged(banded('arrival', 'let: {arrival: feeds.mid}\n'), { feedAgeMs: 1_700_000, limits });
    expect(pinned.books.orders).toHaveLength(1);
  });
});

describe('a position stop', () => {
  it('is not amended with a size that no order may have', async () => {
    const performance = await staged(`limits: {max_order_size: 0.02, max_order_notional: 2000}
inputs: {s: {type: size, default: 50}}
steps:
  - place: {type: market, market: BTC-USD, side: long, size: 0.01, price: 70000}
    await: filled
  - id: guard
    protect: {market: BTC-USD, side: short, stop_loss: {fraction: 0.5, trigger: 60000, price: 59000}}
  - amend: {order: guard.stop_loss, price: 59500, size: inputs.s}
`);
    const sent = performance.entries.flatMap((entry) =>
      entry.type === 'call.attempted' && entry.data.method === 'PUT' ? [entry.data.params] : [],
    );
    expect([sent, performance.report.outcome]).toEqual([[], 'failed']);
  });
});

describe('a plan', () => {
  /** Codes of the denials that the plan marks, and of those that the run meets. */
  async function both(
    text: string,
    limits: LimitRules = {},
  ): Promise<[planned: readonly string[], met: readonly string[]]> {
    const loaded = loadedFrom({ file: 'case.yaml', text: `runbook: case\ndsl: 1\n${text}` });
    const { rows } = planRun(makePlanContext(loaded.runbook, { inputs: inputsFrom(loaded, {}), now: START, limits }));
    const planned = rows.flatMap((row) =>
      row.kind === 'request' && row.denied !== undefined ? [row.denied.code] : [],
    );
    const met = denials(await staged(text, { limits })).map((message) => message.split(':')[0] ?? '');
    return [planned, met];
  }
  const place = (terms: string) => `steps:\n  - place: {market: BTC-USD, size: 0.1, ${terms}}\n`;
  const FEED = 'feeds: {mid: {type: price, max_age: 5s}}\n';

  it.each<[string, string, LimitRules, string]>([
    [
      'a short that no reference measures',
      place('type: limit, side: short, price: 64100'),
      { maxOrderNotional: '9000', unknownPrice: 'deny' },
      'NOTIONAL_UNKNOWN',
    ],
    [
      'a short whose own price is too much',
      place('type: limit, side: short, price: 64100'),
      { maxOrderNotional: '6400' },
      'NOTIONAL_EXCEEDS_MAX_PER_ORDER',
    ],
    [
      'a market short that nothing measures',
      place('type: market, side: short, price: 64000'),
      { maxOrderNotional: '9000' },
      'NOTIONAL_UNKNOWN',
    ],
    [
      'a short below its reference',
      `limits: {price_band: {around: 64000, within: 5%}}\n${place('type: limit, side: short, price: 61000')}`,
      { maxRunNotional: '6300' },
      'NOTIONAL_EXCEEDS_MAX_PER_RUN',
    ],
    [
      'a market order without a price, under a band that is not known yet',
      `${FEED}limits: {price_band: {around: feeds.mid, within: 5%}}\n${place('type: market, side: long')}`,
      {},
      'PRICE_MISSING',
    ],
    ['what reduces nothing', place('type: limit, side: long, price: 60000'), { mode: 'reducing' }, 'REDUCING_ONLY'],
    [
      'an amend that raises the price',
      `${place('type: limit, side: long, price: 50000').replace('- place', '- id: o\n    place')}  - amend: {order: o, price: 60000}\n`,
      { maxRunNotional: '5500' },
      'NOTIONAL_EXCEEDS_MAX_PER_RUN',
    ],
  ])('marks as the run decides: %s', async (_, text, limits, code) => {
    expect(await both(text, limits)).toEqual([[code], [code]]);
  });

  it.each<[string, string, LimitRules]>([
    ['a short that nothing measures', place('type: limit, side: short, price: 64100'), { maxOrderNotional: '6410' }],
    [
      'a short that never takes',
      place('type: limit, side: short, price: 64100, tif: post_only'),
      { maxOrderNotional: '9000' },
    ],
    [
      'a short behind its trigger',
      place('type: stop_limit, side: short, trigger: 60000, price: 59900'),
      { maxOrderNotional: '6000' },
    ],
    [
      'a short under a band that is not known yet',
      `${FEED}limits: {price_band: {around: feeds.mid, within: 5%}}\n${place('type: limit, side: short, price: 64100')}`,
      { maxOrderNotional: '6410' },
    ],
    [
      'an exit behind the fill that measures it',
      `${place('type: market, side: long, price: 65000')}    await: filled\n  - place: {type: market, market: BTC-USD, side: short, size: 0.1, price: 60000}\n`,
      { maxOrderNotional: '6600' },
    ],
  ])('marks nothing that the run lets through: %s', async (_, text, limits) => {
    expect(await both(text, limits)).toEqual([[], []]);
  });
});

describe('an exit beside a resting order of another run', () => {
  const others = [
    {
      clientOrderId: 'rbother',
      orderId: 'BTC-USD@9',
      market: 'BTC-USD',
      side: 'long',
      type: 'limit',
      size: '1',
      price: '63900',
      worstRemaining: '1',
    },
  ] as const;
  const [LONG, OUT] = [
    '{type: market, market: BTC-USD, side: long, size: 0.1, price: 65000}',
    '{market: BTC-USD, slip: 1%}',
  ];
  const alarms = ({ entries }: Performance) =>
    entries.flatMap((entry) => (entry.type === 'order.alarmed' ? [entry.data] : []));

  it.each([
    ['close', `  - close: ${OUT}\n`],
    [
      'manage',
      '  - manage: {market: BTC-USD, side: short, stop_loss: {trigger: 60000, price: 59000}, time_limit: 10s}\n',
    ],
  ])('is sent, with an alarm: %s', async (_, step) => {
    const limits: LimitRules = { refusals: { max: 0, windowMs: 60_000 } };
    const performance = await staged(`steps:\n  - place: ${LONG}\n${step}`, { others, limits });
    expect([performance.report.outcome, net(performance)]).toEqual(['succeeded', '0']);
    expect(alarms(performance)).toMatchObject([{ alarm: 'SelfMatchPossible', detail: { resting: 'BTC-USD@9' } }]);
  });

  it('is denied where the profile says so, and raises no alarm where it allows that', async () => {
    const text = `leaves: {position: open, because: tested}\nsteps:\n  - place: ${LONG}\n  - close: ${OUT}\n`;
    const [denied, allowed] = await Promise.all(
      (['deny', 'allow'] as const).map((selfMatch) => staged(text, { others, limits: { selfMatch } })),
    );
    expect([denied?.report.error?.kind, net(denied as Performance)]).toEqual(['denied', '0.1']);
    expect([net(allowed as Performance), alarms(allowed as Performance)]).toEqual(['0', []]);
  });

  it('is denied where it is no exit', async () => {
    const performance = await staged(
      `leaves: {position: open, because: tested}\nsteps:\n  - place: ${LONG}\n  - place: {type: market, market: BTC-USD, side: short, size: 0.1, price: 63000}\n`,
      { others },
    );
    expect(denials(performance)).toEqual(['SELF_MATCH: price=63000, resting=63900, order=BTC-USD@9']);
  });
});

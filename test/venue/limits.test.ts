/** Tests each control at, below and above its edge, what passes a cap, and that a tighter set never allows more. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  checkLimits,
  DENIALS,
  endsRun,
  LIMIT_CONTROLS,
  type LimitFacts,
  type LimitRules,
  type LimitWrite,
  notionalOf,
  type PositionFact,
  tighter,
  type WorkingOrder,
  type WriteTerms,
} from '../../src/venue/limits/check.ts';
import { itHolds } from '../property.ts';

const NOW = 1_750_000_000_000;

function facts(over: Partial<LimitFacts> = {}): LimitFacts {
  return {
    now: NOW,
    working: [],
    openOrders: { run: 0, account: 0 },
    positions: {},
    counters: { writes: 0, ordersLastMinute: 0, runNotional: '0' },
    ...over,
  };
}

function place(over: Partial<WriteTerms> = {}): LimitWrite {
  const intent: WriteTerms = {
    clientOrderId: 'rbnew',
    market: 'BTC-USD',
    side: 'long',
    type: 'limit',
    size: '0.5',
    price: '60000',
    ...over,
  };
  return { endpoint: 'POST /orders', params: { market_id: intent.market }, intent, step: 'entry' };
}
function amend(params: { price: string; size?: string }): LimitWrite {
  return {
    endpoint: 'PUT /orders',
    params: { order_id: 'BTC-USD@1', market_id: 'BTC-USD', ...params },
    clientOrderId: 'rb1',
    step: 'requote',
  };
}
function leverage(value: number): LimitWrite {
  return { endpoint: 'PUT /account/leverage', params: { market_id: 'BTC-USD', leverage: value }, step: 'lev' };
}
function working(over: Partial<WorkingOrder> = {}): WorkingOrder {
  const size = over.size ?? '0.5';
  return {
    clientOrderId: 'rb1',
    orderId: 'BTC-USD@1',
    market: 'BTC-USD',
    side: 'long',
    type: 'limit',
    price: '60000',
    size,
    worstRemaining: size,
    ...over,
  };
}

/** A position of which every fill is known. */
function holds(size: string, notional?: string): PositionFact {
  return { least: size, most: size, certain: size, notional };
}

/** The code of the denial, or `ok`. */
function code(write: LimitWrite, rules: LimitRules, at: LimitFacts = facts()): string {
  const verdict = checkLimits(write, rules, at);
  return verdict.ok ? 'ok' : verdict.code;
}
function message(write: LimitWrite, rules: LimitRules, at: LimitFacts = facts()): string {
  const verdict = checkLimits(write, rules, at);
  return verdict.ok ? 'ok' : verdict.message;
}

describe('a denial', () => {
  it('names its figures as language.md writes them', () => {
    expect(message(place({ size: '0.502' }), { maxOrderNotional: '25000' })).toBe(
      'NOTIONAL_EXCEEDS_MAX_PER_ORDER: notional=30120, max=25000',
    );
  });
  it('lists what was considered until then', () => {
    const verdict = checkLimits(
      place(),
      { maxOrderNotional: '25000', maxOpenOrders: 3 },
      facts({ openOrders: { run: 1, account: 1 } }),
    );
    expect(verdict.considered).toEqual({ max_open_orders: '2/3', max_order_notional: '30000/25000' });
  });
  it('in a market that the profile does not describe says where to add it; where none is described, orders pass', () => {
    const forgotten = facts({ marketsDescribed: true });
    const denied = expect.stringMatching(/^MARKET_RULES_UNKNOWN: market=BTC-USD; .*`markets`/);
    expect([message(place(), {}, forgotten), message(leverage(2), {}, forgotten)]).toEqual([denied, 'ok']);
    expect(message(place(), {}, { ...forgotten, marketRules: { tick: '1', lot: '0.1' } })).toBe('ok');
    expect(message(place(), {}, facts())).toBe('ok');
  });
  it('is a sentence where there is no figure to name', () => {
    expect([message(place(), { minEquity: '1', maxAccountAgeMs: 9 }), message(place(), { maxReadAgeMs: 1 })]).toEqual([
      expect.stringMatching(/^ACCOUNT_STALE: .*not read the account/),
      expect.stringMatching(/^MARKET_DATA_STALE: .*not read anything/),
    ]);
  });
  it('has a row with a summary, its figures and a remedy for every code', () => {
    for (const [name, row] of Object.entries(DENIALS)) {
      expect(name).toMatch(/^[A-Z]+(_[A-Z]+)+$/);
      expect(row.summary.length).toBeGreaterThan(10);
      expect(row.fix.length).toBeGreaterThan(5);
    }
    expect((Object.keys(DENIALS) as (keyof typeof DENIALS)[]).filter(endsRun)).toEqual([
      'STEP_FILLS_EXCEEDED',
      'REFUSALS_EXCEEDED',
    ]);
  });
});

describe('protective calls', () => {
  const strict: LimitRules = { mode: 'halted', markets: [], maxWrites: 0, maxOpenOrders: 0, maxOrderSize: '0' };
  it.each([
    'DELETE /orders',
    'DELETE /orders/cancel_all',
    'POST /cancel_all_after',
    'DELETE /cancel_all_after',
    'GET /orders',
    'POST /jwt',
  ] as const)('always passes: %s', (endpoint) => {
    const write: LimitWrite = { endpoint, params: { market_id: 'BTC-USD' }, step: 'exit' };
    expect(checkLimits(write, strict, facts({ killed: true, mode: 'halted' }))).toEqual({ ok: true, considered: {} });
  });
});

describe('each control, below, at and above its edge', () => {
  const at = (over: Partial<LimitFacts['counters']>) =>
    facts({ counters: { writes: 0, ordersLastMinute: 0, runNotional: '0', ...over } });
  const cases: readonly (readonly [string, LimitRules, readonly (readonly [LimitWrite, LimitFacts, string])[]])[] = [
    [
      'markets',
      { markets: ['BTC-USD'] },
      [
        [place(), facts(), 'ok'],
        [place({ market: 'ETH-USD' }), facts(), 'MARKET_NOT_ALLOWED'],
        [leverage(2), facts(), 'ok'],
      ],
    ],
    [
      'markets, none',
      { markets: [] },
      [
        [place(), facts(), 'MARKET_NOT_ALLOWED'],
        [leverage(2), facts(), 'MARKET_NOT_ALLOWED'],
      ],
    ],
    [
      'orderTypes',
      { orderTypes: ['limit'] },
      [
        [place(), facts(), 'ok'],
        [place({ type: 'market' }), facts(), 'ORDER_TYPE_NOT_ALLOWED'],
      ],
    ],
    [
      'sides',
      { sides: ['long'] },
      [
        [place(), facts(), 'ok'],
        [place({ side: 'short' }), facts(), 'SIDE_NOT_ALLOWED'],
      ],
    ],
    [
      'maxOrderSize',
      { maxOrderSize: '0.5' },
      [
        [place({ size: '0.49' }), facts(), 'ok'],
        [place(), facts(), 'ok'],
        [place({ size: '0.500000000000000001' }), facts(), 'SIZE_EXCEEDS_MAX_PER_ORDER'],
      ],
    ],
    [
      'maxOrderNotional',
      { maxOrderNotional: '30000' },
      [
        [place({ price: '59999' }), facts(), 'ok'],
        [place(), facts(), 'ok'],
        [place({ price: '60000.000000000000000001' }), facts(), 'NOTIONAL_EXCEEDS_MAX_PER_ORDER'],
      ],
    ],
    [
      'maxRunNotional',
      { maxRunNotional: '30000' },
      [
        [place(), at({ runNotional: '0' }), 'ok'],
        [place(), at({ runNotional: '0.000000000000000001' }), 'NOTIONAL_EXCEEDS_MAX_PER_RUN'],
      ],
    ],
    [
      'maxOpenOrders',
      { maxOpenOrders: 3 },
      [
        [place(), facts({ openOrders: { run: 1, account: 1 } }), 'ok'],
        [place(), facts({ openOrders: { run: 2, account: 2 } }), 'ok'],
        [place(), facts({ openOrders: { run: 3, account: 3 } }), 'OPEN_ORDERS_EXCEED_MAX'],
      ],
    ],
    [
      'open orders of the account',
      {},
      [
        [place(), facts({ openOrders: { run: 1, account: 949 } }), 'ok'],
        [place(), facts({ openOrders: { run: 1, account: 950 } }), 'OPEN_ORDERS_NEAR_VENUE_LIMIT'],
      ],
    ],
    [
      'maxLeverage',
      { maxLeverage: '5' },
      [
        [leverage(4), facts(), 'ok'],
        [leverage(5), facts(), 'ok'],
        [leverage(6), facts(), 'LEVERAGE_EXCEEDS_MAX'],
      ],
    ],
    [
      'leverage by default',
      {},
      [
        [leverage(20), facts(), 'ok'],
        [leverage(21), facts(), 'LEVERAGE_EXCEEDS_MAX'],
        [leverage(0), facts(), 'LEVERAGE_NOT_WHOLE'],
        [leverage(2.5), facts(), 'LEVERAGE_NOT_WHOLE'],
      ],
    ],
    [
      'maxWrites',
      { maxWrites: 60 },
      [
        [place(), at({ writes: 58 }), 'ok'],
        [place(), at({ writes: 59 }), 'ok'],
        [place(), at({ writes: 60 }), 'WRITES_EXCEED_MAX'],
      ],
    ],
    [
      'maxOrdersPerMinute',
      { maxOrdersPerMinute: 10 },
      [
        [place(), at({ ordersLastMinute: 9 }), 'ok'],
        [place(), at({ ordersLastMinute: 10 }), 'ORDER_RATE_EXCEEDED'],
      ],
    ],
    [
      'stepFills',
      { stepFills: { max: 3, windowMs: 1000 } },
      [
        [place(), at({ stepFills: 3 }), 'ok'],
        [place(), at({ stepFills: 4 }), 'STEP_FILLS_EXCEEDED'],
      ],
    ],
    [
      'refusals',
      { refusals: { max: 5, windowMs: 1000 } },
      [
        [place(), at({ refusals: 5 }), 'ok'],
        [place(), at({ refusals: 6 }), 'REFUSALS_EXCEEDED'],
      ],
    ],
    [
      'priceBandWithin',
      { priceBandWithin: '0.03' },
      [
        [place({ price: '61800' }), facts({ reference: { price: '60000', at: NOW } }), 'ok'],
        [place({ price: '58200' }), facts({ reference: { price: '60000', at: NOW } }), 'ok'],
        [
          place({ price: '61800.000000000000000001' }),
          facts({ reference: { price: '60000', at: NOW } }),
          'PRICE_OUTSIDE_BAND',
        ],
        [
          place({ price: '58199.999999999999999999' }),
          facts({ reference: { price: '60000', at: NOW } }),
          'PRICE_OUTSIDE_BAND',
        ],
        [place(), facts(), 'REFERENCE_MISSING'],
      ],
    ],
    [
      'maxReferenceAgeMs',
      { priceBandWithin: '0.03', maxReferenceAgeMs: 3_000 },
      [
        [place(), facts({ reference: { price: '60000', at: NOW - 3_000 } }), 'ok'],
        [place(), facts({ reference: { price: '60000', at: NOW - 3_001 } }), 'REFERENCE_STALE'],
      ],
    ],
    [
      'maxPosition',
      { maxPosition: '2' },
      [
        [place(), facts({ positions: { 'BTC-USD': holds('1') }, working: [working()] }), 'ok'],
        [
          place({ size: '0.500001' }),
          facts({ positions: { 'BTC-USD': holds('1') }, working: [working()] }),
          'POSITION_EXCEEDS_MAX',
        ],
        [place({ side: 'short', size: '2' }), facts(), 'ok'],
        [place({ side: 'short', size: '2.1' }), facts(), 'POSITION_EXCEEDS_MAX'],
      ],
    ],
    [
      'maxMarketNotional',
      { maxMarketNotional: '90000' },
      [
        [place(), facts({ positions: { 'BTC-USD': holds('0.5', '30000') }, working: [working()] }), 'ok'],
        [
          place(),
          facts({ positions: { 'BTC-USD': holds('0.5', '30000.1') }, working: [working()] }),
          'NOTIONAL_EXCEEDS_MAX_PER_MARKET',
        ],
        [place(), facts({ positions: { 'BTC-USD': holds('0.5') } }), 'NOTIONAL_UNKNOWN'],
        [place(), facts({ positions: { 'BTC-USD': holds('1') }, reference: { price: '60000', at: NOW } }), 'ok'],
      ],
    ],
    [
      'maxExposure',
      { maxExposure: '100000' },
      [
        [place(), facts({ positions: { 'ETH-USD': holds('-20', '70000') } }), 'ok'],
        [place(), facts({ positions: { 'ETH-USD': holds('-20', '70000.01') } }), 'EXPOSURE_EXCEEDS_MAX'],
        [place(), facts({ positions: { 'ETH-USD': holds('-20') } }), 'NOTIONAL_UNKNOWN'],
      ],
    ],
    [
      'minEquity',
      { minEquity: '1000' },
      [
        [place(), facts({ account: { equity: '1000', health: '1', at: NOW } }), 'ok'],
        [place(), facts({ account: { equity: '999.999999999999999999', health: '1', at: NOW } }), 'EQUITY_BELOW_MIN'],
        [place(), facts(), 'ACCOUNT_STALE'],
      ],
    ],
    [
      'minHealth',
      { minHealth: '0.2', maxAccountAgeMs: 60_000 },
      [
        [place(), facts({ account: { equity: '0', health: '0.2', at: NOW - 60_000 } }), 'ok'],
        [place(), facts({ account: { equity: '0', health: '0.19', at: NOW } }), 'HEALTH_BELOW_MIN'],
        [place(), facts({ account: { equity: '0', health: '1', at: NOW - 60_001 } }), 'ACCOUNT_STALE'],
      ],
    ],
    [
      'maxReadAgeMs',
      { maxReadAgeMs: 30_000 },
      [
        [place(), facts({ lastReadAgeMs: 30_000 }), 'ok'],
        [place(), facts({ lastReadAgeMs: 30_001 }), 'MARKET_DATA_STALE'],
        [place(), facts(), 'MARKET_DATA_STALE'],
      ],
    ],
    [
      'quarantined markets',
      {},
      [
        [place(), facts({ working: [working({ quarantined: true, market: 'ETH-USD' })] }), 'ok'],
        [place(), facts({ working: [working({ quarantined: true })] }), 'MARKET_QUARANTINED'],
      ],
    ],
    [
      'kill switch',
      {},
      [
        [place(), facts({ killed: true }), 'KILL_SWITCH_ENGAGED'],
        [leverage(1), facts({ killed: true }), 'KILL_SWITCH_ENGAGED'],
      ],
    ],
  ];

  it.each(cases)('%s', (_, rules, edges) => {
    for (const [write, where, expected] of edges)
      expect([write.intent, where, code(write, rules, where)]).toEqual([write.intent, where, expected]);
  });

  it('is exact to the last of 36 digits on both sides of a product', () => {
    const size = '123456789012345678.123456789012345678';
    const price = '987654321098765432.987654321098765432';
    const notional = notionalOf(place({ size, price }).intent as WriteTerms)?.value ?? '';
    // Whole numbers as the oracle: 18 places each, so 36 in the product.
    const product = String(BigInt(size.replace('.', '')) * BigInt(price.replace('.', '')));
    expect(notional).toBe(`${product.slice(0, -36)}.${product.slice(-36)}`);
    expect(code(place({ size, price }), { maxOrderNotional: notional })).toBe('ok');
    const less = `${notional.slice(0, -1)}${Number(notional.at(-1)) - 1}`;
    expect(code(place({ size, price }), { maxOrderNotional: less })).toBe('NOTIONAL_EXCEEDS_MAX_PER_ORDER');
  });
});

describe('tick and lot', () => {
  const marketRules = { tick: '0.5', lot: '0.001', min_size: '0.01' };
  const where = facts({ marketRules });
  it('deny what is off the step, with the nearest legal value', () => {
    expect(message(place({ price: '60000.3' }), {}, where)).toBe(
      'PRICE_OFF_TICK: price=60000.3, tick=0.5, nearest=60000.5',
    );
    expect(message(place({ price: '0.1' }), {}, where)).toBe('PRICE_OFF_TICK: price=0.1, tick=0.5, nearest=0.5');
    expect(message(place({ type: 'stop_limit', trigger: '60000.7' }), {}, where)).toBe(
      'TRIGGER_OFF_TICK: trigger=60000.7, tick=0.5, nearest=60000.5',
    );
    expect(message(place({ size: '0.5004' }), {}, where)).toBe('SIZE_OFF_LOT: size=0.5004, lot=0.001, nearest=0.5');
    expect(message(place({ size: '0.0004' }), {}, where)).toBe('SIZE_OFF_LOT: size=0.0004, lot=0.001, nearest=0.01');
    expect(message(place({ size: '0.009' }), {}, where)).toBe('SIZE_BELOW_MIN: size=0.009, min=0.01');
    expect(message(amend({ price: '60000.1' }), {}, facts({ marketRules, working: [working()] }))).toBe(
      'PRICE_OFF_TICK: price=60000.1, tick=0.5, nearest=60000',
    );
  });
  it('allow what is on the step, and everything where the market is not described', () => {
    expect(code(place({ size: '0.01', price: '60000.50' }), {}, where)).toBe('ok');
    expect(code(place({ size: '0.0000001', price: '0.0000001' }), {})).toBe('ok');
  });
  it('check no lot for a fraction, but the tick of its prices', () => {
    expect(code(place({ type: 'stop_loss', size: '0.3333', trigger: '59000', price: '58900' }), {}, where)).toBe('ok');
    expect(code(place({ type: 'stop_loss', size: '1', trigger: '59000', price: '58900.1' }), {}, where)).toBe(
      'PRICE_OFF_TICK',
    );
  });
  it('deny a quotient that was not rounded, also where no step is known', () => {
    const third = '0.333333333333333333333333333333333333333333333333333333333333';
    const quotients = [
      place({ size: third }),
      place({ price: `2${third.slice(2)}.5` }),
      place({ type: 'stop_limit', trigger: `2${third.slice(1)}` }),
      place({ type: 'stop_loss', size: '1', trigger: '59000', price: `58900${third.slice(1)}` }),
      place({ type: 'stop_loss', size: third, trigger: '59000', price: '58900' }),
    ];
    for (const quotient of quotients) expect(code(quotient, {})).toBe('TOO_MANY_DIGITS');
    expect(code(amend({ price: `60000${third.slice(1)}` }), {}, facts({ working: [working()] }))).toBe(
      'TOO_MANY_DIGITS',
    );
    expect(message(place({ size: third }), {})).toBe(
      'TOO_MANY_DIGITS: value=size 0.333333333333333333…, digits=60, max=36',
    );
    expect(code(place({ size: '0.333333333333333333333333333333333333' }), {})).toBe('ok');
    expect(code(place({ size: third }), {}, where)).toBe('SIZE_OFF_LOT');
  });
  it('work with steps that are not powers of ten', () => {
    expect(code(place({ price: '60000' }), {}, facts({ marketRules: { tick: '3', lot: '0.7' } }))).toBe('SIZE_OFF_LOT');
    expect(code(place({ price: '60000', size: '2.1' }), {}, facts({ marketRules: { tick: '3', lot: '0.7' } }))).toBe(
      'ok',
    );
  });
});

describe('the price of a notional', () => {
  const rules: LimitRules = { maxOrderNotional: '30000' };
  it.each([
    ['a market order by its protection price', { type: 'market', price: '60001' }, 'NOTIONAL_EXCEEDS_MAX_PER_ORDER'],
    [
      'a stop_market by its trigger',
      { type: 'stop_market', price: undefined, trigger: '60001' },
      'NOTIONAL_EXCEEDS_MAX_PER_ORDER',
    ],
    ['a stop_limit by its price', { type: 'stop_limit', price: '60000', trigger: '70000' }, 'ok'],
    ['nothing at all', { type: 'market', price: undefined }, 'NOTIONAL_UNKNOWN'],
  ] as const)('is %s', (_, over, expected) => {
    expect(code(place(over), rules)).toBe(expected);
  });
  it('of a short is the market where that is higher, and without a market its own, which is the least', () => {
    const short = (over: Partial<WriteTerms> = {}) => place({ side: 'short', price: '100', ...over });
    const at = (over: Partial<LimitFacts>) => code(short(), rules, facts(over));
    expect(at({ reference: { price: '60000', at: NOW } })).toBe('ok');
    expect(at({ reference: { price: '60001', at: NOW } })).toBe('NOTIONAL_EXCEEDS_MAX_PER_ORDER');
    expect(at({ lastPrices: { 'BTC-USD': '60001' } })).toBe('NOTIONAL_EXCEEDS_MAX_PER_ORDER');
    expect(at({ marketPrice: '60001', lastPrices: { 'BTC-USD': '100' } })).toBe('NOTIONAL_EXCEEDS_MAX_PER_ORDER');
    expect(at({ marketPrice: '60000', lastPrices: { 'BTC-USD': '60001' } })).toBe('ok');
    expect(at({ lastPrices: { 'ETH-USD': '60001' } })).toBe('ok');
    expect(checkLimits(short(), rules, facts())).toEqual({
      ok: true,
      considered: { max_order_notional: 'at least 50/30000' },
    });
    expect(code(short({ price: '60001' }), rules)).toBe('NOTIONAL_EXCEEDS_MAX_PER_ORDER');
    expect(code(short(), { ...rules, unknownPrice: 'deny' })).toBe('NOTIONAL_UNKNOWN');
    // The protection of a market order is far from the market.
    expect(code(short({ type: 'market' }), rules)).toBe('NOTIONAL_UNKNOWN');
    expect(code(short({ type: 'market' }), rules, facts({ marketPrice: '60000' }))).toBe('ok');
    expect(code(short({ type: 'market', price: undefined }), rules, facts({ marketPrice: '60001' }))).toBe(
      'NOTIONAL_EXCEEDS_MAX_PER_ORDER',
    );
    expect(code(short({ timeInForce: 'post_only' }), { ...rules, unknownPrice: 'deny' })).toBe('ok');
    expect(code(short({ price: '60001', timeInForce: 'post_only' }), rules)).toBe('NOTIONAL_EXCEEDS_MAX_PER_ORDER');
    // A stop fills beyond its trigger, wherever the market is now.
    expect(code(short({ type: 'stop_limit', trigger: '60000' }), rules)).toBe('ok');
    expect(code(short({ type: 'stop_limit', trigger: '60001' }), rules)).toBe('NOTIONAL_EXCEEDS_MAX_PER_ORDER');
  });
  it('of an amended short is no lower than where it rests', () => {
    const resting = working({ side: 'short', price: '60001' });
    expect(code(amend({ price: '100' }), rules, facts({ working: [resting] }))).toBe('NOTIONAL_EXCEEDS_MAX_PER_ORDER');
    expect(code(amend({ price: '100' }), rules, facts({ working: [{ ...resting, price: '60000' }] }))).toBe('ok');
  });
  it('of working shorts in the market is the market as well', () => {
    const works = working({ clientOrderId: 'rb2', orderId: 'BTC-USD@2', side: 'short', price: '100', size: '1' });
    const where = facts({ working: [works], reference: { price: '60000', at: NOW } });
    const far: LimitRules = { selfMatch: 'allow', maxMarketNotional: '90000' };
    expect(code(place(), far, where)).toBe('ok');
    expect(code(place(), { ...far, maxMarketNotional: '89999' }, where)).toBe('NOTIONAL_EXCEEDS_MAX_PER_MARKET');
  });
  it('is the reference at the far edge of the band where the order has none, which the band then denies', () => {
    const reference = { price: '60000', at: NOW };
    const priceless = place({ type: 'market', price: undefined });
    const band: LimitRules = { priceBandWithin: '0.01' };
    expect(code(priceless, { ...band, maxOrderNotional: '30299' }, facts({ reference }))).toBe(
      'NOTIONAL_EXCEEDS_MAX_PER_ORDER',
    );
    expect(message(priceless, { ...band, maxOrderNotional: '30300' }, facts({ reference }))).toMatch(
      /^PRICE_MISSING: type=market; .*`price`/,
    );
    expect(code(place({ type: 'stop_market', price: undefined, trigger: '60000' }), band, facts({ reference }))).toBe(
      'PRICE_MISSING',
    );
  });
  it('is the reference where the order has none', () => {
    const reference = { price: '60001', at: NOW };
    expect(code(place({ type: 'market', price: undefined }), rules, facts({ reference }))).toBe(
      'NOTIONAL_EXCEEDS_MAX_PER_ORDER',
    );
    expect(
      code(
        { ...place({ type: 'market', price: undefined }), reference: { price: '60000', at: NOW } },
        rules,
        facts({ reference }),
      ),
    ).toBe('ok');
  });
});

describe('allow: reduce', () => {
  const rules: LimitRules = { maxOrderNotional: '1', maxRunNotional: '1' };
  const market = { lastPrices: { 'BTC-USD': '60000' } };
  const held = facts({ positions: { 'BTC-USD': holds('0.5') }, ...market });
  const exit = (over: Partial<WriteTerms> = {}) => place({ side: 'short', type: 'market', allow: 'reduce', ...over });

  it('passes the caps of notional with at most the position, on its other side', () => {
    expect(code(exit(), rules, held)).toBe('ok');
    expect(code(exit({ size: '0.500000000000000001' }), rules, held)).toBe('NOTIONAL_EXCEEDS_MAX_PER_ORDER');
    expect(code(exit({ side: 'long' }), rules, held)).toBe('NOTIONAL_EXCEEDS_MAX_PER_ORDER');
    expect(code(exit(), rules, facts(market))).toBe('NOTIONAL_EXCEEDS_MAX_PER_ORDER');
    expect(code(exit({ side: 'long' }), rules, facts({ positions: { 'BTC-USD': holds('-0.5') } }))).toBe('ok');
  });
  it('does not pass them without `allow: reduce`', () => {
    expect(code(exit({ allow: undefined }), rules, held)).toBe('NOTIONAL_EXCEEDS_MAX_PER_ORDER');
  });
  it('counts orders that already work on the same side', () => {
    const exits = [working({ side: 'short', price: '70000', size: '0.1' })];
    expect(code(exit(), rules, { ...held, working: exits })).toBe('NOTIONAL_EXCEEDS_MAX_PER_ORDER');
    expect(code(exit({ size: '0.4' }), rules, { ...held, working: exits })).toBe('ok');
  });
  it('leaves to working position stops what they may close, and says so', () => {
    const stops = (...fractions: string[]) => ({
      ...held,
      working: fractions.map((fraction, index) =>
        working({ orderId: `BTC-USD@${index}`, side: 'short', type: 'stop_loss', worstRemaining: '0', fraction }),
      ),
    });
    expect(code(exit({ size: '0.2' }), rules, stops('0.6'))).toBe('ok');
    expect(message(exit({ size: '0.200001' }), rules, stops('0.6'))).toMatch(
      /^NOTIONAL_EXCEEDS_MAX_PER_ORDER: notional=12000\.06, max=1; allow: reduce: .*\(BTC-USD@0\) may close 0\.6 of the position/,
    );
    expect(message(exit({ size: '0.1' }), rules, stops('1', '1'))).toContain('BTC-USD@0 BTC-USD@1) may close 1 of');
    // A stop on the other side belongs to another position.
    const other = [working({ side: 'long', type: 'stop_loss', worstRemaining: '0', fraction: '1' })];
    expect(code(exit(), rules, { ...held, working: other })).toBe('ok');
  });
  it('counts only what is certainly held, and says what would prove more', () => {
    const doubtful = (certain: string, unread?: readonly string[]) =>
      facts({ positions: { 'BTC-USD': { least: '-1', most: '2', certain, unread } }, ...market });
    expect(code(exit(), rules, doubtful('0.5'))).toBe('ok');
    expect(message(exit(), rules, doubtful('0.4'))).toMatch(
      /^NOTIONAL_EXCEEDS_MAX_PER_ORDER: notional=30000, max=1; allow: reduce: .*list_fills of BTC-USD with all_pages: true.*\b2 min\b/,
    );
    expect(message(place({ side: 'short' }), { mode: 'reducing' }, doubtful('0', ['BTC-USD@7']))).toMatch(
      /^REDUCING_ONLY: mode=reducing, side=short, size=0\.5, position=0, working=0; refresh BTC-USD@7\b/,
    );
  });
  it('passes no other limit', () => {
    expect(code(exit(), { maxOrderSize: '0.1' }, held)).toBe('SIZE_EXCEEDS_MAX_PER_ORDER');
    expect(code(exit(), { maxOpenOrders: 0 }, held)).toBe('OPEN_ORDERS_EXCEED_MAX');
    expect(code(exit(), { priceBandWithin: '0.01' }, { ...held, reference: { price: '50000', at: NOW } })).toBe(
      'PRICE_OUTSIDE_BAND',
    );
  });
});

describe('modes', () => {
  const held = facts({
    positions: { 'BTC-USD': holds('0.5') },
    account: { equity: '1', health: '1', at: NOW, leverage: { 'BTC-USD': '5' } },
  });
  it('reducing allows what certainly lowers exposure', () => {
    expect(code(place({ side: 'short' }), { mode: 'reducing' }, held)).toBe('ok');
    expect(code(place({ side: 'short', size: '0.51' }), { mode: 'reducing' }, held)).toBe('REDUCING_ONLY');
    expect(code(place(), { mode: 'reducing' }, held)).toBe('REDUCING_ONLY');
    expect(code(place({ type: 'take_profit', size: '1' }), { mode: 'reducing' }, held)).toBe('ok');
    expect(code(leverage(5), { mode: 'reducing' }, held)).toBe('ok');
    expect(code(leverage(6), { mode: 'reducing' }, held)).toBe('LEVERAGE_RAISED_WHILE_REDUCING');
    expect(code(leverage(6), { mode: 'reducing' }, facts())).toBe('ok');
  });
  it('reducing allows only amends that shrink', () => {
    const where = facts({ working: [working()] });
    expect(code(amend({ price: '60000', size: '0.4' }), { mode: 'reducing' }, where)).toBe('ok');
    expect(code(amend({ price: '60000', size: '0.6' }), { mode: 'reducing' }, where)).toBe('REDUCING_ONLY');
    expect(code(amend({ price: '60001' }), { mode: 'reducing' }, where)).toBe('REDUCING_ONLY');
  });
  it('halted allows nothing', () => {
    for (const write of [place({ side: 'short' }), amend({ price: '1' }), leverage(1)])
      expect(code(write, { mode: 'halted' }, held)).toBe('TRADING_HALTED');
  });
  it('hold for one market, or come from the facts', () => {
    const rules: LimitRules = { marketModes: { 'ETH-USD': 'halted' } };
    expect([code(place(), rules), code(place({ market: 'ETH-USD' }), rules)]).toEqual(['ok', 'TRADING_HALTED']);
    expect(code(place(), {}, facts({ mode: 'reducing' }))).toBe('REDUCING_ONLY');
  });
  it('never deny what lowers exposure for stale market data, a minimum, a quarantine or a side', () => {
    const rules: LimitRules = {
      maxReadAgeMs: 1,
      minEquity: '1000',
      sides: ['long'],
      maxPosition: '0',
      maxMarketNotional: '0',
      maxExposure: '0',
    };
    expect(
      code(place({ side: 'short' }), rules, { ...held, working: [working({ quarantined: true, price: '1' })] }),
    ).toBe('ok');
  });
});

describe('an amend', () => {
  it('is measured as the order it makes', () => {
    const where = facts({ working: [working()] });
    expect(code(amend({ price: '60001' }), { maxOrderNotional: '30000' }, where)).toBe(
      'NOTIONAL_EXCEEDS_MAX_PER_ORDER',
    );
    expect(code(amend({ price: '60000', size: '0.6' }), { maxOrderSize: '0.5' }, where)).toBe(
      'SIZE_EXCEEDS_MAX_PER_ORDER',
    );
    expect(code(amend({ price: '60000', size: '0.6' }), { maxPosition: '0.6' }, where)).toBe('ok');
    expect(code(amend({ price: '60000', size: '0.6' }), { maxPosition: '0.59' }, where)).toBe('POSITION_EXCEEDS_MAX');
  });
  it('is not another order, and adds to the notional only what exceeds what the order already counted for', () => {
    const where = facts({
      working: [working({ counted: '30000' })],
      openOrders: { run: 3, account: 3 },
      counters: { writes: 1, ordersLastMinute: 1, runNotional: '30000' },
    });
    const rules: LimitRules = { maxOpenOrders: 3, maxRunNotional: '30000' };
    expect(code(amend({ price: '60000' }), rules, where)).toBe('ok');
    expect(code(amend({ price: '59000', size: '0.508' }), rules, where)).toBe('ok');
    expect(message(amend({ price: '60500' }), rules, where)).toBe(
      'NOTIONAL_EXCEEDS_MAX_PER_RUN: notional=250, sent=30000, max=30000',
    );
    expect(message(amend({ price: '60500', size: '0.6' }), rules, where)).toBe(
      'NOTIONAL_EXCEEDS_MAX_PER_RUN: notional=6300, sent=30000, max=30000',
    );
    // It was more expensive before: it still counts for what it counted then.
    const dearer = { ...where, working: [working({ counted: '31000' })] };
    expect(code(amend({ price: '61000' }), rules, dearer)).toBe('ok');
  });
  it('may follow the market as far as the reference, but not with more size and not through it', () => {
    const where = (price: string) =>
      facts({
        working: [working({ counted: '30000' })],
        counters: { writes: 1, ordersLastMinute: 1, runNotional: '30000' },
        reference: { price, at: NOW },
      });
    const rules: LimitRules = { maxRunNotional: '30000' };
    expect(code(amend({ price: '60500' }), rules, where('60500'))).toBe('ok');
    expect(code(amend({ price: '60500' }), rules, where('60499'))).toBe('NOTIONAL_EXCEEDS_MAX_PER_RUN');
    expect(code(amend({ price: '60500', size: '0.5' }), rules, where('60500'))).toBe('NOTIONAL_EXCEEDS_MAX_PER_RUN');
  });
  it('of the size of a position stop falls under the limits of sizes', () => {
    const stop = working({ side: 'short', type: 'stop_loss', size: '0.5', worstRemaining: '0', fraction: '0.5' });
    const where = facts({ working: [stop], lastPrices: { 'BTC-USD': '60000' } });
    const sized = amend({ price: '59500', size: '50' });
    expect(message(sized, { maxOrderSize: '0.02' }, where)).toBe('SIZE_EXCEEDS_MAX_PER_ORDER: size=50, max=0.02');
    expect(code(sized, { maxOrderNotional: '2000' }, where)).toBe('NOTIONAL_EXCEEDS_MAX_PER_ORDER');
    expect(code(sized, { maxRunNotional: '2000' }, where)).toBe('NOTIONAL_EXCEEDS_MAX_PER_RUN');
    expect(code(sized, { maxPosition: '1' }, where)).toBe('POSITION_EXCEEDS_MAX');
    expect(code(sized, { mode: 'reducing' }, where)).toBe('REDUCING_ONLY');
    const strict: LimitRules = { maxOrderSize: '0.02', maxOrderNotional: '1', maxPosition: '0', mode: 'reducing' };
    expect(code(amend({ price: '59500' }), strict, where)).toBe('ok');
  });
  it('of an unknown order is denied; its intent is enough to know it', () => {
    const unknown = amend({ price: '60000' });
    expect(message(unknown, {})).toBe('AMEND_TARGET_UNKNOWN: order=BTC-USD@1');
    expect(code({ ...unknown, intent: place().intent }, {})).toBe('ok');
  });
  it('is found by its venue id as well', () => {
    const byId: LimitWrite = {
      endpoint: 'PUT /orders',
      params: { order_id: 'BTC-USD@1', market_id: 'BTC-USD', price: '60000' },
      step: 's',
    };
    expect(code(byId, { maxOrderSize: '0.4' }, facts({ working: [working()] }))).toBe('SIZE_EXCEEDS_MAX_PER_ORDER');
  });
});

describe('self-match', () => {
  const resting = facts({ working: [working({ side: 'short', price: '60000' })] });
  it('denies a price that would trade with a resting order of our own', () => {
    expect(code(place({ price: '59999' }), {}, resting)).toBe('ok');
    expect(message(place({ price: '60000' }), {}, resting)).toBe(
      'SELF_MATCH: price=60000, resting=60000, order=BTC-USD@1',
    );
    expect(code(place({ type: 'market', price: undefined }), {}, resting)).toBe('SELF_MATCH');
    expect(code(place({ market: 'ETH-USD', price: '70000' }), {}, resting)).toBe('ok');
    expect(code(place({ side: 'short', price: '50000' }), {}, resting)).toBe('ok');
    expect(
      code(
        amend({ price: '60000' }),
        {},
        facts({ working: [working(), working({ clientOrderId: 'rb2', orderId: 'BTC-USD@2', side: 'short' })] }),
      ),
    ).toBe('SELF_MATCH');
  });
  it('lets a way out pass, and says beside which order', () => {
    const beside = (doubtful: boolean) =>
      facts({ positions: { 'BTC-USD': holds('0.5') }, working: [working({ side: 'long', price: '60000', doubtful })] });
    const out = place({ side: 'short', type: 'market', price: '59000', allow: 'reduce' });
    expect(checkLimits(out, {}, beside(false))).toEqual({ ok: true, considered: { self_match: 'BTC-USD@1' } });
    expect(checkLimits(out, {}, beside(true))).toEqual({ ok: true, considered: {} });
    expect(code(out, { selfMatch: 'deny' }, beside(false))).toBe('SELF_MATCH');
    expect(code(out, { selfMatch: 'deny' }, beside(true))).toBe('ok');
    expect(code(out, tighter({ selfMatch: 'deny' }, { selfMatch: 'allow' }), beside(false))).toBe('SELF_MATCH');
    expect(code(out, tighter({ selfMatch: 'allow' }, {}), beside(false))).toBe('ok');
    expect(code(place({ side: 'short', type: 'market', price: '59000' }), {}, beside(true))).toBe('SELF_MATCH');
    const more = place({ side: 'short', type: 'market', price: '59000', size: '0.51', allow: 'reduce' });
    expect(code(more, {}, beside(true))).toBe('SELF_MATCH');
  });
  it('ignores stops, and allows it where both sets allow it', () => {
    expect(code(place({ type: 'stop_limit', price: '70000', trigger: '69000' }), {}, resting)).toBe('ok');
    expect(
      code(place({ price: '70000' }), {}, facts({ working: [working({ side: 'short', type: 'stop_market' })] })),
    ).toBe('ok');
    expect(code(place({ price: '70000' }), { selfMatch: 'allow' }, resting)).toBe('ok');
    expect(code(place({ price: '70000' }), tighter({ selfMatch: 'allow' }, {}), resting)).toBe('SELF_MATCH');
  });
});

describe('position stops', () => {
  it('fall under the count of open orders, but not under size, notional, band or position', () => {
    const stop = place({ type: 'stop_loss', side: 'short', size: '1', trigger: '59000', price: '58000' });
    const rules: LimitRules = {
      maxOrderSize: '0.1',
      maxOrderNotional: '1',
      maxRunNotional: '1',
      maxPosition: '0',
      maxExposure: '0',
      maxMarketNotional: '0',
      priceBandWithin: '0.0001',
      sides: ['long'],
    };
    expect(code(stop, rules, facts({ reference: { price: '60000', at: NOW } }))).toBe('ok');
    expect(code(stop, { maxOpenOrders: 2 }, facts({ openOrders: { run: 2, account: 2 } }))).toBe(
      'OPEN_ORDERS_EXCEED_MAX',
    );
  });
});

describe('tighter', () => {
  const decimal = fc.integer({ min: 0, max: 200_000 }).map((value) => String(value));
  const throttle = fc.record({ max: fc.nat(10), windowMs: fc.nat(10_000) });
  const some = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
  const rules: fc.Arbitrary<LimitRules> = fc
    .record({
      markets: some(fc.subarray(['BTC-USD', 'ETH-USD'])),
      sides: some(fc.subarray(['long', 'short'] as const)),
      orderTypes: some(fc.subarray(['limit', 'market', 'stop_loss'] as const)),
      maxOrderSize: some(fc.constantFrom('0.1', '0.5', '2')),
      maxOrderNotional: some(decimal),
      maxRunNotional: some(decimal),
      maxMarketNotional: some(decimal),
      maxExposure: some(decimal),
      maxPosition: some(fc.constantFrom('0.1', '0.5', '2')),
      maxOpenOrders: some(fc.nat(4)),
      maxLeverage: some(fc.integer({ min: 1, max: 20 }).map(String)),
      maxWrites: some(fc.nat(4)),
      maxOrdersPerMinute: some(fc.nat(4)),
      priceBandWithin: some(fc.constantFrom('0', '0.01', '0.5')),
      marketBands: some(fc.constantFrom({ 'BTC-USD': '0.01' }, { 'BTC-USD': '0.5', 'ETH-USD': '0' })),
      maxReferenceAgeMs: some(fc.nat(100)),
      stepFills: some(throttle),
      refusals: some(throttle),
      selfMatch: some(fc.constantFrom('deny' as const, 'allow' as const)),
      minEquity: some(decimal),
      minHealth: some(fc.constantFrom('0', '1')),
      maxAccountAgeMs: some(fc.nat(100)),
      maxReadAgeMs: some(fc.nat(100)),
      mode: some(fc.constantFrom('active' as const, 'reducing' as const, 'halted' as const)),
      marketModes: some(fc.constantFrom({ 'BTC-USD': 'reducing' as const }, { 'ETH-USD': 'halted' as const })),
    })
    .map(
      (record) => Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined)) as LimitRules,
    );
  const write: fc.Arbitrary<LimitWrite> = fc.oneof(
    fc
      .record({
        market: fc.constantFrom('BTC-USD', 'ETH-USD'),
        side: fc.constantFrom('long' as const, 'short' as const),
        type: fc.constantFrom('limit', 'market', 'stop_loss', 'stop_limit'),
        size: fc.constantFrom('0.1', '0.5', '1'),
        price: some(fc.constantFrom('50000', '60000', '61000')),
        allow: some(fc.constant('reduce' as const)),
      })
      .map((over) => place(over)),
    fc.integer({ min: 1, max: 21 }).map(leverage),
    fc.constantFrom('60000', '61000').map((price) => amend({ price })),
  );
  const situation: fc.Arbitrary<LimitFacts> = fc
    .record({
      position: fc.constantFrom('-1', '0', '0.5', '1'),
      orders: fc.subarray([
        working(),
        working({ clientOrderId: 'rb2', orderId: 'BTC-USD@2', side: 'short', price: '60500' }),
      ]),
      count: fc.nat(4),
      age: fc.nat(100),
    })
    .map(({ position, orders, count, age }) =>
      facts({
        positions: { 'BTC-USD': holds(position, '30000') },
        working: orders,
        openOrders: { run: count, account: count },
        counters: {
          writes: count,
          ordersLastMinute: count,
          runNotional: String(count * 20_000),
          stepFills: count,
          refusals: count,
        },
        reference: { price: '60000', at: NOW - age },
        account: { equity: '50000', health: '0.5', at: NOW - age },
        lastReadAgeMs: age,
      }),
    );

  itHolds('denies whatever either denies', 300, (numRuns) => {
    fc.assert(
      fc.property(rules, rules, write, situation, (a, b, each, where) => {
        fc.pre(checkLimits(each, tighter(a, b), where).ok);
        expect([checkLimits(each, a, where).ok, checkLimits(each, b, where).ok]).toEqual([true, true]);
      }),
      { numRuns, maxSkipsPerRun: 1_000 },
    );
  });

  it('gives the same whichever comes first, and nothing new from the same set twice', () => {
    fc.assert(
      fc.property(rules, rules, write, situation, (a, b, each, where) => {
        expect(checkLimits(each, tighter(a, b), where).ok).toBe(checkLimits(each, tighter(b, a), where).ok);
        expect(tighter({ selfMatch: 'allow', ...a }, { selfMatch: 'allow', ...a })).toEqual({
          selfMatch: 'allow',
          ...a,
        });
      }),
      { numRuns: 500 },
    );
  });

  it('takes the tighter of every control', () => {
    const loose: Required<LimitRules> = {
      markets: ['BTC-USD', 'ETH-USD'],
      sides: ['long', 'short'],
      orderTypes: ['limit', 'market'],
      maxOrderSize: '10',
      maxOrderNotional: '10',
      maxRunNotional: '10',
      unknownPrice: 'deny',
      maxMarketNotional: '10',
      maxExposure: '10',
      maxPosition: '10',
      maxOpenOrders: 10,
      maxDailyNotional: '10',
      maxDailyLoss: '10',
      maxLeverage: '10',
      maxWrites: 10,
      maxOrdersPerMinute: 10,
      priceBandWithin: '0.10',
      marketBands: { 'BTC-USD': '0.10', 'ETH-USD': '0.01' },
      maxReferenceAgeMs: 10,
      stepFills: { max: 10, windowMs: 1 },
      refusals: { max: 10, windowMs: 1 },
      selfMatch: 'allow',
      minEquity: '1',
      minHealth: '1',
      maxAccountAgeMs: 10,
      maxReadAgeMs: 10,
      mode: 'active',
      marketModes: { 'BTC-USD': 'active', 'ETH-USD': 'reducing' },
    };
    const tight: Required<LimitRules> = {
      markets: ['BTC-USD'],
      sides: ['long'],
      orderTypes: ['limit'],
      maxOrderSize: '9',
      maxOrderNotional: '9',
      maxRunNotional: '9',
      unknownPrice: 'deny',
      maxMarketNotional: '9',
      maxExposure: '9',
      maxPosition: '9',
      maxOpenOrders: 9,
      maxDailyNotional: '9',
      maxDailyLoss: '9',
      maxLeverage: '9',
      maxWrites: 9,
      maxOrdersPerMinute: 9,
      priceBandWithin: '0.09',
      marketBands: { 'BTC-USD': '0.09', 'ETH-USD': '0.01' },
      maxReferenceAgeMs: 9,
      stepFills: { max: 9, windowMs: 2 },
      refusals: { max: 9, windowMs: 2 },
      selfMatch: 'deny',
      minEquity: '2',
      minHealth: '2',
      maxAccountAgeMs: 9,
      maxReadAgeMs: 9,
      mode: 'halted',
      marketModes: { 'BTC-USD': 'halted', 'ETH-USD': 'reducing' },
    };
    expect(Object.keys(tight).sort()).toEqual([...LIMIT_CONTROLS].sort());
    expect([tighter(loose, tight), tighter(tight, loose)]).toEqual([tight, tight]);
    expect(tighter(tight, {})).toEqual(tight);
    expect(tighter({}, {})).toEqual({});
  });
});

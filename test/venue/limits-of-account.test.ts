/** Tests the limits that hold for the account beside those of a run, what a write needs priced first, and the figures of denials. */
import { describe, expect, it } from 'vitest';
import {
  checkLimits,
  DENIALS,
  findUnpricedMarket,
  getBandWidth,
  type LimitFacts,
  type LimitRules,
  type LimitWrite,
  notionalOf,
  type PositionFact,
  splitLimits,
  type WorkingOrder,
  type WriteTerms,
} from '../../src/venue/limits/check.ts';

const NOW = 1_750_000_000_000;
const REFERENCE = { price: '60000', at: NOW };

function facts(over: Partial<LimitFacts> = {}, counters: Partial<LimitFacts['counters']> = {}): LimitFacts {
  return {
    now: NOW,
    working: [],
    openOrders: { run: 0, account: 0 },
    positions: {},
    counters: { writes: 0, ordersLastMinute: 0, runNotional: '0', ...counters },
    ...over,
  };
}
function place(over: Partial<WriteTerms> = {}): LimitWrite {
  const intent = { market: 'BTC-USD', side: 'long', type: 'limit', size: '0.5', price: '60000', ...over } as const;
  return { endpoint: 'POST /orders', params: { market_id: intent.market }, intent, step: 'entry' };
}
function amend(price: string, size?: string): LimitWrite {
  const params = { order_id: 'BTC-USD@1', market_id: 'BTC-USD', price, ...(size === undefined ? {} : { size }) };
  return { endpoint: 'PUT /orders', params, clientOrderId: 'rb1', step: 'requote' };
}
function leverage(value: number): LimitWrite {
  return { endpoint: 'PUT /account/leverage', params: { market_id: 'BTC-USD', leverage: value }, step: 'lev' };
}
function working(over: Partial<WorkingOrder> = {}): WorkingOrder {
  const size = over.size ?? '0.5';
  const terms = { market: 'BTC-USD', side: 'long', type: 'limit', price: '60000', size, worstRemaining: size } as const;
  return { clientOrderId: 'rb1', orderId: 'BTC-USD@1', ...terms, ...over };
}
function holds(size: string, over: Partial<PositionFact> = {}): PositionFact {
  return { least: size, most: size, certain: size, ...over };
}
const SHORT = { side: 'short', price: '60000' } as const;
const PRICELESS = { type: 'market', price: undefined } as const;
/** Closes the long position of 1 that the facts prove. */
const EXIT = place({ side: 'short' });
const HELD = { positions: { 'BTC-USD': holds('1') }, reference: REFERENCE };

/** The code and the rest of the message of the denial, or `ok`. */
function verdict(write: LimitWrite, rules: LimitRules, at = facts(), account?: [LimitRules, LimitFacts]): string {
  const found = checkLimits(write, rules, at, account && { rules: account[0], facts: account[1] });
  return found.ok ? 'ok' : found.message;
}
function code(write: LimitWrite, rules: LimitRules, at?: LimitFacts): string {
  return verdict(write, rules, at).split(':', 1)[0] as string;
}
function ofAccount(write: LimitWrite, rules: LimitRules, at: LimitFacts, run: LimitRules = {}): string {
  return verdict(write, run, facts({ working: at.working }), [rules, at]).split(':', 1)[0] as string;
}

describe('the loss of the day', () => {
  const rules: LimitRules = { maxDailyLoss: '100' };
  const at = (dayPnl: string | undefined, over: Partial<LimitFacts> = {}) => facts(over, { dayPnl });

  it('denies orders once it is reached', () => {
    const days = ['-99.9', '-100', '-101', '150', undefined].map((day) => ofAccount(place(), rules, at(day)));
    expect(days).toEqual(['ok', 'DAILY_LOSS_REACHED', 'DAILY_LOSS_REACHED', 'ok', 'ok']);
    expect(ofAccount(place(), {}, at('-1000'))).toBe('ok');
    const { considered } = checkLimits(place(), {}, facts(), { rules, facts: at('150') });
    expect(considered).toEqual({ max_daily_loss: '0/100' });
  });

  it('denies neither a leverage nor what certainly reduces', () => {
    expect([ofAccount(leverage(5), rules, at('-200')), ofAccount(EXIT, rules, at('-200', HELD))]).toEqual(['ok', 'ok']);
  });
});

describe('the notional of the day', () => {
  const rules: LimitRules = { maxDailyNotional: '60000' };
  const at = (dayNotional: string | undefined, over: Partial<LimitFacts> = {}) => facts(over, { dayNotional });

  it('counts the order with what was sent before', () => {
    const days = ['30000', '30000.01', undefined].map((day) => ofAccount(place(), rules, at(day)));
    expect(days).toEqual(['ok', 'NOTIONAL_EXCEEDS_MAX_PER_DAY', 'NOTIONAL_UNKNOWN']);
    expect(ofAccount(place(PRICELESS), rules, at('0'))).toBe('NOTIONAL_UNKNOWN');
    expect(ofAccount(place(), {}, at('900000'))).toBe('ok');
  });

  it('says where more may turn out to be used', () => {
    const { considered } = checkLimits(place(SHORT), {}, facts(), { rules, facts: at('0') });
    expect(considered).toEqual({ max_daily_notional: 'at least 30000/60000' });
  });

  it('does not count what certainly reduces, a fraction or a leverage', () => {
    expect(ofAccount(EXIT, rules, at('60000', HELD))).toBe('ok');
    expect(ofAccount(place({ type: 'stop_loss', size: '1', trigger: '59000' }), rules, at('60000'))).toBe('ok');
    expect(ofAccount(leverage(5), rules, at(undefined))).toBe('ok');
  });

  it('counts of an amend what it adds, but not a quote that follows the market', () => {
    const full = (over: Partial<LimitFacts> = {}) => at('90000', { working: [working()], ...over });
    expect(ofAccount(amend('59000'), rules, full())).toBe('ok');
    expect(ofAccount(amend('60001'), rules, full())).toBe('NOTIONAL_EXCEEDS_MAX_PER_DAY');
    expect(ofAccount(amend('60001'), rules, full({ reference: { price: '60001', at: NOW } }))).toBe('ok');
    expect(ofAccount(amend('60001'), rules, full({ reference: REFERENCE }))).toBe('NOTIONAL_EXCEEDS_MAX_PER_DAY');
    const counted = full({ working: [working({ counted: '100' })] });
    expect(ofAccount(amend('59000'), rules, counted)).toBe('NOTIONAL_EXCEEDS_MAX_PER_DAY');
  });

  it('of a short follows the market from above', () => {
    const short = working({ side: 'short', price: '61000', counted: '0' });
    const full = at('60000', { working: [short], reference: REFERENCE });
    expect(ofAccount(amend('60500'), rules, full)).toBe('ok');
    expect(ofAccount(amend('59999'), rules, full)).toBe('NOTIONAL_EXCEEDS_MAX_PER_DAY');
  });
});

describe('facts of the account that are not known', () => {
  // Each with a limit that needs it, and one that needs another.
  it.each([
    ['unknownPositions', 'maxPosition', 'maxOpenOrders'],
    ['unknownPositions', 'maxMarketNotional', 'maxDailyLoss'],
    ['unknownPositions', 'maxExposure', 'maxDailyNotional'],
    ['unknownOrders', 'maxOpenOrders', 'maxPosition'],
    ['unknownLoss', 'maxDailyLoss', 'maxDailyNotional'],
    ['unknownSent', 'maxDailyNotional', 'maxDailyLoss'],
  ] as const)('%s denies orders under %s alone', (fact, control, other) => {
    const unknown = facts({ [fact]: 'run r9 cannot be read' }, { dayNotional: '0' });
    const value = control === 'maxOpenOrders' || other === 'maxOpenOrders' ? 1000 : '1000000';
    const rules: LimitRules = { [control]: value };
    expect(verdict(place(), {}, facts(), [rules, unknown])).toMatch(
      /^POSITION_UNKNOWN: market=BTC-USD; run r9 cannot be read; ./,
    );
    expect(ofAccount(place(), rules, facts({}, { dayNotional: '0' }))).toBe('ok');
    expect(ofAccount(place(), { [other]: value }, unknown)).toBe('ok');
    expect(ofAccount(leverage(5), rules, unknown)).toBe('ok');
    expect(ofAccount(EXIT, rules, { ...unknown, ...HELD })).toBe('ok');
  });

  it('let an amend pass where only the number of orders is not known', () => {
    const unknown = facts({ unknownOrders: 'run r9 cannot be read', working: [working()] });
    expect(ofAccount(amend('60000', '1'), { maxOpenOrders: 5 }, unknown)).toBe('ok');
    expect(ofAccount(amend('60000', '1'), { maxPosition: '9' }, { ...unknown, unknownPositions: 'r9' })).toBe(
      'POSITION_UNKNOWN',
    );
  });
});

describe('a run and its account', () => {
  it('are both considered, and of a limit that both have both figures are kept', () => {
    const { considered } = checkLimits(place(), { maxOpenOrders: 3 }, facts({ openOrders: { run: 1, account: 4 } }), {
      rules: { maxOpenOrders: 10, maxPosition: '2' },
      facts: facts({ openOrders: { run: 4, account: 4 } }),
    });
    expect(considered).toEqual({ max_open_orders: '2/3', 'account max_open_orders': '5/10', max_position: '0.5/2' });
  });

  it('deny with the first that denies', () => {
    const rules: LimitRules = { maxOrdersPerMinute: 1, maxOpenOrders: 0, maxPosition: '9' };
    expect(checkLimits(place(), {}, facts(), { rules, facts: facts({}, { ordersLastMinute: 3 }) })).toEqual({
      ok: false,
      code: 'ORDER_RATE_EXCEEDED',
      message: expect.stringMatching(/4.*1/),
      considered: { orders_per_minute: '4/1' },
    });
    expect(verdict(place(), { maxOpenOrders: 0 }, facts(), [{ maxOrdersPerMinute: 0 }, facts()])).toMatch(/^OPEN_ORD/);
  });

  it('measure with the band and the unknown prices of the run', () => {
    const works = [working({ clientOrderId: 'rb2', size: '1', ...PRICELESS })];
    const at = facts({ working: works, reference: REFERENCE });
    const run: LimitRules = { priceBandWithin: '0.1', selfMatch: 'allow' };
    const atLeast = (maxMarketNotional: string) =>
      verdict(place(), run, { ...at, working: [] }, [{ maxMarketNotional }, at]);
    expect([atLeast('96000'), atLeast('95999')]).toEqual(['ok', expect.stringContaining('MAX_PER_MARKET')]);
    const rules = { maxMarketNotional: '1000000' };
    expect(ofAccount(place(SHORT), rules, facts())).toBe('ok');
    expect(ofAccount(place(SHORT), rules, facts(), { unknownPrice: 'deny' })).toBe('NOTIONAL_UNKNOWN');
  });
});

it('a leverage is measured by its own limits alone', () => {
  const rules: LimitRules = {
    orderTypes: ['limit'],
    sides: ['long'],
    maxOrderSize: '0',
    maxOrderNotional: '0',
    maxRunNotional: '0',
    maxMarketNotional: '0',
    maxExposure: '0',
    maxPosition: '0',
    maxReadAgeMs: 0,
    minEquity: '1',
    minHealth: '1',
    priceBandWithin: '0.01',
    stepFills: { max: 0, windowMs: 1 },
    maxOrdersPerMinute: 0,
    maxOpenOrders: 0,
  };
  const at = facts(
    { working: [working({ quarantined: true })], marketRules: { tick: '1', lot: '1' }, marketsDescribed: true },
    { stepFills: 9, ordersLastMinute: 9, dayPnl: '-9', dayNotional: '9' },
  );
  expect(verdict(leverage(5), rules, at, [{ ...rules, maxDailyLoss: '0', maxDailyNotional: '0' }, at])).toBe('ok');
  const account = { equity: '1', health: '1', at: NOW, leverage: { 'BTC-USD': '5' } };
  expect(code(leverage(6), {}, facts({ account }))).toBe('ok');
  expect(code(leverage(6), { mode: 'reducing' }, facts({ account }))).toBe('LEVERAGE_RAISED_WHILE_REDUCING');
});

describe('the market that is to be priced before the check', () => {
  const short = place(SHORT);
  it.each(['maxOrderNotional', 'maxRunNotional', 'maxMarketNotional', 'maxExposure', 'maxDailyNotional'] as const)(
    'is that of a short under %s, and of an order without a price',
    (control) => {
      const rules = { [control]: '1' };
      expect([short, place(PRICELESS)].map((each) => findUnpricedMarket(each, rules, facts()))).toEqual([
        'BTC-USD',
        'BTC-USD',
      ]);
      const others = [
        place(),
        place({ ...SHORT, timeInForce: 'post_only' }),
        place({ ...PRICELESS, trigger: '59000' }),
        place({ side: 'short', type: 'take_profit', size: '1' }),
        { ...short, reference: REFERENCE },
        { ...short, intent: undefined },
        leverage(3),
      ];
      expect(others.map((each) => findUnpricedMarket(each, rules, facts()))).toEqual(others.map(() => undefined));
      const resting = facts({ working: [working(SHORT)] });
      expect(findUnpricedMarket(amend('59000'), rules, resting)).toBeUndefined();
    },
  );

  it('is none where no limit measures the order, or where it certainly reduces', () => {
    expect(findUnpricedMarket(short, {}, facts())).toBeUndefined();
    const held = facts(HELD);
    const asked = place({ ...SHORT, allow: 'reduce' });
    for (const control of ['maxMarketNotional', 'maxExposure', 'maxDailyNotional'] as const)
      expect(findUnpricedMarket(EXIT, { [control]: '1' }, held)).toBeUndefined();
    expect(findUnpricedMarket(EXIT, { maxOrderNotional: '1' }, held)).toBe('BTC-USD');
    expect(findUnpricedMarket(asked, { maxOrderNotional: '1', maxExposure: '1' }, held)).toBeUndefined();
    expect(findUnpricedMarket(asked, { maxOrderNotional: '1' }, facts())).toBe('BTC-USD');
  });
});

describe('what is held and works', () => {
  const at = (over: Partial<LimitFacts>) => code(place(), { maxExposure: '100000' }, facts(over));

  it('counts in every market with its own prices', () => {
    expect(at({ positions: { 'BTC-USD': holds('0') } })).toBe('ok');
    expect(at({ positions: { 'BTC-USD': { least: '-3', most: '1', certain: '0' } }, reference: REFERENCE })).toBe(
      'EXPOSURE_EXCEEDS_MAX',
    );
    const ether = { 'ETH-USD': holds('1') };
    expect(at({ positions: ether, reference: REFERENCE, marketPrice: '1' })).toBe('NOTIONAL_UNKNOWN');
    expect(at({ positions: { 'ETH-USD': holds('1', { notional: '70000' }) } })).toBe('ok');
    expect(at({ positions: { 'ETH-USD': holds('-1', { notional: '-70001' }) } })).toBe('EXPOSURE_EXCEEDS_MAX');
    const other = { clientOrderId: 'rb2', market: 'ETH-USD', size: '1', price: '70000' };
    expect(at({ working: [working(other)] })).toBe('ok');
    expect(at({ working: [working({ ...other, price: '70001' })] })).toBe('EXPOSURE_EXCEEDS_MAX');
    expect(at({ working: [working({ ...other, ...PRICELESS })] })).toBe('NOTIONAL_UNKNOWN');
    expect(at({ working: [working({ ...other, ...PRICELESS, worstRemaining: '0' })] })).toBe('ok');
  });

  it('is no notional for a fraction, or without a price', () => {
    const terms = { market: 'BTC-USD', side: 'long', type: 'market', size: '1' } as const;
    expect([notionalOf({ ...terms, type: 'stop_loss', price: '5' }), notionalOf(terms)]).toEqual([
      undefined,
      undefined,
    ]);
    expect(notionalOf({ ...terms, price: '5' })).toEqual({ value: '5', atLeast: false });
  });

  it('is counted before an amend that only moves it', () => {
    const sent = facts({ working: [working()] }, { runNotional: '90000' });
    expect(code(amend('59000'), { maxRunNotional: '30000' }, sent)).toBe('ok');
    expect(code(amend('60001'), { maxRunNotional: '30000' }, sent)).toBe('NOTIONAL_EXCEEDS_MAX_PER_RUN');
    expect(code(place(), { maxRunNotional: '1000000' }, facts({}, { runNotional: undefined }))).toBe(
      'NOTIONAL_UNKNOWN',
    );
    expect(code(place(PRICELESS), { maxRunNotional: '1000000' })).toBe('NOTIONAL_UNKNOWN');
  });

  it('is at least so much where an order of the run or this one could not be measured', () => {
    const run = (write: LimitWrite, runNotionalAtLeast?: boolean) =>
      checkLimits(
        write,
        { maxRunNotional: '90000' },
        facts({}, runNotionalAtLeast === undefined ? {} : { runNotionalAtLeast }),
      ).considered['max_run_notional'];
    expect([run(place()), run(place(), true), run(place(SHORT))]).toEqual([
      '30000/90000',
      'at least 30000/90000',
      'at least 30000/90000',
    ]);
  });
});

describe('a denial', () => {
  it('has its summary, its figures, or what to do', () => {
    const killed = `KILL_SWITCH_ENGAGED: ${DENIALS.KILL_SWITCH_ENGAGED.summary}`;
    expect(verdict(place(), {}, facts({ killed: true }))).toBe(killed);
    expect(verdict(place(), { minEquity: '1' })).toMatch(/^ACCOUNT_STALE: `min_equity`/);
    const stale = facts({ lastReadAgeMs: 5 });
    expect(verdict(place(), { maxReadAgeMs: 4 }, stale)).toBe('MARKET_DATA_STALE: age_ms=5, max_ms=4');
    expect(verdict(place({ price: '70000' }), { priceBandWithin: '0.1' }, facts({ reference: REFERENCE }))).toBe(
      'PRICE_OUTSIDE_BAND: price=70000, reference=60000, low=54000, high=66000',
    );
    const many = facts({ openOrders: { run: 3, account: 950 } });
    expect(verdict(place(), {}, many)).toMatch(/^OPEN_ORDERS_NEAR_VENUE_LIMIT: open=951, max=950/);
    expect(verdict(place(), { maxOpenOrders: 3 }, many)).toMatch(/^OPEN_ORDERS_EXCEED_MAX: open=4, max=3/);
  });

  it('of a quarantine names the order where it is known, and is of its market alone', () => {
    const doubtful = (over: Partial<WorkingOrder>) => facts({ working: [working({ quarantined: true, ...over })] });
    expect(verdict(place(), {}, doubtful({}))).toContain('order=BTC-USD@1');
    expect(verdict(place(), {}, doubtful({ orderId: undefined }))).toContain('order=rb1');
    expect(code(place(), {}, doubtful({ market: 'ETH-USD' }))).toBe('ok');
  });

  it('of an unmeasured short says how to measure it', () => {
    const rules: LimitRules = { maxOrderNotional: '1', unknownPrice: 'deny' };
    expect(verdict(place(SHORT), rules)).toContain('post_only');
    for (const write of [place(PRICELESS), place({ ...PRICELESS, side: 'short' })])
      expect(verdict(write, rules)).toBe('NOTIONAL_UNKNOWN: market=BTC-USD');
    const here = facts({ positions: { 'BTC-USD': holds('1') } });
    expect(verdict(place(), { maxMarketNotional: '1' }, here)).toBe('NOTIONAL_UNKNOWN: market=BTC-USD');
    const elsewhere = facts({ positions: { 'ETH-USD': holds('1') } });
    expect(verdict(place(SHORT), { maxExposure: '1' }, elsewhere)).toBe('NOTIONAL_UNKNOWN: market=ETH-USD');
  });

  it('keeps a figure of any length in digits', () => {
    const size = `1${'0'.repeat(24)}`;
    expect(checkLimits(place({ size }), { maxOrderSize: '1' }, facts()).considered).toEqual({
      max_order_size: `${size}/1`,
    });
  });

  it('is not met by an order without a price where only prices are off', () => {
    expect(code(place(PRICELESS), {}, facts({ marketRules: { tick: '7', lot: '0.1' } }))).toBe('ok');
  });

  it('of an order against our own is for prices that meet', () => {
    const rests = (over: Partial<WorkingOrder> = {}) =>
      facts({ working: [working({ clientOrderId: 'rb2', ...over })] });
    const prices = ['60001', '60000', '59999'].map((price) => code(place({ side: 'short', price }), {}, rests()));
    expect(prices).toEqual(['ok', 'SELF_MATCH', 'SELF_MATCH']);
    expect(code(place(), {}, rests({ side: 'short', ...PRICELESS }))).toBe('SELF_MATCH');
  });
});

describe('the limits of a profile', () => {
  it('hold for the account where they are sums over its runs', () => {
    const profile: LimitRules = { maxExposure: '5', maxDailyLoss: '6', maxOrderSize: '1', priceBandWithin: '0.2' };
    expect(splitLimits(profile, undefined)).toEqual({
      run: { maxOrderSize: '1', priceBandWithin: '0.2' },
      account: { maxExposure: '5', maxDailyLoss: '6' },
    });
    expect(splitLimits(profile, { maxOrderSize: '0.5', maxExposure: '9' }).run).toEqual({
      maxOrderSize: '0.5',
      maxExposure: '9',
      priceBandWithin: '0.2',
    });
    expect(splitLimits({ maxOrderSize: '1' }, undefined)).toEqual({ run: { maxOrderSize: '1' }, account: undefined });
    expect(profile).toHaveProperty('maxExposure');
  });

  it('take the narrower band of a market', () => {
    const rules: LimitRules = { priceBandWithin: '0.2', marketBands: { 'BTC-USD': '0.1', 'ETH-USD': '0.3' } };
    expect(['BTC-USD', 'ETH-USD', 'toString'].map((market) => getBandWidth(rules, market))).toEqual([
      '0.1',
      '0.2',
      '0.2',
    ]);
    expect([getBandWidth({}, 'BTC-USD'), getBandWidth({ marketBands: { 'BTC-USD': '1' } }, 'BTC-USD')]).toEqual([
      undefined,
      '1',
    ]);
  });
});

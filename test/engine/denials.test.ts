/**
 * Every limit through the whole road, from the runbook to the simulated venue: what it denies does not arrive, and the
 * neighbour that it lets pass does.
 */
import { describe, expect, it } from 'vitest';
import type { SimulatorConfig } from '../../src/gateway/simulator/simulator.ts';
import { DENIALS, type DenialCode, LIMIT_CONTROLS, type LimitRules } from '../../src/venue/limits/check.ts';
import { inputsFrom, loadedFrom, perform, type Scene } from './stage.ts';

const STILL: SimulatorConfig = {
  markets: {
    'BTC-USD': {
      tick: '1',
      lot: '0.0001',
      min_size: '0.0002',
      start: '64000',
      depth: '10',
      path: { kind: 'points', points: [{ afterMs: 0, price: '64000' }] },
    },
    'ETH-USD': {
      tick: '1',
      lot: '0.0001',
      start: '3000',
      depth: '10',
      path: { kind: 'points', points: [{ afterMs: 0, price: '3000' }] },
    },
  },
};

/** A step that places; `terms` replaces those of a long limit order that rests. */
function place(terms: Readonly<Record<string, string | number | undefined>> = {}, more = ''): string {
  const all = { type: 'limit', market: 'BTC-USD', side: 'long', size: '0.01', price: 60000, ...terms };
  const given = Object.entries(all).filter(([, value]) => value !== undefined);
  return `  - place: {${given.map(([name, value]) => `${name}: ${value}`).join(', ')}}\n${more}`;
}

interface Road extends Partial<Scene> {
  /** The last of them is allowed or denied. */
  readonly steps: string;
  /** Top-level keys of the runbook. */
  readonly head?: string;
  readonly limits?: LimitRules;
}

/** A limit: what it denies with its code, and its nearest neighbour that passes. */
interface Row {
  readonly code: DenialCode;
  /** The controls that the row is about. */
  readonly controls: readonly (keyof LimitRules)[];
  readonly passes: Road;
  readonly denied: Road;
}

function row<T>(
  code: DenialCode,
  controls: readonly (keyof LimitRules)[],
  [passes, denied]: readonly [T, T],
  make: (varied: T) => Road,
): Row {
  return { code, controls, passes: make(passes), denied: make(denied) };
}

/** What a road leaves is not its matter. */
const LEAVES = 'leaves: {position: open, because: only the limit is tested}\n';
const TIMES = (count: number, step: string) => step.repeat(count);
const HELD = place({ type: 'market', price: 65000 }, '    await: filled\n');
const REFUSED = place({}, '    catch: [{on: [rejected], do: [], then: continue}]\n');

const ROWS: readonly Row[] = [
  row('KILL_SWITCH_ENGAGED', [], [undefined, 'KILL_SWITCH_ENGAGED: by ann'], (why) => ({
    steps: place(),
    forbidden: () => why,
  })),
  row('BEYOND_PLAN', [], [2, 1], (orders) => ({
    steps: TIMES(2, place()),
    bounds: { orders, exposure: { '': null } },
  })),
  row('TRADING_HALTED', ['mode'], ['active', 'halted'] as const, (mode) => ({ steps: place(), limits: { mode } })),
  row('TRADING_HALTED', ['marketModes'], ['ETH-USD', 'BTC-USD'], (market) => ({
    steps: place(),
    limits: { marketModes: { [market]: 'halted' } },
  })),
  row('REDUCING_ONLY', ['mode'], ['0.01', '0.0101'], (size) => ({
    steps: `  - list_fills: {market: BTC-USD, since: now - days(7), all_pages: true}\n${place({ side: 'short', price: 63000, size })}`,
    limits: { mode: 'reducing' },
    config: { ...STILL, account: { positions: [{ market: 'BTC-USD', size: '0.01', price: '60000', agoMs: 60_000 }] } },
  })),
  row('LEVERAGE_RAISED_WHILE_REDUCING', ['mode'], [5, 6], (leverage) => ({
    steps: `  - read_account: {}\n  - set_leverage: {market: BTC-USD, leverage: ${leverage}}\n`,
    limits: { mode: 'reducing' },
  })),
  row('MARKET_NOT_ALLOWED', ['markets'], ['BTC-USD', 'ETH-USD'], (market) => ({
    steps: place({ market, price: 2000 }),
    limits: { markets: ['BTC-USD'] },
  })),
  row('MARKET_RULES_UNKNOWN', [], ['BTC-USD', 'DOGE-USD'], (market) => ({ steps: place({ market }) })),
  row('ORDER_TYPE_NOT_ALLOWED', ['orderTypes'], ['limit', 'market'], (type) => ({
    steps: place({ type, price: 65000 }),
    limits: { orderTypes: ['limit'] },
  })),
  row('SIDE_NOT_ALLOWED', ['sides'], ['long', 'short'], (side) => ({
    steps: place({ side, price: 64000 }),
    limits: { sides: ['long'] },
  })),
  row('PRICE_OFF_TICK', [], ['60000', '60000.5'], (price) => ({ steps: place({ price }) })),
  row('TRIGGER_OFF_TICK', [], ['70000', '70000.5'], (trigger) => ({
    steps: place({ type: 'stop_limit', trigger, price: 71000 }),
  })),
  row('SIZE_OFF_LOT', [], ['0.0101', '0.01015'], (size) => ({ steps: place({ size }) })),
  row('TOO_MANY_DIGITS', [], ['0.04 / 4', '0.04 / 3'], (size) => ({ steps: place({ size }), undescribed: true })),
  row('SIZE_BELOW_MIN', [], ['0.0002', '0.0001'], (size) => ({ steps: place({ size }) })),
  row('SIZE_EXCEEDS_MAX_PER_ORDER', ['maxOrderSize'], ['0.01', '0.0101'], (size) => ({
    steps: place({ size }),
    limits: { maxOrderSize: '0.01' },
  })),
  row('LEVERAGE_EXCEEDS_MAX', ['maxLeverage'], [7, 8], (leverage) => ({
    steps: `  - set_leverage: {market: BTC-USD, leverage: ${leverage}}\n`,
    limits: { maxLeverage: '7' },
  })),
  row('WRITES_EXCEED_MAX', ['maxWrites'], [2, 3], (count) => ({
    steps: TIMES(count, place()),
    limits: { maxWrites: 2 },
  })),
  row('ORDER_RATE_EXCEEDED', ['maxOrdersPerMinute'], ['61s', '55s'], (pause) => ({
    steps: `${TIMES(2, place())}  - wait: ${pause}\n${place()}`,
    limits: { maxOrdersPerMinute: 2 },
  })),
  row('OPEN_ORDERS_EXCEED_MAX', ['maxOpenOrders'], [2, 3], (count) => ({
    steps: TIMES(count, place()),
    limits: { maxOpenOrders: 2 },
  })),
  row('OPEN_ORDERS_NEAR_VENUE_LIMIT', [], [949, 950], (count) => ({
    steps: `  - list_orders: {status: open, limit: 1000}\n  - list_orders: {status: open}\n${place()}`,
    config: {
      ...STILL,
      account: {
        resting: Array(count).fill({ market: 'BTC-USD', side: 'long', size: '0.0002', price: '50000', agoMs: 60_000 }),
      },
    },
  })),
  row('NOTIONAL_UNKNOWN', ['maxOrderNotional', 'unknownPrice'], ['post_only', 'good_till_cancel'], (tif) => ({
    steps: place({ side: 'short', price: 65000, tif }),
    limits: { maxOrderNotional: '650', unknownPrice: 'deny' },
  })),
  row('NOTIONAL_EXCEEDS_MAX_PER_ORDER', ['maxOrderNotional'], [60000, 60001], (price) => ({
    steps: place({ price }),
    limits: { maxOrderNotional: '600' },
  })),
  row('NOTIONAL_EXCEEDS_MAX_PER_RUN', ['maxRunNotional'], [60000, 60001], (price) => ({
    steps: `${place()}${place({ price })}`,
    limits: { maxRunNotional: '1200' },
  })),
  row('NOTIONAL_EXCEEDS_MAX_PER_MARKET', ['maxMarketNotional'], ['ETH-USD', 'BTC-USD'], (market) => ({
    steps: `${place()}${place({ market, price: 2000 })}`,
    limits: { maxMarketNotional: '600' },
  })),
  row('EXPOSURE_EXCEEDS_MAX', ['maxExposure'], [2000, 2001], (price) => ({
    steps: `${place()}${place({ market: 'ETH-USD', price })}`,
    limits: { maxExposure: '620' },
  })),
  row('POSITION_EXCEEDS_MAX', ['maxPosition'], ['0.01', '0.0101'], (size) => ({
    steps: `${HELD}${place({ size })}`,
    limits: { maxPosition: '0.02' },
  })),
  row('PRICE_OUTSIDE_BAND', ['priceBandWithin'], [57000, 56999], (price) => ({
    head: 'limits: {price_band: {around: 60000, within: 10%}}\n',
    steps: place({ price }),
    limits: { priceBandWithin: '0.05' },
  })),
  row('PRICE_OUTSIDE_BAND', ['marketBands'], [57000, 56999], (price) => ({
    head: 'inputs: {mid: {type: price, default: 60000}}\nlimits: {price_band: {BTC-USD: {around: inputs.mid, within: 5%}, ETH-USD: {around: 1, within: 1%}}}\n',
    steps: place({ price }),
  })),
  row(
    'REFERENCE_MISSING',
    ['priceBandWithin'],
    ['limits: {price_band: {around: 60000, within: 10%}}\n', ''],
    (head) => ({
      head,
      steps: place(),
      limits: { priceBandWithin: '0.05' },
    }),
  ),
  row('PRICE_MISSING', ['priceBandWithin'], [60000, undefined], (price) => ({
    head: 'limits: {price_band: {around: 60000, within: 10%}}\n',
    steps: place({ type: 'market', price }),
  })),
  row('REFERENCE_STALE', ['maxReferenceAgeMs'], [4_000, 6_000], (feedAgeMs) => ({
    head: 'feeds: {mid: {type: price, max_age: 20s}}\nlimits: {price_band: {around: feeds.mid, within: 10%}}\n',
    steps: place(),
    limits: { priceBandWithin: '0.1', maxReferenceAgeMs: 5_000 },
    config: { markets: { 'BTC-USD': STILL.markets?.['BTC-USD'] ?? {} } },
    feedAgeMs,
  })),
  row('SELF_MATCH', ['selfMatch'], [60001, 60000], (price) => ({
    steps: `${place()}${place({ side: 'short', price })}`,
  })),
  row('SELF_MATCH', ['selfMatch'], ['allow', 'deny'] as const, (selfMatch) => ({
    steps: `${place()}${place({ side: 'short', price: 60000 })}`,
    limits: { selfMatch },
  })),
  // Of two orders that never rest, neither can meet the other in the book.
  row('SELF_MATCH', [], ['immediate_or_cancel', 'good_till_cancel'], (tif) => ({
    steps: `${place({ type: 'market', price: 65000 }, '    await: accepted\n')}${place({ side: 'short', price: 63000, tif })}`,
  })),
  row('EQUITY_BELOW_MIN', ['minEquity'], ['18234.1', '18234.11'], (minEquity) => ({
    steps: `  - read_account: {}\n${place()}`,
    limits: { minEquity },
  })),
  row('HEALTH_BELOW_MIN', ['minHealth'], ['1', '1.01'], (minHealth) => ({
    steps: `  - read_account: {}\n${place()}`,
    limits: { minHealth },
  })),
  row('ACCOUNT_STALE', ['minEquity'], ['  - read_account: {}\n', ''], (first) => ({
    steps: `${first}${place()}`,
    limits: { minEquity: '1' },
  })),
  row('ACCOUNT_STALE', ['maxAccountAgeMs'], ['9s', '11s'], (pause) => ({
    steps: `  - read_account: {}\n  - wait: ${pause}\n${place()}`,
    limits: { minHealth: '0.1', maxAccountAgeMs: 10_000 },
  })),
  row('MARKET_DATA_STALE', ['maxReadAgeMs'], ['9s', '11s'], (pause) => ({
    steps: `  - list_orders: {market: BTC-USD, status: open}\n  - wait: ${pause}\n${place()}`,
    limits: { maxReadAgeMs: 10_000 },
  })),
  row('NOTIONAL_EXCEEDS_MAX_PER_DAY', ['maxDailyNotional'], [1, 2], (count) => ({
    steps: TIMES(count, place()),
    limits: { maxDailyNotional: '600' },
  })),
  // Its fees alone are the loss.
  row('DAILY_LOSS_REACHED', ['maxDailyLoss'], ['1000', '0.1'], (most) => ({
    steps: HELD + place(),
    limits: { maxDailyLoss: most },
  })),
  row('STEP_FILLS_EXCEEDED', ['stepFills'], [2, 3], (max) => ({
    steps: `  - repeat:\n      max: ${max}\n      do:\n${HELD.replace(/^/gm, '      ').trimEnd()}\n`,
    limits: { stepFills: { max: 1, windowMs: 60_000 } },
  })),
  row('REFUSALS_EXCEEDED', ['refusals'], [1, 2], (count) => ({
    steps: `${TIMES(count, REFUSED)}${place()}`,
    limits: { refusals: { max: 1, windowMs: 60_000 } },
    config: {
      ...STILL,
      faults: [{ on: 'POST /orders', when: { call: `1-${count}` }, do: 'error', error: 'INSUFFICIENT_MARGIN' }],
    },
  })),
];

/** What no runbook meets in one process, and test/gateway/limit-facts.test.ts tests on the gate. */
const ELSEWHERE: readonly string[] = [
  // The heartbeat knows it sooner; a process that resumes the run does not.
  'DEADMAN_LAPSED',
  // The engine amends only orders of its own.
  'AMEND_TARGET_UNKNOWN',
  // The language has no other leverage.
  'LEVERAGE_NOT_WHOLE',
  // A journal that cannot be read: test/gateway/account-ledger.test.ts.
  'POSITION_UNKNOWN',
  // An order in doubt ends its run; another run of the account meets it.
  'MARKET_QUARANTINED',
];

/** Codes of the denials of a run, how it ended, and how many orders, amends and settings of leverage the venue has got. */
async function travel({ steps, head = '', ...scene }: Road) {
  const loaded = loadedFrom({ file: 'case.yaml', text: `runbook: case\ndsl: 1\n${LEAVES}${head}steps:\n${steps}` });
  const { entries, report } = await perform({ loaded, inputs: inputsFrom(loaded, {}), config: STILL, ...scene });
  const codes = entries.flatMap((entry) =>
    entry.type === 'call.settled' && entry.data.kind === 'denied' ? [entry.data.code ?? ''] : [],
  );
  const writes = report.requests.filter(
    ({ method, path }) => ['POST', 'PUT'].includes(method) && !path.includes('cancel'),
  );
  return { codes, error: report.error?.message, writes: writes.length };
}

describe('a limit', () => {
  it.each(ROWS.map((each, index) => [`${each.code} ${each.controls.join(' ')} ${index}`, each] as const))(
    'denies before anything is sent, and lets its neighbour pass: %s',
    async (_name, { code, passes, denied }) => {
      const passed = await travel(passes);
      expect([passed.codes, passed.error]).toEqual([[], undefined]);
      const stopped = await travel(denied);
      expect([stopped.codes, stopped.error?.split(':')[0]]).toEqual([[code], code]);
      expect(passed.writes).toBeGreaterThan(0);
      // Where more is tried than the limit allows, the same arrives as without the last.
      expect(stopped.writes).toBeLessThanOrEqual(passed.writes);
    },
  );

  it('has a row for every code and every control', () => {
    const missing = Object.keys(DENIALS).filter((code) => !ROWS.some((each) => each.code === code));
    expect(missing).toEqual(ELSEWHERE);
    expect(LIMIT_CONTROLS.filter((control) => !ROWS.some(({ controls }) => controls.includes(control)))).toEqual([]);
  });
});

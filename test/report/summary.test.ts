/** Tests the report of a run for people: what comes first, what is folded, and how numbers are rounded. */
import { describe, expect, it } from 'vitest';
import type { RunReport } from '../../src/report/folds/run.ts';
import { countPlaces, formatAverage, formatMoney, formatPrice } from '../../src/report/format.ts';
import { printSummary, SummaryRows } from '../../src/report/summary.ts';

const AT = '2026-01-05T08:00:00.000Z';
const LATER = '2026-01-05T08:05:00.000Z';

const step = (path: string, outcome: RunReport['steps'][number]['outcome'] = 'succeeded') => ({
  path,
  verb: 'wait',
  outcome,
  startedAt: AT,
  endedAt: AT,
  attempts: 1,
});

const REPORT: RunReport = {
  run: '20260105T080000000-entry-0000000000',
  runbook: 'entry',
  mode: 'simulated',
  inputs: { market: 'BTC-USD', risk: '0.02', levels: ['1', '2'] },
  outcome: 'failed',
  reason: 'too late',
  error: { kind: 'timeout', message: 'too late', step: 'steps/entry' },
  startedAt: AT,
  endedAt: LATER,
  steps: [step('steps/entry', 'failed')],
  requests: [{ method: 'POST', path: '/orders', params: {}, tokens: 1, status: 200, success: true, at: AT }],
  orders: [
    {
      clientOrderId: 'rb1',
      orderId: 'BTC-USD@1',
      step: 'steps/entry',
      at: LATER,
      market: 'BTC-USD',
      side: 'long',
      type: 'stop_limit',
      price: '64000.5',
      trigger: '63990',
      size: '0.2',
      filled: '0.2',
      averagePrice: '64000.333333333333333333',
      state: 'closed',
    },
  ],
  outputs: { done: '0.2' },
  leaves: { position: 'none', ok: false },
  residual: [{ market: 'BTC-USD', side: 'long', size: '0.2', opened: '0.2', covered: '0' }],
  money: {
    'BTC-USD': {
      position: '0.2',
      averageEntry: '64000.333333333333333333',
      realized: '0',
      unrealized: '-12.3456',
      fees: '6.40003333',
      net: '-18.74563333',
      slippage: '0.0041',
      maxExposure: '12800.0666',
      maxDrawdown: '19.005',
      timeInMarketMs: 299_000,
    },
  },
  notices: [{ at: LATER, to: 'ops', text: 'help', delivered: false, reason: 'a dry-run sends no messages' }],
  alarms: [{ at: AT, clientOrderId: 'rb1', alarm: 'LateFill', meaning: 'a fill arrived after the order was settled' }],
  tokens: { used: 1, peakPerMinute: 1 },
  deadman: [],
};

const print = (report: RunReport) => printSummary(report, SummaryRows.of(report));
const chooseSteps = (report: Pick<RunReport, 'steps' | 'error'>) =>
  SummaryRows.of({ ...REPORT, ...report })
    .steps.choose()
    .map(([index]) => index);

describe('the report of a run', () => {
  it('begins with the outcome and the money, and ends with requests and tokens', () => {
    const text = print(REPORT);
    const marks = [
      'entry  failed: too late',
      'position and PnL',
      'left (leaves none: more than it says)',
      'alarms and notices',
      'outputs',
      'orders',
      '\nsteps\n',
      'requests',
      '1 token, at most 1 in a minute',
    ];
    const places = marks.map((mark) => text.indexOf(mark));
    expect(places).not.toContain(-1);
    expect(places).toEqual([...places].sort((a, b) => a - b));
  });

  it('says why a step failed whose failure a handler took', () => {
    const error = { kind: 'denied', message: 'PRICE_OFF_TICK: price=64066.002, tick=1, nearest=64066' };
    const late = { kind: 'timeout', message: 'too late' };
    const steps = [
      { ...step('steps/1:place', 'failed'), error },
      { ...step('steps/2:repeat', 'failed'), error: late },
      { ...step('steps/2:repeat[0]/do/entry', 'failed'), error: late },
    ];
    const text = print({ ...REPORT, steps, error: { ...late, step: 'steps/2:repeat[0]/do/entry' } });
    expect(text.split('\n').find((line) => line.includes('steps/1:place'))).toContain(
      'PRICE_OFF_TICK: price=64066.002',
    );
    // What ended the run is its first line, and is not said of each block around it.
    expect(text.split('too late')).toHaveLength(2);
  });

  it('has an average price in eight digits where no price of its market is known', () => {
    expect(formatAverage('3201.904456824512534819')).toBe('3201.9045');
    expect(formatAverage('0.000012345678912345')).toBe('0.000012345679');
    expect(formatAverage('64000')).toBe('64000');
  });

  it('rounds an output that is a quotient to 18 places, and leaves any other as it is', () => {
    const long = `5.42${'9'.repeat(52)}82`;
    const shown = (done: string) => print({ ...REPORT, outputs: { done } }).match(/outputs\n\s+done\s+(\S+)/)?.[1];
    expect(shown(long)).toBe('5.43');
    expect(shown('3189.474200426439232409')).toBe('3189.474200426439232409');
    expect(shown('1.50')).toBe('1.50');
  });

  it('says with which inputs it ran, below the outcome', () => {
    expect(print(REPORT).split('\n')[2]).toBe('inputs market=BTC-USD risk=0.02 levels=["1","2"]');
    expect(print({ ...REPORT, inputs: {} })).not.toContain('inputs');
  });

  it('has each order with step, time, type, side, size, price, trigger, fill and state', () => {
    const line = print(REPORT)
      .split('\n')
      .find((each) => each.includes('BTC-USD@1'));
    expect(line?.trim().split(/ {2,}/)).toEqual([
      '+5:00.000',
      'entry',
      'BTC-USD@1',
      'stop_limit long',
      '0.2 BTC-USD',
      'at 64000.5',
      'trigger 63990',
      'filled 0.2 at 64000.3',
      'closed',
    ]);
  });

  it('says of what is left how much is filled, where orders may still fill', () => {
    const findRow = (opened: string) => {
      const text = print({
        ...REPORT,
        residual: [{ market: 'BTC-USD', side: 'long', size: '0.2', opened, covered: '0' }],
      });
      const row = text.split('\n').find((_line, index, lines) => lines[index - 1]?.startsWith('left'));
      return row?.trim().split(/ {2,}/);
    };
    expect(findRow('0')).toEqual(['BTC-USD', 'long', '0.2', 'covered 0', '0 filled, 0.2 may still fill']);
    expect(findRow('0.05')?.at(-1)).toBe('0.05 filled, 0.15 may still fill');
    expect(findRow('0.2')).toEqual(['BTC-USD', 'long', '0.2', 'covered 0']);
  });

  it('says of a run that had halted that it is settled', () => {
    const heading = (report: RunReport) => print(report).split('\n')[0];
    expect(heading({ ...REPORT, hadHalted: true })).toBe('entry  failed, settled after it had halted: too late');
    expect(heading(REPORT)).toBe('entry  failed: too late');
  });

  it('rounds amounts to cents, and shows the text of alarms and messages', () => {
    const text = print(REPORT);
    for (const part of [
      'position 0.2 at 64000.3',
      'net -18.75',
      'unrealized -12.35',
      'fees 6.40',
      'in the market 4 min 59 s',
      'slippage 0.0041',
      'worst drawdown 19.01',
      'largest exposure 12800.07',
      'LateFill rb1: a fill arrived after the order was settled',
      'help',
    ])
      expect(text).toContain(part);
  });

  it('leaves out the markets and sections of which there is nothing', () => {
    const text = print({ ...REPORT, money: {}, orders: [], notices: [], alarms: [], residual: [], outputs: {} });
    for (const title of ['position', 'orders\n', 'alarms', 'left', 'outputs']) expect(text).not.toContain(title);
  });
});

describe('the steps of a long run', () => {
  const many = (failing: readonly number[]) =>
    Array.from({ length: 500 }, (_each, index) =>
      step(`steps/1:for_each[${index}]/do/a`, failing.includes(index) ? 'failed' : 'succeeded'),
    );

  it('are those around the failure and the end; the middle is folded', () => {
    const steps = many([20, 250]);
    const chosen = chooseSteps({ steps, error: { kind: 'timeout', message: '', step: 'steps/1:for_each[250]/do/a' } });
    for (const index of [242, 249, 250, 251, 254, 20, 0, 492, 499]) expect(chosen).toContain(index);
    expect(chosen.length).toBeLessThanOrEqual(40);
    expect(chosen).toEqual([...chosen].sort((a, b) => a - b));
  });

  it('keep the failure and the end where everything failed', () => {
    const steps = many(Array.from({ length: 500 }, (_each, index) => index));
    const chosen = chooseSteps({ steps, error: { kind: 'timeout', message: '', step: 'steps/1:for_each[300]/do/a' } });
    expect([chosen.includes(300), chosen.at(-1)]).toEqual([true, 499]);
  });

  it('say how many are folded', () => {
    const text = print({ ...REPORT, steps: many([]) });
    const listed = text.split('\n').filter((line) => line.includes('for_each[')).length;
    expect(text).toContain(`… ${500 - listed} steps`);
    expect(text).toContain('for_each[499]');
  });

  it('are all shown of a short run', () => {
    expect(chooseSteps({ steps: many([]).slice(0, 40) })).toHaveLength(40);
  });
});

describe('the requests of a long run', () => {
  it('are counted, those that the venue refused beside those of which nothing is known', () => {
    const [request] = REPORT.requests as [RunReport['requests'][number]];
    const answers = [
      ...Array.from({ length: 40 }, () => ({ status: 200, success: true })),
      ...Array.from({ length: 3 }, () => ({ status: 400, success: false })),
      { status: null, success: false },
      { status: 502, success: false },
    ];
    const text = print({ ...REPORT, requests: answers.map((answer) => ({ ...request, ...answer })) });
    expect(text).toMatch(/45x {2}POST \/orders {2}3 refused, 2 not confirmed +45 tokens/);
  });
});

describe('numbers for reading', () => {
  it.each([
    ['0', '0.00'],
    ['1234.565', '1234.57'],
    ['-0.014', '-0.01'],
    ['0.00314', '0.0031'],
    ['-0.0000009', '-0.0000009'],
  ])('an amount of %s is %s', (amount, read) => expect(formatMoney(amount)).toBe(read));

  it.each([
    ['64000.51', ['64000', '63990'], '64001'],
    ['0.123456', ['0.12', '0.125'], '0.123'],
    ['64000.51', [], '64000.51'],
  ])('a price of %s beside %j is %s', (price, others, read) =>
    expect(formatPrice(price, countPlaces(others))).toBe(read),
  );
});

describe('the orders of a long run', () => {
  it('cost what is shown of them: 200,000 are printed at once', () => {
    const [order] = REPORT.orders as [RunReport['orders'][number]];
    const orders = Array.from({ length: 200_000 }, () => ({ ...order, price: '64000.5', averagePrice: '64000.123' }));
    const text = print({ ...REPORT, orders });
    expect(text.split('\n').filter((line) => line.includes(`filled ${order.filled} at 64000.1`))).toHaveLength(40);
  });

  it('show what traded, what works and the first, and fold the others', () => {
    const orders = Array.from({ length: 200 }, (_, index) => ({
      ...(REPORT.orders[0] as RunReport['orders'][number]),
      orderId: `BTC-USD@${index}.`,
      filled: index === 60 ? '0.2' : '0',
      state: index === 90 ? 'open' : 'canceled',
    }));
    const text = print({ ...REPORT, orders });
    const shown = [...text.matchAll(/BTC-USD@(\d+)\./g)].map(([, index]) => Number(index));
    expect(shown).toHaveLength(40);
    expect(shown).toEqual(expect.arrayContaining([0, 60, 90, 199]));
    const folded = [...text.matchAll(/… (\d+) orders/g)].map(([, count]) => Number(count));
    expect(folded.reduce((sum, count) => sum + count, 0)).toBe(160);
  });
});

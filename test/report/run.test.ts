import { describe, expect, it } from 'vitest';
import { listUnsettledOrders } from '../../src/app/run/unsettled.ts';
import type { Entry } from '../../src/journal/entry.ts';
import { OrderFold } from '../../src/report/folds/orders.ts';
import { RunFold } from '../../src/report/folds/run.ts';
import { startedData } from '../journal/sample.ts';
import { Script, sampleRun } from './sample-run.ts';
import { foldAll, makeRunReport } from './whole-run.ts';

const T = (offset: string) => `2026-01-05T08:0${offset}Z`;
const POSTED = {
  market_id: 'BTC-USD',
  side: 'long',
  size: '0.3',
  type: 'limit',
  price: '64200',
  client_order_id: 'k2entry2',
};

it('what is said of a run while it goes on is what its report says', async () => {
  const fold = new RunFold();
  const seen = new Set<string>();
  for (const entry of await sampleRun()) {
    fold.apply(entry);
    const report = fold.report();
    const { run, orders } = fold.progress();
    expect({ run, orders }).toEqual({ run: report.run, orders: listUnsettledOrders(report) });
    const { method, path } = report.requests.filter(({ status }) => status === null).at(-1) ?? {};
    expect(fold.findUnanswered() ?? {}).toMatchObject(method === undefined ? {} : { method, path });
    seen.add(`${orders.length} ${method ?? 'none'}`);
  }
  expect([...seen].some((each) => each.startsWith('1 ')) && seen.has('0 none')).toBe(true);
});

describe('runReport', () => {
  it('is the whole document of interface.md', async () => {
    expect(makeRunReport(await sampleRun())).toEqual({
      run: 'r1',
      runbook: 'sample',
      inputs: { side: 'long', size: '0.3' },
      mode: 'simulated',
      outcome: 'failed',
      error: { kind: 'transport', message: 'timeout: response', step: 'steps/2:read_account' },
      startedAt: T('0:00.000'),
      endedAt: T('1:15.160'),
      steps: [
        {
          path: 'steps/0:set_leverage',
          verb: 'set_leverage',
          outcome: 'skipped',
          startedAt: T('0:00.000'),
          endedAt: T('0:00.000'),
          attempts: 0,
        },
        {
          path: 'steps/entry',
          id: 'entry',
          verb: 'place',
          outcome: 'succeeded',
          startedAt: T('0:00.080'),
          endedAt: T('0:02.160'),
          attempts: 2,
        },
        {
          path: 'steps/1:repeat',
          verb: 'repeat',
          outcome: 'succeeded',
          startedAt: T('1:05.000'),
          endedAt: T('1:05.160'),
          attempts: 1,
        },
        {
          path: 'steps/1:repeat[0]/seen',
          id: 'seen',
          verb: 'list_fills',
          outcome: 'succeeded',
          startedAt: T('1:05.000'),
          endedAt: T('1:05.080'),
          attempts: 1,
        },
        {
          path: 'steps/2:read_account',
          verb: 'read_account',
          outcome: 'failed',
          startedAt: T('1:05.160'),
          endedAt: T('1:15.160'),
          attempts: 1,
          error: { kind: 'transport', message: 'timeout: response' },
        },
      ],
      requests: [
        {
          method: 'POST',
          path: '/cancel_all_after',
          params: { market_id: 'BTC-USD', timeout: '60000' },
          tokens: 10,
          status: 200,
          success: true,
          at: T('0:00.000'),
        },
        { method: 'POST', path: '/orders', params: POSTED, tokens: 1, status: 200, success: true, at: T('0:02.000') },
        {
          method: 'GET',
          path: '/orders',
          params: { market_id: 'BTC-USD', order_id: 'BTC-USD@11' },
          tokens: 10,
          status: 200,
          success: true,
          at: T('0:02.080'),
        },
        {
          method: 'GET',
          path: '/fills/order',
          params: { order_id: 'BTC-USD@11' },
          tokens: 10,
          status: 200,
          success: true,
          at: T('1:05.000'),
        },
        {
          method: 'GET',
          path: '/orders',
          params: { market_id: 'BTC-USD', order_id: 'BTC-USD@11' },
          tokens: 10,
          status: 200,
          success: true,
          at: T('1:05.080'),
        },
        { method: 'GET', path: '/account', params: {}, tokens: 20, status: null, success: false, at: T('1:05.160') },
      ],
      orders: [
        {
          clientOrderId: 'k2entry1',
          step: 'steps/entry',
          at: T('0:00.080'),
          market: 'BTC-USD',
          side: 'long',
          type: 'limit',
          price: '64200',
          size: '0.3',
          filled: '0',
          state: 'denied',
        },
        {
          clientOrderId: 'k2entry2',
          orderId: 'BTC-USD@11',
          step: 'steps/entry~2',
          at: T('0:02.000'),
          market: 'BTC-USD',
          side: 'long',
          type: 'limit',
          price: '64200',
          size: '0.3',
          filled: '0.3',
          averagePrice: '64193.333333333333333333',
          state: 'closed',
        },
      ],
      outputs: { filled: '0.3' },
      residual: [{ market: 'BTC-USD', size: '0.3', opened: '0.3', side: 'long', covered: '0' }],
      alarms: [],
      money: {
        'BTC-USD': {
          position: '0.3',
          averageEntry: '64193.333333333333333333',
          realized: '0',
          fees: '-0.02',
          net: '0.02',
          maxExposure: '19257',
          timeInMarketMs: 75_160,
          // Between the fills: 0.1 bought at 64200 is worth 64190, and the first rebate had been earned.
          maxDrawdown: '0.99',
        },
      },
      notices: [],
      tokens: { used: 61, peakPerMinute: 40 },
      deadman: [
        { at: T('0:00.080'), event: 'armed' },
        { at: T('1:15.160'), event: 'disarmed' },
      ],
    });
  });

  it('has no undefined keys', async () => {
    const report = makeRunReport(await sampleRun());
    expect(JSON.parse(JSON.stringify(report))).toStrictEqual(report);
  });

  it('reports a run without an end as interrupted, and its open steps as halted at its last entry', async () => {
    const entries = await sampleRun();
    const cut = entries.findIndex((entry) => entry.type === 'call.attempted' && entry.data.path === '/account');
    const report = makeRunReport(entries.slice(0, cut + 1));
    expect(report).toMatchObject({ outcome: 'halted', reason: 'interrupted', endedAt: T('1:05.160'), outputs: {} });
    expect(report.steps.at(-1)).toEqual({
      path: 'steps/2:read_account',
      verb: 'read_account',
      outcome: 'halted',
      startedAt: T('1:05.160'),
      endedAt: T('1:05.160'),
      attempts: 1,
    });
    expect(report.requests.at(-1)).toMatchObject({ path: '/account', status: null, success: false });
  });

  it('takes the last end of a resumed run', async () => {
    const script = new Script();
    script.append('run.started', startedData());
    script.append('run.ended', { outcome: 'halted', reason: 'killed', outputs: {} });
    script.append('run.resumed', { openCalls: [] });
    expect(makeRunReport(script.entries)).toMatchObject({ outcome: 'halted', reason: 'interrupted' });
    script.append('run.ended', { outcome: 'stopped', reason: 'no_signal', outputs: { n: '1' } });
    expect(makeRunReport(script.entries)).toMatchObject({
      outcome: 'stopped',
      reason: 'no_signal',
      outputs: { n: '1' },
    });
  });

  it('counts the peak within any 60 s: a minute to the millisecond apart is not within', async () => {
    const script = new Script();
    script.append('run.started', startedData());
    for (const [offsetMs, tokens] of [
      [0, 20],
      [30_000, 20],
      [59_999, 1],
      [60_000, 10],
      [89_999, 5],
    ] as const) {
      await script.at(offsetMs);
      script.attempt(`c${offsetMs}`, 'GET /account', {}, tokens, 'steps/0');
    }
    // 0 to 59 999: 41; 30 000 to 89 999: 36.
    expect(makeRunReport(script.entries).tokens).toEqual({ used: 56, peakPerMinute: 41 });
  });

  it('starts a new element for a step that is run again at the same place', async () => {
    const script = new Script();
    script.append('run.started', startedData());
    for (const outcome of ['failed', 'succeeded'] as const) {
      script.append('step.started', { verb: 'assert', attempt: 1, now: 0 }, 'steps/0:assert');
      script.append('step.ended', { verb: 'assert', outcome, attempts: 1 }, 'steps/0:assert');
    }
    expect(makeRunReport(script.entries).steps.map((step) => step.outcome)).toEqual(['failed', 'succeeded']);
  });

  it('refuses entries that do not begin with run.started as damaged', async () => {
    const entries = await sampleRun();
    const damaged = expect.objectContaining({ name: 'StoreError', reason: 'damaged' });
    expect(() => makeRunReport([] as Entry[])).toThrow(damaged);
    expect(() => makeRunReport(entries.slice(1))).toThrow(damaged);
  });
});

describe('ordersDocument', () => {
  it('has the fields of the run report and every move', async () => {
    const entries = await sampleRun();
    const orders = foldAll(entries, new OrderFold()).histories();
    expect(orders.map(({ history, ...row }) => row)).toEqual(makeRunReport(entries).orders);
    expect(orders.map((order) => order.history)).toEqual([
      [{ at: T('0:00.080'), from: 'draft', to: 'denied', event: 'DENY' }],
      [
        { at: T('0:02.000'), from: 'draft', to: 'submitting', event: 'SUBMIT' },
        { at: T('0:02.080'), from: 'submitting', to: 'processing', event: 'ACK' },
        { at: T('0:02.160'), from: 'processing', to: 'open', event: 'P_OPEN' },
        { at: T('1:05.160'), from: 'open', to: 'closed', event: 'P_CLOSED' },
      ],
    ]);
  });
});

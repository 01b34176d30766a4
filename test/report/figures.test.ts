import { describe, expect, it } from 'vitest';
import { type CountedRun, StatsFold, TALLIED, TallyFold } from '../../src/report/compare/stats.ts';
import { BudgetFold } from '../../src/report/folds/budget.ts';
import { formatMicroseconds, summarizeFills } from '../../src/report/folds/fills.ts';
import { OrderFold } from '../../src/report/folds/orders.ts';
import { startedData } from '../journal/sample.ts';
import { fillRecord, orderRecord, Script, sampleRun, TERMS } from './sample-run.ts';
import { foldAll } from './whole-run.ts';

const STARTED_US = Date.parse('2026-01-05T08:00:00.000Z') * 1000;

describe('fillsDocument', () => {
  it('has each fill of the run once, with exact sums', async () => {
    const fill = {
      clientOrderId: 'k2entry2',
      orderId: 'BTC-USD@11',
      step: 'steps/entry~2',
      market: 'BTC-USD',
      side: 'long',
      fee: '-0.01',
      maker: true,
      liquidation: false,
    };
    const at = '2026-01-05T08:00:00.000Z';
    expect(summarizeFills(foldAll(await sampleRun(), new OrderFold()).orders())).toEqual({
      fills: [
        { id: 'BTC-USD-1', at, ...fill, price: '64200', size: '0.1', value: '6420' },
        { id: 'BTC-USD-2', at, ...fill, price: '64190', size: '0.2', value: '12838' },
      ],
      totals: [
        {
          market: 'BTC-USD',
          side: 'long',
          fills: 2,
          size: '0.3',
          averagePrice: '64193.333333333333333333',
          value: '19258',
          fee: '-0.02',
          makerSize: '0.3',
        },
      ],
      net: { 'BTC-USD': '0.3' },
    });
  });

  it('leaves out fills of orders that are not the run’s, counts a repeated one once, and sorts by the venue’s time', async () => {
    const script = new Script();
    script.append('run.started', startedData());
    const ack = { ...orderRecord({ status: 'processing' }), type: 'limit', is_liquidation: false };
    await script.exchange('POST /orders', {}, 1, [ack], 'steps/entry', { intent: TERMS });
    const later = { ...fillRecord(7, '0.1', '64210'), timestamp: STARTED_US + 2_000_001 };
    const foreign = { ...fillRecord(8, '5', '64000'), order_id: 'BTC-USD@99' };
    await script.exchange(
      'GET /fills',
      { market_id: 'BTC-USD' },
      10,
      [later, foreign, fillRecord(3, '0.05', '64200')],
      'steps/seen',
    );
    await script.exchange('GET /fills/order', { order_id: 'BTC-USD@11' }, 10, [later], 'steps/again');
    const { fills, net } = summarizeFills(foldAll(script.entries, new OrderFold()).orders());
    expect(fills.map(({ id, at }) => [id, at])).toEqual([
      ['BTC-USD-3', '2026-01-05T08:00:00.000Z'],
      ['BTC-USD-7', '2026-01-05T08:00:02.000001Z'],
    ]);
    expect(net).toEqual({ 'BTC-USD': '0.15' });
  });

  it('is empty for a run without fills', () => {
    const script = new Script();
    script.append('run.started', startedData());
    expect(summarizeFills(foldAll(script.entries, new OrderFold()).orders())).toEqual({
      fills: [],
      totals: [],
      net: {},
    });
  });

  it.each([
    [1_767_600_000_000_000, '2026-01-05T08:00:00.000Z'],
    [1_767_600_000_000_123, '2026-01-05T08:00:00.000123Z'],
    [9e18, '9000000000000000000'],
    [Number.NaN, 'NaN'],
  ])('writes %d µs as %s', (us, text) => {
    expect(formatMicroseconds(us)).toBe(text);
  });
});

describe('budgetDocument', () => {
  it('counts requests by endpoint and span of time', async () => {
    const document = foldAll(await sampleRun(), new BudgetFold()).document();
    expect(document).toMatchObject({
      used: 61,
      peak: 40,
      windowMs: 60_000,
      requests: 6,
      limited: 0,
      refused: 1,
      waits: { count: 1, totalMs: 250, longestMs: 250 },
      bucketMs: 5000,
    });
    expect(document.limit).toBeUndefined();
    expect(document.endpoints).toEqual([
      { endpoint: 'GET /orders', requests: 2, tokens: 20 },
      { endpoint: 'GET /account', requests: 1, tokens: 20 },
      { endpoint: 'POST /cancel_all_after', requests: 1, tokens: 10 },
      { endpoint: 'GET /fills/order', requests: 1, tokens: 10 },
      { endpoint: 'POST /orders', requests: 1, tokens: 1 },
    ]);
    expect(document.buckets).toEqual([
      { at: '2026-01-05T08:00:00.000Z', requests: 3, tokens: 21, peak: 21 },
      { at: '2026-01-05T08:01:05.000Z', requests: 3, tokens: 40, peak: 40 },
    ]);
  });

  it('counts a request as refused by the budget only where it had no tokens: a disarming may wait for the journal', () => {
    const script = new Script();
    const call = script.intend('DELETE /cancel_all_after', { market_id: 'BTC-USD' }, 'deadman');
    script.attempt(call, 'DELETE /cancel_all_after', { market_id: 'BTC-USD' }, 10, 'deadman');
    script.append('call.settled', { call, kind: 'denied', code: 'DEADLINE', message: 'not in time' }, 'deadman');
    expect(foldAll(script.entries, new BudgetFold()).document().refused).toBe(0);
  });

  it('takes limit and window from the settings, and the tokens left from the venue’s headers', async () => {
    const script = new Script();
    script.append('run.started', startedData({ settings: { rate_limit: { tokens: 100, window: '10s' } } }));
    for (const [offsetMs, remaining] of [
      [0, '80'],
      [5000, '61'],
      [10_000, 'none'],
    ] as const) {
      await script.at(offsetMs);
      const call = script.intend('GET /account', {}, 'steps/a');
      script.attempt(call, 'GET /account', {}, 20, 'steps/a');
      script.append(
        'call.settled',
        { call, kind: 'confirmed', status: 200, headers: { 'x-ratelimit-remaining': remaining }, result: [] },
        'steps/a',
      );
    }
    const call = script.intend('GET /account', {}, 'steps/a');
    script.append('call.settled', { call, kind: 'rejected', failure: 'rate_limited', message: 'slow down' }, 'steps/a');
    const document = foldAll(script.entries, new BudgetFold()).document();
    // At ten seconds the first request is out of the window again.
    expect(document).toMatchObject({
      limit: 100,
      windowMs: 10_000,
      used: 60,
      peak: 40,
      leastRemaining: 61,
      limited: 1,
    });
    expect(document.buckets.map(({ peak, remaining }) => [peak, remaining])).toEqual([
      [20, 80],
      [40, 61],
      [40, undefined],
    ]);
  });
});

describe('StatsFold', () => {
  const entriesOf = (build: (script: Script) => void) => {
    const script = new Script();
    script.append('run.started', startedData());
    build(script);
    return script.entries;
  };

  it('adds up runs in total, by runbook and by day', async () => {
    const fold = new StatsFold();
    const add = (run: CountedRun, entries: Awaited<ReturnType<typeof sampleRun>>) => {
      const counting = new TallyFold();
      for (const entry of entries) if (TALLIED.has(entry.type)) counting.apply(entry);
      fold.add(run, counting.tally());
    };
    const day = Date.parse('2026-01-05T23:59:59.999Z');
    add({ runbook: 'a', mode: 'live', startedAt: day, outcome: 'failed' }, await sampleRun());
    const crashed = entriesOf((script) => {
      const call = script.intend('POST /orders', {}, 'steps/x', { intent: TERMS });
      script.attempt(call, 'POST /orders', {}, 1, 'steps/x');
      const lost = script.intend('DELETE /orders', {}, 'steps/y');
      script.attempt(lost, 'DELETE /orders', {}, 1, 'steps/y');
      script.append('call.settled', { call: lost, kind: 'unresolved', message: 'reset' }, 'steps/y');
    });
    add({ runbook: 'b', mode: 'live', startedAt: day + 1 }, crashed);
    const { total, byRunbook, byDay, denials } = fold.document();
    expect(total).toEqual({
      runs: 2,
      outcomes: { succeeded: 0, stopped: 0, failed: 1, halted: 0, unfinished: 1 },
      requests: 8,
      tokens: 63,
      orders: 3,
      denials: 1,
      rejections: 0,
      // The DELETE without an answer, and the POST at the end of the journal; a lost read does not count.
      ambiguous: 2,
      alarms: 0,
      deadmanFired: 0,
    });
    expect(byRunbook.map(({ runbook, runs, ambiguous }) => [runbook, runs, ambiguous])).toEqual([
      ['a', 1, 0],
      ['b', 1, 2],
    ]);
    expect(byDay.map(({ day: of, tokens }) => [of, tokens])).toEqual([
      ['2026-01-06', 2],
      ['2026-01-05', 61],
    ]);
    expect(denials).toEqual([{ code: 'DEADLINE', count: 1 }]);
  });
});

/** The sums of an account over its runs, and the limits that hold for them. */
import { describe, expect, it } from 'vitest';
import { findAccountPosition } from '../../src/gateway/account-position.ts';
import { AccountLedger } from '../../src/gateway/limits/account-ledger.ts';
import { LimitFactsFold } from '../../src/gateway/limits/facts.ts';
import type { LedgerFill, LedgerOrder, LedgerParts, RunLedger } from '../../src/gateway/limits/ledger-rows.ts';
import { RunLedgerFold } from '../../src/gateway/limits/run-ledger.ts';
import { OrderTracker } from '../../src/journal/orders.ts';
import { describeLedger } from '../../src/report/results/ledger.ts';
import type { LimitRules } from '../../src/venue/limits/check.ts';
import type { OrderTerms, VenueCall } from '../../src/venue/port.ts';
import type { FillRecord } from '../../src/venue/records.ts';
import { startedData } from '../journal/sample.ts';
import { fillRecord, Script, TERMS } from '../report/sample-run.ts';
import { fill, T0, terms } from '../venue/order-samples.ts';

const MARKET = 'BTC-USD';
const HOUR = 3_600_000;

type Traded = readonly [side: 'long' | 'short', size: string, price: string, more?: Partial<LedgerFill>];

/** A run that ended at T0, with its fills a second apart, each of an order of its own. */
function ended(run: string, traded: readonly Traded[], over: Partial<RunLedger> = {}): RunLedger {
  return {
    version: 1,
    run,
    runbook: 'one',
    account: 'venue main',
    startedAt: T0 - HOUR,
    lastAt: T0,
    fills: traded.map(([side, size, price, more], index) => ({
      ...fill(`${run}${index}`, size, {
        side,
        price,
        order_id: `${MARKET}@${run}${index}`,
        timestamp: (T0 - 60_000 + index * 1000) * 1000,
        ...more,
      }),
      clientOrderId: `rb${run}${index}`,
      step: 'steps/o',
    })),
    orders: [],
    orderTimes: [],
    days: {},
    ...over,
  };
}

/** An order that a run left working. */
function left(clientOrderId: string, open: string, over: Partial<LedgerOrder> = {}): LedgerOrder {
  const order = { clientOrderId, orderId: `${MARKET}@${clientOrderId}`, market: MARKET, side: 'long' as const };
  return {
    ...order,
    filled: '0',
    open,
    working: { ...order, type: 'limit', price: '100', size: open, worstRemaining: open },
    ...over,
  };
}

function sumsOf(parts: Partial<LedgerParts> = {}): AccountLedger {
  return new AccountLedger({ runs: [], baselines: [], listed: [], gone: {}, ...parts });
}

/** What the limits of the account say of an order of a run that has done nothing yet: `ok`, or the code. */
function ask(sums: AccountLedger, over: Partial<OrderTerms>, account: LimitRules, now = T0 + 1000): string {
  const intent = terms({ clientOrderId: 'rbnew', size: '1', ...over });
  const call = {
    id: 'next#1',
    step: 'steps/next',
    endpoint: 'POST /orders',
    params: { market_id: intent.market },
    class: 'enter',
    intent,
  } as unknown as VenueCall;
  const gate: LimitFactsFold = new LimitFactsFold(new OrderTracker(), {}, () => ({
    killed: false,
    working: [],
    ledger: { sums, gates: [gate] },
  }));
  const verdict = gate.check(call, {}, now, { account });
  return verdict.ok ? 'ok' : verdict.code;
}

const held = (sums: AccountLedger) => {
  const { least, most } = sums.listFilled([]).get(MARKET)?.range ?? { least: '0', most: '0' };
  return [String(least), String(most)];
};

describe('what an account holds', () => {
  it('is the sum over its runs, each fill once', () => {
    const sums = sumsOf({ runs: [ended('a', [['long', '3', '100']]), ended('b', [['short', '1', '110']])] });
    expect(held(sums)).toEqual(['2', '2']);
    expect(String(sums.book.position(MARKET).realized)).toBe('10');
    sums.add(
      ended('b', [
        ['short', '1', '110'],
        ['long', '5', '100'],
      ]),
    );
    expect(held(sums)).toEqual(['7', '7']);
  });

  it('has what orders filled beyond the fills that were read, and may have filled unseen', () => {
    const unseen = left('rbx', '4', { filled: '1' });
    const { working: _working, ...gone } = unseen;
    expect(held(sumsOf({ runs: [ended('a', [], { orders: [unseen] })] }))).toEqual(['1', '1']);
    expect(held(sumsOf({ runs: [ended('a', [], { orders: [gone] })] }))).toEqual(['1', '5']);
    // The venue's list shows what it filled.
    const listed = [
      { market: MARKET, readAt: T0 + 1, fills: [fill('z', '2', { order_id: `${MARKET}@rbx`, timestamp: T0 * 1000 })] },
    ];
    expect(held(sumsOf({ runs: [ended('a', [], { orders: [gone] })], listed }))).toEqual(['2', '2']);
  });

  it('has what the record of an order shows that is not open any more, before the list of fills does', () => {
    const runs = [ended('a', [], { orders: [left('rbx', '4')] })];
    const gone = { rbx: T0 + 5 };
    const listed = [{ market: MARKET, readAt: T0 + 5, fills: [] as FillRecord[] }];
    expect(held(sumsOf({ runs, gone, ended: { rbx: '3' }, listed }))).toEqual(['3', '3']);
    const sums = sumsOf({ runs, gone, ended: { rbx: '3' }, listed });
    const late = fill('z', '3', { order_id: `${MARKET}@rbx`, timestamp: T0 * 1000 });
    sums.takeListed({ listed: [{ market: MARKET, readAt: T0 + 9, fills: [late] }], gone: {} });
    expect(held(sums)).toEqual(['3', '3']);
  });

  it('counts once what an order filled whose id no answer gave, when the venue shows it', () => {
    const { orderId: _orderId, working, ...order } = left('rbx', '4');
    const { orderId: _id, ...still } = working as NonNullable<typeof working>;
    const listed = [
      { market: MARKET, readAt: T0 + 5, fills: [fill('z', '3', { order_id: 'BTC-USD@9', timestamp: T0 * 1000 })] },
    ];
    const runs = [ended('a', [], { orders: [{ ...order, working: still }] })];
    const sums = sumsOf({ runs, gone: { rbx: T0 + 5 }, ended: { rbx: '3' }, listed });
    // Until then they may be two things.
    expect([held(sums), sums.listForeign(MARKET).length]).toEqual([['6', '6'], 1]);
    const [named] = sums.name(new Map([['rbx', 'BTC-USD@9']]));
    expect([named?.orders[0]?.orderId, named?.orders[0]?.working?.orderId]).toEqual(['BTC-USD@9', 'BTC-USD@9']);
    expect([held(sums), sums.listForeign(MARKET)]).toEqual([['3', '3'], []]);
    expect(sums.name(new Map([['rbx', 'another']]))).toEqual([]);
  });

  it('has a fill that the venue has corrected since as it lists it now, once', () => {
    const runs = [
      ended('a', [['long', '3', '100']], { orders: [left('rbx', '4', { filled: '3', orderId: `${MARKET}@a0` })] }),
    ];
    const [booked] = runs[0]?.fills ?? [];
    const fills = [{ ...(booked as FillRecord), size: '5' }];
    const sums = sumsOf({ runs });
    expect(sums.takeListed({ listed: [{ market: MARKET, readAt: T0, fills }], gone: {} })).toEqual(fills);
    expect([held(sums), sums.listLeft()[0]?.worstRemaining]).toEqual([['5', '5'], '2']);
    expect(sums.takeListed({ listed: [{ market: MARKET, readAt: T0, fills }], gone: {} })).toEqual([]);
  });

  describe('by an order that is not open any more', () => {
    const LATE_MS = 60_000;
    const goneAt = T0 + 5;
    const gone = { rbx: goneAt };
    const order = { order_id: `${MARKET}@rbx`, timestamp: T0 * 1000 };
    const list = (readAt: number, ...fills: readonly FillRecord[]) => [{ market: MARKET, readAt, fills }];
    const stated = (at: number) => [{ market: MARKET, size: '0', by: 'ada', at }];
    const runs = [ended('a', [], { orders: [left('rbx', '4')] })];

    it.each<[string, Partial<LedgerParts>, boolean]>([
      ['was not listed', { gone: {} }, false],
      ['was listed before its run ended', { gone: { rbx: T0 - 5 }, listed: list(goneAt + LATE_MS) }, false],
      ['has no list of fills', {}, false],
      ['has a list of fills that may be behind', { listed: list(goneAt + LATE_MS - 1) }, false],
      ['has one that is not', { listed: list(goneAt + LATE_MS) }, true],
      ['has one that lacks what its record shows', { ended: { rbx: '3' }, listed: list(goneAt + LATE_MS) }, false],
      ['has what it shows', { ended: { rbx: '3' }, listed: list(goneAt + LATE_MS, fill('z', '3', order)) }, true],
      ['was in what was stated soon after', { ended: { rbx: '3' }, baselines: stated(goneAt + LATE_MS - 1) }, false],
      ['was in what was stated later', { ended: { rbx: '3' }, baselines: stated(goneAt + LATE_MS) }, true],
    ])('that %s nothing can change any more: %j, %s', (_what, parts, isOver) => {
      const sums = sumsOf({ runs, gone, ...parts });
      expect([...sums.listOver(LATE_MS)]).toEqual(isOver ? ['rbx'] : []);
    });

    it('and is over, nothing is kept, and the sums are as before', () => {
      const shown = { listed: list(goneAt + LATE_MS, fill('z', '3', order)), ended: { rbx: '3' } };
      const sums = sumsOf({ runs, gone, ...shown });
      const before = [held(sums), sums.listLeft(), sums.listForeign(MARKET)];
      const changed = sums.end(sums.listOver(LATE_MS));
      expect(changed.map(({ run }) => run)).toEqual(['a']);
      expect(sums.listGone()).toEqual({ gone: {}, ended: {} });
      expect([held(sums), sums.listLeft(), sums.listForeign(MARKET)]).toEqual(before);
      const later = sumsOf({ runs: changed, listed: shown.listed });
      expect([held(later), later.listLeft(), later.listForeign(MARKET)]).toEqual(before);
      // A fill that the list shows still later is its own, and counts.
      later.takeListed({ listed: list(goneAt + 2 * LATE_MS, fill('zz', '1', order)), gone: {} });
      expect([held(later), later.listForeign(MARKET)]).toEqual([['4', '4'], []]);
    });

    it('and of which more may come, what is known of it is kept', () => {
      const sums = sumsOf({ runs, gone: { ...gone, rbold: 1 }, ended: { rbx: '3', rbold: '1' }, listed: list(goneAt) });
      expect(sums.end(sums.listOver(LATE_MS))).toEqual([]);
      expect(sums.listGone()).toEqual({ gone, ended: { rbx: '3' } });
    });
  });

  it('has an order that its run has seen at work since it was not listed', () => {
    const runs = [ended('a', [], { orders: [left('rbx', '4')] })];
    expect(sumsOf({ runs, gone: { rbx: T0 - 5 } }).listLeft()).toHaveLength(1);
  });

  it('may have changed by an order that is not open any more, until the list of fills says how', () => {
    const runs = [ended('a', [], { orders: [left('rbx', '4')] })];
    const gone = { rbx: T0 + 5 };
    expect(sumsOf({ runs }).listLeft()).toHaveLength(1);
    expect(sumsOf({ runs, gone }).listLeft()).toEqual([]);
    expect(held(sumsOf({ runs, gone }))).toEqual(['0', '4']);
    expect(held(sumsOf({ runs, gone, listed: [{ market: MARKET, readAt: T0 + 5, fills: [] }] }))).toEqual(['0', '0']);
  });

  it('is what a person stated, and what traded since', () => {
    const runs = [
      ended('a', [
        ['long', '3', '100'],
        ['short', '1', '110'],
      ]),
    ];
    const at = T0 - 59_500;
    const stated = (size: string, price?: string) =>
      sumsOf({ runs, baselines: [{ market: MARKET, size, by: 'ada', at, ...(price === undefined ? {} : { price }) }] });
    expect(held(stated('0'))).toEqual(['-1', '-1']);
    expect(held(stated('5'))).toEqual(['4', '4']);
    // The entry on the same side stays; of another side it is not known, and closing realises nothing.
    expect(String(stated('5').book.position(MARKET).realized)).toBe('10');
    expect(String(stated('5', '90').book.position(MARKET).realized)).toBe('20');
    expect(String(stated('-5').book.position(MARKET).realized)).toBe('0');
  });

  it('is what was stated, with what an order that is still open had filled before', () => {
    const runs = [ended('a', [], { orders: [left('rbx', '4', { filled: '1' })] })];
    const sums = sumsOf({ runs, baselines: [{ market: MARKET, size: '1', by: 'ada', at: T0 + 1 }] });
    expect([held(sums), sums.listLeft()[0]?.worstRemaining]).toEqual([['1', '1'], '4']);
  });

  it('separates fills of others from those of its runs', () => {
    const sums = sumsOf({
      runs: [ended('a', [['long', '3', '100']])],
      listed: [{ market: MARKET, readAt: T0, fills: [fill('z', '2', { order_id: 'BTC-USD@9', side: 'short' })] }],
    });
    expect(held(sums)).toEqual(['1', '1']);
    expect(sums.listForeign(MARKET).map(({ id }) => id)).toEqual(['BTC-USD-z']);
    const at = T0 + 1;
    sums.state({ market: MARKET, size: '5', at });
    const later = fill('zz', '1', { order_id: 'BTC-USD@9', timestamp: (at + 1) * 1000 });
    sums.takeListed({ listed: [{ market: MARKET, readAt: at + 2, fills: [later] }], gone: {} });
    expect([held(sums), sums.listForeign(MARKET)]).toEqual([['6', '6'], [later]]);
  });
});

describe('a run of this process', () => {
  /** A run with an order of 0.3, and what the account holds and may still buy once the run has read what is given. */
  async function ordered() {
    const tracker = new OrderTracker();
    const gate = new LimitFactsFold(tracker, {});
    const script = new Script();
    script.append('run.started', startedData());
    const ack = { id: 'BTC-USD@11', client_order_id: TERMS.clientOrderId, status: 'processing' };
    await script.exchange('POST /orders', {}, 1, [ack], 'steps/o', { intent: TERMS });
    const sums = sumsOf();
    let done = 0;
    const range = () => {
      for (const entry of script.entries.slice(done)) {
        gate.apply(entry);
        tracker.apply(entry);
      }
      done = script.entries.length;
      const { least, most } = sums.listFilled([gate]).get(MARKET)?.range ?? {};
      const working = gate.workingOrders().map(({ worstRemaining }) => worstRemaining);
      return [String(least), String(most), ...working];
    };
    const read = (size: string) =>
      script.exchange('GET /fills/order', { order_id: 'BTC-USD@11' }, 10, [fillRecord(1, size, '64200')], 'steps/o');
    return { sums, range, read };
  }

  it('counts once what the venue lists of its orders before it has read it', async () => {
    const { sums, range, read } = await ordered();
    expect(range()).toEqual(['0', '0', '0.3']);
    sums.takeListed({ listed: [{ market: MARKET, readAt: T0, fills: [fillRecord(1, '0.1', '64200')] }], gone: {} });
    // Its order may still fill 0.3 as far as it knows, so the 0.1 is among them.
    expect(range()).toEqual(['0', '0', '0.3']);
    await read('0.1');
    expect(range()).toEqual(['0.1', '0.1', '0.2']);
  });

  it('counts a fill that the venue corrects as its order does', async () => {
    const { range, read } = await ordered();
    await read('0.1');
    expect(range()).toEqual(['0.1', '0.1', '0.2']);
    await read('0.2');
    expect(range()).toEqual(['0.2', '0.2', '0.1']);
  });
});

describe('the ledger of a run', () => {
  const POST = 'POST /orders';
  const open = (): Script => {
    const script = new Script();
    script.append('run.started', startedData({ mode: 'live', settings: { base_url: 'https://venue.example' } }));
    return script;
  };
  const foldOf = ({ entries }: Script) => {
    const fold = new RunLedgerFold();
    for (const entry of entries) fold.apply(entry);
    const ledger = fold.finish();
    if (ledger === undefined) throw new Error('there is no run');
    return ledger;
  };

  it('counts an order at its worst from its attempt on, whatever became of its process', () => {
    const script = open();
    const call = script.intend(POST, {}, 'steps/o', { intent: TERMS });
    expect(foldOf(script).orders).toEqual([]);
    script.attempt(call, POST, {}, 1, 'steps/o');
    const ledger = foldOf(script);
    expect(ledger).toMatchObject({ account: 'https://venue.example main', runbook: 'sample', fills: [] });
    expect(ledger.orders).toMatchObject([{ clientOrderId: TERMS.clientOrderId, filled: '0', open: '0.3' }]);
    expect(ledger.orderTimes).toHaveLength(1);
    expect(ledger.days).toEqual({ '2026-01-05': { orders: 1, notional: '19260' } });
    const sums = new AccountLedger({ runs: [ledger], baselines: [], listed: [], gone: {} });
    expect(ask(sums, {}, { maxPosition: '1.29' })).toBe('POSITION_EXCEEDS_MAX');
    expect(ask(sums, {}, { maxPosition: '1.3' })).toBe('ok');
  });

  it('does not count an order that was denied here or refused by the venue', () => {
    const script = open();
    const call = script.intend(POST, {}, 'steps/o', { intent: TERMS });
    script.append('call.settled', { call, kind: 'denied', code: 'DEADLINE', message: 'too late' }, 'steps/o');
    const { orders, days } = foldOf(script);
    expect([orders, days]).toEqual([[], {}]);
  });

  it('has the fills of its orders', async () => {
    const script = open();
    const ack = { id: 'BTC-USD@11', client_order_id: TERMS.clientOrderId, status: 'processing' };
    await script.exchange(POST, {}, 1, [ack], 'steps/o', { intent: TERMS });
    const fills = [fillRecord(1, '0.1', '64200')];
    await script.exchange('GET /fills/order', { order_id: 'BTC-USD@11' }, 10, fills, 'steps/o');
    expect(foldOf(script)).toMatchObject({
      fills: [{ id: 'BTC-USD-1', clientOrderId: TERMS.clientOrderId, step: 'steps/o' }],
      orders: [{ orderId: 'BTC-USD@11', filled: '0.1', open: '0.2' }],
    });
  });
});

describe('a limit of the account', () => {
  const bought = () => sumsOf({ runs: [ended('a', [['long', '3', '100']])] });

  it('counts position and exposure of all its runs, with the orders they left', () => {
    expect(ask(bought(), {}, { maxPosition: '4' })).toBe('ok');
    expect(ask(bought(), {}, { maxPosition: '3.9' })).toBe('POSITION_EXCEEDS_MAX');
    expect(ask(bought(), {}, { maxExposure: '400' })).toBe('ok');
    expect(ask(bought(), {}, { maxExposure: '399' })).toBe('EXPOSURE_EXCEEDS_MAX');
    expect(ask(bought(), { market: 'ETH-USD' }, { maxExposure: '399' })).toBe('EXPOSURE_EXCEEDS_MAX');
    const resting = sumsOf({ runs: [ended('a', [], { orders: [left('rbx', '3')] })] });
    expect(ask(resting, {}, { maxPosition: '3.9' })).toBe('POSITION_EXCEEDS_MAX');
    expect(ask(resting, {}, { maxOpenOrders: 1 })).toBe('OPEN_ORDERS_EXCEED_MAX');
    expect(ask(resting, {}, { maxOpenOrders: 2 })).toBe('ok');
  });

  it('counts orders of the last minute and the notional of the UTC day', () => {
    const day = new Date(T0).toISOString().slice(0, 10);
    const sent = sumsOf({
      runs: [ended('a', [], { orderTimes: [T0 - 50_000, T0], days: { [day]: { orders: 2, notional: '900' } } })],
    });
    expect(ask(sent, {}, { maxOrdersPerMinute: 2 })).toBe('ORDER_RATE_EXCEEDED');
    expect(ask(sent, {}, { maxOrdersPerMinute: 2 }, T0 + 10_000)).toBe('ok');
    expect(ask(sent, {}, { maxDailyNotional: '1000' })).toBe('ok');
    expect(ask(sent, {}, { maxDailyNotional: '999' })).toBe('NOTIONAL_EXCEEDS_MAX_PER_DAY');
    expect(ask(sent, {}, { maxDailyNotional: '999' }, T0 + 24 * HOUR)).toBe('ok');
    const unmeasured = sumsOf({ runs: [ended('a', [], { days: { [day]: { orders: 1 } } })] });
    expect(ask(unmeasured, {}, { maxDailyNotional: '999' })).toBe('NOTIONAL_UNKNOWN');
  });

  it('lets only what reduces pass once the loss of the UTC day is reached, until the next day or a release', () => {
    const lost = () =>
      sumsOf({
        runs: [
          ended('a', [
            ['long', '3', '100'],
            ['short', '1', '60', { fee: '2' }],
          ]),
        ],
        listed: [{ market: MARKET, readAt: T0, fills: [] }],
      });
    expect(ask(lost(), {}, { maxDailyLoss: '42.1' })).toBe('ok');
    expect(ask(lost(), {}, { maxDailyLoss: '42' })).toBe('DAILY_LOSS_REACHED');
    expect(ask(lost(), { side: 'short', size: '2' }, { maxDailyLoss: '42' })).toBe('ok');
    expect(ask(lost(), { side: 'short', size: '2.1' }, { maxDailyLoss: '42' })).toBe('DAILY_LOSS_REACHED');
    expect(ask(lost(), {}, { maxDailyLoss: '42' }, T0 + 24 * HOUR)).toBe('ok');
    const released = lost();
    released.releasedAt = T0;
    expect(ask(released, {}, { maxDailyLoss: '42' })).toBe('ok');
    // By a clock that was ahead: no loss would count until then.
    released.releasedAt = T0 + HOUR;
    expect(ask(released, {}, { maxDailyLoss: '42' })).toBe('DAILY_LOSS_REACHED');
  });

  it('denies under a loss of the day what adds while fills of the day have not been read', () => {
    const { working: _working, ...over } = left('rbx', '0', { filled: '1', side: 'short' });
    const runs = [ended('a', [['long', '3', '100']]), ended('b', [], { orders: [over] })];
    const sold = (price: string) =>
      fill('z', '1', { order_id: `${MARKET}@rbx`, side: 'short', price, timestamp: T0 * 1000 });
    const loss = { maxDailyLoss: '42' };
    const lacking = sumsOf({ runs, listed: [{ market: MARKET, readAt: T0, fills: [] }] });
    expect(ask(lacking, {}, loss)).toBe('POSITION_UNKNOWN');
    expect(ask(lacking, { side: 'short', size: '2' }, loss)).toBe('ok');
    expect([ask(lacking, {}, { maxPosition: '3' }), ask(lacking, {}, loss, T0 + 24 * HOUR)]).toEqual(['ok', 'ok']);
    for (const [price, verdict] of [
      ['60', 'ok'],
      ['50', 'DAILY_LOSS_REACHED'],
    ] as const)
      expect(ask(sumsOf({ runs, listed: [{ market: MARKET, readAt: T0, fills: [sold(price)] }] }), {}, loss)).toBe(
        verdict,
      );
    // It may have filled unseen.
    const unseen = [ended('a', [], { orders: [{ ...over, filled: '0', open: '1' }] })];
    expect(ask(sumsOf({ runs: unseen }), {}, loss)).toBe('POSITION_UNKNOWN');
    expect(ask(sumsOf({ runs: unseen, listed: [{ market: MARKET, readAt: T0, fills: [] }] }), {}, loss)).toBe('ok');
  });

  it('takes no position for known that was stated by a clock that was ahead', () => {
    const ahead = sumsOf({
      runs: [ended('a', [['long', '3', '100']])],
      listed: [{ market: MARKET, readAt: T0, fills: [] }],
      baselines: [{ market: MARKET, size: '0', by: 'ada', at: T0 + HOUR }],
    });
    expect(ask(ahead, {}, { maxPosition: '3' })).toBe('POSITION_UNKNOWN');
    expect(findAccountPosition(ahead, [], MARKET, T0 + 1000)).toBeUndefined();
    expect(ask(ahead, {}, { maxPosition: '3' }, T0 + HOUR)).toBe('ok');
  });

  it('denies what adds where a journal cannot be read, and never what a proof shows to reduce', () => {
    const parts = {
      runs: [ended('a', [['long', '3', '100']])],
      unknown: { why: 'the journal of b', since: 0, until: T0 },
    };
    expect(ask(sumsOf(parts), {}, { maxPosition: '100' })).toBe('POSITION_UNKNOWN');
    expect(ask(sumsOf(parts), {}, { maxOpenOrders: 5 })).toBe('POSITION_UNKNOWN');
    expect(ask(sumsOf(parts), {}, { maxOrdersPerMinute: 5 })).toBe('ok');
    const close = { side: 'short', size: '3' } as const;
    expect(ask(sumsOf(parts), close, { maxPosition: '100' })).toBe('POSITION_UNKNOWN');
    const listed = [{ market: MARKET, readAt: T0, fills: [] }];
    expect(ask(sumsOf({ ...parts, listed }), close, { maxPosition: '0' })).toBe('ok');
  });

  it('denies under limits of the day what a journal that cannot be read may have sent or lost on it', () => {
    const DAY = Math.floor(T0 / 86_400_000) * 86_400_000;
    const loss = { maxDailyLoss: '42' };
    const closing = { side: 'short', size: '1' } as const;
    /** It bought 1 at 100 before `T0`; a run whose journal is whole sold it at 60 today, with the venue's list asked since. */
    const sums = (since: number, more: Partial<LedgerParts> = {}, until = T0) => {
      const runs = [ended('a', [['short', '1', '60']])];
      const each = sumsOf({ runs, unknown: { why: 'the journal of b', since, until }, ...more });
      each.takeOpen([]);
      return each;
    };
    const unlisted = sumsOf({ unknown: { why: 'the journal of b', since: DAY, until: T0 } });
    expect([ask(unlisted, {}, loss), ask(unlisted, {}, { maxDailyNotional: '1000' })]).toEqual([
      'POSITION_UNKNOWN',
      'POSITION_UNKNOWN',
    ]);
    // Begun today, all that it traded is in the venue's list of today.
    const bought = fill('b1', '1', { side: 'long', price: '100', timestamp: (T0 - 90_000) * 1000 });
    const listed = [{ market: MARKET, readAt: T0, fills: [bought] }];
    expect([ask(sums(DAY), {}, loss), ask(sums(DAY, { listed }), {}, { maxDailyLoss: '41' })]).toEqual(['ok', 'ok']);
    expect(ask(sums(DAY, { listed }), {}, { maxDailyLoss: '40' })).toBe('DAILY_LOSS_REACHED');
    // What a position from before today cost is not known, and so what its end has lost.
    expect(ask(sums(DAY - 1), {}, loss)).toBe('POSITION_UNKNOWN');
    const flat = { market: MARKET, size: '0', by: 'ada', at: T0 + 1 };
    expect(ask(sums(DAY - 1, { baselines: [flat] }), {}, loss)).toBe('POSITION_UNKNOWN');
    // The fills add up to what is held: there was nothing before.
    const short = { ...flat, size: '-1' };
    expect(ask(sums(DAY - 1, { baselines: [short] }), {}, loss)).toBe('ok');
    expect(ask(sums(DAY - 1, { baselines: [short] }), closing, loss)).toBe('ok');
    // Stated before today, and after its last entry; and nothing traded today.
    expect(ask(sums(DAY - 9, { baselines: [{ ...flat, at: DAY - 1 }] }, DAY - 5), {}, loss)).toBe('ok');
    expect(ask(sums(DAY - 1, { runs: [] }), {}, loss)).toBe('ok');
    // A release begins a new count.
    const released = sums(DAY - 1, { baselines: [flat] });
    released.releasedAt = T0 + 2;
    expect(ask(released, {}, loss, T0 + 3)).toBe('ok');
    // What it sent before today counts on no later day.
    expect(ask(sums(DAY - 9, {}, DAY - 1), {}, { maxDailyNotional: '1000' })).toBe('ok');
    expect(ask(sums(DAY - 9), {}, { maxDailyNotional: '1000' })).toBe('POSITION_UNKNOWN');
  });

  it('is not denied for a journal that cannot be read once a person, or the venue, has said what is held since', () => {
    const stated = (at: number, runs: readonly ReturnType<typeof ended>[] = []) => {
      const unknown = { why: 'b', since: 0, until: T0 };
      const sums = sumsOf({ unknown, baselines: [{ market: MARKET, size: '2', by: 'ada', at }], runs });
      expect(ask(sums, {}, { maxPosition: '3' })).toBe('POSITION_UNKNOWN');
      sums.takeOpen([]);
      return sums;
    };
    expect(ask(stated(T0), {}, { maxPosition: '3' })).toBe('POSITION_UNKNOWN');
    expect(ask(stated(T0 + 1), {}, { maxPosition: '3' })).toBe('ok');
    expect(ask(stated(T0 + 1), {}, { maxPosition: '2' })).toBe('POSITION_EXCEEDS_MAX');
    expect(ask(stated(T0 + 1), { market: 'ETH-USD' }, { maxPosition: '3' })).toBe('POSITION_UNKNOWN');
    // An exposure is that of every market.
    const runs = [ended('a', [['long', '1', '100', { market_id: 'ETH-USD' }]])];
    expect(ask(stated(T0 + 1, runs), {}, { maxPosition: '3' })).toBe('ok');
    expect(ask(stated(T0 + 1, runs), {}, { maxExposure: '10000' })).toBe('POSITION_UNKNOWN');
    const shown = stated(T0);
    shown.noteShown();
    expect(ask(shown, { market: 'ETH-USD' }, { maxPosition: '3' })).toBe('ok');
  });
});

describe('what an expression reads of the account', () => {
  const runs = [ended('a', [['long', '3', '100']]), ended('b', [['short', '1', '100']])];
  const listed = [{ market: MARKET, readAt: T0 + 1, fills: [] }];
  it.each<[string, Partial<LedgerParts>, string | undefined]>([
    ['is 0 where nothing ever traded', {}, '0'],
    ['is not known where runs traded and no list has shown the rest', { runs }, undefined],
    ['is the sum over its runs, once the venue has listed the market', { runs, listed }, '2'],
    [
      'is not known where a journal cannot be read',
      { runs, listed, unknown: { why: 'the journal of c', since: 0, until: T0 } },
      undefined,
    ],
    [
      'is not known while an order of a run may still fill',
      {
        runs: [
          ...runs,
          ended('c', [], { orders: [left('rbc', '1', { working: undefined } as never)], lastAt: T0 + 2 }),
        ],
        listed,
      },
      undefined,
    ],
  ])('%s', (_what, parts, held) => {
    expect(findAccountPosition(sumsOf(parts), [], MARKET, T0 + 1000)?.toFixed()).toBe(held);
  });
});

it('says of which orders it lacks fills that their records show, until the venue lists them', () => {
  const { working: _, ...closed } = left('lacking', '0', { side: 'short', filled: '0.02' });
  const sums = sumsOf({ runs: [ended('a', [['long', '1', '100']], { orders: [closed] })] });
  const other = sumsOf({ runs: [ended('b', [], { orders: [{ ...closed, market: 'ETH-USD' }] })] });
  const id = `${MARKET}@lacking`;
  expect(describeLedger('main', sums, T0)).toMatchObject({ known: false, unread: [id] });
  expect(describeLedger('main', other, T0)).toMatchObject({ known: false, markets: { 'ETH-USD': { position: '0' } } });
  const missing = fill('missing', '0.02', { side: 'short', price: '100', order_id: id, timestamp: T0 * 1000 });
  sums.takeListed({ listed: [{ market: MARKET, readAt: T0 + HOUR, fills: [missing] }], gone: {} });
  const whole = describeLedger('main', sums, T0);
  expect([whole.known, whole.unread, whole.markets[MARKET]?.position]).toEqual([true, undefined, '0.98']);
});

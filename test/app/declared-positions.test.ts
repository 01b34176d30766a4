/** The positions that a profile declares a request for, asked at the simulated venue, as a proof of what the account holds. */
import { describe, expect, it } from 'vitest';
import type { Account } from '../../src/app/account/account.ts';
import { nameLedger, openLedger } from '../../src/app/account/ledger.ts';
import { sendOnce } from '../../src/app/account/one-request.ts';
import { compareWithVenue, settleLedger } from '../../src/app/reconciliation/ledger-settling.ts';
import { VirtualClock } from '../../src/base/clock.ts';
import type { DecimalString } from '../../src/base/decimal.ts';
import { ClockAgreement } from '../../src/engine/schedule/clock-agreement.ts';
import { findAccountPosition } from '../../src/gateway/account-position.ts';
import { AccountLedger } from '../../src/gateway/limits/account-ledger.ts';
import { LimitFactsFold } from '../../src/gateway/limits/facts.ts';
import type { LedgerParts } from '../../src/gateway/limits/ledger-rows.ts';
import { buildDeclaredRequests, readPositions } from '../../src/gateway/live/declared.ts';
import { Simulator, type SimulatorConfig } from '../../src/gateway/simulator/simulator.ts';
import { LocalBudget } from '../../src/gateway/tokens/budget.ts';
import type { Transport } from '../../src/gateway/transport.ts';
import { OrderTracker } from '../../src/journal/orders.ts';
import { MemoryStore } from '../../src/journal/stores/memory.ts';
import type { LimitRules } from '../../src/venue/limits/check.ts';
import type { VenueCall } from '../../src/venue/port.ts';
import { restoreProfile, writeProfileSettings } from '../../src/venue/profile/in-force.ts';
import { type Profile, SIMULATED_PROFILE } from '../../src/venue/profile/profile.ts';
import { budgetSettings } from '../../src/venue/tokens/ledger.ts';
import { fill, terms } from '../venue/order-samples.ts';

const START = Date.UTC(2026, 0, 5, 8);
const LATER = START + 3_600_000;
const NOTHING: LedgerParts = { runs: [], baselines: [], listed: [], gone: {} };
const value = (type: string) => ({ kind: 'value', type, optional: false }) as never;
const POSITIONS = {
  request: 'held',
  rows: 'result',
  market: 'market_id',
  size: 'size',
  side: 'side',
  price: 'average_price',
};
const PROFILE: Profile = {
  ...SIMULATED_PROFILE,
  markets: { 'BTC-USD': { tick: '1', lot: '0.0001', min_size: '0.0001' } },
  limits: { maxPosition: '1' as DecimalString },
  requests: {
    held: {
      method: 'GET',
      path: '/positions',
      query: {},
      tokens: 10,
      result: {
        kind: 'list',
        of: {
          kind: 'record',
          fields: {
            market_id: value('market'),
            side: value('side'),
            size: value('size'),
            average_price: value('price'),
          },
        },
      },
    },
  },
  positions: POSITIONS,
};

/** An account of the simulated venue that holds -0.3 BTC-USD, of which no journal knows. */
function open(config: SimulatorConfig = {}, profile = PROFILE) {
  const clock = new VirtualClock(START);
  const held = { market: 'BTC-USD', size: '-0.3', price: '60000', agoMs: 86_400_000 } as never;
  const simulator = new Simulator({ account: { positions: [held] }, ...config }, clock, 1);
  const budget = new LocalBudget(budgetSettings(), clock, {}, { random: () => 0.5 });
  const account = {
    profile,
    clock,
    clocks: new ClockAgreement(),
    budget,
    store: new MemoryStore(),
    transport: simulator.transport(),
    key: 'venue main',
  } as unknown as Account;
  const complaints: string[] = [];
  const host = (ledger: AccountLedger) => ({
    account,
    ledger,
    voice: { complain: (text: string) => void complaints.push(text) },
  });
  const asked = () => simulator.books().requests.map(({ method, path, tokens }) => `${method} ${path} ${tokens}`);
  return { clock, account, host, asked, complaints, lodge: () => openLedger(nameLedger(account)) };
}

describe('declared positions', () => {
  it('are asked before a live run under limits of the account, and are what it holds, also the next time', async () => {
    const { clock, host, asked, account, lodge } = open();
    const ledger = await lodge();
    expect(await clock.runUntil(settleLedger(host(ledger)))).toBeUndefined();
    expect(asked()).toEqual(['GET /positions 10']);
    expect(String(findAccountPosition(ledger, [], 'BTC-USD', LATER))).toBe('-0.3');
    expect(String((await lodge()).book.position('BTC-USD').size)).toBe('-0.3');
    expect(await clock.runUntil(compareWithVenue(host(ledger)))).toMatchObject({ moved: [] });
    const rows = await account.store.accountRows('venue main');
    expect(rows.filter(({ name }) => name.startsWith('position '))).toHaveLength(1);
  });

  it('prove every market where a journal cannot be read, those that the venue leaves out as zero', async () => {
    const { clock, host } = open();
    const unknown = { why: 'the journal of a', since: 0, until: Number.POSITIVE_INFINITY };
    const ledger = new AccountLedger({ runs: [], baselines: [], listed: [], gone: {}, unknown });
    expect(findAccountPosition(ledger, [], 'ETH-USD', LATER)).toBeUndefined();
    const { moved } = await clock.runUntil(compareWithVenue(host(ledger)));
    expect(moved).toEqual([{ market: 'BTC-USD', was: '0', size: '-0.3' }]);
    expect(['BTC-USD', 'ETH-USD'].map((market) => String(findAccountPosition(ledger, [], market, LATER)))).toEqual([
      '-0.3',
      '0',
    ]);
  });

  it('are asked for again where one answer is lost', async () => {
    const { clock, host, asked, lodge } = open({ faults: [{ on: '*', do: 'status', status: 503, when: { call: 1 } }] });
    const ledger = await lodge();
    expect(await clock.runUntil(settleLedger(host(ledger)))).toBeUndefined();
    expect(asked()).toHaveLength(2);
    expect(String(ledger.book.position('BTC-USD').size)).toBe('-0.3');
  });

  it('prove nothing where they cannot be read, or differ while the market has just traded', async () => {
    const refused = open({ faults: [{ on: '*', do: 'status', status: 503 }] });
    const ledger = await refused.lodge();
    expect(await refused.clock.runUntil(settleLedger(refused.host(ledger)))).toBeTypeOf('string');
    expect([String(ledger.book.position('BTC-USD').size), refused.complaints.length]).toEqual(['0', 1]);
    const trading = open();
    const fresh = new AccountLedger({
      runs: [],
      baselines: [{ market: 'BTC-USD', size: '-0.2', by: 'ada', at: START - 1_000 }],
      listed: [],
      gone: {},
      unknown: { why: 'the journal of a', since: 0, until: START },
    });
    expect(await trading.clock.runUntil(compareWithVenue(trading.host(fresh)))).toMatchObject({ moved: [] });
    expect([String(fresh.book.position('BTC-USD').size), fresh.findUnknown(['BTC-USD'], LATER)]).toEqual([
      '-0.2',
      'the journal of a',
    ]);
  });

  it('count a fill that follows the reading, where this machine is ahead of the venue', async () => {
    const { clock, host, lodge, account } = open();
    const { transport } = account;
    const send: Transport['send'] = async (...request) => {
      const reply = await transport.send(...request);
      const date = new Date(clock.now()).toUTCString();
      return reply.kind === 'answer' ? { ...reply, headers: { ...reply.headers, date } } : reply;
    };
    const ahead = Object.assign(Object.create(clock), { now: () => clock.now() + 4_000 });
    Object.assign(account, { clock: ahead, transport: { send } });
    const ledger = await lodge();
    await clock.runUntil(settleLedger(host(ledger)));
    const bought = { id: 'f1', order_id: 'BTC-USD@1', side: 'long' as const };
    ledger.add({
      version: 1,
      run: 'a',
      runbook: 'one',
      account: 'venue main',
      startedAt: clock.now(),
      lastAt: clock.now(),
      fills: [
        { ...fill('f1', '1', { ...bought, timestamp: (clock.now() + 500) * 1000 }), clientOrderId: 'rb1', step: 's' },
      ],
      orders: [],
      orderTimes: [],
      days: {},
    });
    expect(String(ledger.book.position('BTC-USD').size)).toBe('0.7');
  });

  it('are in the settings of a run, and are not asked where the profile has none', async () => {
    expect(restoreProfile(writeProfileSettings(PROFILE))?.positions).toEqual(POSITIONS);
    const { positions: _none, ...without } = PROFILE;
    const { clock, host, asked, lodge } = open({}, without);
    await clock.runUntil(settleLedger(host(await lodge())));
    expect(asked()).toEqual([]);
  });

  it('prove nothing of a market that they leave out against the fills, until a person states it', async () => {
    const { clock, host, complaints } = open({ account: {} });
    const ledger = new AccountLedger({
      ...NOTHING,
      baselines: [{ market: 'BTC-USD', size: '-0.2', by: 'ada', at: START - 600_000 }],
    });
    await clock.runUntil(settleLedger(host(ledger)));
    expect([String(ledger.book.position('BTC-USD').size), complaints.length]).toEqual(['-0.2', 1]);
    expect(ledger.findUnknown(['BTC-USD'], LATER)).toContain('BTC-USD');
    expect(findAccountPosition(ledger, [], 'BTC-USD', LATER)).toBeUndefined();
    ledger.state({ market: 'BTC-USD', size: '0', at: START - 1_000 });
    await clock.runUntil(settleLedger(host(ledger)));
    expect([ledger.findUnknown(['BTC-USD'], LATER), complaints.length]).toEqual([undefined, 1]);
  });

  it.each(['ada', 'the venue'])('are not contradicted by what %s stated before the fills since then', async (by) => {
    const { clock, host, account } = open({ account: {} });
    const { transport } = account;
    const closed = fill('7', '0.2', { order_id: 'BTC-USD@7', timestamp: (START - 300_000) * 1000 });
    const send: Transport['send'] = async (request, options) => {
      const reply = await transport.send(request, options);
      if (reply.kind !== 'answer' || request.endpoint !== 'GET /fills') return reply;
      const result = Number(request.params['start_time']?.text) <= closed.timestamp ? [closed] : [];
      return { ...reply, body: JSON.stringify({ success: true, error: '', result }) };
    };
    Object.assign(account, { transport: { send } });
    const ledger = new AccountLedger({
      ...NOTHING,
      baselines: [{ market: 'BTC-USD', size: '-0.2', by, at: START - 600_000 }],
    });
    expect(await clock.runUntil(settleLedger(host(ledger)))).toBeUndefined();
    expect(String(findAccountPosition(ledger, [], 'BTC-USD', LATER))).toBe('0');
  });

  it('count what they name in another way, and prove no market then that they leave out', async () => {
    const { clock, host, account } = open();
    Object.assign(account, { profile: { ...PROFILE, markets: { 'XBT-USD': PROFILE.markets['BTC-USD'] } } });
    const ledger = new AccountLedger(NOTHING);
    const { unread } = await clock.runUntil(compareWithVenue(host(ledger)));
    expect(unread).toContain('BTC-USD');
    expect(ledger.findUnknown(['XBT-USD'], LATER)).toBe(unread);
    expect(ledger.findUnknown(['BTC-USD'], LATER)).toBeUndefined();
    expect(String(ledger.book.position('BTC-USD').size)).toBe('-0.3');
  });

  const row = (over: object = {}) => ({ market_id: 'A-B', side: 'long', size: '2', ...over });
  const HUGE = '0.300000000000000000000000000000000001';
  it.each<[string, object, unknown, readonly unknown[]]>([
    ['by a side', {}, [row({ side: 'SHORT', average_price: '3' })], [['A-B', { size: '-2', price: '3' }]]],
    ['by a side and a sign', {}, [row({ side: 'short', size: '-2' })], [['A-B', { size: '-2' }]]],
    ['by a sign', { side: undefined }, [row({ size: '-2' })], [['A-B', { size: '-2' }]]],
    ['as a sum of both sides', {}, [row(), row({ side: 'short', size: '5' })], [['A-B', { size: '-3' }]]],
    ['with every digit of a number', {}, [row({ size: HUGE })], [['A-B', { size: HUGE }]]],
    ['without an entry of zero', {}, [row({ average_price: '0' })], [['A-B', { size: '2' }]]],
  ])('are read %s', (_what, change, result, found) => {
    const read = readPositions(result, { ...POSITIONS, ...change } as typeof POSITIONS);
    expect(read instanceof Map && [...read]).toEqual(found);
  });

  it.each<[string, object, unknown]>([
    ['of another side', {}, [row({ side: 'flat' })]],
    ['of a side that contradicts the size', {}, [row({ size: '-2' })]],
    ['that are there twice', {}, [row(), row()]],
    ['that are there twice without a side', { side: undefined }, [row(), row({ size: '-2' })]],
    ['that are there twice, once with nothing', { side: undefined }, [row({ size: '0' }), row()]],
    ['without a size', {}, [row({ size: null })]],
    ['with an exponent', {}, [row({ size: '1e400' })]],
    ['of a market with another name', {}, [row({ market_id: 'A/B' })]],
    ['of no record', {}, [null]],
    ['that are no list', {}, {}],
  ])('are refused: rows %s', (_what, change, result) => {
    const read = readPositions(result, { ...POSITIONS, ...change } as typeof POSITIONS);
    expect(read).toHaveProperty('why');
  });

  it('are exact as numbers of JSON, and refused where a number is beyond a plain decimal', () => {
    const ask = buildDeclaredRequests(PROFILE)('held', {});
    if ('problem' in ask) throw new Error(ask.problem);
    const read = (size: string) =>
      ask.read({
        status: 200,
        headers: {},
        body: `{"success":true,"error":"","result":[{"market_id":"A-B","side":"long","size":${size},"average_price":1}]}`,
      } as never);
    const found = read(HUGE);
    expect(found.kind === 'confirmed' && readPositions(found.result, POSITIONS)).toEqual(
      new Map([['A-B', { size: HUGE, price: '1' }]]),
    );
    for (const size of ['1e400', '9007199254740993e1', '"0x10"', '"1_000"', 'true'])
      expect(read(size).kind).toBe('unreadable');
  });
});

const CLOSED: LimitRules = { maxPosition: '1' as DecimalString };

/** An open order that a run of another process, whose journal is damaged, has left at the venue. */
describe('the open orders of a journal that cannot be read', () => {
  const LIMIT = { market_id: 'BTC-USD', side: 'long', size: '0.8', price: '50000', type: 'limit' } as const;
  const damaged = (until: number) => ({ why: 'the journal of a cannot be read', since: 0, until });

  /** What the limits of the account say of an order of a run that has done nothing yet: `ok`, or the code. */
  function ask(sums: AccountLedger, size: string, account: LimitRules = CLOSED): string {
    const intent = terms({ clientOrderId: 'rbnew', size, price: '60000' });
    const gate: LimitFactsFold = new LimitFactsFold(new OrderTracker(), {}, () => ({
      killed: false,
      working: [],
      ledger: { sums, gates: [gate] },
    }));
    const call = { id: 'n#1', step: 'steps/n', endpoint: 'POST /orders', params: { market_id: intent.market }, intent };
    const verdict = gate.check(call as unknown as VenueCall, {}, START, { account });
    return verdict.ok ? 'ok' : verdict.code;
  }

  async function place(account: Account, over: object = {}) {
    const params = { ...LIMIT, client_order_id: 'rb0lost', time_in_force: 'good_till_cancel', ...over } as never;
    return sendOnce(account, 'POST /orders', params, 'enter');
  }

  it('count at their worst once the venue lists them, and deny until then', async () => {
    const { clock, account, host } = open({ account: {} });
    await clock.runUntil(place(account));
    await clock.advanceTo(START + 60_000);
    const ledger = new AccountLedger({ ...NOTHING, unknown: damaged(Number.POSITIVE_INFINITY) });
    expect([ask(ledger, '0.2'), ask(ledger, '0.2', { maxOpenOrders: 2 })]).toEqual([
      'POSITION_UNKNOWN',
      'POSITION_UNKNOWN',
    ]);
    await clock.runUntil(settleLedger(host(ledger)));
    expect(ledger.listLeft().map(({ worstRemaining }) => worstRemaining)).toEqual(['0.8']);
    expect([ask(ledger, '0.2'), ask(ledger, '0.3')]).toEqual(['ok', 'POSITION_EXCEEDS_MAX']);
    expect([ask(ledger, '0.2', { maxOpenOrders: 2 }), ask(ledger, '0.2', { maxOpenOrders: 1 })]).toEqual([
      'ok',
      'OPEN_ORDERS_EXCEED_MAX',
    ]);
  });

  it('deny where the positions are shown, but not the orders', async () => {
    const faults = [{ on: 'GET /orders', do: 'status', status: 503 } as const];
    const { clock, host } = open({ account: {}, faults });
    const ledger = new AccountLedger({ ...NOTHING, unknown: damaged(Number.POSITIVE_INFINITY) });
    await clock.runUntil(settleLedger(host(ledger)));
    expect(ask(ledger, '0.2')).toBe('POSITION_UNKNOWN');
  });

  it('count beside a position that a person has stated, with what they have filled since', async () => {
    const { positions: _none, ...profile } = PROFILE;
    const { clock, account, host } = open({ account: {} }, profile);
    await clock.runUntil(place(account, { type: 'market', price: undefined, time_in_force: 'immediate_or_cancel' }));
    await clock.runUntil(place(account, { size: '0.1', client_order_id: 'rb0rest' }));
    await clock.advanceTo(START + 3_600_000);
    const baselines = [{ market: 'BTC-USD', size: '-0.1', by: 'ada', at: START - 1_000 }];
    const ledger = new AccountLedger({ ...NOTHING, baselines, unknown: damaged(START - 2_000) });
    expect(ask(ledger, '0.2')).toBe('POSITION_UNKNOWN');
    await clock.runUntil(settleLedger(host(ledger)));
    expect([ask(ledger, '0.2'), ask(ledger, '0.3')]).toEqual(['ok', 'POSITION_EXCEEDS_MAX']);
  });
});

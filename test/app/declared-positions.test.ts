/** The positions that a profile declares a request for, asked at the simulated venue, as a proof of what the account holds. */
import { describe, expect, it } from 'vitest';
import type { Account } from '../../src/app/account/account.ts';
import { nameLedger, openLedger } from '../../src/app/account/ledger.ts';
import { compareWithVenue, settleLedger } from '../../src/app/account/ledger-settling.ts';
import { VirtualClock } from '../../src/base/clock.ts';
import type { DecimalString } from '../../src/base/decimal.ts';
import { findAccountPosition } from '../../src/gateway/account-position.ts';
import { AccountLedger } from '../../src/gateway/limits/account-ledger.ts';
import { readPositions } from '../../src/gateway/live/declared.ts';
import { Simulator, type SimulatorConfig } from '../../src/gateway/simulator/simulator.ts';
import { LocalBudget } from '../../src/gateway/tokens/budget.ts';
import type { Transport } from '../../src/gateway/transport.ts';
import { MemoryStore } from '../../src/journal/stores/memory.ts';
import { restoreProfile, writeProfileSettings } from '../../src/venue/profile/in-force.ts';
import { type Profile, SIMULATED_PROFILE } from '../../src/venue/profile/profile.ts';
import { budgetSettings } from '../../src/venue/tokens/ledger.ts';
import { fill } from '../venue/order-samples.ts';

const START = Date.UTC(2026, 0, 5, 8);
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
    expect(String(findAccountPosition(ledger, [], 'BTC-USD'))).toBe('-0.3');
    expect(String((await lodge()).book.position('BTC-USD').size)).toBe('-0.3');
    expect(await clock.runUntil(compareWithVenue(host(ledger)))).toMatchObject({ moved: [] });
    const rows = await account.store.accountRows('venue main');
    expect(rows.filter(({ name }) => name.startsWith('position '))).toHaveLength(1);
  });

  it('prove every market where a journal cannot be read, those that the venue leaves out as zero', async () => {
    const { clock, host } = open();
    const unknown = { why: 'the journal of a', until: Number.POSITIVE_INFINITY };
    const ledger = new AccountLedger({ runs: [], baselines: [], listed: [], gone: {}, unknown });
    expect(findAccountPosition(ledger, [], 'ETH-USD')).toBeUndefined();
    const { moved } = await clock.runUntil(compareWithVenue(host(ledger)));
    expect(moved).toEqual([{ market: 'BTC-USD', was: '0', size: '-0.3' }]);
    expect(['BTC-USD', 'ETH-USD'].map((market) => String(findAccountPosition(ledger, [], market)))).toEqual([
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
      unknown: { why: 'the journal of a', until: START },
    });
    expect(await trading.clock.runUntil(compareWithVenue(trading.host(fresh)))).toMatchObject({ moved: [] });
    expect([String(fresh.book.position('BTC-USD').size), fresh.findUnknown(['BTC-USD'])]).toEqual([
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

  it.each<[string, object, unknown, readonly unknown[] | undefined]>([
    [
      'by a side',
      {},
      [{ market_id: 'A-B', side: 'SHORT', size: '2', average_price: '3' }],
      [['A-B', { size: '-2', price: '3' }]],
    ],
    ['by a sign', { side: undefined }, [{ market_id: 'A-B', size: '-2' }], [['A-B', { size: '-2' }]]],
    [
      'as a sum of rows',
      {},
      [
        { market_id: 'A-B', side: 'long', size: '2' },
        { market_id: 'A-B', side: 'short', size: '5' },
      ],
      [['A-B', { size: '-3' }]],
    ],
    ['of another side', {}, [{ market_id: 'A-B', side: 'flat', size: '2' }], undefined],
    ['without a size', {}, [{ market_id: 'A-B', side: 'long', size: null }], undefined],
    ['of a market with another name', {}, [{ market_id: 'A/B', side: 'long', size: '2' }], undefined],
    ['that are no list', {}, {}, undefined],
  ])('are read %s', (_what, change, result, found) => {
    const read = readPositions(result, { ...POSITIONS, ...change } as typeof POSITIONS);
    expect(read && [...read]).toEqual(found);
  });
});

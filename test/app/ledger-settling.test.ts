/** Comparisons of one account by two processes at once: what each of them reads of the venue counts in the ledger that both keep. */
import { describe, expect, it } from 'vitest';
import type { Account } from '../../src/app/account/account.ts';
import { keepPositions, nameLedger, openLedger } from '../../src/app/account/ledger.ts';
import { compareWithVenue } from '../../src/app/reconciliation/ledger-settling.ts';
import { pause, VirtualClock } from '../../src/base/clock.ts';
import { ClockAgreement } from '../../src/engine/schedule/clock-agreement.ts';
import { LocalBudget } from '../../src/gateway/tokens/budget.ts';
import type { Transport } from '../../src/gateway/transport.ts';
import { MemoryStore } from '../../src/journal/stores/memory.ts';
import { PAGE_ROWS } from '../../src/venue/order/requests.ts';
import { type Profile, SIMULATED_PROFILE } from '../../src/venue/profile/profile.ts';
import type { FillRecord } from '../../src/venue/records.ts';
import { budgetSettings } from '../../src/venue/tokens/ledger.ts';
import { fill, record } from '../venue/order-samples.ts';

const START = Date.UTC(2026, 0, 5, 8);
const KEY = 'https://venue.example main';
const MARKETS = ['BTC-USD'];
/** Setting `fills.window`: a fill is at most that late in a list. */
const LATE_MS = SIMULATED_PROFILE.fillsWindowMs;

/** What a process is answered; `first` happens before. */
interface Shown {
  readonly fills?: readonly FillRecord[];
  readonly orders?: readonly object[];
  readonly open?: readonly object[];
  readonly first?: () => Promise<unknown>;
  /** What the venue says of an order that it does not have; without it, an empty list. */
  readonly missing?: string;
}

/** Processes that share a store. The venue shows each of them what is given for it. */
function share() {
  const clock = new VirtualClock(START);
  const store = new MemoryStore();
  const clocks = new ClockAgreement();
  const profile: Profile = { ...SIMULATED_PROFILE, account: 'main' };
  const open = async ({ fills = [], orders = [], open = [], first, missing }: Shown) => {
    const listedSince: number[] = [];
    const send: Transport['send'] = async ({ endpoint, params }) => {
      if (endpoint === 'GET /fills') {
        await first?.();
        listedSince.push(Number(params['start_time']?.text) / 1000);
      }
      const status = params['status']?.text;
      const id = params['order_id']?.text;
      const page = orders.filter((order) => id === undefined || ('id' in order && order.id === id)).slice(0, PAGE_ROWS);
      const listed = { open }[status ?? ''] ?? (status === undefined ? page : []);
      const result = endpoint === 'GET /fills' ? fills : listed;
      if (id !== undefined && page.length === 0 && missing !== undefined)
        return {
          kind: 'answer',
          status: 400,
          headers: {},
          body: JSON.stringify({ success: false, error: missing, result: [] }),
        };
      return { kind: 'answer', status: 200, headers: {}, body: JSON.stringify({ success: true, error: '', result }) };
    };
    const budget = new LocalBudget(budgetSettings(), clock, {}, { random: () => 0.5 });
    const account = { profile, clock, clocks, budget, store, transport: { send }, key: KEY } as unknown as Account;
    const ledger = await openLedger(nameLedger(account));
    const host = { account, ledger, voice: { complain: () => undefined } };
    return { ledger, listedSince, compare: () => compareWithVenue(host, { markets: MARKETS }) };
  };
  const of = { store, name: 'main', key: KEY };
  const held = async () => String((await openLedger(of)).book.position('BTC-USD').size);
  return { clock, clocks, store, of, open, held };
}

/** A run has left an order of ten working, with these names beside its client order id. */
async function leaveOpen(store: MemoryStore, names: { readonly orderId?: string } = {}) {
  const order = { clientOrderId: 'rb1', market: 'BTC-USD', side: 'long' as const, filled: '0', open: '10' };
  const working = { ...names, clientOrderId: 'rb1', market: 'BTC-USD', side: 'long', size: '10', worstRemaining: '10' };
  const run = { version: 1, run: 'a', runbook: 'one', account: KEY, startedAt: START, lastAt: START };
  const orders = [{ ...order, working: { ...working, type: 'limit' } }];
  const ledger = { ...run, fills: [], orders, orderTimes: [], days: {} };
  await store.changeAccountRows(KEY, () => [{ name: 'run a', text: JSON.stringify({ seq: 1, hash: '', ledger }) }]);
}

describe('a row of the orders that cannot be read', () => {
  const odd = (fields: object) => record('open', { initial_size: null as never, ...fields });
  const theirs = odd({ id: 'BTC-USD@7', client_order_id: 'theirs' });
  const canceled = record('canceled', { client_order_id: 'rb1' });

  it.each<[string, Shown, readonly string[]]>([
    ['among the newest, of another program', { orders: [theirs, canceled] }, ['rb1']],
    ['among the open, of another program', { open: [theirs], orders: [canceled] }, ['rb1']],
    ['among the newest, of the order itself', { orders: [odd({ client_order_id: 'rb1' })] }, []],
    ['among the open, of the order itself', { open: [odd({ client_order_id: 'rb1' })], orders: [canceled] }, []],
    ['without a client order id, of this id', { orders: [odd({ id: 'BTC-USD@1', client_order_id: null })] }, []],
    [
      'without a client order id, of another id',
      { orders: [odd({ id: 'BTC-USD@7', client_order_id: null })] },
      ['rb1'],
    ],
    ['without any id', { orders: [odd({ id: null, client_order_id: null })] }, []],
    [
      'without any id, of another market',
      { orders: [odd({ id: null, client_order_id: null, market_id: 'ETH-USD' })] },
      ['rb1'],
    ],
  ])('%s, leaves at its worst what it may be, and nothing else', async (_, shown, gone) => {
    const { clock, store, open } = share();
    await leaveOpen(store, { orderId: 'BTC-USD@1' });
    const { ledger, compare } = await open(shown);
    const compared = await clock.runUntil(compare());
    expect(compared).toEqual({ added: [], gone, moved: [] });
    expect(ledger.listLeft().map(({ clientOrderId }) => clientOrderId)).toEqual(gone.length > 0 ? [] : ['rb1']);
  });

  it.each([
    ['still works', 'placed', []],
    ['has ended', 'canceled', ['rb1']],
  ])('is read by its id where newer orders hide one that %s', async (_, status, gone) => {
    const { clock, store, open } = share();
    await leaveOpen(store, { orderId: 'BTC-USD@1' });
    const newer = Array.from({ length: PAGE_ROWS }, (_row, index) =>
      record('canceled', { id: `BTC-USD@${5000 + index}`, client_order_id: 'theirs' }),
    );
    const { compare } = await open({ orders: [...newer, record(status, { id: 'BTC-USD@1', client_order_id: 'rb1' })] });
    expect(await clock.runUntil(compare())).toEqual({ added: [], gone, moved: [] });
  });

  it.each([
    ['has ended where the venue has no such order', undefined, ['rb1']],
    ['has ended where the venue says that it has no such order', 'ORDER_NOT_FOUND', ['rb1']],
    ['may work where it says anything else', 'TRY_LATER', []],
  ])('that newer orders hide %s', async (_, missing, gone) => {
    const { clock, store, open } = share();
    await leaveOpen(store, { orderId: 'BTC-USD@1' });
    const newer = Array.from({ length: PAGE_ROWS }, (_row, index) =>
      record('canceled', { id: `BTC-USD@${5000 + index}`, client_order_id: 'theirs' }),
    );
    const { compare } = await open({ orders: newer, ...(missing === undefined ? {} : { missing }) });
    expect(await clock.runUntil(compare())).toEqual({ added: [], gone, moved: [] });
  });

  it('counts in no limit where what earlier runs left is not known', async () => {
    const { clock, store, open } = share();
    await store.changeAccountRows(KEY, () => [{ name: 'gone', text: '{' }]);
    const { ledger, compare } = await open({ open: [theirs] });
    expect(await clock.runUntil(compare())).toMatchObject({ unread: expect.stringContaining('initial_size') });
    expect(ledger.findListedAt('BTC-USD')).toBeUndefined();
  });

  it('may be an order whose id never arrived, where it has no client order id', async () => {
    const { clock, store, open } = share();
    await leaveOpen(store);
    const { compare } = await open({ orders: [odd({ id: 'BTC-USD@7', client_order_id: null })] });
    expect(await clock.runUntil(compare())).toEqual({ added: [], gone: [], moved: [] });
  });
});

describe('a list that was read while the clock was ahead', () => {
  it('does not keep what is traded until then out of the sums', async () => {
    const { clock, store, open, of, held } = share();
    const ahead = { market: 'BTC-USD', readAt: START + 3_600_000, fills: [] };
    await store.changeAccountRows(KEY, () => [{ name: 'listed BTC-USD', text: JSON.stringify(ahead) }]);
    const bought = fill('1', '2', { order_id: 'BTC-USD@9', timestamp: (START - 1_000) * 1000 });
    const { ledger, compare, listedSince } = await open({ fills: [bought] });
    await clock.runUntil(compare());
    expect(listedSince.every((since) => since < START - 1_000)).toBe(true);
    expect([await held(), ledger.findListedAt('BTC-USD')]).toEqual(['2', START - LATE_MS]);
    expect((await openLedger(of)).findListedAt('BTC-USD')).toBe(START - LATE_MS);
    await keepPositions(of, [{ market: 'ETH-USD', size: '9', by: 'the venue', at: START + 3_600_000 }]);
    await keepPositions(of, [{ market: 'ETH-USD', size: '3', by: 'the venue', at: START }]);
    expect((await openLedger(of)).findStatedAt('ETH-USD')).toBe(START);
  });
});

describe('a list that is read while the clock is ahead', () => {
  it('has the fills since the last one by the clock of the venue', async () => {
    const { clock, clocks, store, open } = share();
    const aheadMs = 600_000;
    clocks.note('the venue', { fromMs: clock.monotonic(), untilMs: clock.monotonic() }, START - aheadMs, 1);
    const before = { market: 'BTC-USD', readAt: START - 1_000, fills: [] };
    await store.changeAccountRows(KEY, () => [{ name: 'listed BTC-USD', text: JSON.stringify(before) }]);
    const { compare, listedSince } = await open({});
    await clock.runUntil(compare());
    expect(listedSince.every((since) => since < START - 1_000 - aheadMs)).toBe(true);
  });
});

describe('a venue that answers every page of fills with the same full one', () => {
  it('shows nothing that is taken for the whole list, and is asked no third time', async () => {
    const { clock, open, of } = share();
    let asked = 0;
    const first = async () => {
      asked += 1;
    };
    const fills = Array.from({ length: PAGE_ROWS }, (_, index) => fill(String(index), '1', { order_id: 'BTC-USD@9' }));
    const { compare } = await open({ fills, first });
    expect(await clock.runUntil(compare())).toMatchObject({ added: [], unread: expect.any(String) });
    expect(asked).toBe(2);
    expect((await openLedger(of)).findListedAt('BTC-USD')).toBeUndefined();
  });
});

const bought = fill('1', '2', { timestamp: START * 1000, order_id: 'BTC-USD@9' });
const later = fill('2', '3', { timestamp: START * 1000, order_id: 'BTC-USD@8' });

describe('a fill that is late in the list', () => {
  it('is asked for again, and until then an order that ended before may have it', async () => {
    const { clock, store, open, of } = share();
    const order = {
      clientOrderId: 'rb1',
      orderId: 'BTC-USD@9',
      market: 'BTC-USD',
      side: 'long',
      filled: '0',
      open: '2',
    };
    const run = { version: 1, run: 'a', runbook: 'one', account: KEY, startedAt: START, lastAt: START };
    const ledger = { ...run, fills: [], orders: [order], orderTimes: [], days: {} };
    await store.changeAccountRows(KEY, () => [{ name: 'run a', text: JSON.stringify({ seq: 1, hash: '', ledger }) }]);
    const most = async () => (await openLedger(of)).listFilled([]).get('BTC-USD')?.range.most.toString();
    const shown: FillRecord[] = [];
    const { compare, listedSince } = await open({ fills: shown });
    await clock.runUntil(compare());
    expect(await most()).toBe('2');
    await clock.runUntil(pause(clock, LATE_MS - 1));
    shown.push({ ...bought, size: '1' });
    await clock.runUntil(compare());
    expect(await most()).toBe('2');
    await clock.runUntil(pause(clock, 1));
    await clock.runUntil(compare());
    expect([await most(), Number(listedSince.at(-1)) < START - LATE_MS]).toEqual(['1', true]);
  });
});

describe('a fill that a journal has', () => {
  it.each([
    ['is not kept beside it', '2', '2', 0],
    ['is kept as the venue has corrected it since', '3', '3', 1],
  ])('%s', async (_, size, position, added) => {
    const { clock, store, open, held } = share();
    const run = { version: 1, run: 'a', runbook: 'one', account: KEY, startedAt: START, lastAt: START };
    const ledger = {
      ...run,
      fills: [{ ...bought, clientOrderId: 'rb1', step: 'a' }],
      orders: [],
      orderTimes: [],
      days: {},
    };
    await store.changeAccountRows(KEY, () => [{ name: 'run a', text: JSON.stringify({ seq: 1, hash: '', ledger }) }]);
    const { compare } = await open({ fills: [{ ...bought, size }] });
    expect((await clock.runUntil(compare())).added).toHaveLength(added);
    const [listed] = (await store.accountRows(KEY)).filter(({ name }) => name.startsWith('listed'));
    expect(JSON.parse(listed?.text ?? '')['fills']).toHaveLength(added);
    expect(await held()).toBe(position);
  });
});

describe('two comparisons of an account at once', () => {
  it('keep the fills of the one that read more, also where it ends first', async () => {
    const { clock, open, held } = share();
    const more = await open({ fills: [bought] });
    const less = await open({ first: () => more.compare() });
    await clock.runUntil(less.compare());
    expect(await held()).toBe('2');
    expect(String(less.ledger.book.position('BTC-USD').size)).toBe('2');
  });

  it('keep the fills of both, and until when they were read', async () => {
    const { clock, open, held, of } = share();
    const one = await open({ fills: [bought] });
    const first = async () => {
      await pause(clock, 5_000);
      await one.compare();
    };
    await clock.runUntil((await open({ fills: [later], first })).compare());
    expect(await held()).toBe('5');
    expect((await openLedger(of)).findListedAt('BTC-USD')).toBe(START + 5_000 - LATE_MS);
  });

  it('keep what either has learnt of an order that is gone, the larger of two figures', async () => {
    const { clock, store, open, of } = share();
    await leaveOpen(store);
    const ended = (filled: string) => [record('canceled', { client_order_id: 'rb1', total_filled_size: filled })];
    const more = await open({ orders: ended('4') });
    const first = async () => {
      await pause(clock, 5_000);
      await more.compare();
    };
    await clock.runUntil((await open({ orders: ended('3'), first })).compare());
    const rows = Object.fromEntries((await store.accountRows(KEY)).map(({ name, text }) => [name, JSON.parse(text)]));
    expect(rows).toMatchObject({ gone: { rb1: START + 5_000 }, ended: { rb1: '4' } });
    expect((await openLedger(of)).listFilled([]).get('BTC-USD')?.range.most.toString()).toBe('4');
  });

  it('keep what was gained between two lists of positions', async () => {
    const { of, store } = share();
    const stated = { market: 'BTC-USD', by: 'the venue', price: '100' };
    const sold = fill('1', '0.5', { side: 'short', price: '60', timestamp: (START + 1) * 1000, order_id: 'BTC-USD@9' });
    const listed = { market: 'BTC-USD', readAt: START + 9, fills: [sold] };
    await store.changeAccountRows(KEY, () => [{ name: 'listed BTC-USD', text: JSON.stringify(listed) }]);
    await keepPositions(of, [{ ...stated, size: '1', at: START }]);
    await keepPositions(of, [{ ...stated, size: '0.25', at: START + 2 }]);
    const { size, realized } = (await openLedger(of)).book.position('BTC-USD');
    expect([String(size), String(realized)]).toEqual(['0.25', '-20']);
  });

  it('keep the position that was listed later', async () => {
    const { of, held } = share();
    const stated = { market: 'BTC-USD', by: 'the venue' };
    await keepPositions(of, [{ ...stated, size: '2', at: START + 1 }]);
    await keepPositions(of, [{ ...stated, size: '1', at: START }]);
    expect(await held()).toBe('2');
  });
});

import { describe, expect, it } from 'vitest';
import { type AskedOrders, LateOrders } from '../../src/app/reconciliation/late-orders.ts';
import { VirtualClock } from '../../src/base/clock.ts';
import type { Transport } from '../../src/gateway/transport.ts';
import type { Entry } from '../../src/journal/entry.ts';
import type { RunRow } from '../../src/journal/store.ts';
import { MemoryStore } from '../../src/journal/stores/memory.ts';
import { JournalWriter } from '../../src/journal/writer.ts';
import { SIMULATED_PROFILE } from '../../src/venue/profile/profile.ts';
import { readAnswer } from '../../src/venue/wire/answer.ts';
import { toWireRequest } from '../../src/venue/wire/request.ts';
import { inputsFrom, loadedFrom, type Performance, perform, START } from '../engine/stage.ts';

const HOUR = 3_600_000;

/** A journal with these final states of orders, by client order id. */
async function kept(
  store: MemoryStore,
  run: string,
  orders: Readonly<Record<string, readonly string[]>>,
  mode: 'live' | 'simulated' = 'live',
) {
  const writer = new JournalWriter(store, {
    run,
    account: 'main',
    def: '0123456789abcdef',
    boot: 'virtual',
    epoch: 1,
    actor: 'engine',
    clock: new VirtualClock(START),
    durable: false,
  });
  writer.append('run.started', {
    runbook: run,
    file: 'one.yaml',
    mode,
    trigger: 'manual',
    inputs: {},
    seed: 1,
    startedAt: START,
    sources: [],
    settings: {},
    engine: 'test',
    account: 'main',
  });
  for (const [clientOrderId, states] of Object.entries(orders))
    for (const to of states)
      writer.append('order.moved', { clientOrderId, from: 'draft', to, event: 'P_OPEN', filled: '0' }, 'steps/o');
  await writer.close();
}

interface Looked {
  readonly account?: string;
  readonly open?: readonly string[];
  readonly now?: number;
  readonly orders?: (startTime: number, page: number) => Promise<AskedOrders>;
  readonly lateOrders?: LateOrders;
}

/** The findings of the next run; sends no request without `orders`. */
async function lookForLateOrders(
  store: MemoryStore,
  { account = 'main', open = [], now = START, ...given }: Looked = {},
) {
  let pauses = 0;
  const found = await (given.lateOrders ?? new LateOrders(store, account)).search({
    run: 'next',
    now,
    ofOtherRuns: open.map((id) => ({ id: `BTC-USD@${id}`, client_order_id: id, market_id: 'BTC-USD' })),
    listOrders: given.orders ?? (async () => ({ request: undefined, records: undefined })),
    yieldTurn: async () => {
      pauses += 1;
    },
  });
  return { found, pauses };
}

describe('orders that are open although a journal calls them ended', () => {
  it('are found by their final state, with the run that recorded it', async () => {
    const store = new MemoryStore();
    await kept(store, 'first', { ended: ['open', 'rejected'], again: ['canceled', 'open'] });
    await kept(store, 'second', { left: ['open'], other: ['closed'] });
    await kept(store, 'rehearsed', { lost: ['closed'] }, 'simulated');
    const open = ['ended', 'again', 'left', 'lost'];
    expect((await lookForLateOrders(store, { open })).found?.late).toEqual([
      {
        clientOrderId: 'ended',
        orderId: 'BTC-USD@ended',
        market: 'BTC-USD',
        run: 'first',
        recorded: 'rejected',
        status: 'open',
      },
    ]);
    expect((await lookForLateOrders(store, { open, account: 'someone else' })).found).toBeUndefined();
  });

  it('are searched one page at a time, yielding before each', async () => {
    const store = new MemoryStore();
    await kept(store, 'long', { ended: [...Array.from({ length: 4_500 }, () => 'open'), 'closed'] });
    const asked = await lookForLateOrders(store, { open: ['ended'], now: START + 25 * HOUR });
    expect([asked.found?.late.length, asked.pauses]).toEqual([1, 4]);
  });

  it('are reported to people once, and again when the venue reports a new state', () => {
    const watched = new LateOrders(new MemoryStore(), 'main');
    const order = { clientOrderId: 'a', orderId: 'BTC-USD@1', market: 'BTC-USD', run: 'first', recorded: 'absent' };
    const told = [
      { ...order, status: 'open', filled: '0' },
      { ...order, status: 'open', filled: '0' },
      { ...order, status: 'closed', filled: '0.1' },
    ].map((each) => watched.isNews(each));
    expect(told).toEqual([true, false, true]);
  });
});

const LOST = `runbook: lost
dsl: 1
leaves: {position: open, because: the case is about something else}
steps:
  - place: {type: limit, market: BTC-USD, side: long, size: 0.1, price: PRICE}
`;

const CAUGHT = '    catch: [{on: [not_placed], then: continue}]\n';

/** A run whose POST reaches the venue four minutes late, long after the run gave it up. */
async function ghostly(price: string, caught = ''): Promise<{ performance: Performance; venue: Transport }> {
  const loaded = loadedFrom({ file: 'lost.yaml', text: `${LOST.replace('PRICE', price)}${caught}` });
  let venue: Transport | undefined;
  const performance = await perform({
    loaded,
    inputs: inputsFrom(loaded, {}),
    config: {
      processingMs: { min: 50, max: 50 },
      markets: { 'BTC-USD': { path: { kind: 'points', points: [{ afterMs: 0, price: '64000' }] } } },
      faults: [{ on: 'POST /orders', do: 'delay', way: 'request', ms: 240_000 }],
    } as never,
    run: 'lost',
    between: (transport) => {
      venue = transport;
      return transport;
    },
  });
  if (venue === undefined) throw new Error('no transport was requested');
  return { performance, venue };
}

/** The store with the run as a live one of the account. */
async function storeWith({ entries, report }: Performance): Promise<MemoryStore> {
  const store = new MemoryStore();
  const row: RunRow = {
    run: 'lost',
    runbook: 'lost',
    mode: 'live',
    account: 'main',
    trigger: 'manual',
    startedAt: START,
    endedAt: Date.parse(report.endedAt),
    outcome: report.outcome,
  };
  const stored = entries.map((entry: Entry) => {
    const { hash, ...line } = entry;
    const { run, seq, at, type, step } = entry;
    return { run, seq, at, type, step, line: JSON.stringify(line), hash };
  });
  await store.append(stored, { durable: false, row, epoch: 1 });
  return store;
}

describe('an order that reaches the venue after its run has ended', () => {
  it.each([
    ['rests', '60000', 'open', '0', 'failed', ''],
    ['has filled by then', '64100', 'closed', '0.1', 'failed', ''],
    ['has filled by then and its run had caught not_placed', '64100', 'closed', '0.1', 'succeeded', CAUGHT],
  ])('is reported by the next run, where it %s', async (_how, price, status, filled, outcome, caught) => {
    const { performance, venue } = await ghostly(price, caught);
    expect(performance.report).toMatchObject({ outcome, orders: [{ state: 'absent' }] });
    const books = await performance.later(300_000);
    expect(books.orders.map((order) => order.status)).toEqual([status]);
    const store = await storeWith(performance);
    const asked: object[] = [];
    const orders = async (start_time: number, p_page: number): Promise<AskedOrders> => {
      const params = { start_time, p_limit: 1000, p_page, p_order: 'ASC' } as const;
      asked.push(params);
      const reply = venue.send(toWireRequest('GET /orders', params, SIMULATED_PROFILE), { timeoutMs: 10_000 });
      await performance.later(5_000);
      const answer = await reply;
      if (answer.kind === 'failure') throw new Error(answer.message);
      const verdict = readAnswer('GET /orders', answer, SIMULATED_PROFILE);
      const success = verdict.kind === 'confirmed';
      return {
        request: { sentAt: START, tokens: 10, status: answer.status, success },
        records: success ? verdict.result : undefined,
      };
    };
    const { found } = await lookForLateOrders(store, { now: START + HOUR, orders });
    const [order] = performance.report.orders;
    expect(found).toEqual({
      inDoubt: 1,
      late: [
        {
          clientOrderId: order?.clientOrderId,
          orderId: books.orders[0]?.id,
          market: 'BTC-USD',
          run: 'lost',
          recorded: 'absent',
          status,
          filled,
        },
      ],
      requests: [{ sentAt: START, tokens: 10, status: 200, success: true }],
    });
    expect(asked).toEqual([{ start_time: (START - HOUR) * 1000, p_limit: 1000, p_page: 0, p_order: 'ASC' }]);
    // After a day, and for running runs, nothing is looked up any more.
    asked.length = 0;
    expect((await lookForLateOrders(store, { now: START + 25 * HOUR, orders })).found).toBeUndefined();
    const watched = new LateOrders(store, 'main');
    const unwatched = watched.markWatched('lost');
    expect((await lookForLateOrders(store, { now: START + HOUR, orders, lateOrders: watched })).found).toBeUndefined();
    unwatched();
    expect((await lookForLateOrders(store, { now: START + HOUR, orders, lateOrders: watched })).found?.inDoubt).toBe(1);
    expect(asked).toHaveLength(1);
  });
});

describe('the outcome of orders in doubt', () => {
  const records = (rows: readonly (readonly [id: string, status: string])[], of = 1) =>
    rows.map(([client_order_id, status], index) => ({
      id: `BTC-USD@${of * 1000 + index}`,
      client_order_id,
      market_id: 'BTC-USD',
      status,
      total_filled_size: '0',
    })) as never;

  it('is looked up in at most three full pages; orders of a run are reported only after its end', async () => {
    const store = new MemoryStore();
    await kept(store, 'halted', {
      quarantined: ['quarantined'],
      resting: ['open'],
      over: ['open'],
      denied: ['denied'],
    });
    let pages = 0;
    const { found } = await lookForLateOrders(store, {
      now: START + HOUR,
      orders: async (_since, page) => {
        pages += 1;
        const full = Array.from({ length: 997 }, () => ['foreign', 'open'] as const);
        const ours = [
          ['quarantined', 'canceled'],
          ['resting', 'open'],
          ['over', 'closed'],
        ] as const;
        return {
          request: { sentAt: START, tokens: 10, status: 200, success: true },
          records: records([...ours, ...full], page),
        };
      },
    });
    expect(pages).toBe(3);
    expect([...new Set(found?.late.map(({ clientOrderId, recorded }) => `${clientOrderId} ${recorded}`))]).toEqual([
      'quarantined quarantined',
      'over open',
    ]);
  });

  it('is that it is there, where its row cannot be read; rows of other programs count in no page as read', async () => {
    const store = new MemoryStore();
    await kept(store, 'halted', { lost: ['unknown'], resting: ['open'] });
    let pages = 0;
    const { found } = await lookForLateOrders(store, {
      now: START + HOUR,
      orders: async (_since, page) => {
        pages += 1;
        const odd = (clientOrderId: string, id: number) => ({
          orderId: `BTC-USD@${id}`,
          clientOrderId,
          shows: { market_id: 'BTC-USD' },
          why: 'odd',
        });
        const full = page === 0 ? 997 : 0;
        return {
          request: { sentAt: START, tokens: 10, status: 200, success: true },
          records: records(Array.from({ length: full }, () => ['foreign', 'open'] as const)),
          unread: page === 0 ? [odd('lost', 1), odd('resting', 2), odd('theirs', 3)] : [],
        };
      },
    });
    expect(pages).toBe(2);
    expect(found?.late).toEqual([
      {
        clientOrderId: 'lost',
        orderId: 'BTC-USD@1',
        market: 'BTC-USD',
        run: 'halted',
        recorded: 'unknown',
        status: 'unreadable',
      },
    ]);
  });

  it('is not asked for again and again where every page is the first one', async () => {
    const store = new MemoryStore();
    await kept(store, 'halted', { lost: ['unknown'] });
    let pages = 0;
    const full = records(Array.from({ length: 1000 }, () => ['foreign', 'open'] as const));
    const orders = async () => {
      pages += 1;
      return { request: { sentAt: START, tokens: 10, status: 200, success: true }, records: full };
    };
    expect((await lookForLateOrders(store, { now: START + HOUR, orders })).found).toMatchObject({
      inDoubt: 1,
      late: [],
    });
    expect(pages).toBe(2);
  });

  it('stays in doubt without tokens, and only that is reported', async () => {
    const store = new MemoryStore();
    await kept(store, 'halted', { lost: ['unknown'] });
    expect((await lookForLateOrders(store, { now: START + HOUR })).found).toEqual({
      inDoubt: 1,
      late: [],
      requests: [],
    });
  });
});

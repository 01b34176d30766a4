/** Tests live runs of one account that share a process: what one does while another begins, or is resumed. */
import { afterEach, expect, it } from 'vitest';
import {
  keepBaseline,
  keepListed,
  type LedgerOf,
  loadLedger,
  nameLedger,
  openLedger,
} from '../../src/app/account/ledger.ts';
import { LiveRun } from '../../src/app/run/live-run.ts';
import type { AccountLedger } from '../../src/gateway/limits/account-ledger.ts';
import type { Transport } from '../../src/gateway/transport.ts';
import { StoreAway, StoreError } from '../../src/journal/store.ts';
import { PAGE_ROWS } from '../../src/venue/order/requests.ts';
import { loadedFrom } from '../engine/stage.ts';
import { fill, record } from '../venue/order-samples.ts';
import { type Hosted, KEY, type Process, World } from './live-host.ts';

const PATH = { kind: 'points', points: [{ afterMs: 0, price: '64000' }] } as const;
const MARKETS = { 'BTC-USD': { tick: '1', lot: '0.0001', start: '64000', path: PATH } };

/** An order that rests, after a while. */
const place = (name: string, wait: string, price: number) => `runbook: ${name}
dsl: 1
leaves: {position: open, because: a test}
steps:
  - wait: ${wait}
  - place: {type: limit, market: BTC-USD, side: long, size: 1, price: ${price}}
    catch: [{on: [denied], then: continue}]
  - wait: 10m
`;

let world: World;
afterEach(() => world.close());

const listOrders = () => world.books.orders.map(({ price, status }) => [price, status]);
const sleep = (ms: number) => new Promise<void>((resolve) => void world.time.after(ms, resolve));
const pass = (ms: number) => world.time.advanceTo(world.time.now() + ms);

/** A run `b` has left an order at work when its process died; in another process a run `a` places its own after 30 s. */
async function leaveOrder(): Promise<Process> {
  world = new World({ config: { markets: MARKETS }, limits: { maxPosition: '1' } });
  const { time } = world;
  const first = await time.runUntil(world.openProcess());
  void (await time.runUntil(first.begin('b', place('b', '1s', 40_000)))).waitForEnd();
  await pass(20_000);
  first.die();
  const second = await time.runUntil(world.openProcess());
  void (await time.runUntil(second.begin('a', place('a', '30s', 41_000)))).waitForEnd();
  await pass(28_000);
  expect(listOrders()).toEqual([['40000', 'open']]);
  return second;
}

it('counts the orders of a run also while it is resumed', async () => {
  const process = await leaveOrder();
  world.beforeRead = (run) => sleep(run === 'b' ? 5000 : 0);
  const b = process.live('b');
  const resumed = b.resume();
  await pass(4000);
  expect(listOrders()).toEqual([['40000', 'open']]);
  await world.time.runUntil(resumed);
  void b.waitForEnd();
  await pass(1000);
  expect(listOrders()).toEqual([['40000', 'open']]);
});

it('counts them where it cannot be resumed', async () => {
  const process = await leaveOrder();
  world.beforeRead = (run) =>
    run === 'b' ? Promise.reject(new StoreError('unavailable', 'the store does not answer')) : Promise.resolve();
  await expect(process.live('b').resume()).rejects.toThrow();
  await pass(10_000);
  expect(listOrders()).toEqual([['40000', 'open']]);
});

it('counts an order of a run whose beginning is not stored yet', async () => {
  world = new World({ config: { markets: MARKETS }, limits: { maxPosition: '1' } });
  const { time } = world;
  world.beforeAppend = () => sleep(3000);
  const process = await time.runUntil(world.openProcess());
  // As the scheduler does.
  const start = async (run: string, price: number) => {
    const live = await process.begin(run, place(run, '1s', price));
    await live.flush();
    await live.waitForEnd();
  };
  void start('a', 40_000);
  void start('b', 41_000);
  await pass(30_000);
  expect(listOrders()).toHaveLength(1);
});

it('places nothing more where a person has cancelled the run while no process acted for it', async () => {
  world = new World({ config: { markets: MARKETS } });
  const { time, shared } = world;
  const first = await time.runUntil(world.openProcess());
  void (await time.runUntil(first.begin('b', place('b', '30s', 40_000)))).waitForEnd();
  await pass(20_000);
  first.die();
  await shared.mailbox.post({ run: 'b', command: 'cancel', by: 'ada', at: time.now() });
  await pass(20_000);
  const pending = (run: string) => sleep(2000).then(() => shared.mailbox.pending(run));
  const second = await time.runUntil(
    world.openProcess({ shared: { ...shared, mailbox: { ...shared.mailbox, pending } } }),
  );
  const b = second.live('b');
  await time.runUntil(b.resume());
  const { error } = await time.runUntil(b.waitForEnd());
  expect([error?.kind, listOrders()]).toEqual(['cancelled', []]);
});

it('counts what an order filled that an earlier run left, also before the venue lists its fills', async () => {
  const points = [
    { afterMs: 0, price: '64000' },
    { afterMs: 20_000, price: '39000' },
  ];
  const falling = { 'BTC-USD': { ...MARKETS['BTC-USD'], path: { kind: 'points', points } } } as const;
  world = new World({ config: { markets: falling, fillLagMs: 30_000 }, limits: { maxPosition: '1' } });
  const { time } = world;
  const first = await time.runUntil(world.openProcess());
  await time.runUntil(
    first.begin('a', place('a', '1s', 40_000).replace('10m', '1s')).then((live) => live.waitForEnd()),
  );
  await pass(20_000);
  expect(world.books.orders.map(({ status, filled }) => [status, filled])).toEqual([['closed', '1']]);
  const second = await time.runUntil(world.openProcess());
  await time.runUntil(second.begin('b', place('b', '1s', 30_000)).then((live) => live.waitForEnd()));
  expect(listOrders()).toEqual([['40000', 'closed']]);
});

it.each([
  ['before the run began', 'before', 'open'],
  ['while no process was there', 'meanwhile', 'canceled'],
])('knows a kill by what it is, not by clocks that were set back or are ahead: %s', async (_what, when, status) => {
  world = new World({ config: { markets: MARKETS } });
  const { time, shared } = world;
  const release = async (at: number) => {
    await shared.killSwitch.engage({ scope: KEY, by: 'ada', reason: 'test', at });
    await shared.killSwitch.release(KEY, 'ada', at + 1);
  };
  const first = await time.runUntil(world.openProcess());
  await pass(10_000);
  if (when === 'before') await release(time.now() + 3_600_000);
  void (await time.runUntil(first.begin('b', place('b', '1s', 40_000)))).waitForEnd();
  await pass(20_000);
  first.die();
  if (when === 'meanwhile') await release(time.now() - 3_600_000);
  const second = await time.runUntil(world.openProcess());
  const b = second.live('b');
  await time.runUntil(b.resume());
  void b.waitForEnd();
  await pass(30_000);
  expect(listOrders()).toEqual([['40000', status]]);
});

it('begins nothing where the venue answers every page of its orders with the same full one', async () => {
  const row = (index: number) => record('open', { id: `BTC-USD@${index}`, client_order_id: '' });
  const result = Array.from({ length: PAGE_ROWS }, (_, index) => row(index));
  const body = JSON.stringify({ success: true, error: '', result });
  let asked = 0;
  world = new World({
    config: { markets: MARKETS },
    between: (venue) => ({
      connect: (ms) => venue.connect?.(ms),
      send: async (request, options) => {
        if (request.params['p_order']?.text !== 'ASC') return venue.send(request, options);
        asked += 1;
        return { kind: 'answer', status: 200, headers: {}, body };
      },
    }),
  });
  const process = await world.time.runUntil(world.openProcess());
  await expect(world.time.runUntil(process.begin('a', place('a', '1s', 40_000)))).rejects.toMatchObject({
    kind: 'contradicted',
  });
  expect([asked, listOrders()]).toEqual([2, []]);
});

it('places the stop of a run that was resumed while the venue did not answer', async () => {
  const text = `runbook: b
dsl: 1
steps:
  - place: {type: market, market: BTC-USD, side: long, size: 1, price: 65000}
  - wait: 30s
  - protect: {market: BTC-USD, side: short, stop_loss: {fraction: 1, trigger: 60000, price: 59000}}
  - wait: 10m
`;
  let isAway = false;
  world = new World({
    config: { markets: MARKETS },
    between: (venue) => ({
      connect: (ms) => venue.connect?.(ms),
      send: async (...request) =>
        isAway ? { kind: 'failure', sent: false, message: 'no connection' } : venue.send(...request),
    }),
  });
  const { time } = world;
  const first = await time.runUntil(world.openProcess());
  void (await time.runUntil(first.begin('b', text))).waitForEnd();
  await pass(20_000);
  first.die();
  isAway = true;
  const second = await time.runUntil(world.openProcess());
  const b = second.live('b');
  const resumed = b.resume();
  await pass(60_000);
  isAway = false;
  await time.runUntil(resumed);
  void b.waitForEnd();
  await pass(30_000);
  expect(world.books.orders.map(({ type, status }) => [type, status])).toEqual([
    ['market', 'closed'],
    ['stop_loss', 'open'],
  ]);
});

it('counts a loss from the release on that a person gave while no process acted for the run', async () => {
  world = new World({ config: { markets: MARKETS }, limits: { maxDailyLoss: '1' } });
  const { time, shared } = world;
  const lose = `steps:
  - place: {type: market, market: BTC-USD, side: long, size: 1, price: 70000}
  - place: {type: market, market: BTC-USD, side: short, size: 1, price: 60000}
`;
  const first = await time.runUntil(world.openProcess());
  const text = place('a', '60s', 40_000).replace('steps:\n', lose);
  void (await time.runUntil(first.begin('a', text))).waitForEnd();
  await pass(20_000);
  first.die();
  await shared.killSwitch.release(KEY, 'ada', time.now());
  await pass(60_000);
  const a = (await time.runUntil(world.openProcess())).live('a');
  await time.runUntil(a.resume());
  void a.waitForEnd();
  await pass(5000);
  expect(listOrders().at(-1)).toEqual(['40000', 'open']);
});

const facts: [string, (of: LedgerOf, at: number) => Promise<void>][] = [
  ['a person has stated', (of, at) => keepBaseline(of, { market: 'BTC-USD', size: '0.5', by: 'ada', at })],
  [
    'the venue has shown to another process',
    (of, at) => {
      const fills = [fill('BTC-USD-9', '0.5', { timestamp: at * 1000 })];
      return keepListed(of, (kept) => ({ ...kept, listed: [{ market: 'BTC-USD', readAt: at, fills }], runs: [] }));
    },
  ],
];

it.each(facts)('counts what %s since the process began', async (_what, keep) => {
  world = new World({ config: { markets: MARKETS }, limits: { maxPosition: '1' } });
  const { time } = world;
  const process = await time.runUntil(world.openProcess());
  const of = nameLedger(process.host.account);
  await pass(1000);
  await keep(of, time.now());
  await pass(1000);
  await time.runUntil(process.begin('a', place('a', '1s', 40_000)).then((live) => live.waitForEnd()));
  expect(listOrders()).toEqual([]);
  await keepBaseline(of, { market: 'BTC-USD', size: '0', by: 'ada', at: time.now() });
  await pass(1000);
  void (await time.runUntil(process.begin('b', place('b', '1s', 40_000)))).waitForEnd();
  await pass(5000);
  expect(listOrders()).toEqual([['40000', 'open']]);
});

it.each(facts)('counts what %s also for a run that is under way and was denied', async (_what, keep) => {
  world = new World({ config: { markets: MARKETS }, limits: { maxPosition: '1' } });
  const { time } = world;
  const process = await time.runUntil(world.openProcess());
  const of = nameLedger(process.host.account);
  await keepBaseline(of, { market: 'BTC-USD', size: '1', by: 'ada', at: time.now() });
  const again = place('a', '1s', 40_000).replace(
    '  - wait: 10m\n',
    `  - wait: 60s
  - place: {type: limit, market: BTC-USD, side: short, size: 1, price: 70000}
    catch: [{on: [denied], then: continue}]
  - place: {type: limit, market: BTC-USD, side: long, size: 0.4, price: 41000}
`,
  );
  await pass(1000);
  const live = await time.runUntil(process.begin('a', again));
  await pass(30_000);
  expect(listOrders()).toEqual([]);
  await keepBaseline(of, { market: 'BTC-USD', size: '0', by: 'ada', at: time.now() });
  await pass(1000);
  await keep(of, time.now());
  const { outcome } = await time.runUntil(live.waitForEnd());
  expect([outcome, listOrders().map(([price]) => price)]).toEqual(['succeeded', ['70000', '41000']]);
});

/** A venue that lists no fills for the first `ms`. */
const listless =
  (ms: number): NonNullable<Hosted['between']> =>
  (venue, time) => {
    const from = time.now();
    return {
      connect: (withinMs) => venue.connect?.(withinMs),
      send: async (request, options) =>
        time.now() < from + ms && request.endpoint === 'GET /fills'
          ? { kind: 'failure', sent: false, message: 'no connection' }
          : venue.send(request, options),
    };
  };

const READING = `runbook: reads
dsl: 1
steps:
  - repeat:
      every: 5s
      max: 30
      do: [{notify: {to: desk, text: "\${account.position('BTC-USD')}"}, catch: [{on: any, then: continue}]}]
`;

/** What the account held whenever the run could read it. */
async function listRead(run: string): Promise<readonly unknown[]> {
  const entries = await world.entries(run);
  return entries.flatMap((entry) => (entry.type === 'notification.sent' ? [entry.data.text] : []));
}

it('reads what the account holds as soon as the venue answers, in a run that began without that', async () => {
  world = new World({ config: { markets: MARKETS }, between: listless(60_000) });
  const { time } = world;
  const process = await time.runUntil(world.openProcess());
  const live = await time.runUntil(process.begin('a', READING));
  const { outcome } = await time.runUntil(live.waitForEnd());
  const read = await listRead('a');
  expect([outcome, new Set(read)]).toEqual(['succeeded', new Set(['0'])]);
  expect([read.length > 10, read.length < 30]).toEqual([true, true]);
});

it('reads what a person states while the venue does not answer', async () => {
  world = new World({ config: { markets: MARKETS }, between: listless(3_600_000) });
  const { time } = world;
  const process = await time.runUntil(world.openProcess());
  const live = await time.runUntil(process.begin('a', READING));
  await pass(20_000);
  const of = nameLedger(process.host.account);
  await keepBaseline(of, { market: 'BTC-USD', size: '0.5', by: 'ada', at: time.now() });
  await time.runUntil(live.waitForEnd());
  expect(new Set(await listRead('a'))).toEqual(new Set(['0.5']));
});

it('counts an order of an earlier run at its worst only until the venue answers', async () => {
  let venue: Transport | undefined;
  const between: NonNullable<Hosted['between']> = (inner, time) => {
    venue = inner;
    return listless(30_000)(inner, time);
  };
  world = new World({ config: { markets: MARKETS }, limits: { maxPosition: '1' }, between });
  const { time } = world;
  const first = await time.runUntil(world.openProcess());
  const a = await time.runUntil(first.begin('a', place('a', '1s', 40_000).replace('10m', '1s')));
  await time.runUntil(a.waitForEnd());
  // A person cancels it at the venue.
  const params = {
    market_id: { as: 'text', text: 'BTC-USD' },
    order_id: { as: 'text', text: world.books.orders[0]?.id },
  };
  const sent = venue?.send(
    { endpoint: 'DELETE /orders', method: 'DELETE', path: '/orders', params } as never,
    { timeoutMs: 10_000 } as never,
  );
  await time.runUntil(sent as never);
  const second = await time.runUntil(world.openProcess());
  const [head = ''] = place('b', '1s', 41_000).split('  - wait: 10m');
  const [, again = ''] = place('b', '41s', 42_000).split('steps:\n');
  const twice = `${head}${again}`;
  void (await time.runUntil(second.begin('b', twice))).waitForEnd();
  await pass(30_000);
  expect(listOrders()).toEqual([['40000', 'canceled']]);
  await pass(90_000);
  expect(listOrders()).toEqual([
    ['40000', 'canceled'],
    ['42000', 'open'],
  ]);
});

it('forgets the orders that runs left, once nothing can come of them any more', async () => {
  world = new World({ config: { markets: MARKETS }, limits: { maxPosition: '100', maxOpenOrders: 5 } });
  const { time } = world;
  const process = await time.runUntil(world.openProcess());
  const of = nameLedger(process.host.account);
  const leave = (name: string) => `runbook: ${name}
dsl: 1
needs: [cancel_all]
leaves: {position: open, because: a test}
steps:
  - cancel_all: {everyone: true}
  - place: {type: limit, market: BTC-USD, side: long, size: 1, price: 40000}
`;
  const sizes: number[] = [];
  for (let run = 0; run < 8; run += 1) {
    await time.runUntil(process.begin(`r${run}`, leave(`r${run}`)).then((live) => live.waitForEnd()));
    await pass(300_000);
    const { gone, ended = {} } = (await time.runUntil(loadLedger(of))).parts;
    sizes.push(Object.keys(gone).length + Object.keys(ended).length);
    const names = (ledger: AccountLedger) => ledger.listLeft().map(({ clientOrderId }) => clientOrderId);
    // A process that begins now knows what this one knows: the newest order, and the one before until the venue is asked.
    expect(names(await time.runUntil(openLedger(of)))).toEqual(names(process.host.ledger));
  }
  expect(listOrders().filter(([, status]) => status === 'open')).toHaveLength(1);
  expect(Math.max(...sizes)).toBeLessThanOrEqual(4);
  expect((await time.runUntil(openLedger(of))).listLeft().length).toBeLessThanOrEqual(2);
});

it.each([1, 30])(
  'begins, and places its order, where the store is away for %i s while its journal is compared',
  async (s) => {
    world = new World({ config: { markets: MARKETS } });
    const { time } = world;
    const first = await time.runUntil(world.openProcess());
    void (await time.runUntil(first.begin('b', place('b', '1s', 40_000)))).waitForEnd();
    await pass(20_000);
    first.die();
    const second = await time.runUntil(world.openProcess());
    const back = time.now() + s * 1000;
    world.beforeRead = async () => {
      if (time.now() < back) throw new StoreAway('the store cannot be reached');
    };
    void (await time.runUntil(second.begin('a', place('a', '1ms', 41_000)))).waitForEnd();
    await pass(900);
    expect(listOrders()).toEqual([['40000', 'open']]);
    await pass((s + 5) * 1000);
    expect(listOrders()).toContainEqual(['41000', 'open']);
  },
);

it.each([
  ['the venue answers', 3_000, 0, 0],
  ['the store answers, after which its orders are compared', 0, 30_000, 1],
])('sends no order of a schedule whose clock is wrong, as is known once %s', async (_what, venueMs, storeMs, begun) => {
  let back = 0;
  world = new World({
    config: { markets: MARKETS },
    between: (venue, at) => ({
      connect: (ms) => venue.connect?.(ms),
      send: async (...request) =>
        at.now() < back + venueMs ? { kind: 'failure', sent: false, message: 'no connection' } : venue.send(...request),
    }),
  });
  const { time } = world;
  const first = await time.runUntil(world.openProcess());
  void (await time.runUntil(first.begin('b', place('b', '1s', 40_000)))).waitForEnd();
  await pass(20_000);
  first.die();
  const { host } = await time.runUntil(world.openProcess());
  back = time.now();
  world.beforeRead = async () => {
    if (time.now() < back + storeMs) throw new StoreAway('the store cannot be reached');
  };
  const live = new LiveRun(host, 'a');
  const loaded = loadedFrom({ file: 'a.yaml', text: place('a', '1m', 41_000) });
  const occurrence = { slot: 'a/every 1h', nominal: time.now() };
  const agrees = () => time.now() < back + Math.max(venueMs, storeMs);
  const result = await time.runUntil(
    live.begin(loaded, {}, { trigger: 'schedule', occurrence }, agrees).then(
      () => live.waitForEnd(),
      (error: unknown) => error,
    ),
  );
  expect(result).toMatchObject(begun === 0 ? { kind: 'clock' } : { outcome: 'succeeded' });
  expect([(await world.store.runs({})).length, listOrders()]).toEqual([begun + 1, [['40000', 'open']]]);
  const failures = (await world.entries('a')).flatMap(({ type, data }) => (type === 'step.ended' ? [data.error] : []));
  if (begun > 0) expect(JSON.stringify(failures)).toContain('"denied","message":"CLOCK_WRONG');
});

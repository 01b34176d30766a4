/** Tests the comparison of the venue's orders with the journals, in virtual time. */
import { afterEach, expect, it } from 'vitest';
import { formatOrder } from '../../src/app/reconciliation/venue-comparison.ts';
import { ClockAgreement } from '../../src/engine/schedule/clock-agreement.ts';
import type { AdoptedOrder } from '../../src/journal/account/acts.ts';
import { type Hosted, KEY, World } from './live-host.ts';

const PATH = { kind: 'points', points: [{ afterMs: 0, price: '64000' }] } as const;
const MARKETS = { 'BTC-USD': { tick: '1', lot: '0.0001', start: '64000', path: PATH } };
const PLACES = `runbook: places
dsl: 1
leaves: {position: open, because: a test}
steps: [{place: {type: limit, market: BTC-USD, side: long, size: 1, price: 60000, tif: immediate_or_cancel}}]
`;
const BRACKET = `runbook: bracket
dsl: 1
leaves: {position: open, because: a test}
steps:
  - {id: entry, place: {type: market, market: BTC-USD, side: long, size: 1, price: 65000}, await: terminal}
  - protect: {market: BTC-USD, side: short, stop_loss: {fraction: 0.5, trigger: 60000, price: 59000}}
`;
const READS = 'runbook: reads\ndsl: 1\nsteps: [{read_account: {}}]\n';
const MINUTE_MS = 60_000;

let world: World;
afterEach(() => world.close());

it('finds the orders of a run behind however many that only read', async () => {
  world = new World({ config: { markets: MARKETS } });
  const { time, store } = world;
  for (const text of [PLACES, READS]) {
    const process = await time.runUntil(world.openProcess());
    const live = await time.runUntil(process.begin(text === PLACES ? 'p' : 'r', text));
    await time.runUntil(live.waitForEnd());
  }
  const [entry] = await store.read('r', { limit: 1 });
  const row = await store.run('r');
  if (entry === undefined || row === undefined) throw new Error('the run has no row');
  for (let n = 1; n <= 1000; n += 1) {
    const at = time.now() + n * MINUTE_MS;
    const run = `r${n}`;
    await store.append([{ ...entry, run, at }], { durable: false, row: { ...row, run, startedAt: at, endedAt: at } });
  }
  await time.advanceTo(time.now() + 1001 * MINUTE_MS);
  const { host } = await time.runUntil(world.openProcess());
  expect(await time.runUntil(host.comparison.compare())).toEqual({ kind: 'agrees' });
  expect((await store.accountRows(KEY)).map(({ name }) => name)).not.toContain('compared');
});

it('says of a position stop which part of the position it is for', async () => {
  world = new World({ config: { markets: MARKETS } });
  const { time, store } = world;
  const process = await time.runUntil(world.openProcess());
  const live = await time.runUntil(process.begin('lost', BRACKET));
  await time.runUntil(live.waitForEnd());
  expect(await store.remove('lost', (await store.last('lost'))?.hash ?? '')).toBe(true);
  const { host } = await time.runUntil(world.openProcess());
  const compared = await time.runUntil(host.comparison.compare());
  const orders = compared.kind === 'unknown' ? compared.orders : [];
  expect(orders).toMatchObject([{ type: 'market' }, { type: 'stop_loss', side: 'short', size: '0.5' }]);
  expect(orders.map((order) => formatOrder(order).replace(/^.*?\) /, ''))).toEqual([
    'market long 1 BTC-USD closed',
    expect.stringMatching(/^stop_loss short 0\.5 of the position in BTC-USD /),
  ]);
  // An act of an earlier version has no type.
  const { type: _, ...old } = orders[1] ?? {};
  expect(formatOrder(old as AdoptedOrder)).toContain(') short 0.5 BTC-USD ');
});

it('finds an order that the journal lacks where the clock of this machine is ahead', async () => {
  const aheadMs = 10 * MINUTE_MS;
  // The venue's clock is that of the world, less this.
  const between: Hosted['between'] = (venue) => ({
    send(request, options) {
      const { start_time: since } = request.params;
      if (since === undefined) return venue.send(request, options);
      const text = String(Number(since.text) + aheadMs * 1000);
      return venue.send({ ...request, params: { ...request.params, start_time: { ...since, text } } }, options);
    },
  });
  world = new World({ config: { markets: MARKETS }, between });
  const { time, store } = world;
  for (const run of ['kept', 'lost']) {
    const process = await time.runUntil(world.openProcess());
    const live = await time.runUntil(process.begin(run, PLACES));
    await time.runUntil(live.waitForEnd());
    await time.advanceTo(time.now() + 2 * MINUTE_MS);
  }
  expect(await store.remove('lost', (await store.last('lost'))?.hash ?? '')).toBe(true);
  const clocks = new ClockAgreement();
  const { host } = await time.runUntil(world.openProcess({ clocks }));
  const at = time.monotonic();
  // A real monotonic clock has fractions.
  clocks.note('the venue', { fromMs: at - 0.3126, untilMs: at }, time.now() - aheadMs, 1000);
  expect(await time.runUntil(host.comparison.compare())).toMatchObject({ kind: 'unknown', orders: [{ side: 'long' }] });
});

it('takes no order for known that a run has only intended: one resumed from an older journal names it as the lost part did', async () => {
  world = new World({ config: { markets: MARKETS } });
  const { time, store } = world;
  const process = await time.runUntil(world.openProcess());
  const live = await time.runUntil(process.begin('older', PLACES));
  await time.runUntil(live.waitForEnd());
  const entries = await store.read('older');
  const row = await store.run('older');
  const intended = entries.find(({ type, line }) => type === 'call.intended' && line.includes('"POST /orders"'));
  if (row === undefined || intended === undefined) throw new Error('the run has intended no order');
  const compare = async () => (await time.runUntil(world.openProcess())).host.comparison.compare();
  expect((await time.runUntil(compare())).kind).toBe('agrees');
  expect(await store.remove('older', entries.at(-1)?.hash ?? '')).toBe(true);
  await store.append(entries.slice(0, intended.seq), { durable: false, row });
  expect(await time.runUntil(compare())).toMatchObject({ kind: 'unknown', orders: [{ type: 'limit', side: 'long' }] });
});

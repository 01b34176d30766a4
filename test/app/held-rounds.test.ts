/** A live loop that finds nothing: what it adds to its journal, and what a process knows that resumes it. */
import { afterEach, expect, it } from 'vitest';
import { writeArmedWatch, writeCountingWatch } from '../../bench/runbooks.ts';
import { RecordAhead } from '../../src/journal/record-ahead.ts';
import { readParts } from '../../src/journal/rounds/passed-rounds.ts';
import { PRICE_FEED } from '../engine/stage.ts';
import { readAllEntries } from '../journal/read-all.ts';
import { itFirst } from '../rows.ts';
import { type Hosted, World } from './live-host.ts';

const PATH = { kind: 'points', points: [{ afterMs: 0, price: '64000' }] } as const;
const CONFIG: Hosted['config'] = { markets: { 'BTC-USD': { tick: '1', lot: '0.0001', start: '64000', path: PATH } } };

const ARMED = writeArmedWatch(100_000);

/** Its rounds are longer than anything may be missing from the disk. */
const SLOW = ARMED.replace('every: 1s', 'every: 50s').replace('- id: mine', '- wait: 45s\n        - id: mine');

const COUNTING = writeCountingWatch(100_000);

let world: World;
afterEach(() => world.close());

const MINUTE = 60_000;
const pass = (ms: number) => world.time.advanceTo(world.time.now() + ms);
const sizeOf = async () => (await world.store.read('a')).reduce((sum, { line }) => sum + line.length, 0);

itFirst(1, [
  ['under a switch of a minute', ARMED, 3],
  ['of slow rounds under it', SLOW, 3],
  ['that counts, and polls a moving price', COUNTING, 3],
])('adds few lines to its journal, and loses seconds when its process dies: a loop %s', async (_what, text, most) => {
  let asked = 0;
  world = new World({
    config: CONFIG,
    profile: PRICE_FEED,
    between: (venue) => ({
      connect: (ms) => venue.connect?.(ms),
      send: async (request, options) => {
        if (request.path !== '/info') return venue.send(request, options);
        asked += 1;
        const body = JSON.stringify({ success: true, error: '', result: { mid: `${64_000 + ((asked * 7) % 100)}` } });
        return { kind: 'answer', status: 200, headers: { 'content-type': 'application/json' }, body };
      },
    }),
  });
  const { time, store } = world;
  const first = await time.runUntil(world.openProcess());
  void (await time.runUntil(first.begin('a', text))).waitForEnd();
  await pass(5 * MINUTE);
  const before = await sizeOf();
  const lines = (await store.read('a')).length;
  await pass(10 * MINUTE);
  expect((await store.read('a')).length - lines).toBeLessThanOrEqual(most);
  // 200 MB in 30 days.
  expect((await sizeOf()) - before).toBeLessThan((200 * 2 ** 20) / 30 / 24 / 6);
  await pass(137_000);
  first.die();
  const died = time.now();
  // A reader sees them before another process goes on.
  const seen = await readAllEntries(store, 'a');
  expect(died - (seen.at(-1)?.at ?? 0)).toBeLessThan(text === COUNTING ? 6500 : 16_000);
  await pass(4000);
  const second = await time.runUntil(world.openProcess());
  const live = second.live('a');
  await time.runUntil(live.resume());
  void live.waitForEnd();
  await pass(100_000);
  const entries = await world.entries('a');
  const pick = ({ at, type, step, data }: (typeof entries)[number]) => JSON.stringify([at, type, step, data]);
  expect(entries.slice(0, seen.length).map(pick)).toEqual(seen.map(pick));
  expect(entries[seen.length]?.type).toBe('run.resumed');
  const moved = entries.flatMap(({ type, data }) => (type === 'deadman.moved' && 'event' in data ? [data.event] : []));
  expect(new Set(moved)).toEqual(new Set(text === COUNTING ? [] : ['armed', 'renewed']));
  expect(world.books.orders.map(({ status }) => status)).toEqual(text === COUNTING ? [] : ['open']);
});

it('has lines enough for a resume that passes over most of them', async () => {
  world = new World({ config: CONFIG });
  const { time, store } = world;
  const first = await time.runUntil(world.openProcess());
  void (await time.runUntil(first.begin('a', ARMED.replace('every: 1s', 'every: 20s')))).waitForEnd();
  await pass(70 * MINUTE);
  first.die();
  const second = await time.runUntil(world.openProcess());
  const live = second.live('a');
  await time.runUntil(live.resume());
  void live.waitForEnd();
  await pass(MINUTE);
  const lines = await store.read('a');
  const died = lines.findIndex(({ type }) => type === 'run.resumed');
  const left = Object.assign(Object.create(store) as typeof store, {
    read: async (_run: string, { after = 0 } = {}) => lines.slice(after, died),
  });
  const passing = { mayPass: () => true, countsAll: false };
  const record = new RecordAhead(readParts(left, 'a', { size: 100, passing }), Infinity);
  await record.readOn();
  for (const each of record) expect(each.type).toBeDefined();
  expect(record.isShort).toBe(true);
  const ended = [...(await world.entries('a'))].filter(
    ({ type, step }) => type === 'step.ended' && step.endsWith('mine'),
  );
  expect(ended.map(({ step }) => step)).toEqual(ended.map((_, n) => `steps/2:repeat[${n}]/do/mine`));
  expect(ended.length).toBeGreaterThan(210);
});

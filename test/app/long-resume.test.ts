/** Tests that a live run is resumed while its record is read: what is in memory of it, and what happens to the record meanwhile. */
import { afterEach, describe, expect, it } from 'vitest';
import { loadLedger } from '../../src/app/account/ledger.ts';
import { HAS_ENDED } from '../../src/app/errors.ts';
import { playRecord, type RecordToResume } from '../../src/app/run/recorded-run.ts';
import { Divergence } from '../../src/engine/playback/playback.ts';
import { ReadTooLittle } from '../../src/journal/record-ahead.ts';
import { PassedTooMuch } from '../../src/journal/rounds/passed-rounds.ts';
import { type StoredEntry, StoreError } from '../../src/journal/store.ts';
import { MemoryStore } from '../../src/journal/stores/memory.ts';
import { newWriter, startedData } from '../journal/sample.ts';
import { type Process, World } from './live-host.ts';

const PATH = { kind: 'points', points: [{ afterMs: 0, price: '64000' }] } as const;
const MARKETS = { 'BTC-USD': { tick: '1', lot: '0.0001', start: '64000', path: PATH } };

const QUOTES = `runbook: quotes
dsl: 1
leaves: {position: open, because: a test}
steps:
  - repeat:
      every: 2s
      max: 1000
      do:
        - id: bid
          place: {type: limit, market: BTC-USD, side: long, size: 0.01, price: 1000, tif: post_only}
        - cancel: bid
`;
/** All its branches begin at one instant. */
const WIDE = `runbook: wide
dsl: 1
leaves: {position: open, because: a test}
steps:
  - parallel:
      each: n
      in: range(400)
      max: 400
      do:
        - assert: n >= 0
        - assert: n < 400
  - place: {type: limit, market: BTC-USD, side: long, size: 0.01, price: 1000, tif: post_only}
  - wait: 1h
`;

let world: World;

const pass = (ms: number) => world.time.advanceTo(world.time.now() + ms);

/** A run whose process died after a while. */
async function leave(text: string, afterMs: number): Promise<Process> {
  world = new World({ config: { markets: MARKETS } });
  const { time } = world;
  const first = await time.runUntil(world.openProcess());
  void (await time.runUntil(first.begin('a', text))).waitForEnd();
  await pass(afterMs);
  first.die();
  // Playing a record takes rounds of the event loop, and no virtual time.
  const tick = () => void time.after(1000, tick);
  tick();
  return time.runUntil(world.openProcess());
}

/** The number of the line of which an entry was applied last. */
const getPlayed = (live: object) => (live as { readonly fold: { readonly newest: number } }).fold.newest;

const countPosts = () => world.books.orders.length;

describe('a record that is read while it is played', () => {
  afterEach(() => world.close());

  it('is never in memory with more than the next turns need', { tags: ['long'] }, async () => {
    const process = await leave(QUOTES, 300_000);
    const lines = await world.store.read('a');
    expect(lines.length).toBeGreaterThan(3000);
    const live = process.live('a');
    const held: number[] = [];
    const read = world.store.read.bind(world.store);
    world.store.read = async (run, range) => {
      const page = await read(run, range);
      // Others read a page at a time, and keep none of it.
      if (run === 'a' && page.length > 1 && range?.limit !== 2000) held.push((page.at(-1)?.seq ?? 0) - getPlayed(live));
      return page;
    };
    await world.time.runUntil(live.resume());
    expect(held.length).toBeGreaterThan(4);
    expect(Math.max(...held)).toBeLessThanOrEqual(1024 + 256);
    expect(getPlayed(live)).toBeGreaterThan(lines.length);
    const before = countPosts();
    void live.waitForEnd();
    await pass(10_000);
    expect(countPosts()).toBeGreaterThan(before);
  });

  it('is played once more where a turn has more entries than were read, and nothing is sent meanwhile', async () => {
    const process = await leave(WIDE, 30_000);
    expect(countPosts()).toBe(1);
    let begun = 0;
    const read = world.store.read.bind(world.store);
    world.store.read = async (run, range) => {
      if (run === 'a' && range?.limit !== 1 && (range?.after ?? 0) === 0) begun += 1;
      return read(run, range);
    };
    const live = process.live('a');
    await world.time.runUntil(live.resume());
    expect(begun).toBe(2);
    void live.waitForEnd();
    await pass(10_000);
    expect(world.books.orders.map(({ status }) => status)).toEqual(['open']);
    expect((await world.entries('a')).filter(({ type }) => type === 'run.resumed')).toHaveLength(1);
  });

  it('has what the process before wrote in its last moment, while it was read', async () => {
    const process = await leave(QUOTES, 180_000);
    const lines = await world.store.read('a');
    const late = lines.slice(-40);
    const read = world.store.read.bind(world.store);
    let isLate = true;
    world.store.read = async (run, range) => {
      const page = (await read(run, range)).filter(({ seq }) => !isLate || seq < (late[0] as StoredEntry).seq);
      // It arrives once all that was there is read.
      if (range?.limit !== 1 && page.length > 0) isLate = false;
      return page;
    };
    const live = process.live('a');
    await world.time.runUntil(live.resume());
    void live.waitForEnd();
    await pass(10_000);
    const after = await read('a');
    expect(after.slice(0, lines.length)).toEqual(lines);
    expect(after[lines.length]?.seq).toBe(lines.length + 1);
  });

  it('is that of a run which another process has ended meanwhile: nothing is taken over', async () => {
    const text = QUOTES.replace('max: 1000', 'max: 100');
    const process = await leave(text, 250_000);
    const lines = await world.store.read('a');
    expect(lines.at(-1)?.type).toBe('run.ended');
    const last = world.store.last.bind(world.store);
    world.store.last = async (run) => (run === 'a' ? lines.at(-2) : last(run));
    await expect(world.time.runUntil(process.live('a').resume())).rejects.toMatchObject({ kind: HAS_ENDED });
    expect(await world.store.read('a')).toEqual(lines);
  });

  it('prevents the resume where a line of it cannot be read, and nothing is written', async () => {
    const process = await leave(QUOTES, 180_000);
    const lines = await world.store.read('a');
    const read = world.store.read.bind(world.store);
    world.store.read = async (run, range) =>
      (await read(run, range)).map((each) => (each.seq === 1500 ? { ...each, line: '{"v":2' } : each));
    await expect(world.time.runUntil(process.live('a').resume())).rejects.toMatchObject({ reason: 'damaged' });
    expect(await read('a')).toEqual(lines);
  });

  it('shows at its end that a line was changed: the run cancels and places nothing', async () => {
    const process = await leave(QUOTES, 180_500);
    const read = world.store.read.bind(world.store);
    world.store.read = async (run, range) =>
      (await read(run, range)).map((each) =>
        each.seq === 1500 ? { ...each, line: each.line.replace('"mono":', '"mono":1') } : each,
      );
    const live = process.live('a');
    await world.time.runUntil(live.resume());
    void live.waitForEnd().catch(() => {});
    const before = countPosts();
    await pass(30_000);
    expect(countPosts()).toBe(before);
    expect((await world.entries('a')).at(-1)).toMatchObject({
      type: 'run.ended',
      data: {
        outcome: 'failed',
        error: { kind: 'cancelled', message: expect.stringContaining('JOURNAL_CONTRADICTED') },
      },
    });
  });
});

it('the ledger of the account leaves the event loop to others between the lines of rounds that it expands', async () => {
  const store = new MemoryStore();
  const writer = newWriter(store, 'r1');
  writer.append('run.started', startedData({ mode: 'live', settings: { base_url: 'https://venue.test' } }));
  for (let n = 0; n < 800; n += 1) {
    writer.append(
      'step.decided',
      { what: 'if', expression: 'a', inputs: {}, value: false },
      `steps/1:repeat[${n}]/do/1:stop`,
    );
    await writer.flush();
  }
  await writer.close();
  const idle = (await store.read('r1')).filter(({ type }) => type === 'round.idle').length;
  expect(idle).toBeGreaterThan(700);
  let rounds = 0;
  let isLoading = true;
  const count = () => {
    rounds += 1;
    if (isLoading) setImmediate(count);
  };
  setImmediate(count);
  const { parts, folded } = await loadLedger({ store, name: 'main', key: 'https://venue.test main' });
  isLoading = false;
  expect([folded, parts.runs.map(({ run }) => run)]).toEqual([1, ['r1']]);
  expect(rounds).toBeGreaterThanOrEqual(idle / 256);
});

describe('playing a record', () => {
  const diverged = new Divergence(5, 'steps/1', 'a', 'b');

  /** Plays a record that fails in turn with these; how it was read each time, and how it ended. */
  async function play(isShort: boolean, ...fails: readonly Error[]) {
    const hows: (readonly [ahead: number, mayPass: boolean])[] = [];
    const left = [...fails];
    const result = await playRecord(
      ({ ahead, mayPass }) => {
        hows.push([ahead / 512, mayPass]);
        return { readOn: async () => {}, isShort: isShort && mayPass } as unknown as RecordToResume;
      },
      async () => {
        const fail = left.shift();
        if (fail !== undefined) throw fail;
        return 'played';
      },
    ).catch((error: unknown) => error);
    return { hows, result };
  }

  it.each<readonly [string, boolean, readonly Error[], readonly (readonly [number, boolean])[], unknown]>([
    ['that holds', true, [], [[1, true]], 'played'],
    [
      'with a turn of many entries',
      false,
      [new ReadTooLittle()],
      [
        [1, true],
        [8, true],
      ],
      'played',
    ],
    [
      'with a turn of very many entries',
      false,
      [new ReadTooLittle(), new ReadTooLittle()],
      [
        [1, true],
        [8, true],
        [64, true],
      ],
      'played',
    ],
    [
      'whose rounds that were left out are needed',
      false,
      [new PassedTooMuch()],
      [
        [1, true],
        [1, false],
      ],
      'played',
    ],
    [
      'that differs where rounds were left out',
      true,
      [diverged],
      [
        [1, true],
        [1, false],
      ],
      'played',
    ],
    ['that differs though none was', false, [diverged], [[1, true]], diverged],
    [
      'that differs with all its rounds too',
      true,
      [diverged, diverged],
      [
        [1, true],
        [1, false],
      ],
      diverged,
    ],
    [
      'that needs both',
      true,
      [new ReadTooLittle(), diverged, new ReadTooLittle()],
      [
        [1, true],
        [8, true],
        [8, false],
        [64, false],
      ],
      'played',
    ],
  ])('%s', async (_what, isShort, fails, hows, result) => {
    expect(await play(isShort, ...fails)).toEqual({ hows, result });
  });

  it('that cannot be read', async () => {
    const damaged = new StoreError('damaged', 'entry 5 cannot be read');
    expect((await play(true, damaged)).result).toBe(damaged);
  });
});

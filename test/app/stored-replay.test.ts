/** Tests the replay of a run that is read from its store while it is executed again. */
import { beforeAll, expect, it } from 'vitest';
import { dryRun, replayRun, replayStoredRun } from '../../src/app/run/virtual-run.ts';
import { readEntry, sealLine, toHead } from '../../src/journal/chain.ts';
import type { Entry } from '../../src/journal/entry.ts';
import { readFirstEntry, readLines } from '../../src/journal/reading.ts';
import type { JournalReader, StoredEntry } from '../../src/journal/store.ts';
import { MemoryStore } from '../../src/journal/stores/memory.ts';
import { loadedFrom } from '../engine/stage.ts';
import { readAllEntries } from '../journal/read-all.ts';

/** All its branches begin at one instant: more entries than a replay has in memory. */
const WIDE = `runbook: wide
dsl: 1
steps:
  - parallel:
      each: n
      in: [${Array.from({ length: 1000 }, (_, n) => n % 3).join(', ')}]
      max: 1000
      do:
        - if: n == 1
          assert: n >= 0
        - assert: n < 3
        - assert: n < 4
`;
/** Few rounds do what the one before them did. */
const NARROW = `runbook: narrow
dsl: 1
vars:
  n: {type: number, init: 0}
  odd: {type: boolean, init: false}
steps:
  - repeat:
      every: 1s
      max: 1500
      do:
        - set: {n: n + 1, odd: '!odd'}
        - if: n > 0
          read_account: {}
`;

const stores = new Map<string, MemoryStore>();

beforeAll(async () => {
  for (const text of [WIDE, NARROW]) {
    const store = new MemoryStore();
    const at = Date.UTC(2026, 0, 5, 8);
    const loaded = loadedFrom({ file: 'one.yaml', text });
    const { result } = await dryRun({ loaded, inputs: {}, run: 'r', at, seed: 1, store, venue: { kind: 'simulated' } });
    expect(result.outcome).toBe('succeeded');
    stores.set(text, store);
  }
});

/** Replays what a store has, with some lines in place of others. Gives the pages that were read too, by the number before each. */
async function replay(text: string, forge: (lines: StoredEntry[]) => void = () => {}) {
  const store = stores.get(text) as MemoryStore;
  const lines = [...(await store.read('r'))];
  forge(lines);
  const pages: number[] = [];
  const reader = {
    async read(_run: string, { after = 0, limit = Infinity } = {}) {
      if (limit > 1) pages.push(after);
      return lines.slice(after, after + limit);
    },
  } as unknown as JournalReader;
  const loaded = loadedFrom({ file: 'one.yaml', text });
  const replayed = await replayStoredRun(reader, await readFirstEntry(reader, 'r'), loaded, {});
  return { ...replayed, pages, lines };
}

/** Puts another entry in place of the line at this place, with the right hash. */
function seal(lines: StoredEntry[], place: number, change: (entry: Entry) => object): void {
  const entry = readEntry(lines[place] as StoredEntry);
  lines[place] = sealLine({ type: entry.type, data: change(entry) }, entry, toHead(lines[place - 1]));
}

const count = (played: ReadonlyMap<string, number>) => [...played.values()].reduce((sum, each) => sum + each, 0);

/** How many entries the run has before a line. */
async function countBefore(text: string, seq = Number.POSITIVE_INFINITY): Promise<number> {
  return (await readAllEntries(stores.get(text) as MemoryStore, 'r')).filter((entry) => entry.seq < seq).length;
}

it('plays every entry once, and reads each page once', async () => {
  const { played, last, divergence, pages, lines } = await replay(NARROW);
  expect(divergence).toBeUndefined();
  expect(last).toBe('run.ended');
  expect(count(played)).toBe(await countBefore(NARROW));
  const [, size = 0] = pages;
  expect(pages).toEqual(Array.from({ length: Math.floor(lines.length / size) + 1 }, (_, page) => page * size));
  expect(pages.length).toBeGreaterThan(3);
});

it('is done once more with more lines in memory where a turn has more entries than were read', async () => {
  const { played, last, divergence, pages } = await replay(WIDE);
  expect(divergence).toBeUndefined();
  expect(last).toBe('run.ended');
  expect(count(played)).toBe(await countBefore(WIDE));
  expect(pages.lastIndexOf(0)).toBeGreaterThan(0);
});

it.each([[NARROW], [WIDE]])('ends at the first entry that differs, however far it is', async (text) => {
  const place = 5000;
  const { divergence, played, lines } = await replay(text, (all) => {
    const at = all.findIndex(({ type }, index) => index >= place && type === 'step.started');
    seal(all, at, ({ data }) => ({ ...data, attempt: 2 }));
  });
  const differs = lines.findIndex(({ line }) => line.includes('"attempt":2'));
  expect(differs).toBeGreaterThanOrEqual(place);
  expect(divergence).toMatchObject({ sequence: differs + 1, isBehindRecord: false });
  expect(count(played)).toBe(await countBefore(text, differs + 1));
});

it('ends with the record where the run goes on', async () => {
  const { divergence, played, last, lines } = await replay(NARROW, (all) => {
    all.splice(all.findIndex(({ type, seq }) => seq > 4500 && type === 'call.settled') + 1);
  });
  // Of some rounds a line stands for several entries: where a person looks is a line.
  expect(lines.some(({ type }) => type === 'round.idle')).toBe(true);
  expect(divergence).toMatchObject({ sequence: lines.length + 1, isBehindRecord: true });
  expect(count(played)).toBe(await countBefore(NARROW, lines.length + 1));
  expect(last).toBe('call.settled');
});

it.each([[NARROW], [WIDE]])('fails at a line that cannot be read, and no step does because of it', async (text) => {
  const damage = (all: StoredEntry[]) => {
    all[5000] = { ...(all[5000] as StoredEntry), line: '{"v":2' };
  };
  await expect(replay(text, damage)).rejects.toMatchObject({ reason: 'damaged' });
});

it('has an answer of the very millisecond in which its question is over behind that end, as a live run does', async () => {
  const text = `runbook: late
dsl: 1
steps:
  - id: sign
    approve: {ask: really, by: [risk], within: 1m}
`;
  const loaded = loadedFrom({ file: 'late.yaml', text });
  const store = new MemoryStore();
  const at = Date.UTC(2026, 0, 5, 8);
  const answers = new Map([['sign', { command: 'approve', afterMs: 60_000 } as const]]);
  await dryRun({ loaded, inputs: {}, run: 'r', at, seed: 1, store, venue: { kind: 'simulated' }, answers });
  const entries = [...readLines(await store.read('r'))];
  expect(entries.find(({ type }) => type === 'step.ended')?.data).toMatchObject({ outcome: 'failed' });
  await replayRun(entries, loaded, {});
});

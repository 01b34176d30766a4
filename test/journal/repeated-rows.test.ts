/** Tests that lists which are read again and again are stored by what differs, and are read as the venue sent them. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { readEntry, sealLine, toHead, verifyChain } from '../../src/journal/chain.ts';
import type { Entry, Json, JsonObject } from '../../src/journal/entry.ts';
import { readEntries, readEntriesOf, readLines, readRange } from '../../src/journal/reading.ts';
import { RecordAhead } from '../../src/journal/record-ahead.ts';
import { findBaseNumber, REPEATED } from '../../src/journal/repeated-rows.ts';
import { readParts } from '../../src/journal/rounds/passed-rounds.ts';
import { type StoredEntry, StoreError } from '../../src/journal/store.ts';
import { MemoryStore } from '../../src/journal/stores/memory.ts';
import type { WriterOptions } from '../../src/journal/writer.ts';
import { newWriter, startedData } from './sample.ts';

const RUN = 'r1';

function makeFill(n: number): Json {
  return {
    id: `BTC-USD-${n}`,
    order_id: `o${n}`,
    size: '0.0010',
    price: `${64_000 + n}`,
    fee: '0.02',
    note: '"of":7,"parts":[',
  };
}

/** The newest fills first, as GET /fills gives them. */
const listFills = (count: number, newest: number) =>
  Array.from({ length: count }, (_, index) => makeFill(newest - index));

/** Writes a reading of each list and gives the store, and the entries as the engine was given them. */
async function write(lists: readonly (Json | undefined)[], { run = RUN, ...options }: Partial<WriterOptions> = {}) {
  const store = new MemoryStore();
  const writer = newWriter(store, run, options);
  const given: Entry[] = [];
  writer.subscribe((entry) => given.push(entry));
  writer.append('run.started', startedData());
  for (const [index, result] of lists.entries()) {
    const call = `steps/${index}:list_fills#1`;
    const data = { call, kind: 'confirmed', ...(result === undefined ? {} : { result }), sentAt: index } as const;
    writer.append('call.settled', data, `steps/${index}:list_fills`);
    writer.append('step.ended', { verb: 'list_fills', outcome: 'succeeded', attempts: 1 }, `steps/${index}:list_fills`);
  }
  await writer.close();
  return { store, given: JSON.parse(JSON.stringify(given)) as Entry[], lines: await store.read(run) };
}

async function collect(entries: AsyncIterable<Entry>): Promise<readonly Entry[]> {
  const all: Entry[] = [];
  for await (const entry of entries) all.push(entry);
  return all;
}

const sizeOf = (lines: readonly StoredEntry[]) => lines.reduce((sum, { line }) => sum + line.length, 0);
const listRepeated = (lines: readonly StoredEntry[]) => lines.filter(({ type }) => type === REPEATED);

const ROW = fc.oneof(
  { weight: 9, arbitrary: fc.integer({ min: 0, max: 12 }).map(makeFill) },
  fc.constantFrom<Json>(null, 'text', { of: 3, parts: [{ first: 0, count: 9 }] }, { '\u202e': '\u001b[31m' }, [], {}),
);
const LIST = fc.oneof<fc.MaybeWeightedArbitrary<Json | undefined>[]>(
  {
    weight: 4,
    arbitrary: fc
      .tuple(fc.nat({ max: 9 }), fc.integer({ min: 5, max: 9 }))
      .map(([count, newest]) => listFills(count, newest)),
  },
  fc.array(ROW, { maxLength: 9 }),
  fc.constantFrom<Json | undefined>(undefined, null, { id: 'an account' }, 'text'),
);

it('every list is read as it was written, from any line on and at any size of a page', async () => {
  let repeated = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(LIST, { maxLength: 14 }),
      fc.nat({ max: 30 }),
      fc.integer({ min: 1, max: 9 }),
      async (lists, after, size) => {
        const { store, given, lines } = await write(lists, { fewestRepeated: 1 });
        repeated += listRepeated(lines).length;
        expect(verifyChain(lines)).toMatchObject({ ok: true });
        const read = await collect(readEntries(store, RUN));
        expect(read).toEqual(given);
        // As exports write them, the sequence of the fields included.
        expect(JSON.stringify(read.map(({ data }) => data))).toBe(JSON.stringify(given.map(({ data }) => data)));
        expect([...readLines(lines)]).toEqual(given);
        expect([...readLines(await readRange(store, RUN, { after }))]).toEqual(given.slice(after));
        const record = new RecordAhead(readParts(store, RUN, { size }), 1000);
        await record.readOn();
        expect([...record]).toEqual(given);
        const settled = await collect(readEntriesOf(store, RUN, new Set(['call.settled'])));
        expect(settled).toEqual(given.filter(({ type }) => type === 'call.settled'));
      },
    ),
    { numRuns: 150, seed: 1 },
  );
  expect(repeated).toBeGreaterThan(150);
});

it('a list of which a few rows are new in each reading takes a fraction of its size', async () => {
  const lists = Array.from({ length: 200 }, (_, index) => listFills(100, 1000 + 2 * index));
  const { lines } = await write(lists);
  expect(sizeOf(lines)).toBeLessThan(sizeOf((await write(lists, { fewestRepeated: Infinity })).lines) / 3);
  const longest = Math.max(...listRepeated(lines).map(({ line }) => line.length));
  expect(longest).toBeLessThan(JSON.stringify(lists[0]).length / 2);
});

it('the pages of a list that is read whole each have a base of their own', async () => {
  const pages = [0, 1, 2].map((page) => listFills(50, 5000 - 50 * page));
  const { lines } = await write([...pages, ...pages, ...pages]);
  expect(listRepeated(lines)).toHaveLength(6);
});

/** For each list whether it was stored whole, or of which of the lists before (from 0) it repeats rows. */
async function storeAs(lists: readonly Json[]): Promise<readonly (number | 'whole')[]> {
  const { lines } = await write(lists);
  const numbers = lines.flatMap(({ seq, type }) => (type === 'call.settled' || type === REPEATED ? [seq] : []));
  return numbers.map((number) => {
    const of = findBaseNumber(lines[number - 1] as StoredEntry);
    return of === undefined ? 'whole' : numbers.indexOf(of);
  });
}

it.each<[string, readonly Json[], readonly (number | 'whole')[]]>([
  ['fewer than four rows are stored whole', [listFills(3, 9), listFills(3, 9)], ['whole', 'whole']],
  ['four rows are not', [listFills(4, 9), listFills(4, 9)], ['whole', 0]],
  ['half of the rows is enough', [listFills(4, 9), listFills(4, 11)], ['whole', 0]],
  ['less than half is not', [listFills(4, 9), listFills(4, 12)], ['whole', 'whole']],
  [
    'once there are more new rows than the base has, the next list is a base',
    [4, 6, 6, 6, 6].map((newest) => listFills(4, newest)),
    ['whole', 0, 0, 'whole', 3],
  ],
  [
    'the base that was replaced is none any more',
    [4, 6, 6, 6, 4].map((newest) => listFills(4, newest)),
    ['whole', 0, 0, 'whole', 3],
  ],
  [
    'the eight lists used last are bases',
    [10, 20, 30, 40, 50, 60, 70, 80, 10, 90, 10, 90, 20].map((newest) => listFills(4, newest)),
    ['whole', 'whole', 'whole', 'whole', 'whole', 'whole', 'whole', 'whole', 0, 'whole', 0, 9, 'whole'],
  ],
])('of a list %s', async (_, lists, expected) => {
  expect(await storeAs(lists)).toEqual(expected);
});

it('rows that have gone, have come in between, or stand elsewhere are where the venue had them', async () => {
  const rows = listFills(9, 9);
  const odd = rows.filter((_, index) => index % 2 === 0);
  const lists = [rows, odd, [...odd, makeFill(50), ...rows.slice(0, 3)], rows.toReversed(), rows];
  const { store, given, lines } = await write(lists);
  expect(listRepeated(lines)).toHaveLength(4);
  expect(await collect(readEntries(store, RUN))).toEqual(given);
});

it('a process that goes on with the run begins with a whole list', async () => {
  const { store, lines } = await write([listFills(9, 9), listFills(9, 9)]);
  const writer = newWriter(store, RUN, { head: toHead(lines.at(-1)) });
  writer.append('call.settled', { call: 'steps/9:list_fills#1', kind: 'confirmed', result: listFills(9, 9) });
  await writer.close();
  expect((await store.read(RUN)).at(-1)?.type).toBe('call.settled');
});

it('lines of several runs, as an export has them, each repeat rows of their own run', async () => {
  const one = await write([listFills(9, 9), listFills(9, 9)]);
  const other = await write([listFills(9, 20), listFills(9, 20)], { run: 'r2' });
  const entries = [...readLines(one.lines.flatMap((line, index) => [line, other.lines[index] as StoredEntry]))];
  expect(entries.filter(({ run }) => run === RUN)).toEqual(one.given);
  expect(entries.filter(({ run }) => run === 'r2')).toEqual(other.given);
});

it('rounds that read the same list change nothing, whether the first of them repeats a list or not', async () => {
  const store = new MemoryStore();
  const writer = newWriter(store, RUN);
  writer.append('run.started', startedData());
  const read = (step: string) => {
    const call = `${step}#1`;
    writer.append('step.started', { verb: 'list_fills', attempt: 1, now: 0 }, step);
    writer.append('call.settled', { call, kind: 'confirmed', result: listFills(9, 9) }, step);
    writer.append('step.ended', { verb: 'list_fills', outcome: 'succeeded', attempts: 1 }, step);
  };
  read('steps/0:list_fills');
  for (let round = 0; round < 20; round += 1) read(`steps/1:repeat[${round}]/do/1:list_fills`);
  await writer.close();
  const lines = await store.read(RUN);
  expect(listRepeated(lines)).toHaveLength(1);
  expect(lines.filter(({ type }) => type === 'round.idle')).toHaveLength(1);
  expect((await collect(readEntries(store, RUN))).filter(({ type }) => type === 'call.settled')).toHaveLength(21);
});

type Change = (line: StoredEntry, data: { of: number; parts: JsonObject[] }) => object;

it.each<[string, Change]>([
  ['a base that is not there', (_, data) => ({ ...data, of: 99 })],
  ['itself', ({ seq }, data) => ({ ...data, of: seq })],
  ['a line that is no answer', (_, data) => ({ ...data, of: 1 })],
  ['rows that its base does not have', (_, { of }) => ({ of, parts: [{ first: 5, count: 90 }] })],
  ['rows before the first', (_, { of }) => ({ of, parts: [{ first: -1, count: 2 }] })],
  ['no rows', (_, { of }) => ({ of, parts: [{ first: 2, count: 0 }] })],
  ['a part that is none', (_, { of }) => ({ of, parts: [null] })],
  ['no parts', (_, { of }) => ({ of })],
])('a line that repeats %s cannot be read', async (_, change) => {
  const { lines } = await write([listFills(9, 9), listFills(9, 9)]);
  const place = lines.findIndex(({ type }) => type === REPEATED);
  const line = lines[place] as StoredEntry;
  const { data, ...envelope } = JSON.parse(line.line);
  const changed = { ...data, result: change(line, data.result) };
  const forged = sealLine({ type: REPEATED, data: changed }, envelope, toHead(lines[place - 1]));
  const store = new MemoryStore();
  await store.append([...lines.slice(0, place), forged], {
    durable: true,
    row: { run: RUN, runbook: 'a', mode: 'live', account: 'a', trigger: 'manual', startedAt: 0 },
  });
  await expect(collect(readEntries(store, RUN))).rejects.toMatchObject({ reason: 'damaged' });
});

it('a line is read with its own base alone', async () => {
  const { lines } = await write([listFills(9, 9), listFills(9, 9)]);
  const [repeated] = listRepeated(lines) as [StoredEntry];
  const base = lines[(findBaseNumber(repeated) ?? 0) - 1] as StoredEntry;
  expect(readEntry({ ...repeated, base })).toMatchObject({ type: 'call.settled', data: { result: listFills(9, 9) } });
  const others = [
    { ...base, run: 'r2' },
    { ...base, seq: repeated.seq },
    { ...base, seq: base.seq - 1 },
    { ...base, type: REPEATED },
  ];
  for (const other of [undefined, ...others])
    expect(() => readEntry(other === undefined ? repeated : { ...repeated, base: other })).toThrow(StoreError);
});

it('an answer that has a field of this name refers to no line', () => {
  expect(findBaseNumber({ type: 'call.settled', line: '{"result":{"of":3,"parts":[]}}' })).toBeUndefined();
});

/** Tests that reading a long journal leaves the event loop to the rest of the process. */
import { expect, it } from 'vitest';
import { readEntry, sealEntry, toHead } from '../../src/journal/chain.ts';
import type { Entry } from '../../src/journal/entry.ts';
import { readLines, readStoredEntries } from '../../src/journal/reading.ts';
import { ReadTooLittle, RecordAhead } from '../../src/journal/record-ahead.ts';
import { type PassingRules, readParts } from '../../src/journal/rounds/passed-rounds.ts';
import type { JournalReader, StoredEntry } from '../../src/journal/store.ts';
import { MemoryStore } from '../../src/journal/stores/memory.ts';
import { newWriter, startedData } from './sample.ts';

/** Counts the rounds of the event loop until `end`, which gives their number. */
function countRounds(): { end(): number } {
  let rounds = 0;
  let isOver = false;
  const count = () => {
    rounds += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  return {
    end() {
      isOver = true;
      return rounds;
    },
  };
}

it('gives the event loop a round between the pages of a long journal', async () => {
  const stored = Array.from({ length: 5000 }, (_, index) => ({ seq: index + 1, line: '' }) as StoredEntry);
  const pages: number[] = [];
  const reader = {
    async read(_run: string, { after = 0, limit = Infinity } = {}) {
      const page = stored.slice(after, after + limit);
      pages.push(page.length);
      return page;
    },
  } as unknown as JournalReader;
  const rounds = countRounds();
  let read = 0;
  for await (const { seq } of readStoredEntries(reader, 'long')) {
    read += 1;
    expect(seq).toBe(read);
  }
  expect(read).toBe(stored.length);
  expect(pages.length).toBeGreaterThan(2);
  expect(rounds.end()).toBeGreaterThanOrEqual(pages.length - 1);
});

it('gives it rounds between the lines of a page that are long', async () => {
  const line = ' '.repeat(100_000);
  const lines = Array.from({ length: 12 }, (_, index) => ({ seq: index + 1, line }) as StoredEntry);
  const rounds = countRounds();
  const read: number[] = [];
  for await (const { seq } of readStoredEntries(readerOf(lines), 'r1')) read.push(seq);
  expect(read).toEqual(lines.map(({ seq }) => seq));
  expect(rounds.end()).toBeGreaterThanOrEqual(3);
});

/** A record of which all is read before the first entry is taken. */
async function readAll(store: JournalReader, passing?: PassingRules, run = 'r1') {
  const ahead = 100_000;
  const record = new RecordAhead(readParts(store, run, { size: ahead, ...(passing && { passing }) }), ahead);
  await record.readOn();
  return [...record];
}

const ALL: PassingRules = { mayPass: () => true, countsAll: false };

async function writeIdleRound(): Promise<readonly StoredEntry[]> {
  return (await writeIdleRounds(1)).read('r1');
}

/** A run with idle rounds, each written alone. */
async function writeIdleRounds(rounds: number): Promise<MemoryStore> {
  const store = new MemoryStore();
  const writer = newWriter(store, 'r1');
  writer.append('run.started', startedData());
  for (let n = 0; n < 1 + rounds; n += 1) {
    const decided = { what: 'if', expression: 'a', inputs: {}, value: false };
    writer.append('step.decided', decided, `steps/1:repeat[${n}]/do/1:stop`);
    await writer.flush();
  }
  writer.append('step.ended', { verb: 'repeat', outcome: 'succeeded', attempts: 1 }, 'steps/1:repeat');
  await writer.close();
  return store;
}

/** Reads, with rounds passed over, a run of which each round reads these keys of a feed; each line has as many rounds. */
async function passFeeds(rounds: number, perLine: number, keysOf: (round: number) => readonly string[]) {
  const store = new MemoryStore();
  const writer = newWriter(store, 'r1');
  writer.append('run.started', startedData());
  for (let n = 0; n < rounds; n += 1) {
    const step = `steps/1:repeat[${n}]/do/1:set`;
    writer.append('step.started', { verb: 'set', attempt: 1, now: 0 }, step);
    for (const key of keysOf(n))
      writer.append(
        'feed.read',
        { call: `${step}#feed:mid:${key}`, name: 'mid', key, value: `${key}${n}`, at: n },
        step,
      );
    writer.append('step.ended', { verb: 'set', outcome: 'succeeded', attempts: 1 }, step);
    if (n % perLine === 0) await writer.flush();
  }
  await writer.close();
  const read = await readAll(store, ALL);
  for (const entry of read) if (entry.type === 'rounds.passed') return entry;
  return 'nothing is passed over';
}

it.each([
  ['one round', 1],
  ['several', 4],
])('the rounds passed over give the newest reading of each feed, from lines of %s', async (_, perLine) => {
  const keys = ['a', 'b', 'c'];
  // The first round has all; of the others each third reads a, each tenth b, and none c.
  const passed = await passFeeds(28, perLine, (n) =>
    keys.filter((key) => n === 0 || (key === 'a' && n % 3 === 0) || (key === 'b' && n > 10 && n % 10 === 0)),
  );
  if (typeof passed !== 'object') throw new Error(String(passed));
  const newest = (every: number) => Math.floor((passed.next - 1) / every) * every;
  expect(passed.first).toBe(1);
  expect(passed.feeds.map(({ key, value, at }) => [key, value, at]).sort()).toEqual(
    [
      ['a', `a${newest(3)}`, newest(3)],
      ['b', `b${newest(10)}`, newest(10)],
    ].sort(),
  );
});

it('has the newest reading of a feed also from a line that was let go', async () => {
  const readAt = async (...rounds: readonly number[]) =>
    await passFeeds(60, 1, (n) => (rounds.includes(n) ? ['a'] : []));
  expect(await readAt(0, 5)).toMatchObject({ feeds: [{ value: 'a5' }] });
  expect(await readAt(0, 40)).toMatchObject({ feeds: [{ value: 'a40' }] });
  // Of two feeds each has its own newest line.
  const two = await passFeeds(60, 1, (n) => (n === 0 ? ['a', 'b'] : n === 5 ? ['a'] : n === 9 ? ['b'] : []));
  expect(two).toMatchObject({ feeds: [{ value: 'a5' }, { value: 'b9' }] });
  // What the first round read is played.
  expect(await readAt(0)).toMatchObject({ feeds: [] });
});

it('of a line that is cut where no heartbeat is under way, only the readings before the cut count', async () => {
  const store = new MemoryStore();
  const writer = newWriter(store, 'r1');
  const round = (n: number) => {
    const step = `steps/1:repeat[${n}]/do/1:set`;
    writer.append('step.started', { verb: 'set', attempt: 1, now: 0 }, step);
    writer.append('feed.read', { call: `${step}#feed:mid`, name: 'mid', value: `${n}`, at: n }, step);
    writer.append('step.ended', { verb: 'set', outcome: 'succeeded', attempts: 1 }, step);
  };
  const heartbeat = (number: number, meanwhile: () => void) => {
    const call = `deadman#${number}`;
    const endpoint = 'POST /cancel_all_after';
    writer.append('call.intended', { call, endpoint, params: {}, class: 'protect', purpose: 'keep-alive' }, 'deadman');
    const attempt = { n: 1, method: 'POST', path: '/cancel_all_after', params: {}, digest: '', tokens: 1, epoch: 1 };
    writer.append('call.attempted', { call, ...attempt, waitedMs: 0 }, 'deadman');
    meanwhile();
    const answer = { kind: 'confirmed', status: 200, headers: {}, success: true, result: {}, sentAt: 0 } as const;
    writer.append('call.settled', { call, ...answer }, 'deadman');
    writer.append('deadman.moved', { event: 'renewed', market: 'BTC-USD', timeoutMs: 1 }, 'deadman');
  };
  writer.append('run.started', startedData());
  heartbeat(1, () => {});
  round(0);
  for (let line = 0; line < 4; line += 1) {
    for (const n of [1, 2]) round(3 * line + n);
    heartbeat(2 + line, () => round(3 * line + 3));
    await writer.flush();
  }
  await writer.close();
  const passed = (await readAll(store, ALL)).filter(({ type }) => type === 'rounds.passed');
  expect(passed).toMatchObject([{ first: 1, next: 9, feeds: [{ value: '8' }] }]);
});

/** A reader of one run that has these lines. */
function readerOf(lines: readonly StoredEntry[]): JournalReader {
  const read = async (_run: string, { after = 0, limit = Infinity } = {}) => lines.slice(after, after + limit);
  return { read } as unknown as JournalReader;
}

async function readBoth(lines: readonly StoredEntry[]) {
  return { whole: [...readLines(lines)], ahead: await readAll(readerOf(lines)) };
}

it('what a replay reads of a line is what the line says, also where its texts look like its data', async () => {
  const store = new MemoryStore();
  const writer = newWriter(store, 'r1');
  writer.append('run.started', startedData());
  writer.append(
    'step.ended',
    { verb: 'notify', outcome: 'succeeded', attempts: 1 },
    'x"data":{"verb":1}',
    '"data":{}}',
  );
  const nested = { call: 'c', data: { data: '"data":{}' }, 'x"data': 1 };
  writer.append('call.settled', nested as never, 'steps/"data":');
  await writer.close();
  const lines = [...(await writeIdleRound()), ...(await store.read('r1')).slice(1)];
  const { whole, ahead } = await readBoth(lines);
  expect(ahead).toEqual(whole);
  expect(whole).toHaveLength(6);
});

it('of a line that was forged a replay reads what the line says, not its columns nor a second field of data', async () => {
  const [first, ...rest] = await writeIdleRound();
  const second = rest[0] as StoredEntry;
  const inData = { ...second, line: second.line.replace('"mono"', '"data":{"value":true},"mono"') };
  const inKey = { ...second, line: second.line.replace('"mono"', String.raw`"x\"data":{"value":true},"mono"`) };
  const inColumns = { ...second, step: 'other', at: second.at + 5, type: 'step.started' };
  const inVersion = { ...second, line: second.line.replace('{"v":2', '{"v":1') };
  const inType = { ...second, line: second.line.replace('"mono"', '"type":"step.decided","mono"') };
  const inMono = { ...second, line: second.line.replace(/"mono":\d+/, '"mono":{"data":{"value":true}}') };
  const behind = { ...second, line: second.line.replace(/}$/, ',"epoch":7}') };
  for (const forged of [inData, inKey, inColumns, inVersion, inType, inMono, behind]) {
    // The second of two lines: of the first a replay parses all.
    const { whole, ahead } = await readBoth([first as StoredEntry, second, forged, ...rest.slice(1)]);
    expect(whole[2]).toMatchObject({ type: 'step.decided', data: { value: false } });
    expect(ahead).toEqual(whole);
  }
});

it.each([
  ['ends early', (line: string) => line.slice(0, -1)],
  ['ends otherwise', (line: string) => line.replace(/}$/, ']')],
  ['has no number before its origin', (line: string) => line.replace(/"mono":\d+/, '"mono":')],
  ['has no object for its data', (line: string) => line.replace(/"data":.*$/, '"data":null}')],
  ['has no time', (line: string) => line.replace(/"at":\d+/, '"at":NaN')],
])('a line that %s is damaged, and the lines before it are played', async (_what, forge) => {
  const lines = [...(await writeIdleRound())];
  const last = lines.at(-1) as StoredEntry;
  const line = forge(last.line);
  lines[lines.length - 1] = { ...last, line, ...(line.includes('NaN') ? { at: Number.NaN } : {}) };
  const record = new RecordAhead(readParts(readerOf(lines), 'r1', { size: 10 }), 10);
  await record.readOn();
  const types: string[] = [];
  expect(() => {
    for (const { type } of record) types.push(type);
  }).toThrow(expect.objectContaining({ reason: 'damaged' }));
  expect(types).toEqual(['run.started', 'step.decided', 'step.decided']);
});

it('rounds that cannot be expanded are damaged, and the lines before them are played', async () => {
  const lines = [...(await writeIdleRound())];
  const idle = readEntry(lines[2] as StoredEntry) as Extract<Entry, { type: 'round.idle' }>;
  lines[2] = sealEntry({ type: 'round.idle', data: { ...idle.data, columns: [] } }, idle, toHead(lines[1])).stored;
  const record = new RecordAhead(readParts(readerOf(lines), 'r1', { size: 10 }), 10);
  await record.readOn();
  const types: string[] = [];
  expect(() => {
    for (const { type } of record) types.push(type);
  }).toThrow(expect.objectContaining({ reason: 'damaged', sequence: 3 }));
  expect(types).toEqual(['run.started', 'step.decided']);
});

it('of a record that is read while it is played no more is in memory than the turns ahead need', async () => {
  const [first, second] = await writeIdleRound();
  const lines = Array.from({ length: 50 }, (_, index) => (index === 0 ? first : second) as StoredEntry);
  const pages: number[] = [];
  const read = async (_run: string, { after = 0, limit = Infinity } = {}) => {
    pages.push(after);
    return lines.slice(after, after + limit).map((line, index) => ({ ...line, seq: after + index + 1 }));
  };
  const record = new RecordAhead(readParts({ read } as unknown as JournalReader, 'r1', { size: 10 }), 10);
  const entries = record[Symbol.iterator]();
  expect(() => entries.next()).toThrow(ReadTooLittle);
  const again = record[Symbol.iterator]();
  for (let played = 0; played < 50; played += 1) {
    await record.readOn();
    // At least ten lines that were not played, and fewer than twice as many.
    expect(pages).toHaveLength(Math.min(6, 1 + Math.ceil(played / 10)));
    expect(again.next().done).toBe(false);
  }
  expect(record.readOn()).toBeUndefined();
  expect(again.next().done).toBe(true);
  expect(pages).toEqual([0, 10, 20, 30, 40, 50]);
});

import { createHash } from 'node:crypto';
import { describe, expect, it, vi } from 'vitest';
import {
  ChainCheck,
  type ChainHead,
  EMPTY_HEAD,
  isSound,
  LineReader,
  readEntry,
  sealEntry,
  sealLine,
  toHead,
  verifyChain,
} from '../../src/journal/chain.ts';
import type { StoredEntry } from '../../src/journal/store.ts';
import { MemoryStore } from '../../src/journal/stores/memory.ts';
import { appendMany, newWriter } from './sample.ts';

const envelope = {
  v: 2,
  at: 1_767_600_000_000,
  mono: 12.345,
  boot: 'boot-1',
  epoch: 2,
  account: 'main',
  run: 'r1',
  def: 'abababababababab',
  step: 'steps/rungs[3]/o',
  actor: 'engine',
} as const;
const body = { type: 'variable.set', data: { name: 'v', value: 'plain' } } as const;

async function makeChain(count: number): Promise<StoredEntry[]> {
  const store = new MemoryStore();
  const writer = newWriter(store, 'r1');
  appendMany(writer, count);
  await writer.flush();
  return [...(await store.read('r1'))];
}

describe('sealEntry', () => {
  it('writes one line with keys in a fixed order and hashes domain and line', () => {
    const head = { seq: 41, hash: 'f'.repeat(64) };
    const { entry, stored } = sealEntry(body, envelope, head);
    expect(stored.line).toBe(
      `{"v":2,"run":"r1","seq":42,"at":1767600000000,"type":"variable.set","step":"steps/rungs[3]/o","prev":"${'f'.repeat(64)}",` +
        '"mono":12.345,"boot":"boot-1","epoch":2,"account":"main","def":"abababababababab","actor":"engine","data":{"name":"v","value":"plain"}}',
    );
    expect(stored.hash).toBe(createHash('sha256').update('rbe-audit-v1\0').update(stored.line).digest('hex'));
    expect(stored).toMatchObject({
      run: 'r1',
      seq: 42,
      at: 1_767_600_000_000,
      type: 'variable.set',
      step: 'steps/rungs[3]/o',
    });
    expect(entry).toEqual({ ...envelope, ...body, seq: 42, prev: head.hash, hash: stored.hash });
  });

  it('is read back as the same entry', () => {
    const { entry, stored } = sealEntry(
      { type: 'variable.set', data: { name: 'v', value: [1, null, { a: '\ud800 \u2028 é 😀' }] } },
      envelope,
      EMPTY_HEAD,
    );
    expect(readEntry(stored)).toEqual(entry);
  });

  it('writes what differs from the entry before it', () => {
    const others = { boot: 'boot-2', epoch: 3, account: 'other', def: 'cd'.repeat(8), actor: 'human:ann' };
    for (const field of Object.keys(others) as (keyof typeof others)[]) {
      for (const changed of [envelope, { ...envelope, [field]: others[field] }]) {
        const { entry, stored } = sealEntry(body, changed, EMPTY_HEAD);
        expect(readEntry(stored)).toEqual(entry);
        expect(entry).toMatchObject(changed);
      }
    }
  });

  it('escapes a name that is nothing but a quote and a backslash', () => {
    const { entry, stored } = sealEntry(body, { ...envelope, step: '"\\' }, EMPTY_HEAD);
    expect(readEntry(stored)).toEqual(entry);
  });

  it.each([0x00, 0x0a, 0x1b, 0x7f, 0x85, 0x9b, 0x61c, 0x200f, 0x2028, 0x2029, 0x202e, 0x2066, 0xfeff])(
    'keeps U+%s out of the line, whole in the entry',
    (code) => {
      const text = `a${String.fromCharCode(code)}b`;
      const { stored } = sealEntry(
        { type: 'variable.set', data: { name: text, value: text } },
        { ...envelope, step: text, run: text },
        EMPTY_HEAD,
      );
      expect(stored.line).not.toContain(String.fromCharCode(code));
      expect(readEntry(stored)).toMatchObject({ step: text, run: text, data: { name: text, value: text } });
      expect(verifyChain([stored])).toMatchObject({ ok: true });
    },
  );
});

const LINE = '{"v":1,"run":"r1","seq":7,"at":1,"type":"x","step":"","prev":"p","data":{}}';

describe('readEntry', () => {
  it('accepts a line with all required fields', () => {
    expect(readEntry({ run: 'r1', seq: 7, at: 1, type: 'x', step: '', line: LINE, hash: 'h' })).toMatchObject({
      seq: 7,
      at: 1,
      hash: 'h',
    });
  });

  it.each([
    '',
    '{',
    'null',
    '[]',
    '{"v":1}',
    '{"v":2,"seq":1}',
    '\u0000',
    LINE.replace('"at":1,', '"at":9000000000000000,'),
    LINE.replace('"v":1', '"v":3'),
    LINE.replace('"seq":7', '"seq":7.5'),
    LINE.replace('"run":"r1"', '"run":1'),
    LINE.replace('"type":"x"', '"type":null'),
    LINE.replace('"prev":"p"', '"prev":0'),
    LINE.replace('"step":""', '"step":[]'),
    LINE.replace('"data":{}', '"data":5'),
    LINE.replace('"data":{}', '"data":null'),
  ])('refuses %j as damaged, naming run and number', (line) => {
    const stored = { run: 'r1', seq: 7, at: 1, type: 'x', step: '', line, hash: 'h' };
    expect(() => readEntry(stored)).toThrow(
      expect.objectContaining({
        name: 'StoreError',
        reason: 'damaged',
        message: expect.stringMatching(/entry 7 of run r1/),
      }),
    );
  });
});

describe('LineReader', () => {
  const seal = (head: ChainHead, more: object = {}, what: Parameters<typeof sealLine>[0] = body) =>
    sealLine(what, { ...envelope, ...more }, head);
  /** Reads the lines in sequence: of which it parsed the data alone. */
  const readAll = (lines: readonly StoredEntry[]) => {
    const reader = new LineReader();
    return lines.map((line) => {
      const parse = vi.spyOn(JSON, 'parse');
      const entry = reader.read(line);
      const texts = parse.mock.calls.map(([text]) => text);
      parse.mockRestore();
      expect(entry).toEqual(readEntry(line));
      expect(texts.length).toBeGreaterThan(0);
      return !texts.includes(line.line);
    });
  };
  /** A chain of lines, each with its own part of the envelope. */
  const chain = (...each: readonly object[]) => {
    const lines: StoredEntry[] = [];
    for (const more of each) lines.push(seal(toHead(lines.at(-1)), more));
    return lines;
  };

  it.each([0, 5, 12, 123, 0.5, 1.25, 12.5, 12.345])('parses the data alone where the clock reads %d', (mono) => {
    expect(readAll(chain({}, { mono }, { mono }))).toEqual([false, true, true]);
  });

  it('parses a line whole where its process is another, and the next of that process not', () => {
    const boot = { boot: 'boot-2', epoch: 3 };
    expect(readAll(chain({}, {}, boot, boot, {}, {}))).toEqual([false, true, false, true, false, true]);
  });

  it('parses a line of version 1 whole, with what it says now, and goes on behind it', () => {
    const [first, second, ...rest] = chain({}, {}, {}, {}, {}) as [StoredEntry, StoredEntry, ...StoredEntry[]];
    const old = { ...second, line: second.line.replace('{"v":2', '{"v":1') };
    expect(readAll([first, old, ...rest])).toEqual([false, false, true, true, true]);
    expect(readAll([old, ...rest])).toEqual([false, true, true, true]);
  });

  it.each<readonly [string, (line: StoredEntry) => Partial<StoredEntry>]>([
    ['is of another run', () => ({ run: 'r2' })],
    ['has another number', () => ({ seq: 3 })],
    ['has another time', () => ({ at: 5 })],
    ['has another type', () => ({ type: 'step.started' })],
    ['is of another step', () => ({ step: 'steps/other' })],
    ['follows another line', ({ line }) => ({ line: line.replace(/"prev":"../, '"prev":"zz') })],
    ['has a clock below zero', ({ line }) => ({ line: line.replace('"mono":', '"mono":-') })],
    ['has a clock in another spelling', ({ line }) => ({ line: line.replace('"mono":12.345', '"mono":1e3') })],
    ['is by somebody else', ({ line }) => ({ line: line.replace('"actor":"engine"', '"actor":"human:ann"') })],
    ['has blanks', ({ line }) => ({ line: line.replace('"mono":', '"mono": ') })],
    ['has a field behind its data', ({ line }) => ({ line: line.replace(/}$/, ',"epoch":7}') })],
  ])('parses a line whole where, by its columns or the line before, it %s', (_, forge) => {
    const [first, second] = chain({}, {}) as [StoredEntry, StoredEntry];
    const forged = { ...second, ...forge(second) };
    const reader = new LineReader();
    reader.read(first);
    expect(reader.read(forged)).toEqual(readEntry(forged));
  });

  it.each<readonly [string, (line: StoredEntry) => Partial<StoredEntry>]>([
    ['is cut', ({ line }) => ({ line: line.slice(0, -1) })],
    ['is cut and closed', ({ line }) => ({ line: `${line.slice(0, -2)}]}` })],
    ['ends otherwise', ({ line }) => ({ line: line.replace(/}$/, ']') })],
    ['has another text behind it', ({ line }) => ({ line: `${line}}` })],
    ['has no number for its clock', ({ line }) => ({ line: line.replace('"mono":12.345', '"mono":') })],
    ['has a zero before its clock', ({ line }) => ({ line: line.replace('"mono":12', '"mono":012') })],
    ['has half a clock', ({ line }) => ({ line: line.replace('"mono":12.345', '"mono":12.') })],
    ['has null for its data', ({ line }) => ({ line: line.replace(/"data":.*$/, '"data":null}') })],
    ['has a number for its data', ({ line }) => ({ line: line.replace(/"data":.*$/, '"data":5}') })],
    ['has a text for its data', ({ line }) => ({ line: line.replace(/"data":.*$/, '"data":"x"}') })],
    ['has no number', ({ line }) => ({ seq: Number.NaN, line: line.replace('"seq":2', '"seq":NaN') })],
    ['has a number that is not whole', ({ line }) => ({ seq: 2.5, line: line.replace('"seq":2', '"seq":2.5') })],
    ['has no instant', ({ line }) => ({ at: 9e15, line: line.replace(/"at":\d+/, '"at":9000000000000000') })],
  ])('refuses a line that %s as damaged', (_, forge) => {
    const [first, second] = chain({}, {}) as [StoredEntry, StoredEntry];
    const reader = new LineReader();
    reader.read(first);
    expect(() => reader.read({ ...second, ...forge(second) })).toThrow(expect.objectContaining({ reason: 'damaged' }));
  });
});

describe('verifyChain', () => {
  it('accepts an empty chain and a complete one', async () => {
    const entries = await makeChain(20);
    expect(verifyChain([])).toEqual({ ok: true, entries: 0, head: EMPTY_HEAD.hash });
    expect(verifyChain(entries)).toEqual({ ok: true, entries: 20, head: entries.at(-1)?.hash });
  });

  it('finds a change of any single byte of any line', async () => {
    const entries = await makeChain(4);
    for (const [index, entry] of entries.entries()) {
      for (let at = 0; at < entry.line.length; at += 1) {
        const line = `${entry.line.slice(0, at)}${entry.line[at] === '1' ? '2' : '1'}${entry.line.slice(at + 1)}`;
        const verdict = verifyChain(entries.with(index, { ...entry, line }));
        expect(verdict).toMatchObject({ ok: false, problem: { sequence: index + 1 } });
      }
    }
  });

  it.each(['at', 'type', 'step', 'run', 'hash'] as const)('finds a change of the column %s', async (column) => {
    const entries = await makeChain(6);
    const changed = { ...(entries[3] as StoredEntry), [column]: column === 'at' ? 5 : 'other' };
    expect(verifyChain(entries.with(3, changed))).toMatchObject({ ok: false, entries: 6, problem: { sequence: 4 } });
  });
});

describe('the first entry that does not fit', () => {
  /** Entries in new places: the columns are numbered anew, the lines remain as they were written. */
  const inPlaces = (entries: readonly StoredEntry[]) => entries.map((entry, index) => ({ ...entry, seq: index + 1 }));
  const edited = (entry: StoredEntry): StoredEntry => ({ ...entry, line: entry.line.replace('"mono":', '"mono":1') });
  const seal = (head: ChainHead, run = 'r1') => sealEntry(body, { ...envelope, run }, head).stored;

  it.each<readonly [string, (all: readonly StoredEntry[]) => readonly StoredEntry[], number, string]>([
    ['one removed', (all) => all.toSpliced(2, 1), 3, 'missing'],
    ['the first removed', (all) => all.slice(1), 1, 'missing'],
    ['one removed, the others numbered anew', (all) => inPlaces(all.toSpliced(2, 1)), 3, 'missing'],
    ['the last but one removed, the last numbered anew', (all) => inPlaces(all.toSpliced(4, 1)), 5, 'missing'],
    [
      'one with a later number chained to the head',
      (all) => [...all.slice(0, 2), seal({ ...toHead(all[1]), seq: 4 })],
      3,
      'missing',
    ],
    [
      'one removed before a line that cannot be read',
      (all) => all.toSpliced(2, 2, { ...(all[3] as StoredEntry), line: 'x' }),
      3,
      'missing',
    ],
    ['one repeated', (all) => all.toSpliced(3, 0, all[2] as StoredEntry), 3, 'inserted'],
    ['a copy of the one before', (all) => inPlaces(all.toSpliced(2, 0, all[1] as StoredEntry)), 3, 'inserted'],
    ['a copy of a later one', (all) => inPlaces(all.toSpliced(2, 0, all[5] as StoredEntry)), 3, 'inserted'],
    ['one sealed later', (all) => inPlaces(all.toSpliced(2, 0, seal(toHead(all[1])))), 3, 'inserted'],
    ['one of another run', (all) => all.with(2, { ...seal(toHead(all[1]), 'r2'), run: 'r1' }), 3, 'inserted'],
    ['a line that cannot be read', (all) => all.with(2, { ...(all[2] as StoredEntry), line: 'x' }), 3, 'unreadable'],
    ['an edited line', (all) => all.with(2, edited(all[2] as StoredEntry)), 3, 'edited'],
    ['the last line edited', (all) => all.with(5, edited(all[5] as StoredEntry)), 6, 'edited'],
    ['a line edited and hashed anew', (all) => all.with(2, seal(toHead(all[1]))), 3, 'edited'],
    [
      'a first entry that follows something',
      (all) => [seal({ seq: 0, hash: 'f'.repeat(64) }), ...all.slice(1)],
      1,
      'edited',
    ],
    ['a column edited', (all) => all.with(2, { ...(all[2] as StoredEntry), at: 5 }), 3, 'edited'],
    [
      'an edited line before one chained to the head under a later number',
      (all) => [...all.slice(0, 2), edited(all[2] as StoredEntry), { ...seal({ ...toHead(all[1]), seq: 4 }), seq: 4 }],
      3,
      'edited',
    ],
    [
      'an edited line before one of the same number',
      (all) => [
        ...all.slice(0, 2),
        edited(all[2] as StoredEntry),
        { ...seal({ seq: 2, hash: 'f'.repeat(64) }), seq: 4 },
      ],
      3,
      'edited',
    ],
    [
      'two neighbours exchanged',
      (all) => inPlaces([0, 1, 3, 2, 4, 5].map((at) => all[at] as StoredEntry)),
      3,
      'swapped',
    ],
    ['two others exchanged', (all) => inPlaces([0, 1, 4, 3, 2, 5].map((at) => all[at] as StoredEntry)), 3, 'swapped'],
    ['an earlier one in place of one', (all) => all.with(2, { ...(all[0] as StoredEntry), seq: 3 }), 3, 'swapped'],
    ['an earlier one in place of the last', (all) => all.with(5, { ...(all[0] as StoredEntry), seq: 6 }), 6, 'swapped'],
    [
      'one of the number before, chained to another',
      (all) => all.with(2, { ...seal({ seq: 1, hash: 'f'.repeat(64) }), seq: 3 }),
      3,
      'swapped',
    ],
  ])('%s', async (_, change, sequence, kind) => {
    const entries = change(await makeChain(6));
    expect(verifyChain(entries)).toMatchObject({ ok: false, entries: entries.length, problem: { sequence, kind } });
  });

  it('is named with the entry that is in its place', async () => {
    const all = await makeChain(6);
    for (const order of [
      [0, 1, 3, 2],
      [0, 1, 4, 3, 2],
    ]) {
      const verdict = verifyChain(inPlaces(order.map((at) => all[at] as StoredEntry)));
      expect(verdict).toMatchObject({
        problem: { detail: expect.stringContaining(`entry ${Number(order[2]) + 1} is in`) },
      });
    }
    const copied = verifyChain(inPlaces(all.toSpliced(2, 0, all[5] as StoredEntry)));
    expect(copied).toMatchObject({ problem: { detail: expect.not.stringContaining('in its place') } });
  });

  it('remains the first, and is known once the next one is there', async () => {
    const all = await makeChain(6);
    const check = new ChainCheck();
    for (const entry of all.slice(0, 2)) check.add(entry);
    check.add(edited(all[2] as StoredEntry));
    expect([check.found, check.newest]).toEqual([undefined, all[1]]);
    for (const entry of [all[3], edited(all[4] as StoredEntry), all[2]]) check.add(entry as StoredEntry);
    expect([check.found, check.newest]).toMatchObject([{ sequence: 3, kind: 'edited' }, all[1]]);
    expect(check.end()).toEqual({ ok: false, entries: 6, problem: check.found });
  });

  it('need not be looked for to see that a line is not the one that was sealed', async () => {
    const [entry] = (await makeChain(3)) as [StoredEntry];
    expect([isSound(entry), isSound(edited(entry)), toHead(undefined)]).toEqual([true, false, EMPTY_HEAD]);
  });
});

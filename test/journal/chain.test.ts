import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { EMPTY_HEAD, readEntry, sealEntry, verifyChain } from '../../src/journal/chain.ts';
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

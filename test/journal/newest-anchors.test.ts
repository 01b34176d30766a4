import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../src/base/clock.ts';
import type { Anchor } from '../../src/journal/anchors/anchors.ts';
import { findContradictedAnchor, readNewestAnchors } from '../../src/journal/anchors/newest.ts';
import type { StoredEntry } from '../../src/journal/store.ts';
import { MemoryStore } from '../../src/journal/stores/memory.ts';
import { JournalWriter } from '../../src/journal/writer.ts';

const folder = mkdtempSync(join(tmpdir(), 'runbook-anchors-'));
const file = join(folder, 'anchors.jsonl');
afterEach(() => rmSync(file, { force: true }));

const anchor = (run: string, seq: number, head = 'a'.repeat(64)): Anchor => ({
  v: 1,
  run,
  seq,
  head,
  count: seq,
  time: '2026-01-05T08:00:00.000Z',
});
const lines = (anchors: readonly Anchor[]) => anchors.map((each) => `${JSON.stringify(each)}\n`).join('');

describe('the newest anchors', () => {
  it('are the furthest of each run, latest runs first', () => {
    writeFileSync(
      file,
      lines([anchor('a', 4), anchor('b', 2), anchor('a', 9), anchor('b', 12), anchor('b', 11), anchor('c', 1)]),
    );
    appendFileSync(file, '{"v":1,"run":"c","se');
    expect(readNewestAnchors(file).map(({ run, seq }) => `${run} ${seq}`)).toEqual(['c 1', 'b 12', 'a 9']);
  });

  it('are those of twenty runs, from the end of a file of any length', () => {
    writeFileSync(file, lines(Array.from({ length: 20_000 }, (_, index) => anchor(`run-${index >> 1}`, index + 1))));
    const newest = readNewestAnchors(file);
    expect([newest.length, newest[0], newest.at(-1)]).toEqual([
      20,
      anchor('run-9999', 20_000),
      anchor('run-9980', 19_962),
    ]);
  });

  it('are none when there is no file', () => {
    expect(readNewestAnchors(join(folder, 'nothing.jsonl'))).toEqual([]);
    rmSync(folder, { recursive: true });
  });
});

describe('a journal', () => {
  /** A run of three entries, or fewer or changed ones as `kept` says, and the anchor of its third. */
  async function journal(keep: (entries: StoredEntry[]) => StoredEntry[], elsewhere = 'c'.repeat(64)) {
    const row = {
      run: 'a',
      runbook: 'a',
      mode: 'live',
      account: 'main',
      trigger: 'manual',
      startedAt: 0,
    } as const;
    const written = new MemoryStore();
    const clock = new VirtualClock(0);
    const writer = new JournalWriter(written, {
      run: 'a',
      account: 'main',
      def: '0',
      boot: 'virtual',
      epoch: 1,
      actor: 'engine',
      clock,
      durable: false,
      row,
    });
    for (let entries = 0; entries < 3; entries += 1) writer.append('variable.set', { name: 'n', value: entries });
    await writer.close();
    const entries = [...(await written.read('a'))];
    const { seq, hash } = writer.storedHead;
    const store = new MemoryStore();
    await store.append(keep(entries), { durable: false, row });
    const archive = new MemoryStore();
    const archived = { ...row, run: 'archived' };
    const kept = { run: 'archived', seq: 1, at: 0, type: 'run.started', step: '', line: '{}', hash: 'c'.repeat(64) };
    await archive.append([kept], { durable: false, row: archived });
    return findContradictedAnchor(store, [anchor('archived', 1, elsewhere), anchor('a', seq, hash)], async (compare) =>
      elsewhere === '' ? undefined : compare(archive),
    );
  }

  it('agrees with an anchor of an entry that it has, or that an archive has', async () => {
    expect(await journal((entries) => entries)).toBeUndefined();
  });

  it('is contradicted by an anchor of a run that nothing has, or that an archive has differently', async () => {
    const all = (entries: StoredEntry[]) => entries;
    expect(await journal(all, '')).toMatchObject({ kind: 'missing', anchor: { run: 'archived' } });
    expect(await journal(all, 'd'.repeat(64))).toMatchObject({ kind: 'changed', anchor: { run: 'archived' } });
  });

  it('is contradicted by an anchor of an entry that was cut off or rewritten', async () => {
    expect(await journal((entries) => entries.slice(0, 2))).toMatchObject({
      kind: 'cut',
      anchor: { run: 'a', seq: 3 },
    });
    const rewritten = (entries: StoredEntry[]) => entries.map((each) => ({ ...each, hash: 'b'.repeat(64) }));
    expect(await journal(rewritten)).toMatchObject({ kind: 'changed', anchor: { run: 'a', seq: 3 } });
  });
});

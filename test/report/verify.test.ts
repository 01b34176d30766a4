import { describe, expect, it } from 'vitest';
import type { Anchor } from '../../src/journal/anchors/anchors.ts';
import { type ChainProblemKind, EMPTY_HEAD, readEntry, sealEntry } from '../../src/journal/chain.ts';
import { type JournalReader, type RunRow, type StoredEntry, StoreError } from '../../src/journal/store.ts';
import { MemoryStore } from '../../src/journal/stores/memory.ts';
import { makeVerifyDocument, verifyJournal, verifyRun } from '../../src/report/compare/verify.ts';
import { appendMany, newWriter, startedData } from '../journal/sample.ts';

/** A store as someone with write access could leave it: it returns `entries` and `row`. */
function storeOf(entries: readonly StoredEntry[], row: RunRow | undefined): JournalReader {
  return {
    read: async (_run, { after = 0, limit = Infinity } = {}) =>
      entries.filter((entry) => entry.seq > after).slice(0, limit),
    runs: async () => (row === undefined ? [] : [row]),
    run: async () => row,
    close: async () => {},
  };
}

async function journalOf(
  count: number,
): Promise<{ entries: readonly StoredEntry[]; row: RunRow; anchors: readonly Anchor[] }> {
  const store = new MemoryStore();
  const writer = newWriter(store, 'r1');
  appendMany(writer, count);
  await writer.flush();
  const entries = await store.read('r1');
  const anchors = entries
    .filter((entry) => entry.seq % 10 === 0 || entry.seq === count)
    .map(
      ({ seq, hash }): Anchor => ({ v: 1, run: 'r1', seq, head: hash, count: seq, time: '2026-01-05T08:00:00.000Z' }),
    );
  return { entries, row: (await store.run('r1')) as RunRow, anchors };
}

/** Mulberry32, so that a seed identifies a trial. */
function random(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

/** Computes the chain again from entry `from`, as someone who knows the format could. */
function rechain(entries: readonly StoredEntry[], from: number): StoredEntry[] {
  let head = from === 1 ? EMPTY_HEAD : { seq: from - 1, hash: entries[from - 2]?.hash ?? '' };
  const again = entries.slice(from - 1).map((stored) => {
    const sealed = sealEntry(readEntry(stored), readEntry(stored), head);
    head = { seq: sealed.stored.seq, hash: sealed.stored.hash };
    return sealed.stored;
  });
  return [...entries.slice(0, from - 1), ...again];
}

const renumber = (entries: readonly StoredEntry[]) => entries.map((entry, index) => ({ ...entry, seq: index + 1 }));
const edit = (entry: StoredEntry) => ({ ...entry, line: entry.line.replace('"actor":"engine"', '"actor":"engina"') });
const forge = (entries: readonly StoredEntry[], at: number) => {
  const before = entries[at - 2];
  const head = before === undefined ? EMPTY_HEAD : { seq: before.seq, hash: before.hash };
  return sealEntry(
    { type: 'variable.set', data: { name: 'forged', value: 'yes' } },
    readEntry(entries[at - 1] as StoredEntry),
    head,
  ).stored;
};

interface Tampering {
  readonly kind: ChainProblemKind;
  /** Returns the entries left in the store, and the number the verdict must name. `pick(n)`: 0 to n - 1. */
  readonly apply: (
    entries: readonly StoredEntry[],
    pick: (below: number) => number,
  ) => { readonly left: readonly StoredEntry[]; readonly sequence: number };
}

const COUNT = 57;
const between = (pick: (below: number) => number, from: number, to: number) => from + pick(to - from + 1);

const TAMPERINGS: Readonly<Record<string, Tampering>> = {
  'an entry edited': {
    kind: 'edited',
    apply: (entries, pick) => {
      const at = between(pick, 1, COUNT);
      return { left: entries.with(at - 1, edit(entries[at - 1] as StoredEntry)), sequence: at };
    },
  },
  'an entry edited and its own hash computed again': {
    kind: 'edited',
    apply: (entries, pick) => {
      const at = between(pick, 1, COUNT - 1);
      return { left: entries.with(at - 1, forge(entries, at)), sequence: at };
    },
  },
  'entries deleted': {
    kind: 'missing',
    apply: (entries, pick) => {
      const at = between(pick, 1, COUNT - 10);
      return { left: entries.toSpliced(at - 1, between(pick, 1, 9)), sequence: at };
    },
  },
  'entries deleted and the rest renumbered': {
    kind: 'missing',
    apply: (entries, pick) => {
      const at = between(pick, 1, COUNT - 10);
      return { left: renumber(entries.toSpliced(at - 1, between(pick, 1, 8))), sequence: at };
    },
  },
  'two entries swapped': {
    kind: 'swapped',
    apply: (entries, pick) => {
      const at = between(pick, 1, COUNT - 2);
      const other = between(pick, at + 1, COUNT - 1);
      const [a, b] = [entries[at - 1] as StoredEntry, entries[other - 1] as StoredEntry];
      return { left: entries.with(at - 1, { ...b, seq: at }).with(other - 1, { ...a, seq: other }), sequence: at };
    },
  },
  'an entry inserted': {
    kind: 'inserted',
    apply: (entries, pick) => {
      const at = between(pick, 1, COUNT);
      return { left: renumber(entries.toSpliced(at - 1, 0, forge(entries, at))), sequence: at };
    },
  },
  'the tail cut off': {
    kind: 'truncated',
    apply: (entries, pick) => {
      const left = between(pick, 1, COUNT - 1);
      return { left: entries.slice(0, left), sequence: left + 1 };
    },
  },
  'an entry rewritten and all hashes computed again': {
    kind: 'rechained',
    apply: (entries, pick) => {
      const at = between(pick, 1, COUNT);
      const sequence = Math.min(COUNT, Math.ceil(at / 10) * 10);
      return { left: rechain(entries.with(at - 1, edit(entries[at - 1] as StoredEntry)), at), sequence };
    },
  },
};

describe('verifyRun', () => {
  it('finds nothing in an unchanged journal', async () => {
    const { entries, row, anchors } = await journalOf(COUNT);
    expect(await verifyRun(storeOf(entries, row), 'r1', anchors)).toEqual({
      run: 'r1',
      ok: true,
      entries: COUNT,
      anchors: 6,
    });
  });

  describe.each(Object.entries(TAMPERINGS))('%s', (_what, { kind, apply }) => {
    it(`is found in 60 trials of 60, as ${kind}, at the right entry`, async () => {
      const { entries, row, anchors } = await journalOf(COUNT);
      for (let seed = 0; seed < 60; seed += 1) {
        const { left, sequence } = apply(entries, random(seed));
        const verdict = await verifyRun(storeOf(left, row), 'r1', anchors);
        expect({ seed, entries: verdict.entries, ...verdict.problem, detail: '' }).toEqual({
          seed,
          entries: left.length,
          kind,
          sequence,
          detail: '',
        });
        expect(verdict.problem?.detail).not.toBe('');
      }
    });
  });

  it('finds a tail cut off without any anchor, because the row says the run ended', async () => {
    const { entries, row } = await journalOf(20);
    expect(await verifyRun(storeOf(entries.slice(0, 12), row), 'r1', [])).toMatchObject({
      ok: false,
      problem: { kind: 'truncated', sequence: 13 },
    });
  });

  it('finds a row whose end differs from the entries', async () => {
    const { entries, row, anchors } = await journalOf(20);
    expect(await verifyRun(storeOf(entries, { ...row, outcome: 'failed' }), 'r1', anchors)).toMatchObject({
      problem: { kind: 'edited', sequence: 20 },
    });
  });

  it.each([
    ['runbook', 'other', 'runbook', 1],
    ['mode', 'live', 'mode', 1],
    ['account', 'spare', 'account', 1],
    ['trigger', 'schedule', 'trigger', 1],
    ['startedAt', 1, 'started_at', 1],
    ['endedAt', 1, 'ended_at', 20],
    ['outcome', 'failed', 'outcome', 20],
  ])('finds a row whose %s was changed, and names the column', async (field, value, column, sequence) => {
    const { entries, row, anchors } = await journalOf(20);
    const { ok, problem } = await verifyRun(storeOf(entries, { ...row, [field]: value }), 'r1', anchors);
    expect([ok, problem?.kind, problem?.sequence]).toEqual([false, 'edited', sequence]);
    expect(problem?.detail).toContain(`the run's row says ${value} (column ${column}), entry ${sequence} says `);
  });

  it('accepts a halted run that was resumed, also while it goes on', async () => {
    const store = new MemoryStore();
    const writer = newWriter(store, 'r1');
    writer.append('run.started', startedData());
    writer.append('run.ended', { outcome: 'halted', outputs: {} });
    await writer.flush();
    const halted = (await store.run('r1')) as RunRow;
    writer.append('operator.acted', { command: 'cancel', by: 'ada' });
    writer.append('run.resumed', { openCalls: [] });
    await writer.flush();
    expect(await verifyRun(store, 'r1', [])).toMatchObject({ ok: true, entries: 4 });
    writer.append('run.ended', { outcome: 'failed', outputs: {} });
    await writer.flush();
    const entries = await store.read('r1');
    const rows = [halted, await store.run('r1')];
    const ending: JournalReader = { ...storeOf(entries.slice(0, 4), halted), run: async () => rows.shift() };
    expect(await verifyRun(ending, 'r1', [])).toMatchObject({ ok: true, entries: 4 });
    expect(await verifyRun(store, 'r1', [])).toMatchObject({ ok: true, entries: 5 });
  });

  it('reports a live run that ended without an anchor', async () => {
    const store = new MemoryStore();
    const writer = newWriter(store, 'r1');
    writer.append('run.started', startedData({ mode: 'live' }));
    await writer.flush();
    expect(await verifyRun(store, 'r1', [])).not.toHaveProperty('unanchored');
    writer.append('run.ended', { outcome: 'succeeded', outputs: {} });
    await writer.flush();
    expect(await verifyRun(store, 'r1', [])).toMatchObject({ ok: true, anchors: 0, unanchored: true });
    const last = (await store.read('r1')).at(-1);
    const anchor: Anchor = { v: 1, run: 'r1', seq: 2, head: last?.hash ?? '', count: 2, time: 'now' };
    expect(await verifyRun(store, 'r1', [anchor])).not.toHaveProperty('unanchored');
  });

  it('is not misled by a run that ends while it is verified', async () => {
    const { entries, row } = await journalOf(20);
    const { outcome, endedAt, ...running } = row;
    const rows = [running, row];
    const store: JournalReader = { ...storeOf(entries.slice(0, 19), running), run: async () => rows.shift() };
    expect(await verifyRun(store, 'r1', [])).toMatchObject({ ok: true, entries: 19 });
  });

  it('reports a line that is not JSON, with a matching hash, as unreadable', async () => {
    const { entries, row, anchors } = await journalOf(20);
    const left = entries.with(4, { ...(entries[4] as StoredEntry), line: 'not json' });
    expect(await verifyRun(storeOf(left, row), 'r1', anchors)).toMatchObject({
      problem: { kind: 'unreadable', sequence: 5 },
    });
  });

  it('reports a damaged file as unreadable', async () => {
    const { entries, row, anchors } = await journalOf(20);
    const store: JournalReader = {
      ...storeOf(entries, row),
      read: () => Promise.reject(new StoreError('damaged', 'journal.db is damaged: its pages contradict each other')),
    };
    expect(await verifyRun(store, 'r1', anchors)).toMatchObject({
      ok: false,
      entries: 0,
      problem: { kind: 'unreadable', sequence: 1 },
    });
  });
});

describe('verifyJournal', () => {
  it('reports a run that only the anchors know as missing, and prints the document', async () => {
    const { entries, row, anchors } = await journalOf(12);
    const gone: Anchor = { v: 1, run: 'r0', seq: 9, head: 'a'.repeat(64), count: 9, time: '2026-01-05T07:00:00.000Z' };
    const verdicts = await verifyJournal(storeOf(entries, row), [...anchors]);
    expect(makeVerifyDocument(verdicts)).toEqual({ ok: true, runs: [{ run: 'r1', ok: true, entries: 12 }] });

    const store = storeOf(entries, row);
    const both: JournalReader = {
      ...store,
      read: async (run, range) => (run === 'r1' ? store.read(run, range) : []),
      run: async (run) => (run === 'r1' ? row : undefined),
    };
    expect(makeVerifyDocument(await verifyJournal(both, [gone, ...anchors]))).toEqual({
      ok: false,
      runs: [
        { run: 'r1', ok: true, entries: 12 },
        { run: 'r0', ok: false, entries: 0, problem: { sequence: 1, kind: 'missing' } },
      ],
    });
  });
});

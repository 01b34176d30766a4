import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AccountRow, JournalStore, RunRow, StoredEntry } from '../../src/journal/store.ts';
import { MemoryStore } from '../../src/journal/stores/memory.ts';
import { openPostgresStore } from '../../src/journal/stores/postgres.ts';
import { openSqliteStore } from '../../src/journal/stores/sqlite.ts';
import { asLogin, onServer, postgresOfFile } from '../postgres.ts';
import { accessTo } from './postgres-access.ts';

const server = postgresOfFile();

type OpenStore = (folder: string) => Promise<JournalStore>;

/** All stores: a new one gets a line here and must pass every test. */
const STORES: Readonly<Record<string, OpenStore>> = {
  memory: async () => new MemoryStore(),
  sqlite: (folder) => openSqliteStore(join(folder, 'journal.db')),
  // Entries are removed with the archivist's rights, everything else is done with the writer's.
  postgresql: async () => {
    const access = await accessTo(server());
    return Object.assign(await openPostgresStore(access), {
      async remove(run: string, head: string) {
        const archivist = await openPostgresStore({ ...access, url: asLogin(access.url, 'archivist') });
        return archivist.remove(run, head).finally(() => archivist.close());
      },
    });
  },
};

const row = (run: string, overrides: Partial<RunRow> = {}): RunRow => ({
  run,
  runbook: 'ladder',
  mode: 'simulated',
  account: 'main',
  trigger: 'manual',
  startedAt: 1000,
  ...overrides,
});

const entry = (run: string, seq: number, overrides: Partial<StoredEntry> = {}): StoredEntry => ({
  run,
  seq,
  at: 1_767_600_000_000 + seq,
  type: 'variable.set',
  step: `steps/${seq}:set`,
  line: `{"seq":${seq},"text":"ü \\u001b ${'x'.repeat(20)}"}`,
  hash: String(seq).padStart(64, '0'),
  ...overrides,
});

const some = (run: string, from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => entry(run, from + index));

function testStore(open: OpenStore): void {
  let folder: string;
  let store: JournalStore;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'journal-'));
    store = await open(folder);
  });
  afterEach(async () => {
    await store.close();
    rmSync(folder, { recursive: true });
  });

  it.each([true, false])(
    'gives entries back byte for byte, in the order of their numbers (durable: %s)',
    async (durable) => {
      const entries = [...some('a', 1, 3), entry('a', 4, { line: `{"big":"${'☃'.repeat(50_000)}"}` })];
      await store.append(entries.slice(0, 2), { durable, row: row('a') });
      await store.append(entries.slice(2), { durable });
      expect(await store.read('a')).toEqual(entries);
    },
  );

  it('reads a range', async () => {
    await store.append(some('a', 1, 10), { durable: true, row: row('a') });
    expect((await store.read('a', { after: 4, limit: 3 })).map((each) => each.seq)).toEqual([5, 6, 7]);
    expect((await store.read('a', { after: 8 })).map((each) => each.seq)).toEqual([9, 10]);
    expect(await store.read('a', { after: 10 })).toEqual([]);
    expect(await store.read('nobody')).toEqual([]);
  });

  it("lists the ends of an account's runs, oldest first", async () => {
    await store.append(some('b', 1, 2), { durable: true, row: row('b', { startedAt: 2000 }) });
    await store.append(some('a', 1, 1), { durable: true, row: row('a') });
    await store.append(some('c', 1, 1), { durable: true, row: row('c', { account: 'other' }) });
    await store.append(some('a', 2, 3), { durable: true });
    const hash = (seq: number) => entry('a', seq).hash;
    expect(await store.heads('main')).toEqual([
      { ...row('a'), seq: 3, hash: hash(3) },
      { ...row('b', { startedAt: 2000 }), seq: 2, hash: hash(2) },
    ]);
    expect(await store.heads('nobody')).toEqual([]);
  });

  it('keeps rows of an account beside its entries', async () => {
    const put = (key: string, ...rows: readonly AccountRow[]) => store.changeAccountRows(key, () => rows);
    await put('k', { name: 'b', text: '1' }, { name: 'a', text: 'ü' });
    await put('other', { name: 'a', text: '9' });
    await put('k', { name: 'c', text: '3' }, { name: 'a', text: '2' });
    expect(await store.accountRows('k')).toEqual([
      { name: 'a', text: '2' },
      { name: 'b', text: '1' },
      { name: 'c', text: '3' },
    ]);
    expect(await store.accountRows('nobody')).toEqual([]);
    await put('k', { name: 'b', text: '' }, { name: 'gone', text: '' });
    expect((await store.accountRows('k')).map(({ name }) => name)).toEqual(['a', 'c']);
  });

  it('changes rows of an account from what all others have written, and all or none', async () => {
    const name = 'sum';
    const add = (kept: readonly AccountRow[]) => [
      { name, text: `${kept.find((each) => each.name === name)?.text ?? ''}+` },
    ];
    await Promise.all(Array.from({ length: 10 }, () => store.changeAccountRows('k', add)));
    expect(await store.accountRows('k')).toEqual([{ name, text: '++++++++++' }]);
    const fail = () => {
      throw new Error('no rows');
    };
    await expect(store.changeAccountRows('k', fail)).rejects.toThrow('no rows');
    expect(await store.accountRows('k')).toEqual([{ name, text: '++++++++++' }]);
  });

  it('keeps runs apart', async () => {
    await store.append(some('a', 1, 2), { durable: true, row: row('a') });
    await store.append(some('b', 1, 1), { durable: true, row: row('b') });
    await store.append(some('a', 3, 3), { durable: true });
    expect((await store.read('a')).map((each) => each.seq)).toEqual([1, 2, 3]);
    expect((await store.read('b')).map((each) => each.seq)).toEqual([1]);
  });

  it.each([
    ['a number that exists already', some('a', 3, 3)],
    ['a gap', some('a', 5, 5)],
    ['a gap inside the batch', [entry('a', 4), entry('a', 6)]],
    ['a number twice inside the batch', [entry('a', 4), entry('a', 4)]],
  ])('refuses %s as a conflict and keeps nothing of it', async (_what, entries) => {
    await store.append(some('a', 1, 3), { durable: true, row: row('a') });
    const ended = row('a', { endedAt: 5, outcome: 'failed' });
    await expect(store.append(entries, { durable: true, row: ended })).rejects.toMatchObject({
      name: 'StoreError',
      reason: 'conflict',
    });
    expect((await store.read('a')).map((each) => each.seq)).toEqual([1, 2, 3]);
    expect(await store.run('a')).toEqual(row('a'));
    await store.append(some('a', 4, 4), { durable: true });
    expect(await store.read('a')).toHaveLength(4);
  });

  it('fences a writer whose epoch is older than the newest one, and only that', async () => {
    await store.append(some('a', 1, 1), { durable: true, row: row('a'), epoch: 3 });
    await store.append(some('a', 2, 2), { durable: true, epoch: 4 });
    await expect(store.append(some('a', 3, 3), { durable: true, epoch: 3 })).rejects.toMatchObject({
      reason: 'fenced',
    });
    await store.append(some('a', 3, 3), { durable: true, epoch: 4 });
    await store.append(some('b', 1, 1), { durable: true, row: row('b'), epoch: 3 });
    expect(await store.read('a')).toHaveLength(3);
  });

  it('refuses first entries without a row, and a batch for two runs', async () => {
    await expect(store.append(some('a', 1, 1), { durable: true })).rejects.toThrow('without its row');
    await expect(store.append([entry('a', 1), entry('b', 2)], { durable: true, row: row('a') })).rejects.toThrow(
      'one append is for one run',
    );
    expect(await store.read('a')).toEqual([]);
  });

  it('lists runs newest first, by account, runbook, unfinished, and up to a limit', async () => {
    const rows = [
      row('a', { startedAt: 1 }),
      row('b', { startedAt: 3, account: 'other' }),
      row('c', { startedAt: 2, runbook: 'entry', mode: 'live', trigger: 'schedule', endedAt: 9, outcome: 'halted' }),
      row('d', { startedAt: 3 }),
    ];
    for (const each of rows) await store.append(some(each.run, 1, 1), { durable: false, row: each });
    const runs = async (...filter: Parameters<JournalStore['runs']>) =>
      (await store.runs(...filter)).map((each) => each.run);
    expect(await store.runs()).toEqual([rows[3], rows[1], rows[2], rows[0]]);
    expect(await runs({ account: 'main' })).toEqual(['d', 'c', 'a']);
    expect(await runs({ runbook: 'entry' })).toEqual(['c']);
    expect(await runs({ outcome: 'halted' })).toEqual(['c']);
    expect(await runs({ unfinished: true })).toEqual(['d', 'b', 'a']);
    expect(await runs({ unfinished: true, account: 'main', runbook: 'ladder', limit: 1 })).toEqual(['d']);
    expect(await store.run('c')).toEqual(rows[2]);
    expect(await store.run('nobody')).toBeUndefined();
  });

  it('completes a row with the entries that end the run', async () => {
    await store.append(some('a', 1, 2), { durable: true, row: row('a') });
    await store.append(some('a', 3, 3), { durable: true, row: row('a', { endedAt: 77, outcome: 'stopped' }) });
    expect(await store.run('a')).toEqual(row('a', { endedAt: 77, outcome: 'stopped' }));
    expect(await store.runs({ unfinished: true })).toEqual([]);
  });

  describe('behind the end of a run', () => {
    const end = (seq: number) => entry('a', seq, { type: 'run.ended' });
    const durable = true;

    it.each(['succeeded', 'failed', 'stopped'] as const)('keeps nothing where it has %s', async (outcome) => {
      await store.append([...some('a', 1, 2), end(3)], { durable, row: row('a', { endedAt: 7, outcome }) });
      for (const type of ['session.moved', 'run.resumed', 'operator.acted', 'run.ended'])
        await expect(store.append([entry('a', 4, { type })], { durable })).rejects.toMatchObject({
          reason: 'conflict',
        });
      expect(await store.read('a', { after: 2 })).toEqual([end(3)]);
    });

    it('keeps the answer of a person and a resume where it has halted, and then its second end', async () => {
      const halted = row('a', { endedAt: 7, outcome: 'halted' });
      await store.append([entry('a', 1), end(2)], { durable, row: halted });
      const refused = { reason: 'conflict' };
      await expect(store.append([entry('a', 3)], { durable })).rejects.toMatchObject(refused);
      await store.append([entry('a', 3, { type: 'operator.acted' })], { durable });
      await expect(store.append([entry('a', 4)], { durable })).rejects.toMatchObject(refused);
      await store.append([entry('a', 4, { type: 'run.resumed' }), entry('a', 5)], { durable, row: halted });
      await store.append([entry('a', 6)], { durable });
      await store.append([end(7)], { durable, row: row('a', { endedAt: 9, outcome: 'failed' }) });
      await expect(store.append([entry('a', 8, { type: 'run.resumed' })], { durable })).rejects.toMatchObject(refused);
      expect(await store.read('a')).toHaveLength(7);
    });

    it('keeps nothing that comes with the end either', async () => {
      const ended = row('a', { endedAt: 7, outcome: 'succeeded' });
      await expect(store.append([entry('a', 1), end(2), entry('a', 3)], { durable, row: ended })).rejects.toMatchObject(
        {
          reason: 'conflict',
        },
      );
      expect(await store.read('a')).toEqual([]);
    });
  });

  it('knows the last entry of a run', async () => {
    await store.append(some('a', 1, 5), { durable: true, row: row('a') });
    await store.append(some('b', 1, 2), { durable: true, row: row('b') });
    expect(await store.last('a')).toEqual(entry('a', 5));
    expect(await store.last('b')).toEqual(entry('b', 2));
    expect(await store.last('nobody')).toBeUndefined();
  });

  it('has another stamp after a run has begun, ended, ended again or been removed, and only then', async () => {
    const end = (seq: number) => entry('a', seq, { type: 'run.ended' });
    const stamps = [await store.runsStamp()];
    const act = async (work: () => Promise<unknown>) => {
      await work();
      stamps.push(await store.runsStamp());
    };
    const durable = true;
    await act(() => store.append(some('b', 1, 2), { durable, row: row('b', { endedAt: 78, outcome: 'failed' }) }));
    await act(() => store.append([entry('a', 1)], { durable, row: row('a') }));
    await act(() => store.append([end(2)], { durable, row: row('a', { endedAt: 77, outcome: 'halted' }) }));
    await store.append([entry('a', 3, { type: 'run.resumed' })], {
      durable,
      row: row('a', { endedAt: 77, outcome: 'halted' }),
    });
    await act(() => store.append([end(4)], { durable, row: row('a', { endedAt: 79, outcome: 'failed' }) }));
    await act(() => store.remove('a', end(4).hash));
    // The last is that of the same rows before.
    expect(new Set(stamps).size).toBe(5);
    expect(stamps.at(-1)).toBe(stamps[1]);
    await store.append([entry('open', 1)], { durable, row: row('open') });
    const before = await store.runsStamp();
    await store.append(some('open', 2, 9), { durable });
    expect(await store.runsStamp()).toBe(before);
  });

  it('removes an ended run completely, and nothing else', async () => {
    const ended = row('a', { endedAt: 77, outcome: 'succeeded' });
    await store.append(some('a', 1, 3), { durable: true, row: ended, epoch: 2 });
    await store.append(some('b', 1, 2), { durable: true, row: row('b', { endedAt: 78, outcome: 'failed' }) });
    await store.append(some('open', 1, 2), { durable: true, row: row('open') });

    expect(await store.remove('a', entry('a', 2).hash)).toBe(false);
    expect(await store.remove('open', entry('open', 2).hash)).toBe(false);
    expect(await store.remove('nobody', entry('nobody', 1).hash)).toBe(false);
    expect(await store.read('a')).toHaveLength(3);

    expect(await store.remove('a', entry('a', 3).hash)).toBe(true);
    expect(await store.remove('a', entry('a', 3).hash)).toBe(false);
    expect(await store.read('a')).toEqual([]);
    expect(await store.run('a')).toBeUndefined();
    expect((await store.runs()).map((each) => each.run)).toEqual(['open', 'b']);
    expect(await store.read('b')).toHaveLength(2);
    // The id is free again, and no old epoch fences a writer.
    await store.append(some('a', 1, 1), { durable: true, row: row('a'), epoch: 1 });
    expect(await store.read('a')).toHaveLength(1);
  });
}

for (const [name, open] of Object.entries(STORES)) describe(`store: ${name}`, onServer(name), () => testStore(open));

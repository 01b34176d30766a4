import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MemoryAgenda } from '../../src/journal/schedule/memory.ts';
import { openPostgresAgenda } from '../../src/journal/schedule/postgres.ts';
import { openSqliteAgenda } from '../../src/journal/schedule/sqlite.ts';
import type { AgendaStore, HandoverRequest, OccurrenceRow } from '../../src/journal/schedule/store.ts';
import { openSqliteStore } from '../../src/journal/stores/sqlite.ts';
import { hasPostgres, postgresOfFile } from '../postgres.ts';
import { accessTo } from './postgres-access.ts';

const server = postgresOfFile();

/** Every memory of a scheduler there is: a new one is a line here and passes all of this. */
const STORES: Readonly<Record<string, (folder: string) => Promise<AgendaStore>>> = {
  memory: async () => new MemoryAgenda(),
  sqlite: (folder) => openSqliteAgenda(join(folder, 'runbook.db')),
  ...(hasPostgres ? { postgresql: async () => openPostgresAgenda(await accessTo(server())) } : {}),
};

const MAIN = 'https://venue.example main';
const OTHER = 'https://venue.example other';
const row = (slot: string, nominalMs: number, rest: Partial<OccurrenceRow> = {}): OccurrenceRow => ({
  slot,
  nominalMs,
  verdict: 'missed',
  why: 'late',
  decidedAt: nominalMs + 5,
  ...rest,
});
const started = (slot: string, nominalMs: number, run: string): OccurrenceRow => ({
  slot,
  nominalMs,
  verdict: 'started',
  run,
  decidedAt: nominalMs,
});
const waiting = (slot: string, nominalMs: number): OccurrenceRow =>
  row(slot, nominalMs, { verdict: 'waiting', why: 'overlap' });

const request = (run: string, account = MAIN): HandoverRequest => ({
  run,
  account,
  by: 'ada',
  at: 1000,
  sources: [{ name: 'ladder', file: 'ladder.yaml', text: 'runbook: ladder\n# ☃\n' }],
  inputs: { size: '0.25', markets: ['BTC-USD'] },
  plan: 'abc',
});

describe.each(Object.entries(STORES))('agenda store: %s', (_name, open) => {
  let folder: string;
  let agenda: AgendaStore;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'agenda-'));
    agenda = await open(folder);
  });
  afterEach(async () => {
    await agenda.close();
    rmSync(folder, { recursive: true });
  });

  describe('slots', () => {
    it('forgets old verdicts, and nothing that could make one fall due again', async () => {
      await agenda.record(MAIN, 1, [
        row('a', 1_000),
        started('a', 2_000, 'begun'),
        started('a', 3_000, 'promised'),
        waiting('a', 4_000),
        row('a', 5_000),
        row('a', 9_000),
        // The last of its slot, however old.
        row('b', 1_000),
        row('b', 2_000),
      ]);
      await agenda.record(OTHER, 1, [row('a', 1_000), row('a', 2_000)]);
      await agenda.settle(MAIN, 'begun', 'begun');
      const marks = await agenda.marks(MAIN, ['a', 'b']);
      expect(await agenda.prune(MAIN, 6_000)).toBe(4);
      expect(await agenda.prune(MAIN, 6_000)).toBe(0);
      const left = [...(await agenda.occurrences(MAIN))].reverse().map(({ slot, nominalMs }) => `${slot} ${nominalMs}`);
      expect(left.sort()).toEqual(['a 3000', 'a 4000', 'a 9000', 'b 2000']);
      expect(await agenda.marks(MAIN, ['a', 'b'])).toEqual(marks);
      expect((await agenda.promised(MAIN)).map(({ run }) => run)).toEqual(['promised']);
      expect(await agenda.occurrences(OTHER)).toHaveLength(2);
    });

    it('are known since they were first in force, by account', async () => {
      expect(await agenda.engage(MAIN, 1, ['a', 'b'], 1000)).toEqual(
        new Map([
          ['a', 1000],
          ['b', 1000],
        ]),
      );
      expect(await agenda.engage(MAIN, 1, ['b', 'c'], 2000)).toEqual(
        new Map([
          ['b', 1000],
          ['c', 2000],
        ]),
      );
      expect(await agenda.engage(MAIN, 2, ['a', 'c'], 3000)).toEqual(
        new Map([
          ['a', 3000],
          ['c', 2000],
        ]),
      );
      expect(await agenda.engage(OTHER, 1, ['a'], 4000)).toEqual(new Map([['a', 4000]]));
    });
  });

  describe('occurrences', () => {
    it('are given back, the newest first, by slot and number', async () => {
      const rows = [row('a', 10), started('b', 20, 'r1'), waiting('a', 30)];
      await agenda.record(MAIN, 1, rows);
      await agenda.record(OTHER, 1, [row('a', 99)]);
      expect(await agenda.occurrences(MAIN)).toEqual([...rows].reverse());
      expect(await agenda.occurrences(MAIN, { slot: 'a' })).toEqual([rows[2], rows[0]]);
      expect(await agenda.occurrences(MAIN, { limit: 1 })).toEqual([rows[2]]);
    });

    it('mark how far slots have been decided, and what waits of any', async () => {
      await agenda.record(MAIN, 1, [row('a', 10), waiting('a', 30), row('a', 20), waiting('gone', 5), row('b', 7)]);
      expect(await agenda.marks(MAIN, ['a', 'b', 'new'])).toEqual({
        through: new Map([
          ['a', 30],
          ['b', 7],
        ]),
        waiting: [
          { slot: 'gone', nominalMs: 5 },
          { slot: 'a', nominalMs: 30 },
        ],
      });
    });

    it('have one verdict: what waits may get one, what has one keeps it', async () => {
      await agenda.record(MAIN, 1, [waiting('a', 10)]);
      await agenda.record(MAIN, 1, [waiting('a', 10)]);
      await agenda.record(MAIN, 1, [started('a', 10, 'r1')]);
      for (const second of [started('a', 10, 'r2'), row('a', 10), waiting('a', 10)])
        await expect(agenda.record(MAIN, 1, [second])).rejects.toMatchObject({
          name: 'StoreError',
          reason: 'conflict',
        });
      expect(await agenda.occurrences(MAIN)).toEqual([started('a', 10, 'r1')]);
    });

    it('are recorded in the order they were decided: what waits may have its verdict in the same breath', async () => {
      await agenda.record(MAIN, 1, [waiting('a', 10), waiting('a', 20), row('a', 10, { verdict: 'skipped' })]);
      expect(await agenda.occurrences(MAIN)).toEqual([waiting('a', 20), row('a', 10, { verdict: 'skipped' })]);
      await expect(agenda.record(MAIN, 1, [row('a', 30), waiting('a', 30)])).rejects.toMatchObject({
        reason: 'conflict',
      });
      expect(await agenda.marks(MAIN, ['a'])).toMatchObject({ through: new Map([['a', 20]]) });
    });

    it('are recorded by the thousand, and found again one by one', async () => {
      const rows = Array.from({ length: 5_000 }, (_, n) => (n % 2 === 0 ? row('a', n) : started('b', n, `r${n}`)));
      await agenda.record(MAIN, 1, rows);
      expect(await agenda.occurrences(MAIN)).toEqual([...rows].reverse());
      await expect(agenda.record(MAIN, 1, [row('a', 5_000), row('a', 4_998)])).rejects.toMatchObject({
        message: expect.stringContaining(new Date(4_998).toISOString()),
      });
    });

    it('are recorded all or none', async () => {
      await agenda.record(MAIN, 1, [row('a', 10)]);
      await expect(agenda.record(MAIN, 1, [row('b', 10), row('a', 10)])).rejects.toMatchObject({ reason: 'conflict' });
      expect(await agenda.occurrences(MAIN)).toEqual([row('a', 10)]);
    });

    it('are refused of a process whose lease has passed on, and its slots too', async () => {
      await agenda.record(MAIN, 2, [row('a', 10)]);
      await expect(agenda.record(MAIN, 1, [row('a', 20)])).rejects.toMatchObject({ reason: 'fenced' });
      await expect(agenda.engage(MAIN, 1, ['a'], 5)).rejects.toMatchObject({ reason: 'fenced' });
      await agenda.record(OTHER, 1, [row('a', 10)]);
      await agenda.engage(MAIN, 3, ['a'], 5);
      await expect(agenda.record(MAIN, 2, [row('a', 20)])).rejects.toMatchObject({ reason: 'fenced' });
      expect(await agenda.occurrences(MAIN)).toEqual([row('a', 10)]);
    });

    it('that were started are promised until something is known of their run', async () => {
      await agenda.record(MAIN, 1, [
        started('a', 30, 'r3'),
        started('a', 10, 'r1'),
        started('b', 20, 'r2'),
        row('c', 1),
      ]);
      expect((await agenda.promised(MAIN)).map(({ run }) => run)).toEqual(['r1', 'r2', 'r3']);
      await agenda.settle(MAIN, 'r1', 'begun');
      await agenda.settle(MAIN, 'r3', 'lost');
      await agenda.settle(OTHER, 'r2', 'lost');
      expect(await agenda.promised(MAIN)).toEqual([started('b', 20, 'r2')]);
      expect((await agenda.occurrences(MAIN)).map(({ began }) => began)).toEqual([
        'lost',
        undefined,
        'begun',
        undefined,
      ]);
      await expect(agenda.record(MAIN, 1, [started('a', 30, 'r9')])).rejects.toMatchObject({ reason: 'conflict' });
    });
  });

  describe('runs handed over', () => {
    it('are given to the account they are for, in order, until somebody answers', async () => {
      await agenda.post(request('r1'));
      await agenda.post(request('r2', OTHER));
      await agenda.post({ ...request('r3'), until: 'entry' });
      expect(await agenda.posted(MAIN)).toEqual([request('r1'), { ...request('r3'), until: 'entry' }]);
      expect(await agenda.handover('r1')).toEqual({ state: 'posted' });
      expect(await agenda.answer('r1', { state: 'taken' })).toBe(true);
      expect(await agenda.posted(MAIN)).toEqual([{ ...request('r3'), until: 'entry' }]);
      expect(await agenda.handover('r1')).toEqual({ state: 'taken' });
    });

    it('are answered once: what was withdrawn is not taken', async () => {
      await agenda.post(request('r1'));
      expect(await agenda.answer('r1', { state: 'withdrawn' })).toBe(true);
      expect(await agenda.answer('r1', { state: 'taken' })).toBe(false);
      expect(await agenda.handover('r1')).toEqual({ state: 'withdrawn' });
    });

    it('that were taken are open until it is said what became of them', async () => {
      for (const run of ['r1', 'r2', 'r3']) await agenda.post(request(run));
      await agenda.post(request('r4', OTHER));
      expect(await agenda.answer('r1', { state: 'begun' }, 'taken')).toBe(false);
      for (const run of ['r1', 'r2', 'r4']) await agenda.answer(run, { state: 'taken' });
      expect(await agenda.taken(MAIN)).toEqual(['r1', 'r2']);
      expect(await agenda.answer('r1', { state: 'begun' }, 'taken')).toBe(true);
      const lost = { state: 'refused', why: 'its scheduler died', kind: 'lost' } as const;
      expect(await agenda.answer('r2', lost, 'taken')).toBe(true);
      expect(await agenda.answer('r2', { state: 'begun' }, 'taken')).toBe(false);
      expect(await agenda.taken(MAIN)).toEqual([]);
      expect([await agenda.handover('r1'), await agenda.handover('r2')]).toEqual([{ state: 'begun' }, lost]);
    });

    it('are forgotten once they are old and answered for good', async () => {
      for (const [run, at] of [
        ['open', 10],
        ['taken', 10],
        ['begun', 10],
        ['withdrawn', 20],
        ['new', 30],
      ] as const)
        await agenda.post({ ...request(run), at });
      await agenda.post({ ...request('theirs', OTHER), at: 10 });
      for (const run of ['taken', 'begun']) await agenda.answer(run, { state: 'taken' });
      await agenda.answer('begun', { state: 'begun' }, 'taken');
      for (const run of ['withdrawn', 'new', 'theirs']) await agenda.answer(run, { state: 'withdrawn' });
      expect(await agenda.pruneHandovers(MAIN, 30)).toBe(2);
      expect(await agenda.pruneHandovers(MAIN, 30)).toBe(0);
      const left = ['open', 'taken', 'begun', 'withdrawn', 'new', 'theirs'].map(async (run) => agenda.handover(run));
      expect((await Promise.all(left)).map((each) => each?.state)).toEqual([
        'posted',
        'taken',
        undefined,
        undefined,
        'withdrawn',
        'withdrawn',
      ]);
    });

    it('are refused with a reason', async () => {
      await agenda.post(request('r1'));
      await agenda.answer('r1', { state: 'refused', why: 'the key is held', kind: 'busy' });
      expect(await agenda.handover('r1')).toEqual({ state: 'refused', why: 'the key is held', kind: 'busy' });
      expect(await agenda.handover('unknown')).toBeUndefined();
      expect(await agenda.answer('unknown', { state: 'taken' })).toBe(false);
    });
  });
});

describe('in the journal’s file', () => {
  it('it stands beside the entries, for two processes, and survives both', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'agenda-'));
    const file = join(folder, 'runbook.db');
    try {
      const store = await openSqliteStore(file);
      const one = await openSqliteAgenda(file);
      const two = await openSqliteAgenda(file);
      await one.record(MAIN, 1, [started('a', 10, 'r1')]);
      await expect(two.record(MAIN, 1, [started('a', 10, 'r1')])).rejects.toMatchObject({ reason: 'conflict' });
      expect(await store.runs()).toEqual([]);
      for (const each of [one, two, store]) await each.close();
      const next = await openSqliteAgenda(file);
      expect(await next.promised(MAIN)).toEqual([started('a', 10, 'r1')]);
      await next.close();
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

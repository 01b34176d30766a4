import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openPostgresScheduleStore } from '../../src/journal/schedule/postgres.ts';
import { openSqliteScheduleStore } from '../../src/journal/schedule/sqlite.ts';
import type { OccurrenceRow, ScheduleStore, SubmissionRequest } from '../../src/journal/schedule/store.ts';
import { openSqliteStore } from '../../src/journal/stores/sqlite.ts';
import { MemoryScheduleStore } from '../engine/memory-schedule-store.ts';
import { onServer, postgresOfFile } from '../postgres.ts';
import { accessTo } from './postgres-access.ts';

const server = postgresOfFile();

type OpenStore = (folder: string) => Promise<ScheduleStore>;

/** All schedule stores: a new one gets a line here and must pass every test. */
const STORES: Readonly<Record<string, OpenStore>> = {
  memory: async () => new MemoryScheduleStore(),
  sqlite: (folder) => openSqliteScheduleStore(join(folder, 'runbook.db')),
  postgresql: async () => openPostgresScheduleStore(await accessTo(server())),
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

const request = (run: string, account = MAIN): SubmissionRequest => ({
  run,
  account,
  by: 'ada',
  at: 1000,
  sources: [{ name: 'ladder', file: 'ladder.yaml', text: 'runbook: ladder\n# ☃\n' }],
  inputs: { size: '0.25', markets: ['BTC-USD'] },
  plan: 'abc',
});

function testStore(open: OpenStore): void {
  let folder: string;
  let scheduleStore: ScheduleStore;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'schedule-'));
    scheduleStore = await open(folder);
  });
  afterEach(async () => {
    await scheduleStore.close();
    rmSync(folder, { recursive: true });
  });

  describe('slots', () => {
    it('forgets old verdicts, but none whose loss would make an occurrence fall due again', async () => {
      await scheduleStore.record(MAIN, 1, [
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
      await scheduleStore.record(OTHER, 1, [row('a', 1_000), row('a', 2_000)]);
      await scheduleStore.settle(MAIN, 'begun', 'begun', 5);
      const marks = await scheduleStore.marks(MAIN, ['a', 'b']);
      expect(await scheduleStore.prune(MAIN, 6_000)).toBe(4);
      expect(await scheduleStore.prune(MAIN, 6_000)).toBe(0);
      const left = [...(await scheduleStore.occurrences(MAIN))]
        .reverse()
        .map(({ slot, nominalMs }) => `${slot} ${nominalMs}`);
      expect(left.sort()).toEqual(['a 3000', 'a 4000', 'a 9000', 'b 2000']);
      expect(await scheduleStore.marks(MAIN, ['a', 'b'])).toEqual(marks);
      expect((await scheduleStore.promised(MAIN)).map(({ run }) => run)).toEqual(['promised']);
      expect(await scheduleStore.occurrences(OTHER)).toHaveLength(2);
    });

    it('are known from when they were first in force, per account', async () => {
      expect(await scheduleStore.engage(MAIN, 1, ['a', 'b'], 1000)).toEqual(
        new Map([
          ['a', 1000],
          ['b', 1000],
        ]),
      );
      expect(await scheduleStore.engage(MAIN, 1, ['b', 'c'], 2000)).toEqual(
        new Map([
          ['b', 1000],
          ['c', 2000],
        ]),
      );
      expect(await scheduleStore.engage(MAIN, 2, ['a', 'c'], 3000)).toEqual(
        new Map([
          ['a', 3000],
          ['c', 2000],
        ]),
      );
      expect(await scheduleStore.engage(OTHER, 1, ['a'], 4000)).toEqual(new Map([['a', 4000]]));
    });
  });

  describe('occurrences', () => {
    it('are found by the accounts that have any', async () => {
      expect(await scheduleStore.decidedAccounts()).toEqual([]);
      await scheduleStore.engage(OTHER, 1, ['a'], 0);
      await scheduleStore.record(MAIN, 1, [row('a', 1000), row('a', 2000)]);
      expect(await scheduleStore.decidedAccounts()).toEqual([MAIN]);
    });

    it('are listed newest first, by slot and up to a limit', async () => {
      const rows = [row('a', 10), started('b', 20, 'r1'), waiting('a', 30)];
      await scheduleStore.record(MAIN, 1, rows);
      await scheduleStore.record(OTHER, 1, [row('a', 99)]);
      expect(await scheduleStore.occurrences(MAIN)).toEqual([...rows].reverse());
      expect(await scheduleStore.occurrences(MAIN, { slot: 'a' })).toEqual([rows[2], rows[0]]);
      expect(await scheduleStore.occurrences(MAIN, { limit: 1 })).toEqual([rows[2]]);
    });

    it('show how far slots have been decided, and which occurrences wait', async () => {
      await scheduleStore.record(MAIN, 1, [
        row('a', 10),
        waiting('a', 30),
        row('a', 20),
        waiting('gone', 5),
        row('b', 7),
      ]);
      expect(await scheduleStore.marks(MAIN, ['a', 'b', 'new'])).toEqual({
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

    it('have one verdict: a waiting occurrence may get one, a decided one keeps it', async () => {
      await scheduleStore.record(MAIN, 1, [waiting('a', 10)]);
      await scheduleStore.record(MAIN, 1, [waiting('a', 10)]);
      await scheduleStore.record(MAIN, 1, [started('a', 10, 'r1')]);
      for (const second of [started('a', 10, 'r2'), row('a', 10), waiting('a', 10)])
        await expect(scheduleStore.record(MAIN, 1, [second])).rejects.toMatchObject({
          name: 'StoreError',
          reason: 'conflict',
        });
      expect(await scheduleStore.occurrences(MAIN)).toEqual([started('a', 10, 'r1')]);
    });

    it('are recorded in the order of decision: a waiting one may get its verdict in the same batch', async () => {
      await scheduleStore.record(MAIN, 1, [waiting('a', 10), waiting('a', 20), row('a', 10, { verdict: 'skipped' })]);
      expect(await scheduleStore.occurrences(MAIN)).toEqual([waiting('a', 20), row('a', 10, { verdict: 'skipped' })]);
      await expect(scheduleStore.record(MAIN, 1, [row('a', 30), waiting('a', 30)])).rejects.toMatchObject({
        reason: 'conflict',
      });
      expect(await scheduleStore.marks(MAIN, ['a'])).toMatchObject({ through: new Map([['a', 20]]) });
    });

    it('are recorded by the thousand, and found one by one', async () => {
      const rows = Array.from({ length: 5_000 }, (_, n) => (n % 2 === 0 ? row('a', n) : started('b', n, `r${n}`)));
      await scheduleStore.record(MAIN, 1, rows);
      expect(await scheduleStore.occurrences(MAIN)).toEqual([...rows].reverse());
      await expect(scheduleStore.record(MAIN, 1, [row('a', 5_000), row('a', 4_998)])).rejects.toMatchObject({
        message: expect.stringContaining(new Date(4_998).toISOString()),
      });
    });

    it('are recorded all or none', async () => {
      await scheduleStore.record(MAIN, 1, [row('a', 10)]);
      await expect(scheduleStore.record(MAIN, 1, [row('b', 10), row('a', 10)])).rejects.toMatchObject({
        reason: 'conflict',
      });
      expect(await scheduleStore.occurrences(MAIN)).toEqual([row('a', 10)]);
    });

    it('are refused from a process that lost its lease, and so are its slots', async () => {
      await scheduleStore.record(MAIN, 2, [row('a', 10)]);
      await expect(scheduleStore.record(MAIN, 1, [row('a', 20)])).rejects.toMatchObject({ reason: 'fenced' });
      await expect(scheduleStore.engage(MAIN, 1, ['a'], 5)).rejects.toMatchObject({ reason: 'fenced' });
      await scheduleStore.record(OTHER, 1, [row('a', 10)]);
      await scheduleStore.engage(MAIN, 3, ['a'], 5);
      await expect(scheduleStore.record(MAIN, 2, [row('a', 20)])).rejects.toMatchObject({ reason: 'fenced' });
      expect(await scheduleStore.occurrences(MAIN)).toEqual([row('a', 10)]);
    });

    it('that were started are promised until their run has begun or is lost', async () => {
      await scheduleStore.record(MAIN, 1, [
        started('a', 30, 'r3'),
        started('a', 10, 'r1'),
        started('b', 20, 'r2'),
        row('c', 1),
      ]);
      expect((await scheduleStore.promised(MAIN)).map(({ run }) => run)).toEqual(['r1', 'r2', 'r3']);
      await scheduleStore.settle(MAIN, 'r1', 'begun', 5);
      await scheduleStore.settle(MAIN, 'r3', 'lost', 5);
      await scheduleStore.settle(OTHER, 'r2', 'lost', 5);
      expect(await scheduleStore.promised(MAIN)).toEqual([started('b', 20, 'r2')]);
      expect((await scheduleStore.occurrences(MAIN)).map(({ began }) => began)).toEqual([
        'lost',
        undefined,
        'begun',
        undefined,
      ]);
      await expect(scheduleStore.record(MAIN, 1, [started('a', 30, 'r9')])).rejects.toMatchObject({
        reason: 'conflict',
      });
    });
  });

  describe('submissions', () => {
    it('are listed for their account in the order of posting, until they are answered', async () => {
      await scheduleStore.post(request('r1'));
      await scheduleStore.post(request('r2', OTHER));
      await scheduleStore.post({ ...request('r3'), until: 'entry' });
      expect(await scheduleStore.posted(MAIN)).toEqual([request('r1'), { ...request('r3'), until: 'entry' }]);
      expect(await scheduleStore.submission('r1')).toEqual({ state: 'posted' });
      expect(await scheduleStore.answer('r1', { state: 'taken' })).toBe(true);
      expect(await scheduleStore.posted(MAIN)).toEqual([{ ...request('r3'), until: 'entry' }]);
      expect(await scheduleStore.submission('r1')).toEqual({ state: 'taken' });
    });

    it('are answered once: a withdrawn one is not taken', async () => {
      await scheduleStore.post(request('r1'));
      expect(await scheduleStore.answer('r1', { state: 'withdrawn' })).toBe(true);
      expect(await scheduleStore.answer('r1', { state: 'taken' })).toBe(false);
      expect(await scheduleStore.submission('r1')).toEqual({ state: 'withdrawn' });
    });

    it('that were taken stay open until their run has begun or is refused', async () => {
      for (const run of ['r1', 'r2', 'r3']) await scheduleStore.post(request(run));
      await scheduleStore.post(request('r4', OTHER));
      expect(await scheduleStore.answer('r1', { state: 'begun' }, 'taken')).toBe(false);
      for (const run of ['r1', 'r2', 'r4']) await scheduleStore.answer(run, { state: 'taken' });
      expect(await scheduleStore.taken(MAIN)).toEqual(['r1', 'r2']);
      expect(await scheduleStore.answer('r1', { state: 'begun' }, 'taken')).toBe(true);
      const lost = { state: 'refused', why: 'its scheduler died', kind: 'lost' } as const;
      expect(await scheduleStore.answer('r2', lost, 'taken')).toBe(true);
      expect(await scheduleStore.answer('r2', { state: 'begun' }, 'taken')).toBe(false);
      expect(await scheduleStore.taken(MAIN)).toEqual([]);
      expect([await scheduleStore.submission('r1'), await scheduleStore.submission('r2')]).toEqual([
        { state: 'begun' },
        lost,
      ]);
    });

    it('are forgotten once they are old and have their final answer', async () => {
      for (const [run, at] of [
        ['open', 10],
        ['taken', 10],
        ['begun', 10],
        ['withdrawn', 20],
        ['new', 30],
      ] as const)
        await scheduleStore.post({ ...request(run), at });
      await scheduleStore.post({ ...request('theirs', OTHER), at: 10 });
      for (const run of ['taken', 'begun']) await scheduleStore.answer(run, { state: 'taken' });
      await scheduleStore.answer('begun', { state: 'begun' }, 'taken');
      for (const run of ['withdrawn', 'new', 'theirs']) await scheduleStore.answer(run, { state: 'withdrawn' });
      expect(await scheduleStore.pruneSubmissions(MAIN, 30)).toBe(2);
      expect(await scheduleStore.pruneSubmissions(MAIN, 30)).toBe(0);
      const left = ['open', 'taken', 'begun', 'withdrawn', 'new', 'theirs'].map(async (run) =>
        scheduleStore.submission(run),
      );
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
      await scheduleStore.post(request('r1'));
      await scheduleStore.answer('r1', { state: 'refused', why: 'the key is held', kind: 'busy' });
      expect(await scheduleStore.submission('r1')).toEqual({ state: 'refused', why: 'the key is held', kind: 'busy' });
      expect(await scheduleStore.submission('unknown')).toBeUndefined();
      expect(await scheduleStore.answer('unknown', { state: 'taken' })).toBe(false);
    });
  });
}

for (const [name, open] of Object.entries(STORES))
  describe(`schedule store: ${name}`, onServer(name), () => testStore(open));

describe('in the journal’s file', () => {
  it('is beside the entries, is shared by two processes, and survives both', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'schedule-'));
    const file = join(folder, 'runbook.db');
    try {
      const store = await openSqliteStore(file);
      const one = await openSqliteScheduleStore(file);
      const two = await openSqliteScheduleStore(file);
      await one.record(MAIN, 1, [started('a', 10, 'r1')]);
      await expect(two.record(MAIN, 1, [started('a', 10, 'r1')])).rejects.toMatchObject({ reason: 'conflict' });
      expect(await store.runs()).toEqual([]);
      for (const each of [one, two, store]) await each.close();
      const next = await openSqliteScheduleStore(file);
      expect(await next.promised(MAIN)).toEqual([started('a', 10, 'r1')]);
      await next.close();
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

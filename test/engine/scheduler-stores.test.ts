/** Tests two schedulers on one store at the same instant, over every kind of store: the store alone decides which one starts a run. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { openPostgresScheduleStore } from '../../src/journal/schedule/postgres.ts';
import { openSqliteScheduleStore } from '../../src/journal/schedule/sqlite.ts';
import type { ScheduleStore } from '../../src/journal/schedule/store.ts';
import { accessTo } from '../contract/postgres-access.ts';
import { onServer, postgresOfFile } from '../postgres.ts';
import { everySlot, HOUR_MS } from '../runbook/sample-schedule.ts';
import { MemoryScheduleStore } from './memory-schedule-store.ts';
import { Bench, slotOf, WallClock } from './scheduler-bench.ts';

const server = postgresOfFile();
const NINE = Date.parse('2026-01-05T09:00:00Z');

interface Row {
  readonly rounds: number;
  /** The memory of each of the two processes, on one store. */
  readonly open: () => Promise<readonly [ScheduleStore, ScheduleStore, () => Promise<void>]>;
}

const STORES: Readonly<Record<string, Row>> = {
  memory: {
    rounds: 200,
    async open() {
      const scheduleStore = new MemoryScheduleStore();
      return [scheduleStore, scheduleStore, async () => {}];
    },
  },
  sqlite: {
    rounds: 200,
    async open() {
      const folder = mkdtempSync(join(tmpdir(), 'schedulers-'));
      const [one, two] = [
        await openSqliteScheduleStore(join(folder, 'x.db')),
        await openSqliteScheduleStore(join(folder, 'x.db')),
      ];
      return [one, two, async () => rmSync(folder, { recursive: true })];
    },
  },
  postgresql: {
    rounds: 100,
    async open() {
      const access = await accessTo(server());
      return [
        await openPostgresScheduleStore(access),
        await openPostgresScheduleStore(access),
        async () => {},
      ] as const;
    },
  },
};

function testStore({ rounds, open }: Row): void {
  it(`${rounds} times at the same instant: one starts it, the other stops permanently`, async () => {
    const [one, two, gone] = await open();
    for (let round = 0; round < rounds; round += 1) {
      const clock = new WallClock(NINE - 1_000 - (round % 7));
      const journal = new Set<string>();
      // As if both held the lease. Each round has its own account: the first verdict is tested.
      const account = `http://127.0.0.1:8080 round-${round}`;
      const slots = [slotOf(everySlot(HOUR_MS))];
      const both = [one, two].map(
        (scheduleStore) => new Bench({ startMs: 0, slots, scheduleStore, clock, journal, epoch: 5, account }),
      );
      // The store answers in its own time, and the clock does not move meanwhile.
      await Promise.all(both.map(({ scheduler }) => scheduler.begin(slots)));
      await clock.pass(2_000);
      const launches = () => both.flatMap((each) => each.launches);
      const overtaken = () => both.flatMap(({ events }) => events).filter(({ type }) => type === 'overtaken');
      while (launches().length + overtaken().length < 2) {
        await turn();
        await clock.pass(0);
      }
      expect(launches()).toHaveLength(1);
      expect(overtaken()).toHaveLength(1);
      const rows = await one.occurrences(account);
      expect(rows.map(({ verdict, nominalMs, run }) => [verdict, nominalMs, run])).toEqual([
        ['started', NINE, launches()[0]?.run],
      ]);
    }
    await one.close();
    await two.close();
    await gone();
  });
}

for (const [name, row] of Object.entries(STORES))
  describe(`two schedulers on one store: ${name}`, onServer(name), () => testStore(row));

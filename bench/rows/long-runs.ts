/**
 * Measures row 22: what a run of a month needs, from hours of virtual time of a loop that reads once a second and finds nothing; and
 * row 22b: what the resume of a run of many orders needs; and row 22c: what hours of loops need whose rounds write.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { VirtualClock } from '../../src/base/clock.ts';
import type { Transport } from '../../src/gateway/transport.ts';
import { readLines } from '../../src/journal/reading.ts';
import { openDatabase } from '../../src/journal/sql/sqlite.ts';
import type { RunRow, StoredEntry } from '../../src/journal/store.ts';
import { MemoryStore } from '../../src/journal/stores/memory.ts';
import { openSqliteStore } from '../../src/journal/stores/sqlite.ts';
import { updateRow } from '../../src/journal/writer.ts';
import { World } from '../../test/app/live-host.ts';
import { PRICE_FEED } from '../../test/engine/stage.ts';
import {
  writeAmendingRounds,
  writeArmedWatch,
  writeBusyRounds,
  writeCountingWatch,
  writeFillingRounds,
  writeManyOrders,
  writePlacingRounds,
  writeWatch,
} from '../runbooks.ts';
import { execute, loadRunbook } from '../trials/product.ts';
import { getWorkFolder } from '../work-folder.ts';
import type { Row } from './row.ts';
import { measureTrial, pickCold } from './trials.ts';

const HOUR = 3600;
const HOURS = 6;
const DAY = 24;
/** Days of a dry-run that are executed. */
const DRY_RUN_DAYS = 4;
const SMALL_HEAP_MB = 64;
const ORDERS = 10_000;
/** Seconds of a round that writes. */
const BUSY_SECONDS = 5;
/** Six hours in thirty days. */
const IN_A_MONTH = (30 * 24) / HOURS;

/** Bytes that `rounds` rounds take on the disk, without those of an empty store. */
async function measureJournal(write: (rounds: number) => string, rounds: number): Promise<number> {
  const folder = join(getWorkFolder(), `${write.name}-${rounds}`);
  mkdirSync(folder);
  const store = await openSqliteStore(join(folder, 'runbook.db'));
  await execute(loadRunbook(write(rounds)), store, 'bench');
  await store.close();
  return readdirSync(folder).reduce((sum, file) => sum + statSync(join(folder, file)).size, 0);
}

/**
 * Seconds that a dry-run of thirty days takes: its first day, and the rest at the pace of the three days behind it. A process goes on
 * compiling its code for hours of the run.
 */
function measureDryRun(trial: 'watch' | 'armedWatch'): number {
  const [first, all] = [1, DRY_RUN_DAYS].map((days) =>
    measureTrial({ trial, size: days * DAY * HOUR, runs: 1 }, pickCold),
  );
  if (first === undefined || all === undefined) throw new Error('not measured');
  return (first + ((all - first) / (DRY_RUN_DAYS - 1)) * 29) / 1000;
}

/**
 * MB that a dry-run under a switch takes in a small heap. In one without a bound V8 collects garbage when there is four times as much of
 * it as of what is kept: that measures when V8 collects.
 */
function measureMemory(hours: number): number {
  return measureTrial(
    { trial: 'armedWatch', size: hours * HOUR, runs: 1, heapMb: SMALL_HEAP_MB },
    ({ peakMb }) => peakMb,
  );
}

/** MB that the journal of thirty days takes. */
async function measureMonth(write: (rounds: number) => string): Promise<number> {
  const grown = (await measureJournal(write, HOURS * HOUR)) - (await measureJournal(write, 1));
  return (grown * IN_A_MONTH) / 2 ** 20;
}

/** Bytes that the journal of a live run has after these hours: of a market whose price moves each second, executed in virtual time. */
async function measureLiveJournal(write: (rounds: number) => string, hours: number): Promise<number> {
  const config = { markets: { 'BTC-USD': { tick: '1', lot: '0.0001', start: '64000', path: FLAT } } } as const;
  const world = new World({ config, profile: PRICE_FEED, between: givePrices });
  const { time } = world;
  const file = join(getWorkFolder(), `live-${write.name}-${hours}.db`);
  const store = await openSqliteStore(file);
  const process = await time.runUntil(world.openProcess({ store }));
  const run = await time.runUntil(process.begin('bench', write(hours * HOUR * 2)));
  run.waitForEnd().catch(() => {});
  await time.advanceTo(time.now() + hours * HOUR * 1000);
  process.die();
  await store.close();
  world.close();
  const database = await openDatabase(file);
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  database.close();
  return statSync(file).size;
}

const FLAT = { kind: 'points', points: [{ afterMs: 0, price: '64000' }] } as const;

/** The simulated venue has no declared requests: these answers show a price that moves each second. */
function givePrices(venue: Transport, time: VirtualClock): Transport {
  return {
    ...venue,
    send: async (request, options) => {
      if (request.path !== '/info') return venue.send(request, options);
      const second = Math.floor(time.now() / 1000);
      const mid = 64_000 + Math.round(500 * Math.sin(second / 40)) + ((second * 7919) % 13);
      const headers = { 'content-type': 'application/json', 'x-ratelimit-reset': `${second + 60}` };
      return {
        kind: 'answer',
        status: 200,
        headers,
        body: JSON.stringify({ success: true, error: '', result: { mid: `${mid}.5` } }),
      };
    },
  };
}

/** MB that the journal of thirty live days takes, from the second and third hour. */
async function measureLiveMonth(write: (rounds: number) => string): Promise<number> {
  const grown = (await measureLiveJournal(write, 3)) - (await measureLiveJournal(write, 1));
  return (grown * 30 * 12) / 2 ** 20;
}

const RECOVERY = fileURLToPath(new URL('./recovery.mjs', import.meta.url));

interface Recovery {
  readonly tookMs: number;
  /** In a process that has resumed a run before, and in one that has just begun and compiles its code meanwhile. */
  readonly holdMs: number;
  readonly firstHoldMs: number;
  readonly peakMb: number;
}

const recoveries = new Map<string, Promise<Recovery>>();

/** Resumes, in a process of its own, a run that died after this many hours. */
function measureRecovery(hours: number, write: (rounds: number) => string): Promise<Recovery> {
  const name = `${write.name}-died-${hours}`;
  const measured = recoveries.get(name) ?? recover(name, write(hours * HOUR), ({ type }) => type === 'round.idle');
  recoveries.set(name, measured);
  return measured;
}

/** The same of a run that died in the last of its rounds, each of which placed and cancelled orders. */
function measureRecoveryOfOrders(orders: number): Promise<Recovery> {
  return recover(`orders-died-${orders}`, writeManyOrders(orders), ({ type }) => type === 'call.attempted');
}

/** The same after hours of rounds of 5 s that write. */
function measureBusyRecovery(hours: number, write: (rounds: number) => string): Promise<Recovery> {
  const name = `${write.name}-died-${hours}`;
  const rounds = (hours * HOUR) / BUSY_SECONDS;
  const measured = recoveries.get(name) ?? recover(name, write(rounds), ({ type }) => type === 'call.attempted');
  recoveries.set(name, measured);
  return measured;
}

/** `isLast`: the last such line is the last that the run wrote. */
async function recover(name: string, text: string, isLast: (stored: StoredEntry) => boolean): Promise<Recovery> {
  const memory = new MemoryStore();
  await execute(loadRunbook(text), memory, 'died');
  const all = await memory.read('died');
  const lines = all.slice(0, all.findLastIndex(isLast) + 1);
  const file = join(getWorkFolder(), `${name}.db`);
  const store = await openSqliteStore(file);
  const row = [...readLines(lines)].reduce<RunRow | undefined>(updateRow, undefined);
  await store.append(lines, { durable: true, epoch: 1, ...(row === undefined ? {} : { row }) });
  await store.close();
  const { status, stdout, stderr } = spawnSync(process.execPath, [RECOVERY, file], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`the resume of ${name} ended with ${status}: ${stderr.slice(0, 1000)}`);
  return JSON.parse(stdout) as Recovery;
}

const inJournal = (what: string, measure: Row['measure']): Row => ({
  id: '22',
  what,
  against: 'none',
  unit: 'MB',
  pass: 200,
  excellent: 50,
  measure,
});
const inDryRun = (what: string, trial: 'watch' | 'armedWatch'): Row => ({
  id: '22',
  what,
  against: 'none',
  unit: 's',
  pass: 90,
  excellent: 45,
  measure: async () => measureDryRun(trial),
});
/** Of a resume after a day, against one after an hour. */
const inResume = (what: string, write: (rounds: number) => string): Row => ({
  id: '22',
  what,
  against: 'after one hour',
  pass: 1.5,
  excellent: 1.25,
  measure: async () => (await measureRecovery(DAY, write)).tookMs / (await measureRecovery(1, write)).tookMs,
});
/** Of rounds that write, the journal and the resume of six hours. */
const inBusyRounds = (what: string, write: (rounds: number) => string): readonly Row[] => [
  {
    id: '22c',
    what: `${HOURS} hours of rounds of ${BUSY_SECONDS} s under a switch that ${what}: journal`,
    against: 'none',
    unit: 'MB',
    measure: async () => (await measureJournal(write, (HOURS * HOUR) / BUSY_SECONDS)) / 2 ** 20,
  },
  {
    id: '22c',
    what: 'the same: resume',
    against: 'none',
    unit: 's',
    measure: async () => (await measureBusyRecovery(HOURS, write)).tookMs / 1000,
  },
  {
    id: '22c',
    what: 'the same: resume',
    against: 'after one hour',
    measure: async () =>
      (await measureBusyRecovery(HOURS, write)).tookMs / (await measureBusyRecovery(1, write)).tookMs,
  },
  {
    id: '22c',
    what: 'the same: longest hold of the event loop, in a process that has resumed a run before',
    against: 'none',
    unit: 'ms',
    pass: 50,
    excellent: 20,
    measure: async () => (await measureBusyRecovery(HOURS, write)).holdMs,
  },
  {
    id: '22c',
    what: 'the same: most memory',
    against: 'after one hour',
    measure: async () =>
      (await measureBusyRecovery(HOURS, write)).peakMb / (await measureBusyRecovery(1, write)).peakMb,
  },
];
const UNDER_SWITCH = 'the same while an order rests under a deadman switch of 60 s';

export const LONG_RUN_ROWS: readonly Row[] = [
  inJournal('30 days of a loop of one second that finds nothing: journal, from 6 hours', () =>
    measureMonth(writeWatch),
  ),
  inJournal(UNDER_SWITCH, () => measureMonth(writeArmedWatch)),
  inJournal('the same live, from two hours', () => measureLiveMonth(writeArmedWatch)),
  inDryRun(`the dry-run of the loop that finds nothing, from ${DRY_RUN_DAYS} days`, 'watch'),
  inDryRun(UNDER_SWITCH, 'armedWatch'),
  {
    id: '22',
    what: `the same: most memory of ${DRY_RUN_DAYS} days, in a heap of ${SMALL_HEAP_MB} MB`,
    against: 'of one hour',
    pass: 1.25,
    excellent: 1.1,
    measure: async () => measureMemory(DRY_RUN_DAYS * DAY) / measureMemory(1),
  },
  inResume('resume after 24 hours of that loop', writeWatch),
  inResume(UNDER_SWITCH, writeArmedWatch),
  {
    id: '22',
    what: 'the same: longest hold of the event loop, in a process that has resumed a run before',
    against: 'none',
    unit: 'ms',
    pass: 50,
    excellent: 20,
    measure: async () => (await measureRecovery(DAY, writeArmedWatch)).holdMs,
  },
  {
    id: '22',
    what: 'the same: in a process that has just begun',
    against: 'none',
    unit: 'ms',
    measure: async () => (await measureRecovery(DAY, writeArmedWatch)).firstHoldMs,
  },
  {
    id: '22',
    what: 'the same: most memory',
    against: 'after one hour',
    pass: 1.25,
    excellent: 1.1,
    measure: async () =>
      (await measureRecovery(DAY, writeArmedWatch)).peakMb / (await measureRecovery(1, writeArmedWatch)).peakMb,
  },
  inJournal('30 days of a loop of one second that polls a moving price and counts: journal, from 6 hours', () =>
    measureMonth(writeCountingWatch),
  ),
  inJournal('the same live, from two hours', () => measureLiveMonth(writeCountingWatch)),
  inResume('resume after 24 hours of that loop which counts', writeCountingWatch),
  {
    id: '22b',
    what: `resume of a run that has placed ${ORDERS} orders: most memory`,
    against: `of one that has placed ${ORDERS / 10}`,
    pass: 1.5,
    excellent: 1.25,
    measure: async () =>
      (await measureRecoveryOfOrders(ORDERS)).peakMb / (await measureRecoveryOfOrders(ORDERS / 10)).peakMb,
  },
  ...inBusyRounds('read and amend', writeAmendingRounds),
  ...inBusyRounds('place, read and cancel', writePlacingRounds),
  ...inBusyRounds('place, read, amend and cancel', writeBusyRounds),
  ...inBusyRounds('buy, list a hundred fills, and sell', writeFillingRounds),
];

/** Schedules the shipped runbooks for a year of virtual time, against an oracle that shares no code with the program. */
import { readFileSync } from 'node:fs';
import { CronExpressionParser } from 'cron-parser';
import { describe, expect, it } from 'vitest';
import { computeDueMs } from '../../src/engine/schedule/decide.ts';
import type { TimetableSlot } from '../../src/engine/schedule/scheduler.ts';
import { listScheduledSlots } from '../../src/runbook/schedule/collisions.ts';
import { DAY_MS } from '../runbook/sample-schedule.ts';
import { Bench } from './scheduler-bench.ts';
import { loadedFrom } from './stage.ts';

/** `SCHEDULE_DAYS=365` is the whole year, a minute and more of real time. */
const MANY_DAYS = Number(process.env['SCHEDULE_DAYS'] ?? '21');
const NEW_YEAR = Date.UTC(2026, 0, 1);

function slotsOf(name: string): readonly TimetableSlot[] {
  const folder = new URL('../../runbooks/', import.meta.url);
  const load = (each: string) => ({
    file: `${each}.yaml`,
    text: readFileSync(new URL(`${each}.yaml`, folder), 'utf8'),
  });
  const { runbook } = loadedFrom(load(name), load);
  return listScheduledSlots(runbook).map(({ declaration, concurrency }) => ({
    id: `${runbook.name}/${declaration.slot}`,
    runbook: runbook.name,
    declaration,
    ...(concurrency && { concurrency }),
  }));
}

/** By cron-parser; no change of daylight saving time touches these times. */
function oracle(slots: readonly TimetableSlot[], fromMs: number, toMs: number): readonly string[] {
  return slots
    .flatMap(({ id, declaration: { when } }) => {
      if (when.kind !== 'cron') throw new Error(`${id} is no cron expression`);
      const times = CronExpressionParser.parse(when.cron, { tz: when.tz, currentDate: new Date(fromMs - 1) });
      const found: { readonly ms: number; readonly text: string }[] = [];
      for (let ms = times.next().getTime(); ms < toMs; ms = times.next().getTime())
        found.push({ ms, text: `${new Date(ms).toISOString()} ${id}` });
      return found;
    })
    .sort((a, b) => a.ms - b.ms)
    .map(({ text }) => text);
}

describe('housekeeping and a weekly purchase', () => {
  it.each([
    ['days in which clocks are put forward, and a Monday', Date.UTC(2026, 2, 28), 3],
    ['days in which clocks are put back', Date.UTC(2026, 9, 24), 2],
  ])('%s: every occurrence once, and no other', (_name, startMs, days) => everyOccurrence(startMs, days));

  it(`${MANY_DAYS} days: every occurrence once, and no other`, { tags: ['long'], timeout: 300_000 }, () =>
    everyOccurrence(NEW_YEAR, MANY_DAYS),
  );
});

async function everyOccurrence(startMs: number, days: number): Promise<void> {
  const slots = [...slotsOf('housekeeping'), ...slotsOf('weekly-buy')];
  const bench = new Bench({ startMs, slots });
  await bench.begin();
  await bench.clock.pass(days * DAY_MS);
  const started = bench.launches.map(({ nominalMs, slot }) => `${new Date(nominalMs).toISOString()} ${slot}`);
  expect(started).toEqual(oracle(slots, startMs, startMs + days * DAY_MS));
  expect(new Set(bench.launches.map(({ run }) => run)).size).toBe(started.length);
  for (const { slot, nominalMs, atMs } of bench.launches) {
    const known = slots.find(({ id }) => id === slot);
    expect(atMs).toBe(known && computeDueMs({ ...known, knownSinceMs: startMs, enabled: true }, nominalMs));
  }
  expect(bench.events.filter(({ type }) => type === 'jumped')).toEqual([]);
}

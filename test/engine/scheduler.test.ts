/** Tests the scheduler's loop in virtual time: the runs it starts, the verdicts it records, and its behaviour under faults. */
import { describe, expect, it } from 'vitest';
import { ClockAgreement } from '../../src/engine/schedule/clock-agreement.ts';
import { LOOK_EVERY_MS } from '../../src/engine/schedule/decide.ts';
import type { TimetableSlot } from '../../src/engine/schedule/scheduler.ts';
import { makeScheduledRunName } from '../../src/engine/schedule/scheduler.ts';
import type { Submission } from '../../src/engine/schedule/submissions.ts';
import { openSharedMemory } from '../../src/journal/shared/memory.ts';
import { LEASE_LIFE_MS } from '../../src/journal/shared/shared.ts';
import { StoreError } from '../../src/journal/store.ts';
import type { ScheduleDeclaration } from '../../src/runbook/checked.ts';
import { cronSlot, DAY_MS, everySlot, HOUR_MS, MINUTE_MS, misfire } from '../runbook/sample-schedule.ts';
import { MemoryScheduleStore } from './memory-schedule-store.ts';
import { ACCOUNT, Bench, slotOf, WallClock } from './scheduler-bench.ts';

const EIGHT = Date.parse('2026-01-05T08:00:00Z');
/** Half a minute past, so that nothing is due at once. */
const START = EIGHT + 30_000;
const hourly = (rest: Parameters<typeof everySlot>[1] = {}, more: Partial<TimetableSlot> = {}) =>
  slotOf(everySlot(HOUR_MS, rest), more);
const clockTimes = (bench: Bench) =>
  bench.launches.map(({ nominalMs, atMs }) => {
    const late = atMs - nominalMs;
    return `${new Date(nominalMs).toISOString().slice(11, 16)}${late === 0 ? '' : ` +${late / 1000}s`}`;
  });

describe('time passes', () => {
  it('starts each occurrence at its instant, under the name that follows from it', async () => {
    const bench = new Bench({ startMs: START, slots: [hourly()] });
    await bench.begin();
    await bench.clock.pass(3 * HOUR_MS);
    expect(clockTimes(bench)).toEqual(['09:00', '10:00', '11:00']);
    expect(await bench.verdicts()).toEqual(['started 09:00:00', 'started 10:00:00', 'started 11:00:00']);
    expect(bench.launches.map(({ run }) => run)).toEqual(
      [1, 2, 3].map((n) => makeScheduledRunName(ACCOUNT, 'nightly', 'nightly/times', EIGHT + n * HOUR_MS)),
    );
    expect(await bench.scheduleStore.promised(ACCOUNT)).toEqual([]);
  });

  it('looks at the clock at least every half minute', async () => {
    const bench = new Bench({ startMs: START, slots: [slotOf(cronSlot('0 0 1 1 *', 'UTC'))] });
    await bench.begin();
    for (let n = 0; n < 20; n += 1) {
      await bench.clock.pass(LOOK_EVERY_MS);
      expect(bench.clock.monotonic() - (bench.scheduler.lastLook() ?? 0)).toBeLessThanOrEqual(LOOK_EVERY_MS);
    }
  });

  it('a clock set forward past several is a misfire of each, and is reported', async () => {
    const bench = new Bench({ startMs: START, slots: [hourly({ misfire: misfire(90 * MINUTE_MS, 'run_once') })] });
    await bench.begin();
    bench.clock.set(3 * HOUR_MS);
    await bench.clock.pass(LOOK_EVERY_MS);
    expect(await bench.verdicts()).toEqual(['missed 09:00:00 late', 'missed 10:00:00 superseded', 'started 11:00:00']);
    expect(bench.events).toContainEqual({ type: 'jumped', ms: 3 * HOUR_MS });
  });

  it.each([1, -1])(
    'a clock that is put %d h wrong for a while decides nothing, where another clock shows it',
    async (hours) => {
      const agreement = new ClockAgreement();
      agreement.note('the venue', { fromMs: 0, untilMs: 0 }, START, 1_000);
      const bench = new Bench({ startMs: START, slots: [hourly()], agreement });
      await bench.begin();
      await bench.clock.pass(10 * MINUTE_MS);
      bench.clock.set(hours * HOUR_MS);
      await bench.clock.pass(10 * MINUTE_MS);
      expect(await bench.verdicts()).toEqual([]);
      expect(bench.clock.monotonic() - (bench.scheduler.lastLook() ?? 0)).toBeLessThanOrEqual(LOOK_EVERY_MS);
      bench.clock.set(-hours * HOUR_MS);
      await bench.clock.pass(2 * HOUR_MS);
      expect(clockTimes(bench)).toEqual(['09:00', '10:00']);
      expect(await bench.verdicts()).toEqual(['started 09:00:00', 'started 10:00:00']);
    },
  );

  it('names what a clock that was ahead has decided up to a time to come, also in the next process', async () => {
    const slots = [hourly()];
    const bench = new Bench({ startMs: START, slots });
    await bench.begin();
    bench.clock.set(DAY_MS);
    await bench.clock.pass(LOOK_EVERY_MS);
    expect(bench.scheduler.listDecidedAhead()).toEqual([]);
    bench.clock.set(-DAY_MS);
    const ahead = [{ slot: 'nightly/times', throughMs: EIGHT + DAY_MS }];
    expect(bench.scheduler.listDecidedAhead()).toEqual(ahead);
    const { scheduleStore, clock } = bench;
    const next = new Bench({ startMs: START, slots, scheduleStore, clock, epoch: 2 });
    await next.begin();
    expect(next.scheduler.listDecidedAhead()).toEqual(ahead);
    await next.scheduler.retime([slotOf(everySlot(HOUR_MS), { id: 'nightly/from' })]);
    expect(next.scheduler.listDecidedAhead()).toEqual([]);
  });

  it('a clock set back starts nothing again, and nothing late once it has caught up', async () => {
    const bench = new Bench({ startMs: START, slots: [hourly()] });
    await bench.begin();
    await bench.clock.pass(2 * HOUR_MS);
    bench.clock.set(-HOUR_MS - 10 * MINUTE_MS);
    await bench.clock.pass(2 * HOUR_MS);
    expect(clockTimes(bench)).toEqual(['09:00', '10:00']);
    await bench.clock.pass(HOUR_MS);
    expect(clockTimes(bench)).toEqual(['09:00', '10:00', '11:00']);
    expect(bench.events.filter(({ type }) => type === 'jumped')).toEqual([{ type: 'jumped', ms: -70 * MINUTE_MS }]);
  });

  it('is as punctual with a clock set back as without', async () => {
    const bench = new Bench({ startMs: START, slots: [hourly()] });
    await bench.begin();
    bench.clock.set(-10 * MINUTE_MS);
    await bench.clock.pass(70 * MINUTE_MS);
    expect(clockTimes(bench)).toEqual(['09:00']);
  });
});

describe('a process that was down', () => {
  const policies: readonly (readonly [ScheduleDeclaration['misfire']['then'], number, readonly string[], number])[] = [
    ['run_once', 1, ['09:00 +60s'], 1],
    ['skip', 1, [], 1],
    ['run_once', 3, ['11:00 +60s'], 3],
    ['run_all', 3, ['09:00 +7260s', '10:00 +3661s', '11:00 +62s'], 3],
    ['run_once', 500, ['04:00 +60s'], 500],
    ['skip', 500, [], 500],
  ];
  it.each(policies)('%s, %i missed: starts %j', async (policy, missed, started, rows) => {
    const scheduleStore = new MemoryScheduleStore();
    const slots = [hourly({ misfire: misfire(1000 * HOUR_MS, policy) })];
    const before = new Bench({ startMs: START, slots, scheduleStore });
    await before.begin();
    await before.clock.pass(1);
    await before.scheduler.stop({ command: 'interrupt', by: 'SIGTERM' });

    const after = new Bench({ startMs: EIGHT + missed * HOUR_MS + MINUTE_MS, slots, scheduleStore, epoch: 2 });
    await after.begin();
    await after.clock.pass(10_000);
    expect(clockTimes(after)).toEqual(started);
    const verdicts = await scheduleStore.occurrences(ACCOUNT);
    expect(verdicts).toHaveLength(rows);
    expect(verdicts.filter(({ verdict }) => verdict === 'missed')).toHaveLength(rows - started.length);
  });

  it('misses nothing of a slot that was not known', async () => {
    const scheduleStore = new MemoryScheduleStore();
    const one = new Bench({ startMs: START, slots: [hourly()], scheduleStore });
    await one.begin();
    const other = hourly({}, { id: 'weekly/times', runbook: 'weekly' });
    const two = new Bench({ startMs: START + 5 * HOUR_MS, slots: [hourly(), other], scheduleStore, epoch: 2 });
    await two.begin();
    await two.clock.pass(1_000);
    expect((await scheduleStore.occurrences(ACCOUNT, { slot: 'weekly/times' })).length).toBe(0);
    expect((await scheduleStore.occurrences(ACCOUNT, { slot: 'nightly/times' })).length).toBe(5);
  });

  describe('died between the record and the begin of the run', () => {
    const slots = [hourly({ misfire: misfire(10 * MINUTE_MS, 'run_once') })];
    const died = async () => {
      const scheduleStore = new MemoryScheduleStore();
      const journal = new Set<string>();
      const bench = new Bench({ startMs: START, slots, scheduleStore, journal });
      await bench.begin();
      // Nothing of what it does after its last record reaches the world, and the store hears no more of it.
      bench.dead = true;
      const settle = scheduleStore.settle;
      scheduleStore.settle = async () => {};
      await bench.clock.pass(HOUR_MS);
      scheduleStore.settle = settle;
      expect(await bench.verdicts()).toEqual(['started 09:00:00']);
      return {
        scheduleStore,
        journal,
        run: makeScheduledRunName(ACCOUNT, 'nightly', 'nightly/times', EIGHT + HOUR_MS),
      };
    };

    it('the run is begun under its own name while there is time', async () => {
      const { scheduleStore, journal, run } = await died();
      const next = new Bench({ startMs: EIGHT + HOUR_MS + 9 * MINUTE_MS, slots, scheduleStore, journal, epoch: 2 });
      await next.begin();
      await next.clock.pass(1_000);
      expect(next.launches.map((launch) => launch.run)).toEqual([run]);
      expect(await next.verdicts()).toEqual(['started 09:00:00']);
      expect(await scheduleStore.promised(ACCOUNT)).toEqual([]);
    });

    it('and is lost, with a report, when there is none', async () => {
      const { scheduleStore, journal, run } = await died();
      const next = new Bench({ startMs: EIGHT + HOUR_MS + 11 * MINUTE_MS, slots, scheduleStore, journal, epoch: 2 });
      await next.begin();
      expect(next.launches).toEqual([]);
      expect(next.events).toEqual([{ type: 'lost', run, slot: 'nightly/times', nominalMs: EIGHT + HOUR_MS }]);
      expect(await scheduleStore.promised(ACCOUNT)).toEqual([]);
    });

    it('a run that the journal has is left to the process that resumes it', async () => {
      const { scheduleStore, journal, run } = await died();
      journal.add(run);
      const next = new Bench({ startMs: EIGHT + HOUR_MS + MINUTE_MS, slots, scheduleStore, journal, epoch: 2 });
      await next.begin();
      await next.clock.pass(1_000);
      expect(next.launches).toEqual([]);
      expect(await scheduleStore.promised(ACCOUNT)).toEqual([]);
    });

    it('under an engaged kill switch it is not begun', async () => {
      const { scheduleStore, journal } = await died();
      const next = new Bench({ startMs: EIGHT + HOUR_MS + MINUTE_MS, slots, scheduleStore, journal, epoch: 2 });
      next.killed = true;
      await next.begin();
      expect(next.launches).toEqual([]);
      expect(next.events.map(({ type }) => type)).toEqual(['lost']);
    });
  });
});

describe('two schedulers on one store', () => {
  it('one whose lease has passed on records nothing and stops permanently', async () => {
    const clock = new WallClock(START);
    const { leases } = openSharedMemory(() => clock.monotonic());
    const scheduleStore = new MemoryScheduleStore();
    const first = await leases.acquire(ACCOUNT, 'first');
    if (first.kind !== 'held') throw new Error('the account is free');
    const old = new Bench({ startMs: 0, slots: [hourly()], scheduleStore, clock, epoch: first.epoch });
    await old.begin();
    // It sleeps through its lease; another takes the account and looks.
    await clock.pass(LEASE_LIFE_MS + 1);
    const second = await leases.acquire(ACCOUNT, 'second');
    if (second.kind !== 'held') throw new Error('the lease has run out');
    const next = new Bench({ startMs: 0, slots: [hourly()], scheduleStore, clock, epoch: second.epoch });
    await next.begin();
    await clock.pass(2 * HOUR_MS);
    expect(clockTimes(next)).toEqual(['09:00', '10:00']);
    expect(old.launches).toEqual([]);
    expect(old.events).toMatchObject([{ type: 'overtaken' }]);
  });
});

describe('a run that is still under way', () => {
  const crowded = (overlap: ScheduleDeclaration['overlap'], runMs: number) =>
    new Bench({ startMs: START, slots: [hourly({ overlap, misfire: misfire(2 * HOUR_MS, 'run_once') })], runMs });

  it('skip: the occurrence is skipped', async () => {
    const bench = crowded('skip', 90 * MINUTE_MS);
    await bench.begin();
    await bench.clock.pass(4 * HOUR_MS);
    expect(await bench.verdicts()).toEqual([
      'started 09:00:00',
      'skipped 10:00:00 overlap',
      'started 11:00:00',
      'skipped 12:00:00 overlap',
    ]);
  });

  it('queue: it is started as soon as the run has ended', async () => {
    const bench = crowded('queue', 90 * MINUTE_MS);
    await bench.begin();
    await bench.clock.pass(3 * HOUR_MS);
    expect(clockTimes(bench)).toEqual(['09:00', '10:00 +1800s']);
    expect(await bench.verdicts()).toEqual(['started 09:00:00', 'started 10:00:00', 'waiting 11:00:00 overlap']);
  });

  it('what waited for a run goes on waiting in the next process', async () => {
    const bench = crowded('queue', 90 * MINUTE_MS);
    await bench.begin();
    await bench.clock.pass(2 * HOUR_MS + MINUTE_MS);
    const [first] = bench.launches;
    const slots = [hourly({ overlap: 'queue', misfire: misfire(2 * HOUR_MS, 'run_once') })];
    const next = new Bench({
      startMs: bench.clock.now(),
      slots,
      scheduleStore: bench.scheduleStore,
      journal: bench.journal,
      epoch: 2,
    });
    const run = first?.run ?? '';
    next.scheduler.adopt({ run, slot: 'nightly/times' }, 'nightly', next.run(run, Number.POSITIVE_INFINITY));
    await next.begin();
    await next.clock.pass(MINUTE_MS);
    expect(next.launches).toEqual([]);
    next.ends.get(run)?.({ kind: 'ended', outcome: 'succeeded' });
    await next.clock.pass(1);
    expect(clockTimes(next)).toEqual(['10:00 +150s']);
  });

  it('replace: it is asked to stop, once, and the occurrence follows', async () => {
    const bench = crowded('replace', Number.POSITIVE_INFINITY);
    await bench.begin();
    await bench.clock.pass(2 * HOUR_MS);
    expect(clockTimes(bench)).toEqual(['09:00', '10:00']);
    expect(bench.stops).toEqual([
      {
        run: bench.launches[0]?.run,
        command: {
          command: 'cancel',
          by: 'scheduler',
          reason: 'replaced by the occurrence of 2026-01-05T10:00:00.000Z',
        },
      },
    ]);
  });

  it('one that is stuck keeps its slot until a person has answered for it', async () => {
    const bench = new Bench({ startMs: START, slots: [hourly()], runMs: Number.POSITIVE_INFINITY });
    await bench.begin();
    await bench.clock.pass(HOUR_MS);
    const run = bench.launches[0]?.run ?? '';
    bench.ends.get(run)?.({ kind: 'stuck', why: 'unknown' });
    await bench.clock.pass(2 * HOUR_MS);
    expect(clockTimes(bench)).toEqual(['09:00']);
    expect(bench.scheduler.running().map((each) => each.run)).toEqual([run]);
    expect(bench.scheduler.unresolved()).toEqual([{ run, runbook: 'nightly', why: 'unknown' }]);
  });

  it('so does one that has halted: the next would act on an unknown state', async () => {
    const slots = [hourly(), hourly({}, { id: 'weekly/times', runbook: 'weekly' })];
    const bench = new Bench({ startMs: START, slots, runMs: Number.POSITIVE_INFINITY });
    await bench.begin();
    await bench.clock.pass(HOUR_MS);
    const [run = '', other = ''] = bench.launches.map((launch) => launch.run);
    bench.ends.get(run)?.({ kind: 'ended', outcome: 'halted', reason: 'no answer to an order' });
    bench.ends.get(other)?.({ kind: 'ended', outcome: 'succeeded' });
    await bench.clock.pass(HOUR_MS);
    expect(bench.scheduler.unresolved()).toEqual([{ run, runbook: 'nightly', why: 'no answer to an order' }]);
    expect(await bench.verdicts()).toEqual([
      'started 09:00:00',
      'started 09:00:00',
      'skipped 10:00:00 overlap',
      'started 10:00:00',
    ]);

    bench.scheduler.settle(run, 'ada');
    bench.scheduler.settle('another', 'ada');
    await bench.clock.pass(HOUR_MS);
    expect(bench.events.filter(({ type }) => type === 'settled')).toEqual([
      { type: 'settled', run, runbook: 'nightly', by: 'ada' },
    ]);
    expect(bench.launches.filter(({ slot }) => slot === 'nightly/times')).toHaveLength(2);
  });

  it('one that is left to another process keeps its slot and its promise', async () => {
    const bench = new Bench({ startMs: START, slots: [hourly()], runMs: Number.POSITIVE_INFINITY });
    bench.begins = undefined;
    await bench.begin();
    await bench.clock.pass(HOUR_MS);
    const run = bench.launches[0]?.run ?? '';
    bench.ends.get(run)?.({ kind: 'left', why: 'the journal cannot be written' });
    await bench.clock.pass(HOUR_MS);
    expect(bench.launches).toHaveLength(1);
    expect(bench.scheduler.unresolved()).toEqual([]);
    expect((await bench.scheduleStore.promised(ACCOUNT)).map((row) => row.run)).toEqual([run]);
  });
});

describe('the kill switch', () => {
  it('skips what falls due while it is engaged, and nothing afterwards', async () => {
    const bench = new Bench({ startMs: START, slots: [hourly()] });
    await bench.begin();
    bench.killed = true;
    await bench.clock.pass(90 * MINUTE_MS);
    bench.killed = false;
    await bench.clock.pass(HOUR_MS);
    expect(await bench.verdicts()).toEqual(['skipped 09:00:00 kill', 'started 10:00:00']);
  });
});

describe('a kill switch that cannot be read', () => {
  it('gives no verdict: nothing is started meanwhile, and a due occurrence is judged by its real lateness', async () => {
    const bench = new Bench({ startMs: START, slots: [hourly()] });
    await bench.begin();
    bench.killed = undefined;
    await bench.clock.pass(HOUR_MS - 20_000);
    expect(await bench.verdicts()).toEqual([]);
    expect(bench.events).toEqual([{ type: 'unrecorded', message: 'the kill switch cannot be read' }]);
    bench.killed = false;
    await bench.clock.pass(1_000);
    expect(clockTimes(bench)).toEqual(['09:00 +11s']);
    expect(await bench.verdicts()).toEqual(['started 09:00:00']);
  });
});

describe('a store that refuses', () => {
  it('starts nothing until the decision is recorded, and says so once', async () => {
    const scheduleStore = new MemoryScheduleStore();
    const record = scheduleStore.record.bind(scheduleStore);
    let broken = true;
    scheduleStore.record = async (...all) => {
      if (broken) throw new StoreError('unavailable', 'the disk is full');
      return record(...all);
    };
    const bench = new Bench({ startMs: START, slots: [hourly()], scheduleStore });
    await bench.begin();
    await bench.clock.pass(HOUR_MS - 25_000);
    expect(bench.launches).toEqual([]);
    expect(bench.events).toEqual([{ type: 'unrecorded', message: 'the disk is full' }]);
    broken = false;
    await bench.clock.pass(1_000);
    expect(clockTimes(bench)).toEqual(['09:00 +6s']);
  });

  it('a commit it lost sight of is looked up: kept, it is acted on and not taken for another process’s', async () => {
    const scheduleStore = new MemoryScheduleStore();
    const record = scheduleStore.record.bind(scheduleStore);
    let answers = false;
    scheduleStore.record = async (...all) => {
      await record(...all);
      if (!answers) throw new StoreError('unavailable', 'whether the last commit was kept is not known');
    };
    const bench = new Bench({ startMs: START, slots: [hourly()], scheduleStore });
    await bench.begin();
    await bench.clock.pass(HOUR_MS - 30_000);
    answers = true;
    await bench.clock.pass(HOUR_MS);
    expect(clockTimes(bench)).toEqual(['09:00 +1s', '10:00']);
    expect(await bench.verdicts()).toEqual(['started 09:00:00', 'started 10:00:00']);
    expect(bench.events.filter(({ type }) => type === 'overtaken')).toEqual([]);
    expect(await scheduleStore.promised(ACCOUNT)).toEqual([]);
  });

  it('a record that took longer than the window lasts starts nothing any more, and says so', async () => {
    const scheduleStore = new MemoryScheduleStore();
    const bench = new Bench({ startMs: START, slots: [hourly()], scheduleStore });
    const record = scheduleStore.record.bind(scheduleStore);
    scheduleStore.record = async (...all) => {
      await new Promise<void>((resolve) => void bench.clock.after(2 * MINUTE_MS, resolve));
      return record(...all);
    };
    await bench.begin();
    await bench.clock.pass(HOUR_MS + 5 * MINUTE_MS);
    expect(bench.launches).toEqual([]);
    expect(bench.events.map(({ type }) => type)).toEqual(['decided', 'lost']);
    expect((await scheduleStore.occurrences(ACCOUNT)).map(({ verdict, began }) => [verdict, began])).toEqual([
      ['started', 'lost'],
    ]);
  });

  it('gives thousands of verdicts in batches, with room between them for other turns', async () => {
    const scheduleStore = new MemoryScheduleStore();
    const slots = [slotOf(everySlot(MINUTE_MS))];
    await new Bench({ startMs: START, slots, scheduleStore }).begin();
    const bench = new Bench({ startMs: START + 12_000 * MINUTE_MS, slots, scheduleStore, epoch: 2 });
    const record = scheduleStore.record.bind(scheduleStore);
    const order: string[] = [];
    scheduleStore.record = async (...all) => {
      order.push('batch');
      bench.clock.arrive(() => order.push('heartbeat'));
      return record(...all);
    };
    await bench.begin();
    await bench.clock.pass(1);
    expect(order).toEqual(['batch', 'heartbeat', 'batch', 'heartbeat', 'batch', 'heartbeat']);
  });

  it('an internal error is not taken for one of the store', async () => {
    const scheduleStore = new MemoryScheduleStore();
    scheduleStore.marks = async () => {
      throw new TypeError('ours');
    };
    await expect(new Bench({ startMs: START, slots: [hourly()], scheduleStore }).begin()).rejects.toThrow('ours');
  });
});

describe('another timetable', () => {
  it('an edited slot is a new one: it missed nothing, and nothing of the old one is started', async () => {
    const bench = new Bench({ startMs: START, slots: [hourly()] });
    await bench.begin();
    await bench.clock.pass(HOUR_MS);
    await bench.scheduler.retime([slotOf(everySlot(HOUR_MS / 2), { id: 'nightly/edited' })]);
    await bench.clock.pass(HOUR_MS);
    expect(
      bench.launches.map(({ slot, nominalMs }) => `${slot} ${new Date(nominalMs).toISOString().slice(11, 16)}`),
    ).toEqual(['nightly/times 09:00', 'nightly/edited 09:30', 'nightly/edited 10:00']);
  });

  it('a run of a slot whose times are edited holds the new one, also when it has halted, until a person settles it', async () => {
    const bench = new Bench({ startMs: START, slots: [hourly()], runMs: Number.POSITIVE_INFINITY });
    await bench.begin();
    await bench.clock.pass(HOUR_MS);
    const run = bench.launches[0]?.run ?? '';
    const other = slotOf(everySlot(HOUR_MS), { id: 'other/times', runbook: 'other' });
    await bench.scheduler.retime([slotOf(everySlot(HOUR_MS / 2), { id: 'nightly/edited' }), other]);
    await bench.clock.pass(HOUR_MS / 2);
    bench.ends.get(run)?.({ kind: 'ended', outcome: 'halted', reason: 'no answer to an order' });
    await bench.clock.pass(HOUR_MS / 2);
    const started = () => bench.launches.slice(1).map(({ slot }) => slot);
    expect(started()).toEqual(['other/times']);
    expect((await bench.verdicts()).filter((text) => text.startsWith('skipped'))).toEqual([
      'skipped 09:30:00 overlap',
      'skipped 10:00:00 overlap',
    ]);
    bench.scheduler.settle(run, 'ada');
    await bench.clock.pass(HOUR_MS / 2);
    expect(started()).toEqual(['other/times', 'nightly/edited']);
  });

  it('so does one that the next process finds halted, and replacing asks a run under way to stop', async () => {
    const edited = slotOf(everySlot(HOUR_MS, { overlap: 'replace' }), { id: 'nightly/edited' });
    const bench = new Bench({ startMs: START, slots: [edited] });
    bench.scheduler.adopt({ run: 'r1', slot: 'nightly/times' }, 'nightly', { why: 'no answer to an order' });
    bench.scheduler.adopt({ run: 'r2', slot: 'nightly/times' }, 'nightly', bench.run('r2', Number.POSITIVE_INFINITY));
    await bench.begin();
    await bench.clock.pass(HOUR_MS);
    expect(bench.stops.map((each) => each.run)).toEqual(['r2']);
    expect(bench.launches).toEqual([]);
  });

  it('waiting occurrences of a slot that is gone are skipped', async () => {
    const slots = [hourly({ overlap: 'queue', misfire: misfire(2 * HOUR_MS, 'run_once') })];
    const bench = new Bench({ startMs: START, slots, runMs: 90 * MINUTE_MS });
    await bench.begin();
    await bench.clock.pass(2 * HOUR_MS);
    await bench.scheduler.retime([]);
    await bench.clock.pass(1);
    expect(await bench.verdicts()).toEqual(['started 09:00:00', 'skipped 10:00:00 disabled']);
  });

  it('a slot that comes back after it was gone missed nothing meanwhile', async () => {
    const bench = new Bench({ startMs: START, slots: [hourly()] });
    await bench.begin();
    await bench.scheduler.retime([]);
    await bench.clock.pass(5 * HOUR_MS);
    await bench.scheduler.retime([hourly()]);
    await bench.clock.pass(HOUR_MS);
    expect(await bench.verdicts()).toEqual(['started 14:00:00']);
  });
});

describe('stopping', () => {
  it('asks every run to stop, waits for all, and starts nothing more', async () => {
    const bench = new Bench({ startMs: START, slots: [hourly()], runMs: Number.POSITIVE_INFINITY });
    await bench.begin();
    await bench.clock.pass(HOUR_MS);
    await bench.clock.time.runUntil(bench.scheduler.stop({ command: 'interrupt', by: 'SIGTERM' }));
    expect(bench.stops).toEqual([{ run: bench.launches[0]?.run, command: { command: 'interrupt', by: 'SIGTERM' } }]);
    await bench.clock.pass(DAY_MS);
    expect(bench.launches).toHaveLength(1);
    expect(await bench.verdicts()).toEqual(['started 09:00:00']);
  });
});

describe('a submitted run', () => {
  const submission = (run: string, rest: Partial<Submission>, bench: Bench, log: string[]): Submission => ({
    run,
    runbook: 'ladder',
    begin: async () => {
      log.push(`begin ${run} ${(bench.clock.now() - START) / MINUTE_MS}`);
      return bench.run(run, 10 * MINUTE_MS);
    },
    refuse: async (why) => void log.push(`refuse ${run}: ${why}`),
    ...rest,
  });

  it('begins at once when nothing it needs is held, else when that is free; and holds it against schedules', async () => {
    const key = { key: 'account', onBusy: 'queue' } as const;
    const slots = [hourly({ misfire: misfire(HOUR_MS, 'run_once') }, { concurrency: key })];
    const bench = new Bench({ startMs: START, slots });
    const log: string[] = [];
    await bench.begin();
    await bench.clock.pass(55 * MINUTE_MS);
    bench.scheduler.admit(submission('a', { concurrency: key }, bench, log));
    bench.scheduler.admit(submission('b', { concurrency: key }, bench, log));
    bench.scheduler.admit(submission('c', {}, bench, log));
    await bench.clock.pass(HOUR_MS);
    // The occurrence of 09:00 had come before b was looked at again.
    expect(log).toEqual(['begin a 55', 'begin c 55', `begin b ${65 + 1 / 60}`]);
    expect(clockTimes(bench)).toEqual(['09:00 +330s']);
  });

  it.each(['skip', 'fail'] as const)('is refused while its key is held, with on_busy: %s', async (onBusy) => {
    const bench = new Bench({ startMs: START, slots: [] });
    const log: string[] = [];
    await bench.begin();
    bench.scheduler.admit(submission('a', { concurrency: { key: 'k', onBusy } }, bench, log));
    bench.scheduler.admit(submission('b', { concurrency: { key: 'k', onBusy } }, bench, log));
    await bench.clock.pass(HOUR_MS);
    expect(log).toEqual(['begin a 0', `refuse b: the concurrency key "k" is held by another run (on_busy: ${onBusy})`]);
  });

  it('is begun later when the store refuses to say that it was taken', async () => {
    const bench = new Bench({ startMs: START, slots: [] });
    const log: string[] = [];
    await bench.begin();
    let tries = 0;
    const begin = async () => {
      tries += 1;
      if (tries < 3) throw new StoreError('unavailable', 'the database cannot be reached');
      log.push(`begun at the try ${tries}`);
      return bench.run('a', MINUTE_MS);
    };
    bench.scheduler.admit(submission('a', { begin }, bench, log));
    bench.scheduler.admit(submission('b', {}, bench, log));
    await bench.clock.pass(10_000);
    expect(log).toEqual(['begun at the try 3', `begin b ${2 / 60}`]);
    expect(bench.events.filter(({ type }) => type === 'unrecorded')).toEqual([
      { type: 'unrecorded', message: 'the database cannot be reached' },
    ]);
  });

  it('waits for what only one run may use at a time, and so does a schedule', async () => {
    const exclusive = ['deadman switch'];
    const slots = [hourly({ misfire: misfire(HOUR_MS, 'run_once') }, { exclusive })];
    const bench = new Bench({ startMs: START, slots });
    const log: string[] = [];
    await bench.begin();
    await bench.clock.pass(55 * MINUTE_MS);
    bench.scheduler.admit(submission('a', { exclusive }, bench, log));
    await bench.clock.pass(30 * MINUTE_MS);
    expect(log).toEqual(['begin a 55']);
    expect(clockTimes(bench)).toEqual(['09:00 +330s']);
  });
});

/**
 * Tests the scheduler's decisions: misfire, overlap and concurrency by cases that a person can check, then random histories of a
 * clock that jumps, a machine that sleeps and a process that dies, against the invariant of one verdict each (ARCHITECTURE.md, I16).
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  computeClockJumpMs,
  computeDueMs,
  type Decision,
  decide,
  EMPTY_SCHEDULE,
  foldSchedule,
  LOOK_EVERY_MS,
  type ScheduleRun,
  type ScheduleSlot,
  type ScheduleState,
} from '../../src/engine/schedule/decide.ts';
import type { ScheduleDeclaration } from '../../src/runbook/checked.ts';
import { listOccurrences } from '../../src/runbook/schedule/schedule.ts';
import { Duration } from '../../src/runbook/values.ts';
import { itHolds } from '../property.ts';
import { cronSlot, DAY_MS, everySlot, HOUR_MS, MINUTE_MS, misfire } from '../runbook/sample-schedule.ts';

const EIGHT = Date.parse('2026-01-05T08:00:00Z');

type Options = Partial<Pick<ScheduleSlot, 'id' | 'enabled' | 'concurrency' | 'knownSinceMs'>> & {
  readonly every?: number;
  readonly within?: number;
  readonly policy?: ScheduleDeclaration['misfire']['then'];
  readonly overlap?: ScheduleDeclaration['overlap'];
  readonly jitter?: number;
};

function slotOf({
  every = HOUR_MS,
  within = MINUTE_MS,
  policy = 'run_once',
  overlap = 'skip',
  jitter,
  ...rest
}: Options = {}): ScheduleSlot {
  const declaration = everySlot(every, {
    misfire: misfire(within, policy),
    overlap,
    ...(jitter !== undefined && { jitter: new Duration(jitter) }),
  });
  return { id: 'nightly/0', declaration, knownSinceMs: EIGHT - 30 * DAY_MS, enabled: true, ...rest };
}

/** Everything up to and including `ms` has been decided. */
const through = (slot: ScheduleSlot, ms: number): ScheduleState => ({ through: new Map([[slot.id, ms]]), waiting: [] });
const at = (
  nowMs: number,
  rest: { readonly running?: readonly ScheduleRun[]; readonly killed?: boolean } = {},
): Parameters<typeof decide>[2] => ({ nowMs, running: [], killed: false, ...rest });
const runOf = (slot: ScheduleSlot, rest: Partial<ScheduleRun> = {}): ScheduleRun => ({
  run: 'r1',
  slot: slot.id,
  ...(slot.concurrency && { key: slot.concurrency.key }),
  ...rest,
});

/** Decisions in short: `start 08:00`, `missed 07:58 late`. */
function summarize(decisions: readonly Decision[]): readonly string[] {
  return decisions.map((decision) => {
    const time = new Date(decision.nominalMs).toISOString().slice(11, 16);
    switch (decision.type) {
      case 'start':
        return `start ${time}${decision.waited ? ' waited' : ''}`;
      case 'skip':
        return `skip ${time} ${decision.why}${decision.failed ? ' failed' : ''}`;
      case 'missed':
        return `missed ${time} ${decision.why}`;
      case 'queue':
        return `queue ${time} ${decision.behind}`;
      case 'replace':
        return `replace ${time} ${decision.runs.join()}`;
      default:
        return decision satisfies never;
    }
  });
}

describe('on time', () => {
  it('starts at its instant, never before, and says when to look again', () => {
    const slot = slotOf();
    const before = through(slot, EIGHT - HOUR_MS);
    expect(decide([slot], before, at(EIGHT - 1))).toEqual({ decisions: [], nextLookMs: EIGHT });
    expect(decide([slot], before, at(EIGHT))).toEqual({
      decisions: [{ type: 'start', slot: 'nightly/0', nominalMs: EIGHT, latenessMs: 0, waited: false }],
      nextLookMs: EIGHT + LOOK_EVERY_MS,
    });
  });

  it('looks at least every half minute, however far the next instant is', () => {
    const slot = slotOf();
    expect(decide([slot], through(slot, EIGHT), at(EIGHT + 5 * MINUTE_MS)).nextLookMs).toBe(
      EIGHT + 5 * MINUTE_MS + 30_000,
    );
  });

  it('owes nothing from before the schedule was known', () => {
    const slot = slotOf({ knownSinceMs: EIGHT + 1, within: DAY_MS, policy: 'run_all' });
    expect(decide([slot], EMPTY_SCHEDULE, at(EIGHT + MINUTE_MS)).decisions).toEqual([]);
    expect(
      summarize(decide([{ ...slot, knownSinceMs: EIGHT }], EMPTY_SCHEDULE, at(EIGHT + MINUTE_MS)).decisions),
    ).toEqual(['start 08:00']);
  });

  it('never starts a decided occurrence again after the clock is set back', () => {
    const slot = slotOf({ every: MINUTE_MS });
    const { decisions } = decide([slot], through(slot, EIGHT - MINUTE_MS), at(EIGHT));
    const after = foldSchedule(decisions, through(slot, EIGHT - MINUTE_MS));
    for (const backMs of [1, MINUTE_MS, HOUR_MS])
      expect(decide([slot], after, at(EIGHT - backMs)).decisions).toEqual([]);
    expect(summarize(decide([slot], after, at(EIGHT + MINUTE_MS)).decisions)).toEqual(['start 08:01']);
  });

  it('takes slots due at one instant in the sequence of the timetable', () => {
    const slots = ['b/0', 'a/0'].map((id) => slotOf({ id }));
    const decisions = decide(
      slots,
      { through: new Map(slots.map(({ id }) => [id, EIGHT - 1])), waiting: [] },
      at(EIGHT),
    ).decisions;
    expect(decisions.map(({ slot }) => slot)).toEqual(['b/0', 'a/0']);
  });
});

describe('down across', () => {
  const across = (count: number, policy: ScheduleDeclaration['misfire']['then'], within: number): readonly string[] => {
    const slot = slotOf({ every: MINUTE_MS, policy, within });
    return summarize(decide([slot], through(slot, EIGHT - count * MINUTE_MS), at(EIGHT + 45_000)).decisions);
  };

  it('one occurrence: skipped, made up for, or missed when its window is over', () => {
    expect(across(1, 'skip', HOUR_MS)).toEqual(['missed 08:00 misfire']);
    expect(across(1, 'run_once', HOUR_MS)).toEqual(['start 08:00']);
    expect(across(1, 'run_all', HOUR_MS)).toEqual(['start 08:00']);
    expect(across(1, 'run_all', 44_999)).toEqual(['missed 08:00 late']);
    expect(across(1, 'run_all', 45_000)).toEqual(['start 08:00']);
  });

  it('three: one run makes up for all, or each has its own, one after another', () => {
    expect(across(3, 'skip', HOUR_MS)).toEqual([
      'missed 07:58 misfire',
      'missed 07:59 misfire',
      'missed 08:00 misfire',
    ]);
    expect(across(3, 'run_once', HOUR_MS)).toEqual([
      'missed 07:58 superseded',
      'missed 07:59 superseded',
      'start 08:00',
    ]);
    expect(across(3, 'run_all', HOUR_MS)).toEqual(['start 07:58', 'queue 07:59 overlap', 'queue 08:00 overlap']);
    expect(across(3, 'run_all', 2 * MINUTE_MS)).toEqual(['missed 07:58 late', 'start 07:59', 'queue 08:00 overlap']);
  });

  it('five hundred: each has its verdict', () => {
    const slot = slotOf({ every: MINUTE_MS, policy: 'run_once', within: 20 * MINUTE_MS });
    const { decisions } = decide([slot], through(slot, EIGHT - 500 * MINUTE_MS), at(EIGHT + 45_000));
    expect(decisions.map(({ nominalMs }) => nominalMs)).toEqual(
      Array.from({ length: 500 }, (_, index) => EIGHT - (499 - index) * MINUTE_MS),
    );
    const count = (text: RegExp): number => summarize(decisions).filter((each) => text.test(each)).length;
    expect([count(/late$/), count(/superseded$/), count(/^start/)]).toEqual([480, 19, 1]);
  });

  it('a year of minutes: in batches, none lost', () => {
    const slot = slotOf({
      every: MINUTE_MS,
      policy: 'run_once',
      within: 20 * MINUTE_MS,
      knownSinceMs: EIGHT - 20_000 * MINUTE_MS,
    });
    let state = EMPTY_SCHEDULE;
    const all: Decision[] = [];
    for (let look = 0; look < 10; look += 1) {
      const answer = decide([slot], state, at(EIGHT));
      all.push(...answer.decisions);
      state = foldSchedule(answer.decisions, state);
      if (answer.nextLookMs > EIGHT) break;
    }
    expect(all.map(({ nominalMs }) => nominalMs)).toEqual(
      Array.from({ length: 20_001 }, (_, index) => EIGHT - (20_000 - index) * MINUTE_MS),
    );
    expect(all.filter(({ type }) => type === 'start').map(({ nominalMs }) => nominalMs)).toEqual([EIGHT]);
  });

  it('two weeks of minutes whose window is open: in batches too, and one run makes up for all', () => {
    const slot = slotOf({ every: MINUTE_MS, within: 30 * DAY_MS, knownSinceMs: EIGHT - 20_000 * MINUTE_MS });
    let state = EMPTY_SCHEDULE;
    const portions: number[] = [];
    const all: Decision[] = [];
    for (let nextLookMs = EIGHT; nextLookMs <= EIGHT; ) {
      const answer = decide([slot], state, at(EIGHT));
      nextLookMs = answer.nextLookMs;
      portions.push(answer.decisions.length);
      all.push(...answer.decisions);
      state = foldSchedule(answer.decisions, state);
    }
    expect(Math.max(...portions)).toBeLessThanOrEqual(5_001);
    expect(all.map(({ nominalMs }) => nominalMs)).toEqual(
      Array.from({ length: 20_001 }, (_, index) => EIGHT - (20_000 - index) * MINUTE_MS),
    );
    expect(summarize(all.slice(-2))).toEqual(['missed 07:59 superseded', 'start 08:00']);
  });

  it('two weeks of minutes that are all made up for: each waits, and each is found again by its key', () => {
    const slot = slotOf({ every: MINUTE_MS, within: 30 * DAY_MS, policy: 'run_all' });
    const before = through(slot, EIGHT - 20_000 * MINUTE_MS);
    const { decisions } = decide([slot], before, at(EIGHT));
    expect(decisions.map(({ type }) => type)).toEqual(['start', ...Array.from({ length: 19_999 }, () => 'queue')]);
    const killed = decide([slot], foldSchedule(decisions, before), at(EIGHT + 1, { killed: true }));
    expect(killed.decisions).toHaveLength(19_999);
    expect(foldSchedule(killed.decisions, foldSchedule(decisions, before)).waiting).toEqual([]);
  });

  it('and one that is due now: it makes up for those before it', () => {
    const slot = slotOf({ every: MINUTE_MS, within: HOUR_MS });
    expect(summarize(decide([slot], through(slot, EIGHT - 3 * MINUTE_MS), at(EIGHT)).decisions)).toEqual([
      'missed 07:58 superseded',
      'missed 07:59 superseded',
      'start 08:00',
    ]);
    const all = slotOf({ every: MINUTE_MS, within: HOUR_MS, policy: 'run_all' });
    expect(summarize(decide([all], through(all, EIGHT - 3 * MINUTE_MS), at(EIGHT)).decisions)).toEqual([
      'start 07:58',
      'queue 07:59 overlap',
      'queue 08:00 overlap',
    ]);
  });

  it('catching up, the next starts when the one before has ended', () => {
    const slot = slotOf({ every: MINUTE_MS, within: HOUR_MS, policy: 'run_all' });
    const first = decide([slot], through(slot, EIGHT - 3 * MINUTE_MS), at(EIGHT));
    let state = foldSchedule(first.decisions, through(slot, EIGHT - 3 * MINUTE_MS));
    expect(summarize(decide([slot], state, at(EIGHT + 1000, { running: [runOf(slot)] })).decisions)).toEqual([]);
    const second = decide([slot], state, at(EIGHT + 2000));
    expect(summarize(second.decisions)).toEqual(['start 07:59 waited']);
    state = foldSchedule(second.decisions, state);
    expect(summarize(decide([slot], state, at(EIGHT + 3000)).decisions)).toEqual(['start 08:00 waited']);
  });

  it('replacing, only the newest is started: each would only replace the one before', () => {
    const slot = slotOf({ every: MINUTE_MS, within: HOUR_MS, policy: 'run_all', overlap: 'replace' });
    expect(summarize(decide([slot], through(slot, EIGHT - 3 * MINUTE_MS), at(EIGHT + 45_000)).decisions)).toEqual([
      'missed 07:58 superseded',
      'missed 07:59 superseded',
      'start 08:00',
    ]);
  });
});

describe('while the previous run is under way', () => {
  const meet = (
    overlap: ScheduleDeclaration['overlap'],
  ): { readonly slot: ScheduleSlot; readonly state: ScheduleState; readonly decisions: readonly Decision[] } => {
    const slot = slotOf({ overlap, within: 10 * MINUTE_MS });
    const before = through(slot, EIGHT - 1);
    const { decisions } = decide([slot], before, at(EIGHT, { running: [runOf(slot)] }));
    return { slot, state: foldSchedule(decisions, before), decisions };
  };

  it('skip: it is not started', () => {
    expect(summarize(meet('skip').decisions)).toEqual(['skip 08:00 overlap']);
  });

  it('queue: it starts when the run has ended, within its window', () => {
    const { slot, state, decisions } = meet('queue');
    expect(summarize(decisions)).toEqual(['queue 08:00 overlap']);
    expect(summarize(decide([slot], state, at(EIGHT + 10 * MINUTE_MS, { running: [runOf(slot)] })).decisions)).toEqual(
      [],
    );
    expect(decide([slot], state, at(EIGHT + 10 * MINUTE_MS)).decisions).toEqual([
      { type: 'start', slot: slot.id, nominalMs: EIGHT, latenessMs: 10 * MINUTE_MS, waited: true },
    ]);
    expect(summarize(decide([slot], state, at(EIGHT + 10 * MINUTE_MS + 1)).decisions)).toEqual(['skip 08:00 late']);
    expect(decide([slot], state, at(EIGHT + 10 * MINUTE_MS - 5, { running: [runOf(slot)] })).nextLookMs).toBe(
      EIGHT + 10 * MINUTE_MS + 1,
    );
  });

  it('replace: the run is asked to stop, and it starts when that has happened', () => {
    const { slot, state, decisions } = meet('replace');
    expect(decisions).toEqual([{ type: 'replace', slot: slot.id, nominalMs: EIGHT, runs: ['r1'] }]);
    // Asked again by a process that died between recording and asking; not of a run that is stopping.
    expect(summarize(decide([slot], state, at(EIGHT + 1000, { running: [runOf(slot)] })).decisions)).toEqual([
      'replace 08:00 r1',
    ]);
    expect(
      summarize(decide([slot], state, at(EIGHT + 1000, { running: [runOf(slot, { stopping: true })] })).decisions),
    ).toEqual([]);
    expect(summarize(decide([slot], state, at(EIGHT + 1000)).decisions)).toEqual(['start 08:00 waited']);
  });

  it('replace: a newer one takes the place of one that waits', () => {
    const slot = slotOf({ every: MINUTE_MS, overlap: 'replace', within: HOUR_MS });
    const state = foldSchedule([{ type: 'replace', slot: slot.id, nominalMs: EIGHT, runs: ['r1'] }]);
    const running = [runOf(slot, { stopping: true })];
    expect(summarize(decide([slot], state, at(EIGHT + MINUTE_MS, { running })).decisions)).toEqual([
      'skip 08:00 overlap',
      'queue 08:01 overlap',
    ]);
  });

  it('does not start a waiting occurrence early after the clock is set back', () => {
    const { slot, state } = meet('queue');
    expect(decide([slot], state, at(EIGHT - MINUTE_MS))).toEqual({
      decisions: [],
      nextLookMs: EIGHT - MINUTE_MS + 30_000,
    });
  });

  it('slots of one runbook do not block each other', () => {
    const slots = [slotOf({ id: 'nightly/0' }), slotOf({ id: 'nightly/1' })];
    const state = { through: new Map(slots.map(({ id }) => [id, EIGHT - 1])), waiting: [] };
    expect(
      summarize(decide(slots, state, at(EIGHT, { running: [{ run: 'r1', slot: 'nightly/0' }] })).decisions),
    ).toEqual(['skip 08:00 overlap', 'start 08:00']);
  });
});

describe('under one concurrency key', () => {
  const pair = (onBusy: 'queue' | 'skip' | 'fail'): readonly ScheduleSlot[] =>
    ['a/0', 'b/0'].map((id) => slotOf({ id, within: 10 * MINUTE_MS, concurrency: { key: 'account', onBusy } }));
  const fresh: ScheduleState = {
    through: new Map([
      ['a/0', EIGHT - 1],
      ['b/0', EIGHT - 1],
    ]),
    waiting: [],
  };

  it('one starts, and the other waits, is skipped, or fails', () => {
    expect(summarize(decide(pair('queue'), fresh, at(EIGHT)).decisions)).toEqual(['start 08:00', 'queue 08:00 key']);
    expect(summarize(decide(pair('skip'), fresh, at(EIGHT)).decisions)).toEqual(['start 08:00', 'skip 08:00 busy']);
    expect(summarize(decide(pair('fail'), fresh, at(EIGHT)).decisions)).toEqual([
      'start 08:00',
      'skip 08:00 busy failed',
    ]);
  });

  it('a run started by hand holds it as well', () => {
    const running = [{ run: 'manual', key: 'account' }];
    const { decisions } = decide(pair('queue'), fresh, at(EIGHT, { running }));
    expect(summarize(decisions)).toEqual(['queue 08:00 key', 'queue 08:00 key']);
    const state = foldSchedule(decisions, fresh);
    expect(decide(pair('queue'), state, at(EIGHT + MINUTE_MS)).decisions.map(({ type, slot }) => [type, slot])).toEqual(
      [['start', 'a/0']],
    );
  });

  it('ignores another key', () => {
    expect(
      summarize(decide(pair('skip'), fresh, at(EIGHT, { running: [{ run: 'r9', key: 'desk' }] })).decisions),
    ).toEqual(['start 08:00', 'skip 08:00 busy']);
  });
});

describe('with the kill switch engaged, or the slot off', () => {
  it('skips due and waiting occurrences permanently', () => {
    const slot = slotOf({ within: 10 * MINUTE_MS });
    const waiting = foldSchedule([{ type: 'queue', slot: slot.id, nominalMs: EIGHT - HOUR_MS, behind: 'key' }]);
    const { decisions } = decide([slot], waiting, at(EIGHT, { killed: true }));
    expect(summarize(decisions)).toEqual(['skip 07:00 kill', 'skip 08:00 kill']);
    expect(decide([slot], foldSchedule(decisions, waiting), at(EIGHT + 1000)).decisions).toEqual([]);
    expect(summarize(decide([{ ...slot, enabled: false }], waiting, at(EIGHT)).decisions)).toEqual([
      'skip 07:00 disabled',
      'skip 08:00 disabled',
    ]);
    expect(summarize(decide([], waiting, at(EIGHT)).decisions)).toEqual(['skip 07:00 disabled']);
  });
});

describe('jitter', () => {
  const slot = slotOf({ every: HOUR_MS, within: 30 * MINUTE_MS, jitter: 10 * MINUTE_MS });

  it('delays by the slot and the instant alone, and spreads', () => {
    const delays = Array.from(
      { length: 400 },
      (_, index) => computeDueMs(slot, EIGHT + index * HOUR_MS) - EIGHT - index * HOUR_MS,
    );
    expect(delays).toEqual(
      Array.from({ length: 400 }, (_, index) => computeDueMs(slot, EIGHT + index * HOUR_MS) - EIGHT - index * HOUR_MS),
    );
    expect(Math.min(...delays)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...delays)).toBeLessThanOrEqual(10 * MINUTE_MS);
    for (let minute = 0; minute < 10; minute += 1)
      expect(delays.filter((each) => Math.floor(each / MINUTE_MS) === minute).length).toBeGreaterThan(15);
    expect(computeDueMs({ ...slot, id: 'other/0' }, EIGHT)).not.toBe(computeDueMs(slot, EIGHT));
  });

  it('leaves the window room for a late look, and does not overtake the next', () => {
    const tight = slotOf({ every: HOUR_MS, within: MINUTE_MS, jitter: HOUR_MS });
    const dense = slotOf({ every: MINUTE_MS, within: HOUR_MS, jitter: HOUR_MS });
    for (let n = 0; n < 200; n += 1) {
      const nominalMs = EIGHT + n * HOUR_MS;
      expect(computeDueMs(tight, nominalMs) - nominalMs).toBeLessThanOrEqual(30_000);
      expect(computeDueMs(dense, nominalMs) - nominalMs).toBeLessThan(MINUTE_MS);
    }
  });

  it('starts at the delayed instant, not before', () => {
    const due = computeDueMs(slot, EIGHT);
    const before = through(slot, EIGHT - 1);
    expect(decide([slot], before, at(due - 1)).decisions).toEqual([]);
    expect(decide([slot], before, at(due - 1)).nextLookMs).toBe(due);
    expect(summarize(decide([slot], before, at(due)).decisions)).toEqual(['start 08:00']);
  });
});

describe('a jump of the clock', () => {
  it('is distinguished from drift by the monotonic clock', () => {
    expect(
      computeClockJumpMs({ wallMs: EIGHT, monotonicMs: 0 }, { wallMs: EIGHT + 31_999, monotonicMs: 30_000 }),
    ).toBeUndefined();
    expect(
      computeClockJumpMs({ wallMs: EIGHT, monotonicMs: 0 }, { wallMs: EIGHT + HOUR_MS, monotonicMs: 30_000 }),
    ).toBe(HOUR_MS - 30_000);
    expect(
      computeClockJumpMs({ wallMs: EIGHT, monotonicMs: 0 }, { wallMs: EIGHT - HOUR_MS, monotonicMs: 30_000 }),
    ).toBe(-HOUR_MS - 30_000);
  });
});

// Whole histories.

const schedules = fc.record({
  kind: fc.constantFrom('every', 'cron', 'quarter'),
  within: fc.constantFrom(0, 5000, MINUTE_MS, 20 * MINUTE_MS, 3 * HOUR_MS),
  policy: fc.constantFrom('skip', 'run_once', 'run_all'),
  overlap: fc.constantFrom('skip', 'queue', 'replace'),
  jitter: fc.constantFrom(undefined, 20_000, HOUR_MS),
  key: fc.constantFrom(undefined, 'one', 'two'),
  onBusy: fc.constantFrom('queue', 'skip', 'fail'),
});

function randomSlot(
  id: string,
  knownSinceMs: number,
  { kind, within, policy, overlap, jitter, key, onBusy }: Parameters<Parameters<typeof schedules.map>[0]>[0],
): ScheduleSlot {
  const rest = {
    misfire: misfire(within, policy),
    overlap,
    ...(jitter !== undefined && { jitter: new Duration(jitter) }),
  };
  const declaration =
    kind === 'every'
      ? everySlot(7 * MINUTE_MS, rest)
      : cronSlot(kind === 'cron' ? '30 1,2,3 * * *' : '*/15 * * * *', 'Europe/Berlin', rest);
  return { id, declaration, knownSinceMs, enabled: true, ...(key !== undefined && { concurrency: { key, onBusy } }) };
}

const happenings = fc.oneof(
  { weight: 6, arbitrary: fc.record({ type: fc.constant('look' as const) }) },
  {
    weight: 3,
    arbitrary: fc.record({ type: fc.constant('pass' as const), ms: fc.integer({ min: 1, max: 40 * MINUTE_MS }) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('jump' as const),
      ms: fc.integer({ min: -6 * HOUR_MS, max: 30 * HOUR_MS }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('end' as const), which: fc.nat(5) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('die' as const), kept: fc.nat(30) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('kill' as const) }) },
);

describe('under any clock, machine and process', () => {
  itHolds(
    'each occurrence has exactly one verdict, is started at most once, never early, never after its window',
    150,
    (numRuns) => {
      fc.assert(
        fc.property(
          fc.array(schedules, { minLength: 1, maxLength: 4 }),
          fc.constantFrom('2026-03-29T00:10:00Z', '2026-10-24T23:10:00Z', '2026-06-01T12:00:00Z'),
          fc.array(happenings, { maxLength: 60 }),
          (rows, start, story) => {
            const startMs = Date.parse(start);
            const slots = rows.map((row, index) => randomSlot(`r/${index}`, startMs, row));
            const recorded: Decision[] = [];
            let running: ScheduleRun[] = [];
            let state: ScheduleState = EMPTY_SCHEDULE;
            let nowMs = startMs;
            let latestMs = nowMs;
            let killed = false;
            const act = (decision: Decision): void => {
              if (decision.type === 'replace')
                running = running.map((run) => (decision.runs.includes(run.run) ? { ...run, stopping: true } : run));
              if (decision.type !== 'start') return;
              const slot = slots.find(({ id }) => id === decision.slot) as ScheduleSlot;
              expect(running.some((run) => run.slot === slot.id)).toBe(false);
              expect(running.some((run) => run.key !== undefined && run.key === slot.concurrency?.key)).toBe(false);
              expect(nowMs).toBeGreaterThanOrEqual(decision.nominalMs);
              expect(nowMs - decision.nominalMs).toBeLessThanOrEqual(slot.declaration.misfire.within.ms);
              expect(decision.latenessMs).toBe(nowMs - decision.nominalMs);
              expect(killed).toBe(false);
              running = [
                ...running,
                {
                  run: `${decision.slot} ${decision.nominalMs}`,
                  slot: slot.id,
                  ...(slot.concurrency && { key: slot.concurrency.key }),
                },
              ];
            };
            const look = (kept = Number.POSITIVE_INFINITY): void => {
              for (;;) {
                const { decisions, nextLookMs } = decide(slots, state, { nowMs, running, killed });
                expect(nextLookMs - nowMs).toBeLessThanOrEqual(LOOK_EVERY_MS);
                // A process dies after having recorded some of them; what it recorded, it or its successor acts upon.
                const durable = decisions.slice(0, kept);
                recorded.push(...durable);
                state = foldSchedule(durable, state);
                durable.forEach(act);
                if (nextLookMs > nowMs || kept !== Number.POSITIVE_INFINITY) return;
              }
            };
            for (const event of story) {
              if (event.type === 'pass' || event.type === 'jump') nowMs += event.ms;
              if (event.type === 'end') running = running.filter((_, index) => index !== event.which);
              if (event.type === 'kill') killed = !killed;
              if (event.type === 'look') look();
              if (event.type === 'die') {
                look(event.kept);
                state = foldSchedule(recorded);
              }
              latestMs = Math.max(latestMs, nowMs);
            }
            // At the end the clock has been right for a day, and runs end by themselves.
            killed = false;
            nowMs = latestMs + DAY_MS;
            do {
              running = [];
              look();
            } while (state.waiting.length > 0);

            const verdicts = new Map<string, string[]>();
            for (const decision of recorded) {
              if (decision.type === 'queue' || decision.type === 'replace') continue;
              const key = `${decision.slot} ${decision.nominalMs}`;
              verdicts.set(key, [...(verdicts.get(key) ?? []), decision.type]);
            }
            const expected = slots.flatMap(({ id, declaration }) =>
              listOccurrences(declaration, { fromMs: startMs, toMs: nowMs - HOUR_MS }).map(
                ({ nominalMs }) => `${id} ${nominalMs}`,
              ),
            );
            for (const key of expected) expect([key, verdicts.get(key)?.length]).toEqual([key, 1]);
            for (const [key, given] of verdicts) expect([key, given.length]).toEqual([key, 1]);
          },
        ),
        { numRuns },
      );
    },
  );

  itHolds('starts every occurrence on time with a process that looks when asked to', 40, (numRuns) => {
    fc.assert(
      fc.property(schedules, fc.constantFrom('2026-03-28T23:10:00Z', '2026-10-24T22:10:00Z'), (row, start) => {
        const startMs = Date.parse(start);
        const slot = randomSlot('r/0', startMs, { ...row, within: Math.max(row.within, MINUTE_MS) });
        let state = EMPTY_SCHEDULE;
        const starts: number[] = [];
        for (let nowMs = startMs; nowMs < startMs + 8 * HOUR_MS; ) {
          const { decisions, nextLookMs } = decide([slot], state, { nowMs, running: [], killed: false });
          state = foldSchedule(decisions, state);
          for (const decision of decisions) {
            expect(decision.type).toBe('start');
            expect(nowMs).toBe(computeDueMs(slot, decision.nominalMs));
            starts.push(decision.nominalMs);
          }
          nowMs = nextLookMs;
        }
        const due = listOccurrences(slot.declaration, { fromMs: startMs, toMs: startMs + 8 * HOUR_MS }).map(
          ({ nominalMs }) => nominalMs,
        );
        expect(starts).toEqual(due.filter((nominalMs) => computeDueMs(slot, nominalMs) < startMs + 8 * HOUR_MS));
      }),
      { numRuns },
    );
  });
});

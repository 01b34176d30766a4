/** Measures rows 15 and 16: virtual time, a year of dry-runs, schedules, and how late a turn of the real clock is. */
import { SystemClock, VirtualClock } from '../../src/base/clock.ts';
import { computeMedian, computePercentile } from '../measure.ts';
import type { Row } from './row.ts';
import { measureTrial, pickCold } from './trials.ts';

const TIMERS = 100_000;

async function measureTimer(): Promise<number> {
  const clock = new VirtualClock(0);
  const begun = performance.now();
  await clock.runUntil(
    new Promise<void>((resolve) => {
      for (let n = 0; n < TIMERS; n += 1)
        clock.at((n * 7919) % TIMERS, n === TIMERS - 1 ? () => clock.at(TIMERS, resolve) : () => {});
    }),
  );
  return ((performance.now() - begun) * 1000) / TIMERS;
}

const TURNS = 400;
const TURN_EVERY_MS = 7;

/** Lateness in ms that 99 of 100 turns do not exceed. `ask` schedules `turn` at an epoch ms. */
async function measureLateness(ask: (atMs: number, turn: () => void) => void): Promise<number> {
  const begun = Date.now() + 50;
  const late: number[] = [];
  await new Promise<void>((resolve) => {
    for (let n = 0; n < TURNS; n += 1) {
      const at = begun + n * TURN_EVERY_MS;
      ask(at, () => {
        late.push(performance.timeOrigin + performance.now() - at);
        if (late.length === TURNS) resolve();
      });
    }
  });
  return computePercentile(late, 0.99);
}

async function measureExcessLateness(): Promise<number> {
  const clock = new SystemClock();
  const own = await measureLateness((at, turn) => void clock.at(at, turn));
  return own - (await measureLateness((at, turn) => void setTimeout(turn, at - Date.now())));
}

export const TIMER_ROWS: readonly Row[] = [
  {
    id: '15',
    what: 'a virtual timer',
    against: 'none',
    unit: 'µs',
    pass: 20,
    excellent: 5,
    measure: async () => computeMedian([await measureTimer(), await measureTimer(), await measureTimer()]),
  },
  {
    id: '15',
    what: 'a dry-run of 24 h, a condition every second (86 400)',
    against: 'none',
    unit: 'ms',
    pass: 1500,
    excellent: 1000,
    measure: async () => measureTrial({ trial: 'polls', size: 86_400, runs: 1 }, pickCold),
  },
  {
    id: '15',
    what: 'a year of trading days of the shipped TWAP (250 dry-runs)',
    against: 'none',
    unit: 's',
    pass: 60,
    excellent: 15,
    measure: async () => measureTrial({ trial: 'twapDays', size: 250, runs: 1 }, pickCold, 1) / 1000,
  },
  {
    id: '16',
    what: '1000 schedules armed, in a fresh process',
    against: 'none',
    unit: 'ms',
    pass: 400,
    excellent: 200,
    measure: async () => measureTrial({ trial: 'schedules', size: 1000, runs: 1 }, pickCold, 5),
  },
  {
    id: '16',
    what: "a turn of the scheduler's clock, 99 of 100: late by, beyond a plain timer",
    against: 'setTimeout',
    unit: 'ms',
    pass: 20,
    excellent: 5,
    measure: async () =>
      computeMedian([await measureExcessLateness(), await measureExcessLateness(), await measureExcessLateness()]),
  },
];

/** Rows 15 and 16: virtual time, schedules, and how late a turn of the real clock is. */
import { SystemClock, VirtualClock } from '../../src/base/clock.ts';
import { median, percentile } from '../measure.ts';
import type { Row } from './row.ts';
import { cold, trialFigure } from './trials.ts';

const TIMERS = 100_000;

async function perTimer(): Promise<number> {
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

/** By how much 99 of 100 are late at most, ms. `ask` has `turn` run at an epoch ms. */
async function lateness(ask: (atMs: number, turn: () => void) => void): Promise<number> {
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
  return percentile(late, 0.99);
}

async function latenessBeyondTimers(): Promise<number> {
  const clock = new SystemClock();
  const own = await lateness((at, turn) => void clock.at(at, turn));
  return own - (await lateness((at, turn) => void setTimeout(turn, at - Date.now())));
}

export const TIMER_ROWS: readonly Row[] = [
  {
    id: '15',
    what: 'a virtual timer',
    against: 'none',
    unit: 'µs',
    pass: 20,
    excellent: 5,
    measure: async () => median([await perTimer(), await perTimer(), await perTimer()]),
  },
  {
    id: '15',
    what: 'a dry-run of 24 h, a condition every second (86 400)',
    against: 'none',
    unit: 'ms',
    pass: 4000,
    excellent: 1500,
    measure: async () => trialFigure({ trial: 'polls', size: 86_400, runs: 1 }, cold),
  },
  {
    id: '16',
    what: '1000 schedules armed, in a fresh process',
    against: 'none',
    unit: 'ms',
    pass: 400,
    excellent: 200,
    measure: async () => trialFigure({ trial: 'schedules', size: 1000, runs: 1 }, cold, 5),
  },
  {
    id: '16',
    what: "a turn of the scheduler's clock, 99 of 100: late by, beyond a plain timer",
    against: 'setTimeout',
    unit: 'ms',
    pass: 20,
    excellent: 5,
    measure: async () =>
      median([await latenessBeyondTimers(), await latenessBeyondTimers(), await latenessBeyondTimers()]),
  },
];

/** Row 15: virtual time. */
import { VirtualClock } from '../../src/base/clock.ts';
import { median } from '../measure.ts';
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
];

/** The heartbeat to the outside: how often its URL is asked for, and what is said where that fails. */
import { expect, it } from 'vitest';
import { Heartbeat } from '../../src/app/schedule/heartbeat.ts';
import { VirtualClock } from '../../src/base/clock.ts';

/** Is called twice a second, as the scheduler checks; each asking takes `tookMs` and comes to the next of these. */
async function askFor(seconds: number, outcomes: readonly (string | undefined)[], tookMs = 0) {
  const clock = new VirtualClock(0);
  const asked: number[] = [];
  const reported: (string | undefined)[] = [];
  const heartbeat = new Heartbeat({
    everyMs: 60_000,
    clock,
    ask: async () => {
      asked.push(clock.monotonic());
      await new Promise<void>((resolve) => void clock.after(tookMs, resolve));
      return outcomes[asked.length - 1];
    },
    report: (problem) => reported.push(problem),
  });
  const run = async () => {
    for (let tick = 0; tick < seconds * 2; tick += 1) {
      heartbeat.askIfDue();
      await new Promise<void>((resolve) => void clock.after(500, resolve));
    }
  };
  await clock.runUntil(run());
  return { asked, reported };
}

it('asks at once, then every minute, whatever came of it', async () => {
  const { asked, reported } = await askFor(181, [undefined, 'HTTP_500', undefined, 'ECONNREFUSED']);
  expect(asked).toEqual([0, 60_000, 120_000, 180_000]);
  expect(reported).toEqual([undefined, 'HTTP_500', undefined, 'ECONNREFUSED']);
});

it('asks once at a time where an answer takes longer than that', async () => {
  expect((await askFor(300, [], 100_000)).asked).toEqual([0, 100_000, 200_000]);
});

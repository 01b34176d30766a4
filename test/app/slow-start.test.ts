/** A start that waits for the venue says so: nothing is in the journal yet that a person could look at. */
import { expect, it } from 'vitest';
import { reportSlowStart } from '../../src/app/run/progress.ts';
import { VirtualClock } from '../../src/base/clock.ts';

it('says at intervals that a start waits for the venue, and nothing once it goes on', async () => {
  const clock = new VirtualClock(0);
  const said: string[] = [];
  const stop = reportSlowStart(clock, { note: (text) => void said.push(text) });
  await clock.advanceTo(9_999);
  expect(said).toEqual([]);
  await clock.advanceTo(25_000);
  expect(said).toEqual([expect.stringContaining('10 s'), expect.stringContaining('20 s')]);
  stop();
  await clock.advanceTo(60_000);
  expect(said).toHaveLength(2);
});

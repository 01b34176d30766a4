import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { soak } from './soaking.ts';

/** A minute of mishaps, and the calm behind it; `npm run soak -- --minutes 60` has more patience. */
const MINUTES = 1.6;

it('two workers and their database, killed and restarted at random: every occurrence once, every order accounted for', {
  tags: ['long', 'postgres'],
  timeout: 300_000,
}, async () => {
  const bin = fileURLToPath(new URL('../../bin/runbook.js', import.meta.url));
  const told = await soak({ bin, minutes: MINUTES, workers: 2, seed: 1 });
  expect(told.problems, told.story.join('\n')).toEqual([]);
  expect(told.figures['runs']).toBeGreaterThan(10);
  console.log(told.summary);
});

import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { soak } from './run-soak.ts';

/** A minute of injected faults and the time after it; `npm run soak -- --minutes 60` takes longer. */
const MINUTES = 1.6;

it('runs every occurrence once and accounts for every order while two workers and their database are killed', {
  tags: ['long', 'postgres'],
  timeout: 300_000,
}, async () => {
  const bin = fileURLToPath(new URL('../../bin/runbook.js', import.meta.url));
  const result = await soak({ bin, minutes: MINUTES, workers: 2, seed: 1 });
  expect(result.problems, result.story.join('\n')).toEqual([]);
  expect(result.figures['runs']).toBeGreaterThan(10);
  console.log(result.summary);
});

import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { hasPostgres } from '../postgres.ts';
import { soak } from './soaking.ts';

/** Short version of `npm run soak -- --minutes 60`. */
it.runIf(hasPostgres)(
  'runs every occurrence once and accounts for every order while two workers and their database are killed at random',
  async () => {
    const bin = fileURLToPath(new URL('../../bin/runbook.js', import.meta.url));
    const told = await soak({ bin, minutes: 1.4, workers: 2, seed: 1 });
    expect(told.problems, told.story.join('\n')).toEqual([]);
    expect(told.figures['runs']).toBeGreaterThan(10);
    console.log(told.summary);
  },
  300_000,
);

/** Worlds in which broken protocols are known to be caught, each as a test of its own: the mutation tests run it. */
import { expect, it } from 'vitest';
import { breachesOf } from './invariants.ts';
import { MUTANT_SEEDS } from './mutant-seeds.ts';
import { simulate } from './world.ts';

const SEEDS = [...new Set(Object.values(MUTANT_SEEDS).flatMap((seeds) => seeds.slice(0, 1)))];

it.each(SEEDS)('breaks no invariant in the world of seed %i', async (seed) => {
  expect(await breachesOf(await simulate(seed))).toEqual([]);
});

/** Worlds in which broken protocols are known to be caught, each as a test of its own: the mutation tests run it. */
import { expect, it } from 'vitest';
import { breachesOf } from './invariants.ts';
import { MUTANT_SEEDS, worldOf } from './mutant-seeds.ts';
import { MUTANTS } from './mutants.ts';
import { repeatCommand } from './story.ts';
import { simulate } from './world.ts';

const WORLDS = MUTANTS.flatMap((mutant) =>
  (MUTANT_SEEDS[mutant.name] ?? []).slice(0, 1).map((seed) => worldOf(mutant, seed)),
);
const NAMED = new Map(WORLDS.map((world) => [repeatCommand(world), world]));

it.each([...NAMED])('breaks no invariant: %s', async (_, world) => {
  expect(await breachesOf(await simulate(world))).toEqual([]);
});

/**
 * The seeds in which each broken protocol is known to be caught. `npm run mutants -- --record` writes them, when a change
 * has dealt the seeds other worlds.
 */
import { writeFileSync } from 'node:fs';
import { type Breach, breachesOf } from './invariants.ts';
import recorded from './mutant-seeds.json' with { type: 'json' };
import type { Mutant } from './mutants.ts';
import type { WorldName } from './scenario.ts';
import { simulate } from './world.ts';

export type MutantSeeds = Readonly<Record<string, readonly number[]>>;
export const MUTANT_SEEDS: MutantSeeds = recorded;

/** The world of a seed of a broken protocol. */
export function worldOf({ drawn }: Pick<Mutant, 'drawn'>, seed: number): WorldName {
  return drawn === true ? { drawn: seed } : seed;
}

/** What notices a broken protocol in the world of a seed, where anything does. */
export async function catches(mutant: Mutant, seed: number): Promise<Breach | undefined> {
  const { protocol, caughtBy } = mutant;
  const breaches = await breachesOf(await simulate(worldOf(mutant, seed), protocol), protocol);
  return breaches.find(({ invariant }) => caughtBy.includes(invariant));
}

/** The project's folder must be the working directory. */
export function writeMutantSeeds(seeds: MutantSeeds): void {
  const lines = Object.entries(seeds).map(([name, list]) => `  ${JSON.stringify(name)}: [${list.join(', ')}]`);
  writeFileSync('test/simulation/mutant-seeds.json', `{\n${lines.join(',\n')}\n}\n`);
}

/** Broken protocols, each of which must be caught: one that lives shows an invariant that does not bite. */
import { describe, expect, it } from 'vitest';
import { searchFresh } from './mutant-search.ts';
import { catches, MUTANT_SEEDS } from './mutant-seeds.ts';
import { MUTANTS } from './mutants.ts';

describe(`${MUTANTS.length} broken protocols`, () => {
  it('are twenty-five at least, and no two the same', () => {
    expect(MUTANTS.length).toBeGreaterThanOrEqual(25);
    expect(new Set(MUTANTS.map(({ name }) => name)).size).toBe(MUTANTS.length);
  });

  it.each(MUTANTS)('$name', async (mutant) => {
    const seeds = MUTANT_SEEDS[mutant.name] ?? [];
    for (const seed of seeds) if ((await catches(mutant, seed)) !== undefined) return;
    throw new Error(
      `nothing notices a program that ${mutant.name}, in the recorded seeds ${seeds.join(', ')}: npm run mutants -- --record`,
    );
  });

  it('are caught in fresh seeds too, twenty-five at least in 30', {
    tags: ['long'],
    timeout: 600_000,
  }, async () => {
    // As they come: a search that throws must have said in which seeds it can be run again.
    const caught = await searchFresh({ seeds: 30, told: (line) => console.log(line) });
    expect(caught).toBeGreaterThanOrEqual(25);
  });
});

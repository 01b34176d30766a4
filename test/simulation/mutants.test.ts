/** Broken protocols, each of which must be caught: what lives here shows an invariant that does not bite. */
import { afterAll, describe, expect, it } from 'vitest';
import { type Breach, breachesOf } from './invariants.ts';
import { MUTANTS } from './mutants.ts';
import { simulate } from './world.ts';

/** Each broken protocol is found within as many seeds. */
const SEEDS = 20_000;
const caught: string[] = [];

describe(`${MUTANTS.length} broken protocols`, () => {
  it('are twenty-five at least, and no two the same', () => {
    expect(MUTANTS.length).toBeGreaterThanOrEqual(25);
    expect(new Set(MUTANTS.map(({ name }) => name)).size).toBe(MUTANTS.length);
  });

  it.each(MUTANTS)(
    '$name',
    async ({ name, caughtBy, protocol, from = 0 }) => {
      for (let seed = from; seed < from + SEEDS; seed += 1) {
        const breach = (await breachesOf(await simulate(seed, protocol))).find(({ invariant }) =>
          caughtBy.includes(invariant),
        );
        if (breach === undefined) continue;
        caught.push(line(seed, breach, name));
        return;
      }
      throw new Error(`nothing notices a program that ${name}`);
    },
    600_000,
  );

  afterAll(() => console.log(caught.join('\n')));
});

function line(seed: number, { invariant, what }: Breach, name: string): string {
  return `seed ${String(seed).padStart(5)}  ${invariant.padEnd(4)}  ${name}: ${what.split('\n', 1)[0]?.slice(0, 120)}`;
}

/** The whole engine against the simulated venue, twenty thousand times, with everything that can go wrong. */
import { describe, expect, it } from 'vitest';
import { added, NOTHING } from './batch.ts';
import { lacking } from './mix.ts';
import { repeatCommand } from './story.ts';
import { runSeeds } from './workers.ts';

const SEEDS = 20_000;
/** Two cores need some three minutes; a machine with much else to do needs more. */
const PATIENCE_MS = 1_200_000;

describe(`${SEEDS} seeds`, () => {
  it(
    'break no invariant, and end processes at every named point of a call',
    async () => {
      let sum = NOTHING;
      await runSeeds({
        from: 0,
        count: SEEDS,
        each: (tally) => {
          sum = added(sum, tally);
          return sum.failing.length < 20;
        },
      });
      const [first] = sum.failing;
      if (first !== undefined) {
        const list = sum.failing.map(
          ({ seed, invariants }) => `seed ${seed} breaks ${invariants.join(', ')}; again: ${repeatCommand(seed)}`,
        );
        throw new Error(`${list.join('\n')}\n\n${first.story ?? ''}`);
      }
      expect(sum.seeds).toBe(SEEDS);
      expect(lacking(sum.mix)).toEqual([]);
    },
    PATIENCE_MS,
  );
});

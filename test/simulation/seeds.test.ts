/** The whole engine against the simulated venue, many times, with everything that can go wrong. */
import { describe, expect, it } from 'vitest';
import { added, NOTHING, runBatch, type Tally } from './batch.ts';
import { lacking } from './mix.ts';
import { NEWER_FROM } from './shapes.ts';
import { repeatCommand } from './story.ts';
import { runSeeds } from './workers.ts';

/** Two cores need a minute for five thousand; a machine with much else to do needs more. */
const PATIENCE_MS = 1_200_000;

describe('seeds break no invariant, and end processes at every named point of a call', { timeout: PATIENCE_MS }, () => {
  it('400 fixed ones', async () => judge(await runBatch(0, 400), 400));

  it('120 with the newer steps', async () => {
    const { failing, seeds } = await runBatch(NEWER_FROM, 120);
    expect(failing.map(({ seed, invariants }) => `${repeatCommand(seed)}: ${invariants.join(', ')}`)).toEqual([]);
    expect(seeds).toBe(120);
  });

  // Fresh ones are drawn by `npm run test:night`: a build must not fail for what it has not changed.
  it('5000 fixed ones', { tags: ['long'] }, async () => judge(await onAllCores(0, 5000), 5000));
});

async function onAllCores(from: number, count: number): Promise<Tally> {
  let sum = NOTHING;
  await runSeeds({
    from,
    count,
    each: (tally) => {
      sum = added(sum, tally);
      return sum.failing.length < 20;
    },
  });
  return sum;
}

function judge({ failing, seeds, mix }: Tally, wanted: number): void {
  const [first] = failing;
  if (first !== undefined) {
    const list = failing.map(
      ({ seed, invariants }) => `seed ${seed} breaks ${invariants.join(', ')}; again: ${repeatCommand(seed)}`,
    );
    throw new Error(`${list.join('\n')}\n\n${first.story ?? ''}`);
  }
  expect(seeds).toBe(wanted);
  expect(lacking(mix, wanted)).toEqual([]);
}

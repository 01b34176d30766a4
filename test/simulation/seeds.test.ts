/** The whole engine against the simulated venue, many times, with everything that can go wrong. */
import { randomInt } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { added, listDrawn, listSeeds, NOTHING, runBatch, type Tally } from './batch.ts';
import { measureCoverage } from './coverage.ts';
import { lacking } from './mix.ts';
import { NEWER_FROM } from './shapes.ts';
import { repeatCommand } from './story.ts';
import { chooseSeeds, runSeeds, type SeedsWanted } from './workers.ts';

/** Of what 500 drawn worlds can meet. */
const LEAST_MET = {
  'rows of the order table': 22,
  'cells of the order table': 60,
  'denial codes': 22,
  'ends of steps': 40,
  'modifiers and blocks': 10,
  'ends of runs': 9,
};
/** Two cores need a minute for two thousand; a machine with much else to do needs more. */
const PATIENCE_MS = 1_200_000;

describe('seeds break no invariant, and end processes at every named point of a call', { timeout: PATIENCE_MS }, () => {
  it('60 fixed ones', async () => judge(await runBatch(listSeeds(0, 60)), 60));

  it('20 with the newer steps', async () => {
    const { failing, seeds } = await runBatch(listSeeds(NEWER_FROM, 20));
    expect(failing.map(({ world, invariants }) => `${repeatCommand(world)}: ${invariants.join(', ')}`)).toEqual([]);
    expect(seeds).toBe(20);
  });

  it('12 with a runbook of their own', async () => {
    const { failing, mix } = await runBatch(listDrawn(0, 12));
    expect(failing.map(({ world, invariants }) => `${repeatCommand(world)}: ${invariants.join(', ')}`)).toEqual([]);
    expect(mix).toMatchObject({ 'run succeeded': expect.any(Number), 'run failed': expect.any(Number) });
  });

  it('2000 fixed ones', { tags: ['long'] }, async () => {
    judge(await onAllCores(2000, chooseSeeds(listSeeds, 0)), 2000);
  });

  // Drawn anew at each attempt: CI lists what failed at the first one, with the command of each seed, and fails where both do.
  it('1000 fresh ones', { tags: ['long'] }, async () => {
    const from = randomInt(10_000_000, 2 ** 31);
    console.log(`fresh seeds from ${from}: npm run simulate -- --from ${from} --seeds 1000`);
    const { failing, seeds } = await onAllCores(1000, chooseSeeds(listSeeds, from));
    expect(failing.map(({ world, invariants }) => `${repeatCommand(world)}: ${invariants.join(', ')}`)).toEqual([]);
    expect(seeds).toBe(1000);
  });

  it('500 with a runbook of their own, which meet most of what there is to meet', { tags: ['long'] }, async () => {
    const { failing, mix } = await onAllCores(500, chooseSeeds(listDrawn, 1000));
    expect(failing.map(({ world, invariants }) => `${repeatCommand(world)}: ${invariants.join(', ')}`)).toEqual([]);
    const met = Object.fromEntries(measureCoverage(mix).map((group) => [group.name, group.met]));
    for (const [name, least] of Object.entries(LEAST_MET)) expect(met[name], name).toBeGreaterThanOrEqual(least);
  });
});

async function onAllCores(count: number, choose: SeedsWanted['choose']): Promise<Tally> {
  let sum = NOTHING;
  await runSeeds({
    count,
    choose,
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
      ({ world, invariants }) => `${invariants.join(', ')} broken; again: ${repeatCommand(world)}`,
    );
    throw new Error(`${list.join('\n')}\n\n${first.story ?? ''}`);
  }
  expect(seeds).toBe(wanted);
  expect(lacking(mix, wanted)).toEqual([]);
}

/**
 * A mistake of ours inside a run fails the run: what it placed is taken back, its journal ends, and a process that resumes it ends
 * it the same way. Thrown at every boundary of a step and at every evaluation of an expression of these worlds.
 */
import { describe, expect, it } from 'vitest';
import { type Breach, breachesOf } from './invariants.ts';
import { MUTANT_SEEDS } from './mutant-seeds.ts';
import { shapeOf } from './shapes.ts';
import { storyOf } from './story.ts';
import { AT_AN_EVALUATION, makeThrowing, type Place, type Throwing } from './throwing.ts';
import { simulate } from './world.ts';

const PLACES: readonly Place[] = ['boundary', 'evaluation'];
/** With deaths of processes, branches, amends, handlers, `finally`, orders of unknown fate. */
const SEEDS = [4];
/** Where the broken protocol is caught that makes the same mistake and lets it out of the interpreter. */
const ESCAPING =
  MUTANT_SEEDS['lets a mistake of its own out of the interpreter, past undo, on_error and finally'] ?? [];
const MORE_SEEDS = [3, 8, 12, ...Array.from({ length: 30 }, (_, index) => index * 13 + 1)];

describe('a mistake of ours', { timeout: 1_200_000 }, () => {
  it.each(SEEDS)('fails the run of seed %i, wherever it is thrown', async (seed) => {
    expect(await throwEverywhere(seed)).toBeGreaterThan(4);
  });

  it.each(SEEDS)('fails the run of seed %i when the next process makes it again', async (seed) => {
    expect(await throwEverywhere(seed, 'kept')).toBeGreaterThan(4);
  });

  it.each([0, 14])('fails the run of seed %i when the next process does not make it any more', async (seed) => {
    expect(await throwEverywhere(seed, 'corrected')).toBeGreaterThan(4);
  });

  it.each(ESCAPING)('fails the run of seed %i, in which it is noticed when it escapes', async (seed) => {
    await throwAt(seed, AT_AN_EVALUATION);
  });

  it('fails the run in more worlds', { tags: ['long'] }, async () => {
    for (const seed of MORE_SEEDS) {
      await throwEverywhere(seed);
      await throwEverywhere(seed, 'kept');
      // A branch beside the one that failed may have gone further than the record: that is a divergence, which a person answers.
      if (!shapeOf(seed).text.includes('parallel')) await throwEverywhere(seed, 'corrected');
    }
  });
});

/** Throws at every place of a world, one execution of the world for each; gives their number. */
async function throwEverywhere(seed: number, older?: Throwing['older']): Promise<number> {
  const calm = makeThrowing({ place: 'boundary', at: 0 });
  await simulate(seed, calm.protocol);
  let worlds = 0;
  for (const place of PLACES) {
    for (let at = 1; at <= calm.passed[place]; at += 1) {
      await throwAt(seed, { place, at, ...(older === undefined ? {} : { older }) });
      worlds += 1;
    }
  }
  return worlds;
}

async function throwAt(seed: number, throwing: Throwing): Promise<void> {
  const thrown = makeThrowing(throwing);
  const happened = await simulate(seed, thrown.protocol);
  const found = await breachesOf(happened, thrown.protocol);
  // Thrown in place of a step's end, the mistake hides the error that this end would have recorded; the intent's own entries have it.
  const isHidden = ({ what }: Breach) => throwing.place === 'boundary' && what.endsWith('its step does not say so');
  const breaches = found.filter((breach) => !isHidden(breach));
  const entries = happened.runs[0]?.entries ?? [];
  const ended = entries.findLast((entry) => entry.type === 'run.ended');
  const isRecorded = entries.some(
    ({ type, data }) => type === 'step.ended' && data.outcome === 'failed' && data.error === undefined,
  );
  const hasFailed = ended?.data.outcome === 'failed' || ended?.data.outcome === 'halted';
  if ((thrown.atLast || isRecorded) && !hasFailed) breaches.push({ invariant: 'ours', what: 'the run did not fail' });
  if (breaches.length > 0) throw new Error(`${JSON.stringify(throwing)}\n${storyOf(happened, breaches)}`);
}

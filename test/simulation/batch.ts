/** Many seeds, one after another: what one worker does, and how the sums of several are put together. */
import { breachesOf } from './invariants.ts';
import { type Mix, mixOf, sumOf } from './mix.ts';
import { MUTANTS, type Mutant } from './mutants.ts';
import type { Protocol } from './protocol.ts';
import { storyOf } from './story.ts';
import { simulate } from './world.ts';

export interface Failing {
  readonly seed: number;
  /** Invariants it breaks. */
  readonly invariants: readonly string[];
  /** Kept of the first few only. */
  readonly story: string | undefined;
}

export interface Tally {
  readonly seeds: number;
  readonly failing: readonly Failing[];
  /** Simulated time, ms. */
  readonly simulatedMs: number;
  readonly entries: number;
  readonly mix: Mix;
}

export const NOTHING: Tally = {
  seeds: 0,
  failing: [],
  simulatedMs: 0,
  entries: 0,
  mix: {},
};
const STORIES = 3;

/** `mutant`: the name of a broken protocol to simulate instead of the right one. */
export async function runBatch(from: number, count: number, mutant?: string): Promise<Tally> {
  const protocol = protocolOf(mutant);
  let tally = NOTHING;
  for (let seed = from; seed < from + count; seed += 1) {
    const happened = await simulate(seed, protocol);
    const breaches = await breachesOf(happened);
    const failing: Failing[] =
      breaches.length === 0
        ? []
        : [
            {
              seed,
              invariants: [...new Set(breaches.map(({ invariant }) => invariant))],
              story: tally.failing.length < STORIES ? storyOf(happened, breaches, mutant) : undefined,
            },
          ];
    tally = added(tally, {
      seeds: 1,
      failing,
      simulatedMs: happened.books.at - happened.scenario.startMs,
      entries: happened.entries.length,
      mix: mixOf(happened),
    });
  }
  return tally;
}

export function protocolOf(mutant: string | undefined): Protocol {
  return mutant === undefined ? {} : mutantOf(mutant).protocol;
}

export function mutantOf(mutant: string): Mutant {
  const named = MUTANTS.find(({ name }) => name === mutant);
  if (named === undefined) throw new RangeError(`no broken protocol is named ${mutant}`);
  return named;
}

export function added(a: Tally, b: Tally): Tally {
  return {
    seeds: a.seeds + b.seeds,
    failing: [...a.failing, ...b.failing],
    simulatedMs: a.simulatedMs + b.simulatedMs,
    entries: a.entries + b.entries,
    mix: sumOf(a.mix, b.mix),
  };
}

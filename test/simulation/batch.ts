/** Many seeds, one after another: what one worker does, and how the sums of several are put together. */
import { breachesOf } from './invariants.ts';
import { type Mix, mixOf, sumOf } from './mix.ts';
import { MUTANTS, type Mutant } from './mutants.ts';
import type { Protocol } from './protocol.ts';
import type { WorldName } from './scenario.ts';
import { shrinkBreach } from './shrink.ts';
import { storyOf } from './story.ts';
import { simulate } from './world.ts';

export interface Failing {
  readonly world: WorldName;
  /** Invariants it breaks. */
  readonly invariants: readonly string[];
  /** Kept of the first few only; of a drawn world the smallest that breaks one of them too. */
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
export async function runBatch(worlds: readonly WorldName[], mutant?: string): Promise<Tally> {
  const protocol = protocolOf(mutant);
  let tally = NOTHING;
  for (const world of worlds) {
    const happened = await simulate(world, protocol);
    const breaches = await breachesOf(happened);
    const invariants = [...new Set(breaches.map(({ invariant }) => invariant))];
    const isTold = breaches.length > 0 && tally.failing.length < STORIES;
    const story =
      isTold && typeof world !== 'number' && mutant === undefined
        ? await tellSmallest(world, invariants)
        : isTold
          ? storyOf(happened, breaches, mutant)
          : undefined;
    tally = added(tally, {
      seeds: 1,
      failing: breaches.length === 0 ? [] : [{ world, invariants, story }],
      simulatedMs: happened.books.at - happened.scenario.startMs,
      entries: happened.entries.length,
      mix: mixOf(happened),
    });
  }
  return tally;
}

async function tellSmallest(world: WorldName & object, invariants: readonly string[]): Promise<string> {
  const happened = await simulate(await shrinkBreach(world, invariants));
  return storyOf(happened, await breachesOf(happened));
}

/** Seeds of the fixed runbooks, one behind the other. */
export function listSeeds(from: number, count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => from + index);
}

/** Drawn seeds, one behind the other. */
export function listDrawn(from: number, count: number): readonly WorldName[] {
  return listSeeds(from, count).map((drawn) => ({ drawn }));
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

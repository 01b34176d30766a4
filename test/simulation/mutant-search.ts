/** Searches for seeds in which broken protocols are caught, on all cores. */
import { availableParallelism } from 'node:os';
import { MUTANT_SEEDS, type MutantSeeds } from './mutant-seeds.ts';
import { MUTANTS } from './mutants.ts';
import { freshSeed } from './seeds.ts';
import { type Ask, withWorkers } from './workers.ts';

/** Seeds a worker searches at once; small, because what is found ends the search. */
const PORTION = 25;
/** Seeds kept of a broken protocol, and how many are searched for the second and third of them. */
const KEPT = 3;
const FURTHER = 1000;

export interface Search {
  /** How many seeds are searched for each broken protocol at most. */
  readonly seeds: number;
  /** Where they begin; a fresh one where absent. */
  readonly from?: number;
  readonly told: (line: string) => void;
}

/** Searches each broken protocol in the same seeds until it is caught; gives how many were. */
export async function searchFresh({ seeds, from = freshSeed(), told }: Search): Promise<number> {
  told(
    `${MUTANTS.length} broken protocols in up to ${seeds} seeds; again: npm run mutants -- --from ${from} --seeds ${seeds}`,
  );
  let caught = 0;
  await withWorkers(availableParallelism(), async (asks) => {
    for (const { name } of MUTANTS) {
      const [seed] = await search(asks, { mutant: name, from, count: seeds, wanted: 1 });
      if (seed !== undefined) caught += 1;
      told(`${String(seed === undefined ? 'none' : seed - from + 1).padStart(8)}  ${name}`);
    }
  });
  told(`${caught} of ${MUTANTS.length} caught`);
  return caught;
}

/** The recorded seeds that still catch, and for what lacks some the first that do. */
export async function searchRecorded({ seeds, told }: Omit<Search, 'from'>): Promise<MutantSeeds> {
  const found: Record<string, readonly number[]> = {};
  await withWorkers(availableParallelism(), async (asks) => {
    for (const { name } of MUTANTS) {
      const known: number[] = [];
      for (const from of MUTANT_SEEDS[name] ?? [])
        known.push(...(await search(asks.slice(0, 1), { mutant: name, from, count: 1, wanted: 1 })));
      const wanted = KEPT - known.length;
      const more =
        wanted === 0
          ? []
          : await search(asks, { mutant: name, from: 0, count: known.length > 0 ? FURTHER : seeds, wanted: KEPT });
      const all = [...new Set([...known, ...more])].slice(0, KEPT).sort((a, b) => a - b);
      found[name] = all;
      told(`${all.join(', ').padEnd(24)}  ${name}`);
    }
  });
  return found;
}

interface Wanted {
  readonly mutant: string;
  readonly from: number;
  readonly count: number;
  /** How many seeds end the search. */
  readonly wanted: number;
}

/** The first seeds in which it is caught, in their order. */
async function search(asks: readonly Ask[], { mutant, from, count, wanted }: Wanted): Promise<readonly number[]> {
  const found: number[] = [];
  let next = from;
  const work = async (ask: Ask) => {
    while (found.length < wanted && next < from + count) {
      const portion = {
        kind: 'search',
        mutant,
        from: next,
        count: Math.min(PORTION, from + count - next),
        wanted,
      } as const;
      next += portion.count;
      found.push(...(await ask(portion)));
    }
  };
  await Promise.all(asks.map(work));
  return found.sort((a, b) => a - b).slice(0, wanted);
}

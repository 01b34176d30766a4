/**
 * Runs as a worker of the simulation: takes batches of seeds, one seed with its story, or a search for seeds that catch a broken
 * protocol, until there are no more.
 */
import { parentPort } from 'node:worker_threads';
import { mutantOf, protocolOf, runBatch, type Tally } from './batch.ts';
import { breachesOf } from './invariants.ts';
import { catches } from './mutant-seeds.ts';
import type { WorldName } from './scenario.ts';
import { shrinkBreach } from './shrink.ts';
import { storyOf } from './story.ts';
import { simulate } from './world.ts';

export type Order =
  | { readonly kind: 'batch'; readonly mutant: string | undefined; readonly worlds: readonly WorldName[] }
  /** `smallest`: of the smallest world that breaks an invariant which this one breaks. */
  | {
      readonly kind: 'story';
      readonly mutant: string | undefined;
      readonly world: WorldName;
      readonly smallest: boolean;
    }
  | {
      readonly kind: 'search';
      readonly mutant: string;
      readonly from: number;
      readonly count: number;
      readonly wanted: number;
    };

export interface Answers {
  readonly batch: Tally;
  readonly story: { readonly story: string; readonly breaches: number };
  /** Seeds in which it was caught. */
  readonly search: readonly number[];
}

async function answer(order: Order): Promise<Answers[Order['kind']]> {
  const { mutant } = order;
  if (order.kind === 'batch') return runBatch(order.worlds, mutant);
  if (order.kind === 'search') return search(order);
  let happened = await simulate(order.world, protocolOf(mutant));
  let breaches = await breachesOf(happened);
  if (order.smallest && typeof order.world !== 'number' && breaches.length > 0) {
    const invariants = breaches.map(({ invariant }) => invariant);
    happened = await simulate(await shrinkBreach(order.world, invariants));
    breaches = await breachesOf(happened);
  }
  return { story: storyOf(happened, breaches, mutant), breaches: breaches.length };
}

async function search({ mutant, from, count, wanted }: Order & { kind: 'search' }): Promise<readonly number[]> {
  const found: number[] = [];
  for (let seed = from; seed < from + count && found.length < wanted; seed += 1)
    if ((await catches(mutantOf(mutant), seed)) !== undefined) found.push(seed);
  return found;
}

parentPort?.on('message', (order: Order | 'done') => {
  if (order === 'done') parentPort?.close();
  else void answer(order).then((told) => parentPort?.postMessage(told));
});

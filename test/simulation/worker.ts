/** Runs as a worker of the simulation: takes batches of seeds, or one seed with its story, until there are no more. */
import { parentPort } from 'node:worker_threads';
import { protocolOf, runBatch, type Tally } from './batch.ts';
import { breachesOf } from './invariants.ts';
import { storyOf } from './story.ts';
import { simulate } from './world.ts';

export type Order = { readonly mutant: string | undefined } & (
  | { readonly kind: 'batch'; readonly from: number; readonly count: number }
  | { readonly kind: 'story'; readonly seed: number }
);

export interface Answers {
  readonly batch: Tally;
  readonly story: { readonly story: string; readonly breaches: number };
}

async function answer(order: Order): Promise<Answers[Order['kind']]> {
  const { mutant } = order;
  if (order.kind === 'batch') return runBatch(order.from, order.count, mutant);
  const happened = await simulate(order.seed, protocolOf(mutant));
  const breaches = await breachesOf(happened);
  return { story: storyOf(happened, breaches, mutant), breaches: breaches.length };
}

parentPort?.on('message', (order: Order | 'done') => {
  if (order === 'done') parentPort?.close();
  else void answer(order).then((told) => parentPort?.postMessage(told));
});

/** One worker of a simulation over many seeds; bundled, because Node 20 reads no TypeScript. */
import { parentPort, workerData } from 'node:worker_threads';
import { runBatch } from './batch.ts';
import { breachesOf } from './invariants.ts';
import { storyOf } from './story.ts';
import { simulate } from './world.ts';

type Order =
  | { readonly kind: 'batch'; readonly from: number; readonly count: number }
  | { readonly kind: 'story'; readonly seed: number };

const order = workerData as Order;
if (order.kind === 'batch') {
  parentPort?.postMessage(await runBatch(order.from, order.count));
} else {
  const happened = await simulate(order.seed);
  const breaches = await breachesOf(happened);
  parentPort?.postMessage({ story: storyOf(happened, breaches), failing: breaches.length > 0 });
}

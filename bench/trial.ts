/** A process that runs one trial: `trial.mjs NAME SIZE RUNS`. Prints a TrialResult. */
import { median } from './measure.ts';
import type { TrialResult } from './trials/trial.ts';

const [name = '', size = '0', runs = '5'] = process.argv.slice(2);

/** A process loads only what it measures: the memory of the others is not its own. */
async function trialOf(wanted: string) {
  if (wanted.startsWith('asl')) return (await import('./trials/asl.ts')).ASL_TRIALS[wanted as 'aslLine'];
  if (wanted.startsWith('xstate'))
    return (await import('./trials/raw-xstate.ts')).XSTATE_TRIALS[wanted as 'xstateLine'];
  return (await import('./trials/product.ts')).PRODUCT_TRIALS[wanted as 'line'];
}

const run = await (await trialOf(name)).prepare(Number(size));
const idleMb = process.memoryUsage().rss / 2 ** 20;
const times: number[] = [];
for (let count = 0; count < Number(runs); count += 1) {
  const begun = performance.now();
  await run();
  times.push(performance.now() - begun);
}
const [coldMs = Number.NaN, ...later] = times;
const result: TrialResult = { coldMs, warmMs: median(later), idleMb, peakMb: process.resourceUsage().maxRSS / 1024 };
process.stdout.write(JSON.stringify(result));
process.exit(0);

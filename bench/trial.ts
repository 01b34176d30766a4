/** Runs one trial in a process of its own: `trial.mjs NAME SIZE RUNS`. Prints a TrialResult. */
import { computeMedian } from './measure.ts';
import type { TrialResult } from './trials/trial.ts';

const [name = '', size = '0', runs = '5'] = process.argv.slice(2);

/** Loads only the trial that is measured, so that the others do not count as memory. */
async function loadTrial(wanted: string) {
  if (wanted.startsWith('asl')) return (await import('./trials/asl.ts')).ASL_TRIALS[wanted as 'aslLine'];
  if (wanted.startsWith('xstate'))
    return (await import('./trials/raw-xstate.ts')).XSTATE_TRIALS[wanted as 'xstateLine'];
  return (await import('./trials/product.ts')).PRODUCT_TRIALS[wanted as 'line'];
}

const run = await (await loadTrial(name)).prepare(Number(size));
const idleMb = process.memoryUsage().rss / 2 ** 20;
const times: number[] = [];
for (let count = 0; count < Number(runs); count += 1) {
  const begun = performance.now();
  await run();
  times.push(performance.now() - begun);
}
const [coldMs = Number.NaN, ...later] = times;
const result: TrialResult = {
  coldMs,
  warmMs: computeMedian(later),
  idleMb,
  peakMb: process.resourceUsage().maxRSS / 1024,
};
process.stdout.write(JSON.stringify(result));
process.exit(0);

/**
 * `npm run runbooks`: random runbooks under random faults against their plans (--seeds 10000, --from N), or one seed again
 * (--seed N). Ends with 1 where a run leaves its plan, and names the command that repeats it.
 */
import { parseArgs } from 'node:util';
import { describeRun, repeatCommand, runRandom } from './random-run.ts';

/** Failing seeds that are shown whole, and after which there is no point in going on. */
const SHOWN = 3;
const ENOUGH = 50;

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    seeds: { type: 'string', default: '10000' },
    from: { type: 'string', default: '0' },
  },
});
const from = Number(values.seed ?? values.from);
const count = values.seed === undefined ? Number(values.seeds) : 1;
const startedAt = performance.now();
const outcomes: Record<string, number> = {};
let failing = 0;
let dropped = 0;
let done = 0;
for (let seed = from; seed < from + count && failing < ENOUGH; seed += 1) {
  const run = await runRandom(seed);
  done += 1;
  dropped += run.dropped.length;
  outcomes[run.outcome] = (outcomes[run.outcome] ?? 0) + 1;
  if (run.breaches.length === 0) continue;
  failing += 1;
  if (failing <= SHOWN) process.stdout.write(`${describeRun(run)}\n`);
  else process.stdout.write(`${run.breaches[0]}; again: ${repeatCommand(seed)}\n`);
}
const seconds = (performance.now() - startedAt) / 1000;
process.stdout.write(
  `${done} runbooks in ${seconds.toFixed(0)} s: ${JSON.stringify(outcomes)}; ${dropped} steps dropped; ${failing} left their plan\n`,
);
process.exitCode = failing > 0 ? 1 : 0;

/**
 * `npm run kills -- --count 1000`: as many real kills as wanted, and what the venues' books say afterwards. Ends with 1 where
 * they disagree; with 130 when it is interrupted, after the runs that are under way have come to their end.
 */
import { join, resolve } from 'node:path';
import { readOptions } from '../options.js';
import { killRuns } from './kills.ts';

const INTERRUPTED = 130;
const { values } = readOptions(
  'npm run kills -- OPTIONS: kills real processes of runs, and resumes them until their runs end',
  {
    count: { kind: 'whole', means: 'kills, 1000 by default' },
    lanes: { kind: 'whole', means: 'venues side by side, 10 by default' },
    seed: { kind: 'whole', means: 'seed, 1 by default' },
    bin: { kind: 'text', means: 'the command; may be another build than that of this checkout' },
  },
);
let interrupted = false;
const interrupt = () => {
  interrupted = true;
  process.stderr.write('\ninterrupted: no more kills; the runs that are under way come to their end\n');
};
process.once('SIGINT', interrupt).once('SIGTERM', interrupt);
const told = await killRuns({
  bin: resolve(values.bin ?? join('bin', 'runbook.js')),
  kills: values.count ?? 1000,
  lanes: values.lanes ?? 10,
  seed: values.seed ?? 1,
  told: (kills) => process.stderr.isTTY && process.stderr.write(`\r${kills} kills `),
  stopped: () => interrupted,
});
const { kills, runs, resumed, interrupted: calls, orders, seconds, outcomes, problems } = told;
for (const problem of problems) process.stdout.write(`${problem}\n`);
process.stdout.write(
  `${kills} kills in ${runs} runs, ${seconds.toFixed(0)} s (${Math.round((kills / seconds) * 60)} a minute): resumed ${resumed} times, ` +
    `${calls} calls under way at a death, ${orders} orders; ${JSON.stringify(outcomes)}; ${problems.length} problems\n`,
);
process.exitCode = interrupted ? INTERRUPTED : problems.length > 0 ? 1 : 0;

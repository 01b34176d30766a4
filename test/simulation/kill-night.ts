/**
 * `npm run kills -- --count 1000`: as many real kills as wanted, and what the venues' books say afterwards. Ends with 1 where
 * they disagree; with 130 when it is interrupted, after the runs that are under way have come to their end.
 */
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { killRuns } from './kills.ts';

const INTERRUPTED = 130;
const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '1000' },
    lanes: { type: 'string', default: '10' },
    seed: { type: 'string', default: '1' },
    bin: { type: 'string', default: join('bin', 'runbook.js') },
  },
});
let interrupted = false;
const interrupt = () => {
  interrupted = true;
  process.stderr.write('\ninterrupted: no more kills; the runs that are under way come to their end\n');
};
process.once('SIGINT', interrupt).once('SIGTERM', interrupt);
const told = await killRuns({
  bin: resolve(values.bin),
  kills: Number(values.count),
  lanes: Number(values.lanes),
  seed: Number(values.seed),
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

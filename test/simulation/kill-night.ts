/** `npm run kills -- --count 1000`: as many real kills as wanted, and what the venue's books say afterwards. */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { killRuns } from './kills.ts';

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '1000' },
    lanes: { type: 'string', default: '8' },
    seed: { type: 'string', default: '1' },
  },
});
const told = await killRuns({
  bin: join(process.cwd(), 'dist', 'cli.js'),
  kills: Number(values.count),
  lanes: Number(values.lanes),
  seed: Number(values.seed),
  told: (kills) => process.stderr.isTTY && process.stderr.write(`\r${kills} kills `),
});
for (const problem of told.problems) process.stdout.write(`${problem}\n`);
process.stdout.write(
  `${told.kills} kills in ${told.runs} runs, ${told.seconds.toFixed(0)} s (${Math.round((told.kills / told.seconds) * 60)} a minute): ${JSON.stringify(told.outcomes)}, ${told.problems.length} problems\n`,
);
process.exitCode = told.problems.length > 0 ? 1 : 0;

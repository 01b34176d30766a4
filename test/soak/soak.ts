/** Runs a soak for a given time, with progress on a terminal and a verdict: `npm run soak -- --minutes 60 --workers 2 --seed 1`. */
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { soak } from './run-soak.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    workers: { type: 'string', default: '2' },
    seed: { type: 'string', default: '1' },
    // The command; may be another build than that of this checkout.
    bin: { type: 'string', default: join('bin', 'runbook.js') },
  },
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
const result = await soak({
  bin: resolve(values.bin),
  minutes: Number(values.minutes),
  workers: Number(values.workers),
  seed: Number(values.seed),
  told: (line) => process.stderr.isTTY && process.stderr.write(`\r\x1b[K${line}`),
});
if (process.stderr.isTTY) process.stderr.write('\n');
for (const problem of result.problems) process.stdout.write(`${problem}\n`);
if (result.problems.length > 0)
  process.stdout.write(`\n${result.story.join('\n')}\n\nlogs of the workers: ${result.folder}\n`);
process.stdout.write(`${result.summary}\n`);
process.exitCode = result.problems.length > 0 ? 1 : 0;

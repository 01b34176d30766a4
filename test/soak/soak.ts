/** Runs a soak for a given time, with progress on a terminal and a verdict: `npm run soak -- --minutes 60 --workers 2 --seed 1`. */
import { join, resolve } from 'node:path';
import { readOptions } from '../options.js';
import { soak } from './run-soak.ts';

const { values } = readOptions('npm run soak -- OPTIONS: ends workers and the server that they share, at random', {
  minutes: { kind: 'number', means: 'how long, 60 by default' },
  workers: { kind: 'whole', means: 'workers, 2 by default' },
  seed: { kind: 'whole', means: 'seed, 1 by default' },
  bin: { kind: 'text', means: 'the command; may be another build than that of this checkout' },
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
const result = await soak({
  bin: resolve(values.bin ?? join('bin', 'runbook.js')),
  minutes: values.minutes ?? 60,
  workers: values.workers ?? 2,
  seed: values.seed ?? 1,
  told: (line) => process.stderr.isTTY && process.stderr.write(`\r\x1b[K${line}`),
});
if (process.stderr.isTTY) process.stderr.write('\n');
for (const problem of result.problems) process.stdout.write(`${problem}\n`);
if (result.problems.length > 0)
  process.stdout.write(`\n${result.story.join('\n')}\n\nlogs of the workers: ${result.folder}\n`);
process.stdout.write(`${result.summary}\n`);
process.exitCode = result.problems.length > 0 ? 1 : 0;

/**
 * `npm run test:night`: what a night has time for, one behind the other, each with fresh seeds and to its end whatever the
 * others found. A number scales it: `npm run test:night -- 0.001`; below 1, one file of the core stands for the mutation tests.
 */
import { spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readOptions } from './options.js';

const { rest } = readOptions(
  'npm run test:night -- SCALE: what a night has time for; SCALE is a number, 1 by default',
  {},
  true,
);
const scale = Number(rest[0] ?? '1');
if (!(scale > 0) || rest.length > 1) {
  console.error(`SCALE is one number above 0, found ${rest.join(' ').slice(0, 60)}`);
  process.exit(2);
}
const of = (count) => String(Math.ceil(count * scale));
const seed = String(randomInt(1_000_000, 2 ** 31));
const launch = (...words) => ['test/launch.js', ...words];
const PARTS = [
  launch('simulation/night', '--from', seed, '--seeds', of(1_000_000)),
  launch('simulation/night', '--drawn', '--from', seed, '--seeds', of(200_000)),
  launch('simulation/mutant-night', '--from', seed, '--seeds', of(3000)),
  launch('simulation/kill-night', '--seed', seed, '--count', of(10_000)),
  launch('live/stop-night', '--seed', seed, '--stops', of(1000)),
  // A soak ends with more than half a minute in which nothing happens.
  launch('soak/soak', '--seed', seed, '--minutes', String(Math.max(1.6, 60 * scale))),
  ['mutate/mutate.js', ...(scale < 1 ? ['src/venue/order/fills.ts'] : [])],
];

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const run = (words) => {
  const startedAt = performance.now();
  console.log(`\n$ node ${words.join(' ')}`);
  const { status } = spawnSync(process.execPath, words, { cwd: root, stdio: 'inherit' });
  return { words, status, minutes: ((performance.now() - startedAt) / 60_000).toFixed(1) };
};
const built = run(['build.js']);
const ended = built.status === 0 ? PARTS.map(run) : [built];
console.log('');
for (const { words, status, minutes } of ended)
  console.log(`${status === 0 ? 'passed' : 'FAILED'}  ${minutes.padStart(6)} min  node ${words.join(' ')}`);
process.exitCode = ended.every(({ status }) => status === 0) ? 0 : 1;

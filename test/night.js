/**
 * `npm run test:night`: what a night has time for, one behind the other, each with fresh seeds and to its end whatever the
 * others found. The searches for broken protocols are the mutation tests. A number scales it: `npm run test:night -- 0.001`.
 */
import { spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const scale = Number(process.argv[2] ?? '1');
const of = (count) => String(Math.ceil(count * scale));
const seed = String(randomInt(1_000_000, 2 ** 31));
const PARTS = [
  ['simulation/night', '--from', seed, '--seeds', of(1_000_000)],
  ['simulation/night', '--drawn', '--from', seed, '--seeds', of(200_000)],
  ['simulation/mutant-night', '--from', seed, '--seeds', of(3000)],
  ['simulation/kill-night', '--seed', seed, '--count', of(10_000)],
  ['live/stop-night', '--seed', seed, '--stops', of(1000)],
  // A soak ends with more than half a minute in which nothing happens.
  ['soak/soak', '--seed', seed, '--minutes', String(Math.max(1.6, 60 * scale))],
];

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const run = (words) => {
  const startedAt = performance.now();
  console.log(`\n$ node ${words.join(' ')}`);
  const { status } = spawnSync(process.execPath, words, { cwd: root, stdio: 'inherit' });
  return { words, status, minutes: ((performance.now() - startedAt) / 60_000).toFixed(1) };
};
const built = run(['build.js']);
const ended = built.status === 0 ? PARTS.map((words) => run(['test/launch.js', ...words])) : [built];
console.log('');
for (const { words, status, minutes } of ended)
  console.log(`${status === 0 ? 'passed' : 'FAILED'}  ${minutes.padStart(6)} min  node ${words.join(' ')}`);
process.exitCode = ended.every(({ status }) => status === 0) ? 0 : 1;

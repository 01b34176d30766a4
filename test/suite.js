/**
 * `npm test`: builds, runs the tests, and checks the types meanwhile, for many tests wait and leave a core idle. With the first word
 * `--later`, `npm run test:ci`: the tests that it leaves out, and lint meanwhile. The first of the three that fails ends the others,
 * and its exit code is that of the whole. Further words are passed on to vitest.
 */
import { spawn } from 'node:child_process';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const running = new Set();

/** Whether it succeeded; false without starting it where something else has failed. `stdio`: what it prints comes at once, or in one piece at its end. */
function run(program, words, stdio) {
  if (process.exitCode !== undefined) return false;
  const child = spawn(program, words, { cwd: root, stdio });
  running.add(child);
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', (text) => (said += text));
  return new Promise((resolve) => {
    child.once('close', (code, signal) => {
      running.delete(child);
      process.stdout.write(said);
      if (code !== 0 && process.exitCode === undefined) {
        console.error(`${basename(program)} ${words.join(' ')} ended with ${signal ?? code}`);
        process.exitCode = code ?? 1;
        for (const each of running) each.kill('SIGTERM');
      }
      resolve(code === 0);
    });
  });
}

const node = process.execPath;
const given = process.argv.slice(2);
const isLater = given[0] === '--later';
const chosen = isLater ? ['--tags-filter', 'long || postgres || chromium', ...given.slice(1)] : given;
const beside = isLater
  ? run('npm', ['run', '--silent', 'lint'], ['ignore', 'pipe', 'pipe'])
  : // With more threads it takes longer altogether.
    run(node, ['node_modules/typescript/bin/tsc', '-p', '.', '--singleThreaded'], ['ignore', 'pipe', 'pipe']);
if (await run(node, ['build.js'], 'inherit'))
  await run(node, ['node_modules/vitest/vitest.mjs', 'run', ...chosen], 'inherit');
await beside;

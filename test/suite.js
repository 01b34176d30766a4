/**
 * `npm test`: builds, runs the tests, and checks the types meanwhile, for many tests wait and leave a core idle. The first of the
 * three that fails ends the others, and its exit code is that of the whole. Words are passed on to vitest.
 */
import { spawn } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const running = new Set();

/** Whether it succeeded; false without starting it where something else has failed. `stdio`: what it prints comes at once, or in one piece at its end. */
function run(words, stdio) {
  if (process.exitCode !== undefined) return false;
  const child = spawn(process.execPath, words, { cwd: root, stdio });
  running.add(child);
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', (text) => (said += text));
  return new Promise((resolve) => {
    child.once('close', (code, signal) => {
      running.delete(child);
      process.stdout.write(said);
      if (code !== 0 && process.exitCode === undefined) {
        console.error(`node ${words.join(' ')} ended with ${signal ?? code}`);
        process.exitCode = code ?? 1;
        for (const each of running) each.kill('SIGTERM');
      }
      resolve(code === 0);
    });
  });
}

// With more threads it takes longer altogether.
const typed = run(['node_modules/typescript/bin/tsc', '-p', '.', '--singleThreaded'], ['ignore', 'pipe', 'pipe']);
if (await run(['build.js'], 'inherit'))
  await run(['node_modules/vitest/vitest.mjs', 'run', ...process.argv.slice(2)], 'inherit');
await typed;

/** A real loop that stands still, in a process of its own: what is watched is the real thing. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { afterAll, beforeAll, expect, it } from 'vitest';

const PROGRAM = `
import { SystemClock } from './src/base/clock.ts';
import { Watchdog } from './src/cli/watchdog.ts';
const clock = new SystemClock();
const watchdog = new Watchdog({ clock, stallMs: 300, stalled: (ms) => console.log(ms) });
clock.after(600, () => { for (const end = Date.now() + 900; Date.now() < end; ); });
clock.after(2200, () => void watchdog.stop());
`;
let folder = '';
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'watchdog-'));
  await build({
    stdin: { contents: PROGRAM, resolveDir: join(import.meta.dirname, '..', '..'), loader: 'ts' },
    outfile: join(folder, 'program.mjs'),
    bundle: true,
    platform: 'node',
    format: 'esm',
    logLevel: 'error',
  });
});
afterAll(() => rmSync(folder, { recursive: true }));

it('says that the loop stalls while it does, once, and for how long afterwards', () => {
  const { stdout, stderr, status } = spawnSync(process.execPath, [join(folder, 'program.mjs')], {
    encoding: 'utf8',
    timeout: 15_000,
  });
  expect(status).toBe(0);
  const lines = stderr
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { event: string; time: number });
  expect(lines.map(({ event }) => event)).toEqual(['loop_stalled']);
  const told = stdout.trim().split('\n').map(Number);
  expect(told).toHaveLength(1);
  expect(told[0]).toBeGreaterThan(600);
});

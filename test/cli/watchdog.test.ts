/** A really blocked event loop, in a process of its own. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { afterAll, beforeAll, expect, it } from 'vitest';

/** The limit is far above the pauses of a busy machine, and the stall far above the limit. */
const PROGRAM = `
import { SystemClock } from './src/base/clock.ts';
import { Watchdog } from './src/app/schedule/watchdog.ts';
const clock = new SystemClock();
const watchdog = new Watchdog({ clock, stallMs: 1000, onStall: (ms) => console.log(ms) });
clock.after(600, () => { for (const end = Date.now() + 2500; Date.now() < end; ); });
clock.after(4500, () => void watchdog.stop());
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

it("continues after the log's reader is gone", async () => {
  const child = spawn(process.execPath, [join(folder, 'program.mjs')], { stdio: ['ignore', 'pipe', 'pipe'] });
  child.stderr.destroy();
  let reported = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    reported += text;
  });
  const [status] = (await once(child, 'close')) as [number];
  expect({ status, reports: reported.trim().split('\n').length }).toEqual({ status: 0, reports: 1 });
});

it('reports a stall while it lasts, once, and its length afterwards', () => {
  const { stdout, stderr, status } = spawnSync(process.execPath, [join(folder, 'program.mjs')], {
    encoding: 'utf8',
  });
  expect(status).toBe(0);
  const lines = stderr
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { event: string; time: number });
  expect(lines.map(({ event }) => event)).toEqual(['loop_stalled']);
  const reports = stdout.trim().split('\n').map(Number);
  expect(reports).toHaveLength(1);
  expect(reports[0]).toBeGreaterThan(2000);
});

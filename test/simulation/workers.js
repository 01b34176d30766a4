/** Runs seeds on all cores: bundles the worker once, hands out seeds in portions, adds up what comes back. */
import { mkdirSync, rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { build } from 'esbuild';

const folder = dirname(fileURLToPath(import.meta.url));
const root = join(folder, '../..');
const PORTION = 250;

/** Bundles the worker, gives its file to `work`, and takes it away again. */
export async function withWorker(work) {
  const cache = join(root, 'node_modules/.cache');
  mkdirSync(cache, { recursive: true });
  const file = join(cache, `simulation.${process.pid}.${Date.now()}.mjs`);
  await build({
    entryPoints: [join(folder, 'worker.ts')],
    outfile: file,
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    target: 'node20.19',
    sourcemap: 'inline',
    logLevel: 'warning',
  });
  try {
    return await work(pathToFileURL(file));
  } finally {
    rmSync(file, { force: true });
  }
}

/** What one worker answers to one order. */
export function ask(file, order) {
  return new Promise((resolve, reject) => {
    const worker = new Worker(file, { workerData: order, execArgv: ['--enable-source-maps'] });
    worker.once('message', resolve);
    worker.once('error', reject);
    worker.once('exit', (code) => (code === 0 ? undefined : reject(new Error(`a worker ended with ${code}`))));
  });
}

/** Gives each portion's tally to `each` as it comes; ends early where that gives false. */
export async function runSeeds({ from, count, workers = availableParallelism(), each }) {
  await withWorker(async (file) => {
    let next = from;
    let goesOn = true;
    const work = async () => {
      while (goesOn && next < from + count) {
        const portion = { kind: 'batch', from: next, count: Math.min(PORTION, from + count - next) };
        next += portion.count;
        if (each(await ask(file, portion)) === false) goesOn = false;
      }
    };
    await Promise.all(Array.from({ length: workers }, work));
  });
}

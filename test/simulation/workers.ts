/** Runs seeds on all cores: bundles the worker once, for Node 20 reads no TypeScript, and hands out seeds in portions. */
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { bundleProgram } from '../bundle.js';
import type { Tally } from './batch.ts';
import type { WorldName } from './scenario.ts';
import type { Answers, Order } from './worker.ts';

/** Seeds a worker does before it is asked for more; so few that a person who watches sees them count, and none is the last for long. */
const PORTION = 25;
/** MB of a worker for what lives shortly: almost all that a world makes does, and with the default a fifth of the time goes to collecting it. */
const YOUNG_MB = 192;

export interface SeedsWanted {
  /** So many worlds. */
  readonly count: number;
  /** Gives the next of them. */
  readonly choose: (count: number) => readonly WorldName[];
  readonly workers?: number;
  /** The name of a broken protocol to simulate instead of the right one. */
  readonly mutant?: string | undefined;
  /** Called with each result; ends the work early where it gives false. */
  readonly each: (tally: Tally) => boolean;
}

/** The project's folder must be the working directory. */
export async function runSeeds({ count, choose, workers, mutant, each }: SeedsWanted): Promise<void> {
  await withWorkers(workers ?? availableParallelism(), async (asks) => {
    let left = count;
    let goesOn = true;
    const work = async (ask: Ask) => {
      while (goesOn && left > 0) {
        const worlds = choose(Math.min(PORTION, left));
        const portion = { kind: 'batch', worlds, mutant } as const;
        left -= worlds.length;
        if (!each(await ask(portion))) goesOn = false;
      }
    };
    await Promise.all(asks.map(work));
  });
}

/** Chooses worlds one behind the other. */
export function chooseSeeds(
  list: (from: number, count: number) => readonly WorldName[],
  from: number,
): SeedsWanted['choose'] {
  let next = from;
  return (count) => {
    next += count;
    return list(next - count, count);
  };
}

export type Ask = <O extends Order>(order: O) => Promise<Answers[O['kind']]>;

/** Starts workers, which keep what they have checked once, and ends them when `work` is done. */
export async function withWorkers<T>(count: number, work: (asks: readonly Ask[]) => Promise<T>): Promise<T> {
  const { file, remove } = await bundleProgram(join(process.cwd(), 'test', 'simulation', 'worker.ts'), {
    sourcemap: 'inline',
  });
  const started = Array.from(
    { length: count },
    () =>
      new Worker(pathToFileURL(file), {
        execArgv: ['--enable-source-maps'],
        resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB },
      }),
  );
  try {
    return await work(started.map(asking));
  } finally {
    for (const worker of started) worker.postMessage('done');
    remove();
  }
}

/** One order at a time. */
function asking(worker: Worker): Ask {
  return (order) =>
    new Promise((resolve, reject) => {
      const ended = (code: number) => reject(new Error(`a worker ended with ${code} and said nothing`));
      worker.once('error', reject);
      worker.once('exit', ended);
      worker.once('message', (told) => {
        worker.off('error', reject);
        worker.off('exit', ended);
        resolve(told);
      });
      worker.postMessage(order);
    });
}

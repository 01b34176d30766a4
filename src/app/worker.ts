/** The entrance of a worker thread: prepares its task and answers jobs until it is ended. */
import { parentPort, workerData } from 'node:worker_threads';
import { prepareRuns } from './sweep/runs.ts';
import { prepareCases } from './testing/verdict.ts';
import type { WorkerAnswer, WorkerData, WorkerJob } from './worker-pool.ts';

/** By the name of the task that a pool is for. */
const TASKS: Readonly<Record<string, (setup: never) => (job: never) => Promise<unknown>>> = {
  sweep: prepareRuns,
  cases: prepareCases,
};

const { task, setup } = workerData as WorkerData;
const work = TASKS[task]?.(setup as never);

async function answer({ index, job }: WorkerJob): Promise<WorkerAnswer> {
  try {
    return { index, answer: await work?.(job as never) };
  } catch (error) {
    return { index, failure: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}

parentPort?.on('message', (job: WorkerJob) => void answer(job).then((answered) => parentPort?.postMessage(answered)));

/**
 * Works jobs on all cores: each worker thread gets one at a time, and the answers are in the order of the jobs, whatever thread
 * gave them. Where the program is not built, as in tests, this thread works them one after the other.
 */
import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';

/** The built entrance of a worker thread, `worker.ts`, beside this file's own bundle. */
const ENTRANCE = new URL('./worker.cjs', import.meta.url);

/** What a worker gets when it begins; it must be possible to clone it. */
export interface WorkerData {
  /** The name of a task in `worker.ts`. */
  readonly task: string;
  readonly setup: unknown;
}

export interface WorkerJob {
  readonly index: number;
  readonly job: unknown;
}

export type WorkerAnswer =
  | { readonly index: number; readonly answer: unknown }
  | { readonly index: number; readonly failure: string };

interface Work<Setup, Job, Answer> {
  readonly task: string;
  /** It can be cloned, as jobs and answers can. */
  readonly setup: Setup;
  readonly jobs: readonly Job[];
  /** Works a job in this thread, where there is no built worker. */
  readonly here: (setup: Setup) => (job: Job) => Promise<Answer>;
  /** Called after each job with the number of those that are done. */
  readonly onDone?: (done: number) => void;
  /** Number of threads; as many as there are cores by default. */
  readonly threads?: number;
}

/** Rejects with the first failure of a job. */
export async function workAll<Setup, Job, Answer>(work: Work<Setup, Job, Answer>): Promise<readonly Answer[]> {
  const { jobs, threads = availableParallelism() } = work;
  const count = Math.min(threads, jobs.length);
  return count > 1 && existsSync(fileURLToPath(ENTRANCE)) ? workInThreads(work, count) : workHere(work);
}

async function workHere<Setup, Job, Answer>({
  setup,
  jobs,
  here,
  onDone,
}: Work<Setup, Job, Answer>): Promise<Answer[]> {
  const answer = here(setup);
  const answers: Answer[] = [];
  for (const job of jobs) {
    answers.push(await answer(job));
    onDone?.(answers.length);
  }
  return answers;
}

async function workInThreads<Setup, Job, Answer>(
  { task, setup, jobs, onDone }: Work<Setup, Job, Answer>,
  threads: number,
): Promise<Answer[]> {
  const answers = new Array<Answer>(jobs.length);
  let next = 0;
  let done = 0;
  const data: WorkerData = { task, setup };
  const workers = Array.from({ length: threads }, () => new Worker(ENTRANCE, { workerData: data }));
  const exhaust = (worker: Worker) =>
    new Promise<void>((resolve, reject) => {
      const give = () => {
        if (next === jobs.length) return resolve();
        const message: WorkerJob = { index: next, job: jobs[next] };
        next += 1;
        worker.postMessage(message);
      };
      worker.on('error', reject);
      worker.on('exit', () => reject(new Error('a worker thread ended before its job was done')));
      worker.on('message', (answered: WorkerAnswer) => {
        if ('failure' in answered) return reject(new Error(answered.failure));
        answers[answered.index] = answered.answer as Answer;
        done += 1;
        onDone?.(done);
        give();
      });
      give();
    });
  try {
    await Promise.all(workers.map(exhaust));
  } finally {
    await Promise.all(workers.map((worker) => worker.terminate()));
  }
  return answers;
}

/** The runs of a sweep: every combination of inputs with every seed, each alone, so that no order of work changes a figure. */
import type { SimulatorConfig } from '../../gateway/simulator/config/settings.ts';
import type { JsonObject } from '../../journal/entry.ts';
import { inputValues, type LoadedRunbook, loadPinned } from '../files/load.ts';
import type { FeedFile } from '../files/prices.ts';
import type { Answer } from '../rehearsal/answers.ts';
import { SILENT } from '../voice.ts';
import { workAll } from '../worker-pool.ts';
import { type RunFigures, runOnce } from './one-run.ts';

/** What all runs of a sweep share; it can be given to another thread. */
export interface SweepSetup {
  readonly sources: readonly { readonly name: string; readonly file: string; readonly text: string }[];
  /** Epoch ms at which virtual time begins. */
  readonly at: number;
  readonly config: SimulatorConfig;
  readonly feeds: Readonly<Record<string, FeedFile>>;
  readonly answers: ReadonlyMap<string, Answer>;
}

export interface SweepJob {
  readonly inputs: JsonObject;
  readonly seed: number;
}

export function listSources(loaded: LoadedRunbook): SweepSetup['sources'] {
  return loaded.sources.map(({ name, source: { file, text } }) => ({ name, file, text }));
}

/** The figures of each job, in their order. */
export function runAll(
  setup: SweepSetup,
  jobs: readonly SweepJob[],
  options: { readonly onDone?: (done: number) => void; readonly threads?: number } = {},
): Promise<readonly RunFigures[]> {
  return workAll({ task: 'sweep', setup, jobs, here: prepareRuns, ...options });
}

export function prepareRuns({
  sources,
  at,
  config,
  feeds,
  answers,
}: SweepSetup): (job: SweepJob) => Promise<RunFigures> {
  const loaded = loadPinned(sources, SILENT);
  return ({ inputs, seed }) =>
    runOnce({
      loaded,
      inputs: inputValues(loaded.runbook, { pairs: [], recorded: inputs }),
      at,
      seed,
      venue: { kind: 'simulated', config, feeds },
      answers,
    });
}

/** Measures trials: each round of a ratio starts two fresh processes, ours and theirs, one after the other. */

import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { alternate, computeMedian } from '../measure.ts';
import type { TrialResult } from '../trials/trial.ts';

const PROGRAM = fileURLToPath(new URL('./trial.mjs', import.meta.url));
const ROUNDS = 5;

export type Pick = (result: TrialResult) => number;

export const pickCold: Pick = ({ coldMs }) => coldMs;
export const pickWarm: Pick = ({ warmMs }) => warmMs;
/** Peak memory of the process relative to its memory before the trial. */
export const pickGrowth: Pick = ({ idleMb, peakMb }) => peakMb / idleMb;

export interface Sample {
  readonly trial: string;
  readonly size: number;
  readonly runs?: number;
  /** MB that its heap may have of what lives long; as many as Node gives by itself where it is absent. */
  readonly heapMb?: number;
}

const pairs = new Map<string, Promise<readonly { readonly ours: TrialResult; readonly theirs: TrialResult }[]>>();

/** Measures the ratio of two trials. Several rows use figures of the same pair, so each pair runs only once. */
export async function measureTrialRatio(ours: Sample, theirs: Sample, pick: Pick): Promise<number> {
  const key = JSON.stringify([ours, theirs]);
  const pair =
    pairs.get(key) ??
    alternate(
      ROUNDS,
      () => run(ours),
      () => run(theirs),
    );
  pairs.set(key, pair);
  return computeMedian((await pair).map((round) => pick(round.ours) / pick(round.theirs)));
}

/** Measures one figure of one trial: the median over fresh processes. */
export function measureTrial(sample: Sample, pick: Pick, rounds = 3): number {
  return computeMedian(Array.from({ length: rounds }, () => pick(run(sample))));
}

function run({ trial, size, runs = 6, heapMb }: Sample): TrialResult {
  const options = heapMb === undefined ? [] : [`--max-old-space-size=${heapMb}`];
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [...options, PROGRAM, trial, String(size), String(runs)],
    { encoding: 'utf8' },
  );
  if (status !== 0) throw new Error(`${trial} of ${size} ended with ${status}: ${stderr.slice(0, 1000)}`);
  return JSON.parse(stdout) as TrialResult;
}

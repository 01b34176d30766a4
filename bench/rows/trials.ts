/** Trials as ratios: each round starts two fresh processes, ours and theirs, one after the other. */

import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { inTurns, median } from '../measure.ts';
import type { TrialResult } from '../trials/trial.ts';

const PROGRAM = fileURLToPath(new URL('./trial.mjs', import.meta.url));
const ROUNDS = 5;

export type Pick = (result: TrialResult) => number;

export const cold: Pick = ({ coldMs }) => coldMs;
export const warm: Pick = ({ warmMs }) => warmMs;
/** How much larger the process became than it was before. */
export const swell: Pick = ({ idleMb, peakMb }) => peakMb / idleMb;

export interface Sample {
  readonly trial: string;
  readonly size: number;
  readonly runs?: number;
}

const pairs = new Map<string, Promise<readonly { readonly ours: TrialResult; readonly theirs: TrialResult }[]>>();

/** Several rows read several figures of one pair: it is run once. */
export async function trialRatio(ours: Sample, theirs: Sample, pick: Pick): Promise<number> {
  const key = JSON.stringify([ours, theirs]);
  const pair =
    pairs.get(key) ??
    inTurns(
      ROUNDS,
      () => run(ours),
      () => run(theirs),
    );
  pairs.set(key, pair);
  return median((await pair).map((round) => pick(round.ours) / pick(round.theirs)));
}

/** One figure of one trial: the median of fresh processes. */
export function trialFigure(sample: Sample, pick: Pick, rounds = 3): number {
  return median(Array.from({ length: rounds }, () => pick(run(sample))));
}

function run({ trial, size, runs = 6 }: Sample): TrialResult {
  const { status, stdout, stderr } = spawnSync(process.execPath, [PROGRAM, trial, String(size), String(runs)], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`${trial} of ${size} ended with ${status}: ${stderr.slice(0, 1000)}`);
  return JSON.parse(stdout) as TrialResult;
}

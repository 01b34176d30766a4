/**
 * Times what the benchmark compares: the two sides take turns in each round, so that a machine that slows down slows both. A
 * ratio is the median of the ratios of the rounds, never a ratio of two best cases.
 */
import { spawnSync } from 'node:child_process';

export function computeMedian(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

export function computePercentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** Milliseconds of processor time that this process has used, outside of the kernel. */
export function readCpuMs(): number {
  return process.cpuUsage().user / 1000;
}

/** Milliseconds from the start of a process to its end. Throws if the process fails. */
export function measureProcessMs(args: readonly string[], env: NodeJS.ProcessEnv = process.env): number {
  const begun = performance.now();
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', env });
  const took = performance.now() - begun;
  if (status !== 0) throw new Error(`node ${args.join(' ')} ended with ${status}: ${stderr.slice(0, 2000)}`);
  return took;
}

/** Runs `ours` and `theirs` in turn, each first in every other round, and returns the results of each round. */
export async function alternate<T>(
  rounds: number,
  ours: () => T | Promise<T>,
  theirs: () => T | Promise<T>,
): Promise<readonly { readonly ours: T; readonly theirs: T }[]> {
  const results: { ours: T; theirs: T }[] = [];
  for (let round = 0; round < rounds; round += 1) {
    if (round % 2 === 0) {
      const first = await ours();
      results.push({ ours: first, theirs: await theirs() });
    } else {
      const first = await theirs();
      results.push({ ours: await ours(), theirs: first });
    }
  }
  return results;
}

/** Median ratio of ours to theirs over alternating rounds. */
export async function measureRatio(
  rounds: number,
  ours: () => number | Promise<number>,
  theirs: () => number | Promise<number>,
): Promise<number> {
  return computeMedian((await alternate(rounds, ours, theirs)).map((round) => round.ours / round.theirs));
}

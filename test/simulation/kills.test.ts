import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { killRuns } from './kills.ts';

/** Two cores that have nothing else to do need three minutes for a thousand. */
const PATIENCE_MS = 1_200_000;
const BIN = fileURLToPath(new URL('../../bin/runbook.js', import.meta.url));

describe('real processes, killed at any moment, lose no order and double none, whatever is resumed', () => {
  it('80 kills', { tags: ['long'], timeout: PATIENCE_MS }, () => killed(80, 8));
});

async function killed(kills: number, lanes: number): Promise<void> {
  const tally = await killRuns({ bin: BIN, kills, lanes, seed: 1 });
  expect(tally.problems).toEqual([]);
  expect(tally.kills).toBeGreaterThanOrEqual(kills);
  // Most deaths are in the middle of something: else nothing was tried.
  expect(tally.resumed).toBeGreaterThan(kills / 2);
  expect(tally.interrupted).toBeGreaterThan(kills / 2);
  expect(tally.orders).toBeGreaterThan(kills / 10);
  console.log(
    `${tally.kills} kills in ${tally.runs} runs, ${tally.seconds.toFixed(0)} s, ${tally.interrupted} calls under way: ${JSON.stringify(tally.outcomes)}`,
  );
}

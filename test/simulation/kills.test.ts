import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { killRuns } from './kills.ts';

const KILLS = 1000;
/** Two cores that have nothing else to do need two to three minutes. */
const PATIENCE_MS = 1_200_000;

describe('real processes, killed at any moment', () => {
  it(
    'lose no order and double none, whatever is resumed',
    async () => {
      const bin = fileURLToPath(new URL('../../bin/runbook.js', import.meta.url));
      const tally = await killRuns({ bin, kills: KILLS, lanes: 8, seed: 1 });
      expect(tally.problems).toEqual([]);
      expect(tally.kills).toBeGreaterThanOrEqual(KILLS);
      // Most deaths are in the middle of something: else nothing was tried.
      expect(tally.resumed).toBeGreaterThan(KILLS / 2);
      expect(tally.interrupted).toBeGreaterThan(KILLS / 2);
      expect(tally.orders).toBeGreaterThan(KILLS / 10);
      console.log(
        `${tally.kills} kills in ${tally.runs} runs, ${tally.seconds.toFixed(0)} s, ${tally.interrupted} calls under way: ${JSON.stringify(tally.outcomes)}`,
      );
    },
    PATIENCE_MS,
  );
});

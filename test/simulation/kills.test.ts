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
      const told = await killRuns({ bin, kills: KILLS, lanes: 8, seed: 1 });
      expect(told.problems).toEqual([]);
      expect(told.kills).toBeGreaterThanOrEqual(KILLS);
      // Most deaths are in the middle of something: else nothing was tried.
      expect(told.resumed).toBeGreaterThan(KILLS / 2);
      expect(told.interrupted).toBeGreaterThan(KILLS / 2);
      expect(told.orders).toBeGreaterThan(KILLS / 10);
      console.log(
        `${told.kills} kills in ${told.runs} runs, ${told.seconds.toFixed(0)} s, ${told.interrupted} calls under way: ${JSON.stringify(told.outcomes)}`,
      );
    },
    PATIENCE_MS,
  );
});

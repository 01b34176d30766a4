import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { killRuns } from './kills.ts';

/** A run begins no later than this; each still comes to its end. `npm run kills -- --count 1000` has more patience. */
const WITHIN_MS = 60_000;

describe('real processes, killed at any moment', () => {
  it('lose no order and double none, whatever is resumed', async () => {
    const bin = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));
    const told = await killRuns({ bin, kills: 1000, lanes: 4, seed: 1, withinMs: WITHIN_MS });
    expect(told.problems).toEqual([]);
    // Few on a machine with much else to do, and still more than chance would let pass.
    expect(told.kills).toBeGreaterThan(10);
    console.log(
      `${told.kills} kills in ${told.runs} runs, ${told.seconds.toFixed(0)} s: ${JSON.stringify(told.outcomes)}`,
    );
  }, 400_000);
});

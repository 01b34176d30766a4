/** Tests share a process: none of them changes what another sees, and starting anew for each file costs more than they do. */
import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { LeftOut } from './test/left-out.ts';
import { HERE, NEEDS } from './test/needs.ts';
import { SlowFirst } from './test/slow-first.ts';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    isolate: false,
    // Two more than cores, for many wait for processes; with four more they load the sources twice as often, and take longer.
    maxWorkers: availableParallelism() + 2,
    // A simulated world makes much that lives for a moment.
    execArgv: ['--max-semi-space-size=64'],
    sequence: { sequencer: SlowFirst },
    tags: NEEDS.map(({ name, description }) => ({ name, description })),
    tagsFilter: HERE,
    reporters: ['default', new LeftOut()],
    // Real processes on a machine that others load: a failure that does not repeat is listed at the end, and does not fail CI.
    retry: process.env['CI'] === undefined ? 0 : 1,
    // For what hangs alone: a busy machine needs ten times what a test takes. What a test waits for ends sooner, and says what it was.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    coverage: { provider: 'v8', include: ['src/**/*.ts'], reporter: ['text-summary', 'html'] },
  },
});

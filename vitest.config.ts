/** Tests share a process: none of them changes what another sees, and starting anew for each file costs more than they do. */
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/postgres-setup.ts'],
    pool: 'forks',
    isolate: false,
    testTimeout: 20_000,
    coverage: { provider: 'v8', include: ['src/**/*.ts'], reporter: ['text-summary', 'html'] },
  },
});

/** Runs the tests that the plan names, on the core with its mutants in it. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { BaseSequencer } from 'vitest/node';
import { HERE, NEEDS } from '../test/needs.ts';

const here = fileURLToPath(new URL('.', import.meta.url));
/** See rounds.js. */
const work = process.env.MUTATE_WORK;
const { files, always } = JSON.parse(readFileSync(`${work}plan.json`, 'utf8'));
const code = JSON.parse(readFileSync(`${work}code.json`, 'utf8'));

/** Runs the files in the order of the plan. */
class InOrder extends BaseSequencer {
  sort(specifications) {
    const placeOf = ({ moduleId }) => files.findIndex((file) => moduleId.endsWith(`/${file}`));
    return specifications.toSorted((a, b) => placeOf(a) - placeOf(b));
  }
}

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  plugins: [
    {
      name: 'mutants',
      enforce: 'pre',
      transform: (_, id) => (Object.hasOwn(code, id) ? { code: code[id], map: null } : undefined),
    },
  ],
  test: {
    include: files,
    runner: `${here}runner.js`,
    pool: 'forks',
    isolate: false,
    bail: always === undefined ? 0 : 1,
    maxWorkers: 1,
    execArgv: ['--max-semi-space-size=64'],
    sequence: { sequencer: InOrder },
    tags: NEEDS.map(({ name, description }) => ({ name, description })),
    tagsFilter: HERE,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    teardownTimeout: 1000,
    update: false,
    reporters: ['dot'],
    silent: true,
  },
});

/**
 * Runs the benchmark (`npm run bench`): installs the peers that the product is compared with, builds the product and the
 * benchmark, and starts it. The exit code does not depend on the figures: docs/performance.md shows a missed goal.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const here = fileURLToPath(new URL('.', import.meta.url));

if (!existsSync(`${here}node_modules`))
  run('npm', ['ci', '--prefix', here, '--ignore-scripts', '--no-audit', '--no-fund']);
run(process.execPath, [`${here}../build.js`]);

await build({
  entryPoints: ['suite', 'trial', 'heap', 'venue', 'by-hand', 'recovery', 'acquirer'].map(
    (name) => `${here}${name}.ts`,
  ),
  outdir: `${here}dist`,
  outExtension: { '.js': '.mjs' },
  bundle: true,
  splitting: true,
  packages: 'external',
  platform: 'node',
  format: 'esm',
  target: 'node20.19',
  logLevel: 'warning',
  plugins: [useBuiltValidators(), leaveOutScripts()],
});
run(process.execPath, [`${here}dist/suite.mjs`, ...process.argv.slice(2)]);

/** Uses the validators that the built program uses, which are compiled already. */
function useBuiltValidators() {
  const contents = `
    import { createRequire } from 'node:module';
    const load = createRequire(import.meta.url);
    export const compiledSchema = (name) => load('../../dist/' + name + '.validator.cjs').validate;`;
  return {
    name: 'validators-of-the-build',
    setup({ onLoad }) {
      onLoad({ filter: /[\\/]src[\\/]base[\\/]ajv\.ts$/ }, () => ({ contents, loader: 'js' }));
    },
  };
}

/** The scripts of the review page are files of the checkout; only what its server says is measured. */
function leaveOutScripts() {
  return {
    name: 'page-without-scripts',
    setup({ onLoad }) {
      onLoad({ filter: /[\\/]src[\\/]cli[\\/]serve[\\/]assets\.ts$/ }, () => ({
        contents: 'export const ASSETS = {};',
      }));
    },
  };
}

function run(command, args) {
  const { status } = spawnSync(command, args, { stdio: ['ignore', 'inherit', 'inherit'] });
  if (status !== 0) process.exit(status ?? 1);
}

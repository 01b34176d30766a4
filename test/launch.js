/** Bundles a program of the tests and runs it: `node test/launch.js simulation/night --seeds 1000`. Node 20 reads no TypeScript. */
import { mkdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';

const folder = dirname(fileURLToPath(import.meta.url));
const [name, ...words] = process.argv.slice(2);
process.chdir(join(folder, '..'));
const cache = join('node_modules', '.cache');
mkdirSync(cache, { recursive: true });
const file = join(cache, `${basename(name)}.${process.pid}.mjs`);
process.on('exit', () => rmSync(file, { force: true }));
await build({
  entryPoints: [join('test', `${name}.ts`)],
  outfile: file,
  bundle: true,
  packages: 'external',
  platform: 'node',
  format: 'esm',
  target: 'node20.19',
  logLevel: 'warning',
});
process.argv.splice(2, process.argv.length, ...words);
await import(pathToFileURL(file).href);

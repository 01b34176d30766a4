/** `npm run soak -- --minutes 60`: bundles the soak and runs it, after the command it runs has been built. Node 20 reads no TypeScript. */
import { mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';

process.chdir(join(dirname(fileURLToPath(import.meta.url)), '../..'));
const cache = join('node_modules', '.cache');
mkdirSync(cache, { recursive: true });
const file = join(cache, `soak.${process.pid}.mjs`);
process.on('exit', () => rmSync(file, { force: true }));
await build({
  entryPoints: [join('test', 'soak', 'soak.ts')],
  outfile: file,
  bundle: true,
  packages: 'external',
  platform: 'node',
  format: 'esm',
  target: 'node20.19',
  logLevel: 'warning',
});
await import(pathToFileURL(file).href);

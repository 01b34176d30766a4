/**
 * Bundles a program of the tests into node_modules/.cache, where it finds the project's packages: Node 20 reads no TypeScript.
 */
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';

const CACHE = join(dirname(fileURLToPath(import.meta.url)), '..', 'node_modules', '.cache');
let built = 0;

/** In a bundle `import.meta.url` is that of the bundle: each file of the project keeps its own, and finds what is beside it. */
const KEPT_PLACES = {
  name: 'keep the place of each file',
  setup({ onLoad }) {
    onLoad({ filter: /\.[jt]s$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8');
      if (!text.includes('import.meta.url')) return undefined;
      const contents = text.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href));
      return { contents, loader: path.endsWith('.ts') ? 'ts' : 'js' };
    });
  },
};

/**
 * Bundles the program of `entry`; `options` are further ones of esbuild's `build`.
 * @param {string} entry path of its TypeScript file
 * @param {import('esbuild').BuildOptions} [options]
 * @returns {Promise<{file: string, remove: () => void}>} the bundle, and how to delete it
 */
export async function bundleProgram(entry, options = {}) {
  mkdirSync(CACHE, { recursive: true });
  built += 1;
  const file = join(CACHE, `${basename(entry, '.ts')}.${process.pid}.${built}.mjs`);
  await build({
    entryPoints: [entry],
    outfile: file,
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    target: 'node20.19',
    logLevel: 'warning',
    ...options,
    plugins: [...(options.plugins ?? []), KEPT_PLACES],
  });
  return { file, remove: () => rmSync(file, { force: true }) };
}

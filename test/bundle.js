/**
 * Bundles a program of the tests into node_modules/.cache, where it finds the project's packages: Node 20 reads no TypeScript.
 */
import { mkdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const CACHE = join(dirname(fileURLToPath(import.meta.url)), '..', 'node_modules', '.cache');
let built = 0;

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
  });
  return { file, remove: () => rmSync(file, { force: true }) };
}

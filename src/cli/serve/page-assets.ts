/**
 * Reads the scripts and styles of the review page, and translates the modules of this program that the scripts import. Used by
 * the build and, through assets.ts, in a checkout.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { transformSync } from 'esbuild';

/** `from '../../time-scale.ts'`: all scripts are served from one folder, so it becomes `from './time-scale.js'`. */
const IMPORT = /(?<=\bfrom ')((?:\.\.\/)+(?:[\w-]+\/)*([\w-]+)\.ts)(?=';)/g;

/** By file name. `folder` holds the files of the page. */
export function readPageAssets(folder: URL): Readonly<Record<string, string>> {
  const assets: Record<string, string> = {};
  for (const name of readdirSync(folder).filter((each) => /\.(?:js|css|svg)$/.test(each))) {
    const text = readFileSync(new URL(name, folder), 'utf8');
    assets[name] = text.replace(IMPORT, (_path, _module, module) => `./${module}.js`);
    for (const [path, , module] of text.matchAll(IMPORT))
      assets[`${module}.js`] ??= translateScript(new URL(path, folder));
  }
  return assets;
}

/** A module without its types. A module for the browser may import only types. */
function translateScript(file: URL): string {
  const { code } = transformSync(readFileSync(file, 'utf8'), { loader: 'ts', format: 'esm', target: 'es2022' });
  if (/^import\b/m.test(code)) throw new Error(`${file.pathname} imports other modules: the page cannot run it`);
  return code;
}

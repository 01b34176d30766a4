/** Puts all mutants of files into their source, each behind a switch, with the instrumenter of Stryker. */
import { readFileSync } from 'node:fs';
import { EXCLUDED } from './core.js';

const SILENT = { debug() {}, info() {}, warn() {}, isDebugEnabled: () => false };
/** What the type checker proves to be out of reach is not changed. */
const UNREACHABLE = {
  shouldIgnore: (path) =>
    path.isSwitchCase() && path.node.test === null && /\bsatisfies never\b/.test(path.toString())
      ? 'the type checker proves that it is not reached'
      : undefined,
};

/**
 * @param {readonly string[]} files paths from `root`
 * @param {string} root path of the checkout, with a slash at its end
 */
export async function instrument(files, root) {
  const { Instrumenter } = await import('@stryker-mutator/instrumenter');
  const sources = Object.fromEntries(files.map((file) => [file, readFileSync(`${root}${file}`, 'utf8')]));
  const { files: changed, mutants } = await new Instrumenter(SILENT).instrument(
    files.map((name) => ({ name, mutate: true, content: sources[name] })),
    { plugins: null, excludedMutations: EXCLUDED, ignorers: [UNREACHABLE] },
  );
  return {
    code: Object.fromEntries(changed.map(({ name, content }) => [`${root}${name}`, content])),
    mutants: mutants
      .filter(({ status }) => status === undefined)
      .map(({ id, fileName: file, location, mutatorName, replacement }) => ({
        id,
        file,
        line: location.start.line + 1,
        source: sources[file].split('\n')[location.start.line].trim(),
        mutator: mutatorName,
        from: cut(sources[file], location),
        to: replacement,
        location,
      })),
  };
}

function cut(source, { start, end }) {
  return source.slice(offsetOf(source, start), offsetOf(source, end));
}

/** @returns {number} the offset of a place whose line counts from 0 */
export function offsetOf(source, { line, column }) {
  let at = 0;
  for (let passed = 0; passed < line; passed += 1) at = source.indexOf('\n', at) + 1;
  return at + column;
}

/** Asks the type checker which mutants it refuses: they are no mistakes that could be made, and do not count. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { offsetOf } from './instrument.js';

const root = fileURLToPath(new URL('..', import.meta.url));
const ERROR = /^(?:.*[\\/])?types[\\/](\w+)[\\/](.*)\(\d+,\d+\): error TS(\d+): (.*)$/;

/**
 * Checks a copy of its file with each mutant. A copy is another module with classes of its own, so what the checker says of a
 * copy without a mutant is no fault.
 * @returns {Set<string>} ids of the mutants that are refused
 */
export function findRefused(mutants, work) {
  const types = `${work}types/`;
  if (mutants.length === 0) return new Set();
  rmSync(types, { recursive: true, force: true });
  const plain = mutants.map(({ file }) => ({ id: 'plain', file }));
  const copies = [...plain, ...mutants];
  for (const copy of copies) {
    const path = `${types}${copy.id}/${copy.file}`;
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, copy.id === 'plain' ? readFileSync(`${root}${copy.file}`, 'utf8') : apply(copy));
  }
  const folders = [...new Set(copies.map(({ id }) => `./${id}`))];
  const settings = {
    extends: `${root}tsconfig.json`,
    compilerOptions: { rootDirs: [root, ...folders] },
    include: folders,
  };
  writeFileSync(`${types}tsconfig.json`, JSON.stringify(settings));
  const { stdout, status, signal } = spawnSync(
    process.execPath,
    ['node_modules/typescript/bin/tsc', '-p', types, '--pretty', 'false'],
    {
      cwd: root,
      encoding: 'utf8',
      maxBuffer: 1e9,
    },
  );
  if (status === null || (status !== 0 && stdout === ''))
    throw new Error(`the type checker ended with ${signal ?? status}`);
  const errors = stdout.split('\n').flatMap((line) => {
    const [, id, file, code, text] = ERROR.exec(line) ?? [];
    return id === undefined ? [] : [{ id, code: Number(code), said: `${file} ${code} ${text}` }];
  });
  // Below 2000 are errors of syntax, with which nothing else is checked: the copy is not what the mutant means.
  const unread = new Set(errors.filter(({ code }) => code < 2000).map(({ id }) => id));
  if (unread.size > 0)
    return findRefused(
      mutants.filter(({ id }) => !unread.has(id)),
      work,
    );
  const known = new Set(errors.filter(({ id }) => id === 'plain').map(({ said }) => said));
  return new Set(errors.filter(({ said }) => !known.has(said)).map(({ id }) => id));
}

function apply({ file, location, mutator, to }) {
  const source = readFileSync(`${root}${file}`, 'utf8');
  const isStatement = mutator === 'BlockStatement' || /^(?:case|default|for|while|do)\b/.test(to);
  const [start, end] = [offsetOf(source, location.start), offsetOf(source, location.end)];
  return `${source.slice(0, start)}${isStatement ? to : `(${to})`}${source.slice(end)}`;
}

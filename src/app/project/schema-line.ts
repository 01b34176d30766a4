/**
 * Makes the first line of a file, through which an editor finds its schema. The schema lies inside the project, so that the line
 * is right on every machine; where it has none, a copy is written.
 */
import { existsSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { makeFolders } from '../../journal/folder.ts';
import { readText, writeNewText } from '../files/files.ts';
import { locateInPackage } from './package-files.ts';

export interface SchemaLine {
  readonly line: string;
  /** The copy that `ensureSchema` has written. */
  readonly created: string | undefined;
}

/** The line for a file, for the schema NAME.schema.json. */
export function ensureSchema(file: string, name: string): SchemaLine {
  const folder = resolve(dirname(file));
  const schema = `${name}.schema.json`;
  const root = findRoot(folder, schema);
  const places = [join(root, 'schemas', schema), join(root, 'node_modules', 'perp-runbook', 'schemas', schema)];
  const [first = '', ...others] = places;
  const found = [first, ...others].find((path) => existsSync(path));
  if (found === undefined) {
    makeFolders(dirname(first), 0o777);
    writeNewText(first, readText(locateInPackage('schemas', schema), 'schema'), 'schema');
  }
  return {
    line: makeSchemaLine(relative(folder, found ?? first)),
    created: found === undefined ? relative(resolve('.'), first) : undefined,
  };
}

export function makeSchemaLine(path: string): string {
  const address = path.split(sep).join('/');
  return `# yaml-language-server: $schema=${address.startsWith('.') ? address : `./${address}`}\n`;
}

/** The nearest folder above that has the schema, or that a package manager or git calls a project; the folder itself where there is none. */
function findRoot(folder: string, schema: string): string {
  const marks = [join('schemas', schema), 'package.json', '.git'];
  for (let at = folder; ; at = dirname(at)) {
    if (marks.some((mark) => existsSync(join(at, mark)))) return at;
    if (dirname(at) === at) return folder;
  }
}

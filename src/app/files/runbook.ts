/**
 * Reads a runbook file and the runbooks it calls, which lie in the same folder. A call cannot leave that folder: a person who
 * reviews one folder has seen everything that can run.
 */
import { readdirSync, realpathSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { SourceText } from '../../base/diagnostic.ts';
import { UserError } from '../errors.ts';
import { readSource } from './files.ts';

export interface RunbookFile {
  readonly source: SourceText;
  /** Reads the called runbook `name.yaml` beside this file; undefined where there is none. */
  readonly load: (name: string) => SourceText | undefined;
}

export function readRunbook(path: string): RunbookFile {
  const source = readSource(path, 'runbook');
  return { source, load: (name) => readCalled(path, name) };
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9_-]*$/;

/** The called runbook `name.yaml` beside the file at `path`; undefined where there is none. */
export function readCalled(path: string, name: string): SourceText | undefined {
  const folder = dirname(path);
  const file = `${name}.yaml`;
  if (!NAME.test(name) || !readdirSync(resolve(folder)).includes(file)) return undefined;
  const called = join(folder, file);
  if (dirname(realpathSync(called)) !== realpathSync(resolve(folder))) {
    throw new UserError(`${called} is a link out of its folder; a called runbook must be in the folder of its caller`);
  }
  return readSource(called, 'runbook');
}

/**
 * The state folder: dry-runs, the default store and crash reports (interface.md, Commands). Created on the first write, for
 * its owner alone.
 */
import { chmodSync, mkdirSync, statSync } from 'node:fs';
import { isAbsolute, join, relative, resolve } from 'node:path';
import type { Environment } from './environment.ts';
import { EXIT, UserError } from './errors.ts';
import { describeReason } from './files/files.ts';

export interface StateFolder {
  /** Absolute; it may not exist yet. */
  readonly path: string;
  /** As shown to people: relative to the working directory where it is inside it. */
  readonly shown: string;
  /** Resolves the variables that the list of known stores refers to by name. */
  readonly environment: Environment;
  /** The absolute path of a file in it; creates the folder. */
  file(name: string): string;
}

const DEFAULT_FOLDER = '.runbook';

/** `--state` first, then `RUNBOOK_STATE`, else `.runbook` in the working directory. */
export function stateFolder(
  given: string | undefined,
  environment: Environment,
  workingDirectory: string,
): StateFolder {
  if (given?.trim() === '') throw new UserError('--state takes a folder, found nothing', EXIT.usage, 'usage');
  const path = resolve(workingDirectory, given ?? environment.variable('RUNBOOK_STATE') ?? DEFAULT_FOLDER);
  const fromHere = relative(workingDirectory, path);
  const shown = fromHere !== '' && !fromHere.startsWith('..') && !isAbsolute(fromHere) ? fromHere : path;
  return {
    path,
    shown,
    environment,
    file(name) {
      makeFolder(path, shown);
      return join(path, name);
    },
  };
}

function makeFolder(path: string, shown: string): void {
  try {
    // Permissions are restricted only on a folder created here: an existing folder belongs to its owner.
    if (mkdirSync(path, { recursive: true, mode: 0o700 }) !== undefined) chmodSync(path, 0o700);
    if (statSync(path).isDirectory()) return;
  } catch (error) {
    throw new UserError(
      `the state folder ${shown} cannot be made: ${describeReason(error)}`,
      EXIT.usage,
      'configuration',
    );
  }
  throw new UserError(`the state folder ${shown} is not a directory`, EXIT.usage, 'configuration');
}

/**
 * The state folder: dry-runs, the default store and crash reports (interface.md, Commands). Created on the first write, for
 * its owner alone.
 */
import { chmodSync, lstatSync } from 'node:fs';
import { isAbsolute, join, relative, resolve } from 'node:path';
import { makePrintable } from '../base/printable.ts';
import { makeFolders } from '../journal/folder.ts';
import type { Environment } from './environment.ts';
import { EXIT, UserError } from './errors.ts';
import { describeReason } from './files/files.ts';

export interface StateFolder {
  /** Absolute; it may not exist yet. */
  readonly path: string;
  /** As shown to people, printable: relative to the working directory where it is inside it. */
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
  const isInside = fromHere !== '' && !fromHere.startsWith('..') && !isAbsolute(fromHere);
  const shown = makePrintable(isInside ? fromHere : path, 300);
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
    if (makeFolders(path)) chmodSync(path, 0o700);
    requireOwnFolder(path, `the state folder ${shown}`);
  } catch (error) {
    if (error instanceof UserError) throw error;
    throw new UserError(
      `the state folder ${shown} cannot be made: ${describeReason(error)}`,
      EXIT.usage,
      'configuration',
    );
  }
}

/**
 * Throws a UserError for a folder that is not its owner's alone to write: who can write to it, or put another in its place, can change kill
 * orders and leases. The rule of secret files holds.
 */
export function requireOwnFolder(path: string, what: string): void {
  const problem = findProblem(path);
  if (problem !== undefined) throw new UserError(`${what} ${problem}`, EXIT.usage, 'configuration');
}

function findProblem(path: string): string | undefined {
  const status = lstatSync(path);
  if (status.isSymbolicLink()) return 'is a link; name the folder itself';
  if (!status.isDirectory()) return 'is not a directory';
  return (status.mode & 0o022) === 0
    ? undefined
    : `can be written by others (mode ${(status.mode & 0o777).toString(8)}); set it to 700`;
}

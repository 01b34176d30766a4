/**
 * Turns errors of the operating system and of stores (disk full, no permission, an unreadable store) into user errors, so that
 * they are not reported as bugs. The one place where such an error becomes a sentence.
 */
import { makePrintable } from '../base/printable.ts';
import { StoreAway, StoreError } from '../journal/store.ts';
import { EXIT, UserError } from './errors.ts';
import { describeReason, getErrorCode, readBeginning } from './files/files.ts';

/** What is over once a disk has room or answers again. */
const PASSING: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EIO', 'EMFILE', 'ENFILE']);

/** A missing file is not listed: a path from the user is checked where it is read, and any other missing file is a bug. */
const TROUBLES: ReadonlySet<string> = new Set([
  ...PASSING,
  'EACCES',
  'EPERM',
  'EROFS',
  'ENOTDIR',
  'EEXIST',
  'ELOOP',
  'ENAMETOOLONG',
]);

/** The user error for a system error; undefined for any other kind of error. */
export function toSystemError(error: unknown): UserError | undefined {
  if (error instanceof UserError) return error;
  if (error instanceof StoreError) return asUserError(error);
  const code = getErrorCode(error) ?? '';
  if (!(error instanceof Error) || !('syscall' in error)) return undefined;
  // A file system may refuse a folder so, as /proc does: the folders above were made before.
  if (!TROUBLES.has(code) && !(code === 'ENOENT' && error.syscall === 'mkdir')) return undefined;
  const path = 'path' in error && typeof error.path === 'string' ? makePrintable(error.path, 300) : 'a file of its own';
  const exit = PASSING.has(code) ? EXIT.halted : EXIT.usage;
  return new UserError(`${path} cannot be used: ${describeReason(error)}`, exit, 'configuration');
}

/** Throws a UserError where a file that a person named cannot be read. `what` names its role: `archive`, `key`. */
export function requireReadable(path: string, what: string): void {
  readBeginning(path, what, 1);
}

/**
 * The user error for a store error. Damage has its own exit code: it is not a matter of configuration. Neither is a store that is locked,
 * away or full: a supervisor does not start a process again that ended with the exit code of a wrong configuration.
 */
export function asUserError(error: StoreError): UserError {
  const message = makePrintable(error.message, 600);
  if (error instanceof StoreAway) return new UserError(message, EXIT.halted, 'journal');
  if (error.reason !== 'damaged') return new UserError(message, EXIT.usage, 'journal');
  const hint = error.message.startsWith('entry ') ? '; `runbook audit verify` says more' : '';
  return new UserError(`${message}${hint}`, EXIT.failed, 'damaged');
}

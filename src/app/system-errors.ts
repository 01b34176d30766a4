/**
 * What the system refuses a program, as the trouble of whoever uses it and no mistake of ours: a disk that is full, a folder
 * that may not be written, a store that can not be read. The one place where such an error becomes a sentence.
 */
import { printable } from '../base/printable.ts';
import { StoreError } from '../journal/store.ts';
import { EXIT, UserError } from './errors.ts';
import { codeOf, reasonOf } from './files/files.ts';

/** A missing file is not among them: what a person named is refused where it is read, and one that we miss is our mistake. */
const TROUBLES: ReadonlySet<string> = new Set([
  'EACCES',
  'EPERM',
  'EROFS',
  'ENOSPC',
  'EDQUOT',
  'EIO',
  'EMFILE',
  'ENFILE',
  'ENOTDIR',
  'EEXIST',
  'ELOOP',
  'ENAMETOOLONG',
]);

/** The sentence and its exit code; undefined where the error is of another kind. */
export function troubleOf(error: unknown): UserError | undefined {
  if (error instanceof UserError) return error;
  if (error instanceof StoreError) return asUserError(error);
  if (!(error instanceof Error) || !('syscall' in error) || !TROUBLES.has(codeOf(error) ?? '')) return undefined;
  const path = 'path' in error && typeof error.path === 'string' ? printable(error.path, 300) : 'a file of its own';
  return new UserError(`${path} can not be used: ${reasonOf(error)}`, EXIT.usage, 'configuration');
}

/** What is wrong with a store; damage is no matter of configuration. */
export function asUserError(error: StoreError): UserError {
  const message = printable(error.message, 600);
  if (error.reason !== 'damaged') return new UserError(message, EXIT.usage, 'journal');
  const hint = error.message.startsWith('entry ') ? '; `runbook audit verify` says more' : '';
  return new UserError(`${message}${hint}`, EXIT.failed, 'damaged');
}

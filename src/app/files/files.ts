/**
 * Reads and writes the files named on the command line: whole regular files only, up to a size; written so that a reader
 * never sees half a file. Errors become user errors.
 */
import {
  chmodSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  openSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import type { SourceText } from '../../base/diagnostic.ts';
import { makePrintable } from '../../base/printable.ts';
import { EXIT, UserError } from '../errors.ts';

/** Far above any runbook or profile, small enough to hold in memory. */
const LARGEST_TEXT = 8 * 1024 * 1024;
/** Recordings of long runs. */
export const LARGEST_RECORDING = 256 * 1024 * 1024;

/** Reads a UTF-8 text. `what` names the file's role in the message: `runbook`, `profile`. */
export function readText(path: string, what: string, maxBytes = LARGEST_TEXT): string {
  const named = `the ${what} ${makePrintable(path, 300)}`;
  const bytes = readBytes(path, named, maxBytes);
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new UserError(`${named} is not UTF-8 text`);
  }
}

/**
 * Reads a text whose errors are reported by position, encoding errors too: each byte that is not UTF-8 becomes half of a
 * surrogate pair, which no UTF-8 text can contain, so the checker finds it at its position.
 */
export function readSource(path: string, what: string, maxBytes = LARGEST_TEXT): SourceText {
  const bytes = readBytes(path, `the ${what} ${makePrintable(path, 300)}`, maxBytes);
  const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  const decodeSource = (from: number, to: number) => {
    try {
      return strict.decode(bytes.subarray(from, to));
    } catch {
      return undefined;
    }
  };
  const whole = decodeSource(0, bytes.length);
  if (whole !== undefined) return { file: path, text: whole };
  const characters: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    const first = bytes[at] as number;
    const length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    const character = decodeSource(at, at + length);
    characters.push(character ?? String.fromCharCode(0xdc00 + first));
    at += character === undefined ? 1 : length;
  }
  return { file: path, text: characters.join('') };
}

/** The beginning of a file, to recognize it by; bytes that are not UTF-8 are replaced. Throws a UserError where it cannot be read. */
export function readBeginning(path: string, what: string, bytes = 65_536): string {
  const named = `the ${what} ${makePrintable(path, 300)}`;
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(readFirst(path, named, bytes));
}

/** Writes a file that must not exist yet. */
export function writeNewText(path: string, text: string, what: string): void {
  try {
    writeFileSync(path, text, { flag: 'wx' });
  } catch (error) {
    if (getErrorCode(error) === 'EEXIST')
      throw new UserError(`${makePrintable(path, 300)} exists already; it was not changed`);
    throw new UserError(`the ${what} ${makePrintable(path, 300)} cannot be written: ${describeReason(error)}`);
  }
}

/** Writes a file whole, replacing an existing one. */
export function replaceText(path: string, text: string, what: string): void {
  const beside = `${path}.${process.pid}.part`;
  try {
    writeFileSync(beside, text, { flag: 'wx' });
    renameSync(beside, path);
  } catch (error) {
    rmSync(beside, { force: true });
    throw new UserError(`the ${what} ${makePrintable(path, 300)} cannot be written: ${describeReason(error)}`);
  }
}

/**
 * Writes a file anew whole, with the permissions that it has; of a link, the file it leads to. A reader sees the old text or the
 * new one.
 */
export function rewriteText(path: string, text: string, what: string): void {
  const named = `the ${what} ${makePrintable(path, 300)}`;
  let beside: string | undefined;
  try {
    const real = realpathSync(path);
    const { mode } = statSync(real);
    beside = `${real}.${process.pid}.part`;
    writeFileSync(beside, text, { flag: 'wx', mode: mode & 0o7777 });
    // The mask of the process may have taken bits away.
    chmodSync(beside, mode & 0o7777);
    renameSync(beside, real);
  } catch (error) {
    if (beside !== undefined && getErrorCode(error) !== 'EEXIST') rmSync(beside, { force: true });
    throw new UserError(`${named} cannot be written: ${describeReason(error)}`);
  }
}

/** Describes why the system refused. */
export function describeReason(error: unknown): string {
  const code = getErrorCode(error);
  return code === undefined ? 'the system gave no reason' : (REASONS[code] ?? code);
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or directory',
  ENOTDIR: 'a part of the path is not a directory',
  EISDIR: 'it is a directory',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  ELOOP: 'too many symbolic links',
  ENAMETOOLONG: 'the name is too long',
  EMFILE: 'too many files are open',
  ENFILE: 'too many files are open',
  EDQUOT: 'the disk quota is used up',
  EIO: 'the disk reported an error',
  EEXIST: 'something else exists there',
};

/** The system's error code; undefined where there is none. */
export function getErrorCode(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : undefined;
}

/** The bytes of a regular file; `named` begins every message. */
export function readBytes(path: string, named: string, maxBytes: number): Uint8Array {
  return readOpened(path, named, (handle, size) => {
    if (size > maxBytes) throw new UserError(`${named} has ${size} bytes; at most ${maxBytes} are read`);
    return readUpTo(handle, size, maxBytes, named);
  });
}

function readFirst(path: string, named: string, bytes: number): Uint8Array {
  return readOpened(path, named, (handle) => {
    const buffer = new Uint8Array(bytes);
    return buffer.subarray(0, readSync(handle, buffer, 0, bytes, 0));
  });
}

function readOpened<T>(path: string, named: string, read: (handle: number, size: number) => T): T {
  let handle: number | undefined;
  try {
    // Non-blocking: opening a pipe without a writer would block before it can be recognized as a pipe.
    handle = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const status = fstatSync(handle);
    if (status.isDirectory()) throw new UserError(`${named} is a directory; name a file`);
    if (!status.isFile()) throw new UserError(`${named} is not a regular file`);
    return read(handle, status.size);
  } catch (error) {
    if (error instanceof UserError) throw error;
    const meant = existsSync(`${path}.yaml`) ? `; did you mean ${makePrintable(path, 300)}.yaml?` : '';
    throw new UserError(`${named} cannot be read: ${describeReason(error)}${meant}`, EXIT.usage, 'configuration');
  } finally {
    if (handle !== undefined) closeSync(handle);
  }
}

/** The file may grow while it is read: it is read up to the size it had when opened. */
function readUpTo(handle: number, size: number, maxBytes: number, named: string): Uint8Array {
  const buffer = new Uint8Array(Math.min(size, maxBytes) + 1);
  let length = 0;
  for (let read = -1; read !== 0 && length < buffer.length; length += read)
    read = readSync(handle, buffer, length, buffer.length - length, null);
  if (length > size) throw new UserError(`${named} is being written right now; try again`);
  return buffer.subarray(0, length);
}

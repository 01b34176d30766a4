/**
 * Reads and writes files that hold a secret. Reads a file only when no other user can have read or written it; writes it so
 * that a reader always finds the complete old or new text. The contents never appear in a message.
 */
import { closeSync, constants, fstatSync, openSync, readFileSync, statSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';

type SecretFileReading = { readonly text: string } | { readonly problem: string; readonly absent: boolean };

const LARGEST_BYTES = 64 * 1024;

/** Reads the file's text, trimmed. Refuses links, other owners, modes beyond 0600, and folders that others can write to. */
export function readSecretFile(path: string): SecretFileReading {
  let handle: number;
  try {
    // Opened before it is checked, so that the checked file is the one that is read. Does not follow links or wait for a pipe.
    handle = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    const code = readCode(error);
    return { problem: REASONS[code] ?? `cannot be opened (${code})`, absent: code === 'ENOENT' };
  }
  try {
    const problem = findFileProblem(handle) ?? findFolderProblem(path);
    if (problem !== undefined) return { problem, absent: false };
    return { text: readFileSync(handle, 'utf8').trim() };
  } catch (error) {
    return { problem: `cannot be read (${readCode(error)})`, absent: false };
  } finally {
    closeSync(handle);
  }
}

function findFileProblem(handle: number): string | undefined {
  const status = fstatSync(handle);
  if (!status.isFile()) return 'is not a regular file';
  if (status.size > LARGEST_BYTES) return `has more than ${LARGEST_BYTES} bytes`;
  const user = process.geteuid?.();
  if (user === undefined) return undefined;
  if (status.uid !== user) return 'belongs to another user';
  return (status.mode & 0o077) === 0
    ? undefined
    : `can be read or written by others (mode ${(status.mode & 0o777).toString(8)}); set it to 600`;
}

/** Checks the folder too: a user who can write to it can replace the file. */
function findFolderProblem(path: string): string | undefined {
  const user = process.geteuid?.();
  if (user === undefined) return undefined;
  const status = statSync(dirname(path));
  if (status.uid !== user && status.uid !== 0) return 'is in a folder of another user';
  return (status.mode & 0o022) === 0
    ? undefined
    : `is in a folder that others can write to (mode ${(status.mode & 0o777).toString(8)})`;
}

/**
 * Replaces the file's text durably: writes a new file beside it, syncs, renames it, and syncs the folder. Resolves when a
 * crash can no longer bring the old text back; rejects and leaves the old file when the disk refuses.
 */
export async function replaceSecretFile(path: string, text: string): Promise<void> {
  const beside = `${path}.${process.pid}.part`;
  try {
    await rm(beside, { force: true });
    const file = await open(
      beside,
      constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW,
      0o600,
    );
    try {
      await file.writeFile(`${text}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(beside, path);
  } catch (error) {
    await rm(beside, { force: true });
    throw new Error(`the file ${path} cannot be written (${readCode(error)})`);
  }
  await syncFolder(join(path, '..'));
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, constants.O_RDONLY);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  ELOOP: 'is a link; name the file itself',
  EACCES: 'cannot be opened: permission denied',
  EISDIR: 'is a directory',
};

function readCode(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && /^[A-Z0-9_]+$/.test(code) ? code : 'no reason given';
}

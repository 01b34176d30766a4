/**
 * Files that hold a secret: read only where nobody else can have read or written them, written so that a reader finds the old
 * text or the new one, whole, whatever happens meanwhile. What is in them never appears in a message.
 */
import { closeSync, constants, fstatSync, openSync, readFileSync, statSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';

type SecretFileReading = { readonly text: string } | { readonly problem: string; readonly absent: boolean };

const LARGEST_BYTES = 64 * 1024;

/** The file's text without blanks around it. Refused: links, other owners, modes beyond 0600, folders others can write to. */
export function readSecretFile(path: string): SecretFileReading {
  let handle: number;
  try {
    // Opened first and looked at afterwards: what was checked is then what is read. Not following a link, not waiting for a pipe.
    handle = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    const code = codeOf(error);
    return { problem: REASONS[code] ?? `can not be opened (${code})`, absent: code === 'ENOENT' };
  }
  try {
    const problem = fileProblem(handle) ?? folderProblem(path);
    if (problem !== undefined) return { problem, absent: false };
    return { text: readFileSync(handle, 'utf8').trim() };
  } catch (error) {
    return { problem: `can not be read (${codeOf(error)})`, absent: false };
  } finally {
    closeSync(handle);
  }
}

function fileProblem(handle: number): string | undefined {
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

/** Whoever can write to the folder can put another file in this one's place. */
function folderProblem(path: string): string | undefined {
  const user = process.geteuid?.();
  if (user === undefined) return undefined;
  const status = statSync(dirname(path));
  if (status.uid !== user && status.uid !== 0) return 'is in a folder of another user';
  return (status.mode & 0o022) === 0
    ? undefined
    : `is in a folder that others can write to (mode ${(status.mode & 0o777).toString(8)})`;
}

/**
 * Puts `text` in the place of the file, durably: written beside it, synced, renamed, and the folder synced. Resolves when a
 * crash can no longer bring the old text back; rejects and leaves the old file where the disk refuses.
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
    throw new Error(`the file ${path} can not be written (${codeOf(error)})`);
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
  EACCES: 'can not be opened: permission denied',
  EISDIR: 'is a directory',
};

function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && /^[A-Z0-9_]+$/.test(code) ? code : 'no reason given';
}

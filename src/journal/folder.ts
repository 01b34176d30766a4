/** Makes a folder with those above it, and writes folders and files through to the disk. */
import { closeSync, fsyncSync, mkdirSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Makes what is missing of a path, for its owner alone unless `mode` says otherwise; returns whether the last part was missing.
 * Throws the error of the system. Node's own `recursive` never ends where a folder exists and takes no other, as below /proc.
 */
export function makeFolders(path: string, mode = 0o700): boolean {
  if (isFolder(path)) return false;
  const above = dirname(path);
  if (above !== path) makeFolders(above, mode);
  try {
    mkdirSync(path, { mode });
    return true;
  } catch (error) {
    // Another process has just made it.
    if (isFolder(path)) return false;
    throw error;
  }
}

/** Writes a file or a folder through to the disk. The file must not be open in SQLite in this process. */
export function syncPath(path: string): void {
  const handle = openSync(path, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** Makes a folder with those above it. */
import { mkdirSync, statSync } from 'node:fs';
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

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** Lists the files of a folder and of the folders in it, in the order of their names. */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { makePrintable } from '../../base/printable.ts';
import { UserError } from '../errors.ts';
import { describeReason } from '../files/files.ts';

/** Deeper folders are a mistake, such as a copy of a copy. */
const DEEPEST = 32;

/** False too for what cannot be looked at: the one who reads it says why. */
export function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

/**
 * Every file below a folder. Left out: node_modules, names that begin with a dot, and links to folders, which could lead in a
 * circle. Throws a UserError for a folder that cannot be read.
 */
export function listFolder(folder: string, depth = 0): readonly string[] {
  if (depth > DEEPEST)
    throw new UserError(`the folder ${makePrintable(folder, 300)} is more than ${DEEPEST} levels deep`);
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter(({ name }) => name !== 'node_modules' && !name.startsWith('.'))
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .flatMap((entry) => {
        const path = join(folder, entry.name);
        if (entry.isDirectory()) return listFolder(path, depth + 1);
        return entry.isFile() || (entry.isSymbolicLink() && !isFolder(path)) ? [path] : [];
      });
  } catch (error) {
    if (error instanceof UserError) throw error;
    throw new UserError(`the folder ${makePrintable(folder, 300)} cannot be read: ${describeReason(error)}`);
  }
}

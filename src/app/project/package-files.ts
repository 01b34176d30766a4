/** Finds files that ship beside the program: examples and schemas. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The path of a file or folder of this package: the root is one up from the built program, several up from the sources. */
export function locateInPackage(...parts: readonly string[]): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'package.json')) && dirname(folder) !== folder) folder = dirname(folder);
  return join(folder, ...parts);
}

/** Finds archives: in their folder of the state folder, and where `audit archive --to` wrote them. */
import { appendFileSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { ARCHIVE_ENDING } from '../../journal/archive/archive.ts';
import { holdFile } from '../../journal/sql/sqlite.ts';
import { EXIT, UserError } from '../errors.ts';
import type { StateFolder } from '../state.ts';

const FOLDER = 'archive';
const LIST = 'archives.txt';
/** Held while runs are archived: two processes at once would put the same runs into two files. */
const LOCK = 'archive.lock';

export function locateArchives(state: StateFolder): string {
  return join(state.path, FOLDER);
}

/** Every known archive, oldest month first; `gone`: those whose file is missing. */
export function listArchives(state: StateFolder): {
  readonly there: readonly string[];
  readonly gone: readonly string[];
} {
  const own = locateArchives(state);
  const inFolder = existsSync(own)
    ? readdirSync(own)
        .filter((name) => name.endsWith(ARCHIVE_ENDING) && !name.startsWith('.'))
        .sort()
        .map((name) => join(own, name))
    : [];
  const list = join(state.path, LIST);
  const elsewhere = existsSync(list)
    ? readFileSync(list, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
    : [];
  const files = [...new Set([...inFolder, ...elsewhere])];
  return { there: files.filter((file) => existsSync(file)), gone: files.filter((file) => !existsSync(file)) };
}

/** Does `work` while no other process archives runs of this state folder; throws a UserError while one does. */
export async function lockArchiving<T>(state: StateFolder, work: () => Promise<T>): Promise<T> {
  const lock = await holdFile(state.file(LOCK));
  if (lock === undefined)
    throw new UserError(
      `another \`audit archive\` is running on ${state.shown}; this one archived nothing`,
      EXIT.failed,
      'held',
    );
  return work().finally(() => lock.release());
}

/** Remembers the path of an archive outside the state folder. */
export function rememberArchive(state: StateFolder, file: string): void {
  const path = resolve(file);
  if (dirname(path) === locateArchives(state) || listArchives(state).there.includes(path)) return;
  // Behind a line that a full disk cut off, the next one begins on its own.
  appendFileSync(state.file(LIST), `\n${path}\n`, { mode: 0o600 });
}

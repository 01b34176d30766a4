/** Where archives are: in the state folder's own folder for them, and wherever else `audit archive --to` put one. */
import { appendFileSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { ARCHIVE_ENDING } from '../../journal/archive/archive.ts';
import { openDatabase } from '../../journal/sql/sqlite.ts';
import { EXIT, UserError } from '../errors.ts';
import type { StateFolder } from '../state.ts';

const FOLDER = 'archive';
const LIST = 'archives.txt';
/** Held while runs are put into archives: two at once would put the same runs into two files. */
const LOCK = 'archive.lock';

export function archiveFolder(state: StateFolder): string {
  return join(state.path, FOLDER);
}

/** Every archive that is known, the oldest month first; `gone` are those that are not where they were written. */
export function archiveFiles(state: StateFolder): {
  readonly there: readonly string[];
  readonly gone: readonly string[];
} {
  const own = archiveFolder(state);
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

/** Does `work` while no other process archives the runs of this state folder; refuses where one does. */
export async function archivingAlone<T>(state: StateFolder, work: () => Promise<T>): Promise<T> {
  const lock = await openDatabase(state.file(LOCK));
  try {
    if (!lock.hold())
      throw new UserError(
        `another \`audit archive\` is at work on ${state.shown}; nothing was archived by this one`,
        EXIT.failed,
        'held',
      );
    return await work();
  } finally {
    lock.close();
  }
}

/** Keeps the path of an archive that was written elsewhere. */
export function rememberArchive(state: StateFolder, file: string): void {
  const path = resolve(file);
  if (dirname(path) === archiveFolder(state) || archiveFiles(state).there.includes(path)) return;
  appendFileSync(state.file(LIST), `${path}\n`, { mode: 0o600 });
}

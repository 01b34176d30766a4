/**
 * Remembers which files a database connection has opened, and finds out whether they are still the ones at their path. A process whose
 * file or write-ahead log was removed or replaced writes on into files that no process will read again: after its end, what it did is
 * unknown, and the next process does it once more.
 */
import { statSync } from 'node:fs';

/** The database, its write-ahead log, and the index of the log that processes share. */
const SUFFIXES = ['', '-wal', '-shm'] as const;

export class FilePlace {
  private readonly path: string;
  /** Device and inode by suffix; a log is made by the first statement that needs it, so it may be recorded later. */
  private readonly opened = new Map<string, string>();

  /** Call it when the connection has its files open. */
  constructor(path: string) {
    this.path = path;
    for (const suffix of SUFFIXES) this.record(suffix);
  }

  /** The file that is missing or another one; undefined while all are the ones that were opened. */
  findReplaced(): string | undefined {
    for (const suffix of SUFFIXES) {
      const known = this.opened.get(suffix) ?? this.record(suffix);
      const file = `${this.path}${suffix}`;
      const found = look(file);
      if (known !== undefined && found !== 'not known' && found !== known) return file;
    }
    return undefined;
  }

  private record(suffix: string): string | undefined {
    const found = identifyFile(`${this.path}${suffix}`);
    if (found !== undefined) this.opened.set(suffix, found);
    return found;
  }
}

/**
 * Device and inode of a file; undefined where there is none, or none that can be seen. Never opens it: closing it again would drop
 * SQLite's locks.
 */
export function identifyFile(file: string): string | undefined {
  const found = look(file);
  return found === 'not known' ? undefined : found;
}

/** A disk that does not answer says nothing about the file. */
function look(file: string): string | 'not known' | undefined {
  try {
    const { dev, ino } = statSync(file, { bigint: true });
    return `${dev}:${ino}`;
  } catch (error) {
    return ['ENOENT', 'ENOTDIR'].includes(String((error as NodeJS.ErrnoException).code)) ? undefined : 'not known';
  }
}

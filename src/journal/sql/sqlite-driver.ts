/**
 * Loads the SQLite driver: that of Node where it is new enough, else the packaged one. Gives its errors their meaning: the reason of
 * a StoreError, with the name of the file.
 */
import { type Failure, makeStoreError, StoreError } from '../store.ts';
import type { SqlValue } from './values.ts';

/** Before this version, several writers in WAL mode could corrupt the file. */
const OLDEST_SQLITE = [3, 51, 3] as const;

/** The common interface of the two drivers; `node:sqlite` has no types on Node 20. */
export interface DriverStatement {
  run(...values: SqlValue[]): { readonly changes: number | bigint };
  get(...values: SqlValue[]): unknown;
  all(...values: SqlValue[]): unknown[];
  setReturnArrays(returnArrays: boolean): void;
}
export interface DriverConnection {
  prepare(sql: string): DriverStatement;
  exec(sql: string): void;
  close(): void;
}
export interface Driver {
  readonly DatabaseSync: new (file: string | URL, options?: { readonly readOnly: boolean }) => DriverConnection;
  /** Copies all pages into a database, in one transaction of it. */
  readonly backup: (from: DriverConnection, to: string, options: { readonly rate: number }) => Promise<number>;
}

let driver: Promise<Driver> | undefined;

/** Loads the driver at first use, so that `validate` does not pay for it. */
export function loadDriver(): Promise<Driver> {
  driver ??= (async () => {
    if (Number.parseInt(process.versions.node, 10) >= 24) {
      // The specifier is a plain string for the compiler, because the types of Node 20 do not know the module.
      const builtIn = (await import('node:sqlite' as string)) as Driver;
      if (isRecent(readVersion(builtIn))) return builtIn;
    }
    const packaged = (await import('@photostructure/sqlite')) as unknown as Driver;
    const version = readVersion(packaged);
    if (!isRecent(version)) {
      throw new StoreError(
        'unavailable',
        `SQLite ${version} is too old for several writers; it must be ${OLDEST_SQLITE.join('.')} or newer`,
      );
    }
    return packaged;
  })();
  return driver;
}

function readVersion({ DatabaseSync }: Driver): string {
  const connection = new DatabaseSync(':memory:');
  try {
    return (connection.prepare('SELECT sqlite_version() AS version').get() as { version: string }).version;
  } finally {
    connection.close();
  }
}

function isRecent(version: string): boolean {
  const found = version.split('.').map(Number);
  const differs = OLDEST_SQLITE.findIndex((part, index) => part !== (found[index] ?? 0));
  return differs === -1 || (found[differs] ?? 0) > (OLDEST_SQLITE[differs] as number);
}

export const SQLITE = {
  PERM: 3,
  BUSY: 5,
  LOCKED: 6,
  READONLY: 8,
  IOERR: 10,
  CORRUPT: 11,
  FULL: 13,
  CANTOPEN: 14,
  PROTOCOL: 15,
  NOTADB: 26,
} as const;

/** By result code: the reason, the message after the file's name, and SQLite's own text. */
const FAILURES: Readonly<Record<number, readonly [failure: Failure, sentence: string, text: string]>> = {
  [SQLITE.PERM]: ['unavailable', 'may not be written: permission denied', 'access permission denied'],
  [SQLITE.BUSY]: ['away', 'was held by another process for too long', 'database is locked'],
  [SQLITE.LOCKED]: ['away', 'is locked by another connection of this process', 'database table is locked'],
  [SQLITE.READONLY]: ['unavailable', 'may only be read', 'attempt to write a readonly database'],
  [SQLITE.IOERR]: ['away', 'could not be read or written: the disk reported an error', 'disk I/O error'],
  [SQLITE.CORRUPT]: ['damaged', 'is damaged: its pages contradict each other', 'database disk image is malformed'],
  [SQLITE.FULL]: ['away', 'could not be written: the disk is full', 'database or disk is full'],
  [SQLITE.CANTOPEN]: ['unavailable', 'cannot be opened', 'unable to open database file'],
  [SQLITE.PROTOCOL]: ['away', 'could not be locked: other processes kept it busy', 'locking protocol'],
  [SQLITE.NOTADB]: ['damaged', 'is not a database', 'file is not a database'],
};

/** Reads the primary result code. The packaged driver gives only SQLite's text when `all` fails. */
export function readResultCode(error: unknown): number | undefined {
  if (!(error instanceof Error)) return undefined;
  const { errcode } = error as { errcode?: unknown };
  if (typeof errcode === 'number') return errcode & 0xff;
  const known = Object.entries(FAILURES).find(([, [, , text]]) => error.message === text);
  return known === undefined ? undefined : Number(known[0]);
}

/** Turns the driver's error into a StoreError that names the file; returns other errors unchanged. */
export function toStoreError(error: unknown, file: string): unknown {
  if (error instanceof StoreError) return error;
  const known = FAILURES[readResultCode(error) ?? -1];
  if (known === undefined) return error;
  const [failure, sentence] = known;
  return makeStoreError(failure, `${file} ${sentence}`);
}

/**
 * Opens database files, several times in one process where several parts use one, and copies, overwrites and seals them. Knows no
 * tables; the stores define them.
 *
 * A file has one connection per process (sqlite-connection.ts), shared by everything that opens it, and is never opened beside the
 * driver: closing any descriptor of a file drops all locks of the process on it. Another program then takes the file for unused and
 * removes its write-ahead log, with every commit that is only there.
 */
import { closeSync, constants, openSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { makeFolders } from '../folder.ts';
import { type PlaceCheck, StoreError } from '../store.ts';
import { identifyFile } from './file-place.ts';
import { type Connection, connect, connectReading, isAllowed, type Statement } from './sqlite-connection.ts';
import { loadDriver, toStoreError } from './sqlite-driver.ts';
import type { SqlValue } from './values.ts';
import type { SqlDatabase, Work } from './work.ts';

/**
 * One connection. Everything is synchronous, as the driver is. Failures of the disk or the file are thrown as a
 * StoreError (`unavailable` or `damaged`); any other error is a fault of this program and passes through.
 */
export interface Database {
  readonly file: string;
  /** This user may only read it: every statement that writes throws. */
  readonly isReadOnly: boolean;
  /** Gives the prepared statement of `sql`, prepared once per connection. */
  statement(sql: string): Statement;
  /** Runs statements that return no rows: schema, pragmas. */
  exec(sql: string): void;
  /**
   * Runs `work` between BEGIN IMMEDIATE and COMMIT; a throw rolls back. Do not nest it; `work` must be synchronous. After a disk
   * error the next one opens the file anew, and begins once all that is in the log could be written to the file itself; once the file was
   * replaced, every further one is refused. A commit that succeeds without that proves nothing.
   */
  transaction<T>(work: () => T): T;
  /**
   * Runs a statement that is a transaction by itself, which costs a fifth less than one between BEGIN and COMMIT. Refused
   * when `transaction` is.
   */
  runAlone(sql: string, ...values: SqlValue[]): { readonly changes: number };
  /**
   * Sets whether a commit of this opening waits for the disk (`true`, the state after opening) or only for the operating system:
   * then a power cut may lose the last commits, but never damages the file. Do not call it inside a transaction.
   */
  setDurable(durable: boolean): void;
  /**
   * From now on every statement of this process on the file waits for another process's lock this long at most, ms: a wait blocks
   * the event loop, and with it every heartbeat.
   */
  limitWait(ms: number): void;
  /** The file at the path, compared with the one that is open. */
  readonly place: PlaceCheck;
  close(): void;
}

/** The longest wait of a process that acts for an account, whose shortest heartbeat is sent each 1.25 s. */
export const ACTING_WAIT_MS = 300;

/** The open connections of this process, by device and inode of their file. */
const shared = new Map<string, Promise<Connection>>();

/**
 * Opens `file` in WAL mode, synchronous FULL. Creates it with its folders, readable by the owner alone. `:memory:` works. Where this user
 * may not write (`canWrite`), it is only read, and nothing is created beside it. Rejects with a StoreError that names the file.
 */
export async function openDatabase(file: string, canWrite: (path: string) => boolean = mayWrite): Promise<Database> {
  const { DatabaseSync } = await loadDriver();
  if (file === ':memory:') return new Opening(await connect(DatabaseSync, file));
  const path = resolve(file);
  createPrivately(path);
  const open = canWrite(path) ? connect : connectReading;
  for (;;) {
    const key = identifyFile(path) ?? path;
    const known = shared.get(key);
    const connecting = known ?? open(DatabaseSync, path, () => shared.delete(key));
    if (known === undefined) {
      shared.set(key, connecting);
      connecting.catch(() => shared.delete(key));
    }
    const connection = await connecting;
    // Its last user may have closed it in between.
    if (connection.isUsable) return new Opening(connection);
    if (shared.get(key) === connecting) shared.delete(key);
  }
}

/** The database for what is the same in every one. */
export function toSqlDatabase(database: Database): SqlDatabase {
  return {
    rows: async (sql, ...values) => database.statement(sql).all(...values),
    change: async (sql, ...values) => database.statement(sql).run(...values).changes,
    has: async (table, column) => hasTable(database, table, column),
    // A transaction locks the whole file, and a commit either returns or throws.
    async transact(_lock, work, { durable } = {}) {
      if (durable !== undefined) database.setDurable(durable);
      return database.transaction(() => finish(database, work()));
    },
    async close() {
      database.close();
    },
  };
}

function finish<T>(database: Database, work: Work<T>): T {
  let next = work.next();
  while (next.done !== true) {
    const statement = database.statement(next.value.sql);
    const values = next.value.values as readonly SqlValue[];
    next = work.next(
      next.value.sql.startsWith('SELECT')
        ? { rows: statement.all(...values), changes: 0 }
        : { rows: [], ...statement.run(...values) },
    );
  }
  return next.value;
}

/** Opens `file` and prepares it, such as by making its tables; closes it again where that fails. Rejects with a StoreError. */
export async function openPrepared(file: string, prepare: (database: Database) => void): Promise<Database> {
  const database = await openDatabase(file);
  try {
    prepare(database);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Whether the table exists, and has the column: a file that is only read may lack what its writers make later. */
export function hasTable(database: Pick<Database, 'statement'>, table: string, column?: string): boolean {
  const found = database.statement('SELECT name FROM pragma_table_info(?)').all(table);
  return found.some(({ name }) => column === undefined || name === column);
}

/**
 * Copies a database into a new file that only its owner can read, as it is at one instant, while others use it. Rejects with a
 * StoreError where the new file exists or either cannot be used.
 */
export async function copyDatabase(file: string, to: string): Promise<void> {
  const database = await openDatabase(file);
  try {
    if (identifyFile(resolve(to)) !== undefined) throw new StoreError('unavailable', `${to} exists already`);
    createPrivately(resolve(to));
    database.statement('VACUUM INTO ?').run(resolve(to));
  } finally {
    database.close();
  }
}

/**
 * Gives a database the contents of another one, in one transaction. Its file stays the same: a process that has the file open reads
 * the new contents, and does not remove the log of another file of the same name when it closes its own. Rejects with a StoreError.
 */
export async function overwriteDatabase(from: string, to: string): Promise<void> {
  const { DatabaseSync, backup } = await loadDriver();
  const source = new DatabaseSync(from);
  try {
    await backup(source, resolve(to), { rate: ALL_PAGES });
  } catch (error) {
    throw toStoreError(error, to);
  } finally {
    source.close();
  }
}
const ALL_PAGES = 2 ** 31 - 1;

/** Puts everything into the one file of a database that no other process uses, so that it can be moved; close it afterwards. */
export function sealDatabase(database: Database): void {
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  const { journal_mode: mode } = database.statement('PRAGMA journal_mode = DELETE').get() ?? {};
  if (mode !== 'delete') throw new StoreError('unavailable', `${database.file} is used by another process`);
}

/**
 * Takes the write lock of a file, until it is released or the process dies. Undefined, at once or after `withinMs`, when another
 * opening has it; this process must not write to the file by another opening meanwhile. Rejects with a StoreError.
 */
export async function holdFile(file: string, withinMs = 0): Promise<{ release(): void } | undefined> {
  const { DatabaseSync } = await loadDriver();
  const path = resolve(file);
  createPrivately(path);
  const connection = await connect(DatabaseSync, path);
  return connection.hold(withinMs) ? { release: () => connection.release() } : undefined;
}

/** One opening of a file: the shared connection, with the durability that this opener asked for. */
class Opening implements Database {
  readonly file: string;
  readonly isReadOnly: boolean;
  readonly place: PlaceCheck;
  private readonly connection: Connection;
  private readonly statements = new Map<string, Statement>();
  private readonly watches: (() => void)[] = [];
  private durable = true;
  private isClosed = false;

  constructor(connection: Connection) {
    this.connection = connection;
    this.file = connection.file;
    this.isReadOnly = connection.isReadOnly;
    this.place = {
      findReplaced: () => connection.findReplaced(),
      onReplaced: (listener) => {
        const off = connection.onReplaced(listener);
        this.watches.push(off);
        return off;
      },
    };
    connection.open();
  }

  statement(sql: string): Statement {
    const known = this.statements.get(sql);
    if (known !== undefined) return known;
    const { connection } = this;
    const statement = connection.statement(sql);
    const own: Statement = {
      ...statement,
      run: (...values) => {
        connection.setDurable(this.durable);
        return statement.run(...values);
      },
    };
    this.statements.set(sql, own);
    return own;
  }

  exec(sql: string): void {
    this.connection.setDurable(this.durable);
    this.connection.exec(sql);
  }

  transaction<T>(work: () => T): T {
    return this.connection.transaction(this.durable, work);
  }

  runAlone(sql: string, ...values: SqlValue[]): { readonly changes: number } {
    this.connection.requireSound();
    return this.statement(sql).run(...values);
  }

  setDurable(durable: boolean): void {
    this.durable = durable;
    this.connection.setDurable(durable);
  }

  limitWait(ms: number): void {
    this.connection.limitWait(ms);
  }

  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    for (const off of this.watches) off();
    this.connection.leave();
  }
}

/** A store is written through its file and through the log that SQLite makes beside it. */
function mayWrite(path: string): boolean {
  return isAllowed(path, constants.W_OK) && isAllowed(dirname(path), constants.W_OK);
}

/**
 * Creates the file before SQLite does, which would make it readable by everyone under the usual umask; -wal and -shm inherit. A file
 * that exists is not opened: see above.
 */
function createPrivately(path: string): void {
  if (identifyFile(path) !== undefined) return;
  try {
    makeFolders(dirname(path));
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    // Another process has just created it.
    if (identifyFile(path) !== undefined) return;
    const { code, message } = error as NodeJS.ErrnoException;
    const why =
      code === 'EEXIST' ? 'it is a link to a file that is not there; remove it, or put the file back' : message;
    throw new StoreError('unavailable', `${path} cannot be opened for writing: ${why}`);
  }
}

/**
 * The only module that uses the SQLite driver (sqlite-driver.ts). Opens a database file so that a commit survives a crash and several processes can
 * share it, and translates the driver's errors into messages. Knows no tables; the stores define them.
 *
 * A file has one connection per process, shared by everything that opens it, and is never opened beside the driver: closing any
 * descriptor of a file drops all locks of the process on it. Another program then takes the file for unused and removes its
 * write-ahead log, with every commit that is only there.
 */
import { accessSync, closeSync, constants, existsSync, openSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { makeFolders } from '../folder.ts';
import { type PlaceCheck, StoreAway, StoreError } from '../store.ts';
import { FilePlace, identifyFile } from './file-place.ts';
import {
  type Driver,
  type DriverConnection,
  type DriverStatement,
  loadDriver,
  readResultCode,
  SQLITE,
  toStoreError,
} from './sqlite-driver.ts';
import type { SqlRow, SqlValue, Statements } from './values.ts';

interface Statement {
  run(...values: SqlValue[]): { readonly changes: number };
  get(...values: SqlValue[]): SqlRow | undefined;
  all(...values: SqlValue[]): readonly SqlRow[];
  /** As `all`, but each row is a list in the order of its columns, which costs about half when there are very many rows. */
  tuples(...values: SqlValue[]): readonly (readonly SqlValue[])[];
}

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

const BUSY_TIMEOUT_MS = 10_000;
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

/** The statements of a database for what is the same in every one. */
export function statementsOf(database: Pick<Database, 'statement'>): Statements {
  return {
    rows: async (sql, ...values) => database.statement(sql).all(...values),
    change: async (sql, ...values) => database.statement(sql).run(...values).changes,
  };
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

async function connect(
  DatabaseSync: Driver['DatabaseSync'],
  path: string,
  onUnusable: () => void = () => {},
): Promise<Connection> {
  const open = () => {
    const driver = new DatabaseSync(path);
    driver.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    return driver;
  };
  let driver: DriverConnection | undefined;
  try {
    driver = open();
    await switchToWal(driver);
    driver.exec(SETTINGS);
    return new Connection(path, driver, onUnusable, { reopen: open });
  } catch (error) {
    driver?.close();
    throw toStoreError(error, path);
  }
}

const SETTINGS = 'PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF';

/** A store is written through its file and through the log that SQLite makes beside it. */
function mayWrite(path: string): boolean {
  return isAllowed(path, constants.W_OK) && isAllowed(dirname(path), constants.W_OK);
}

function isAllowed(path: string, mode: number): boolean {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    return false;
  }
}

/** A database that is only read. `isCurrent`: what is read is what the file holds; once it is not, it is opened anew. */
interface Reading {
  readonly driver: DriverConnection;
  isCurrent(): boolean;
}

async function connectReading(
  DatabaseSync: Driver['DatabaseSync'],
  path: string,
  onUnusable: () => void,
): Promise<Connection> {
  const read = () => openReading(DatabaseSync, path);
  const reading = read();
  return new Connection(path, reading.driver, onUnusable, { reading, read });
}

/**
 * Opens a database that this user may only read. With a log beside it, it is in use, and is read as every process reads it. Without
 * one everything is in the file, which SQLite then reads without a lock: what is read while it is written to is read again. Throws a
 * StoreError.
 */
function openReading(DatabaseSync: Driver['DatabaseSync'], path: string): Reading {
  const log = `${path}-wal`;
  const inUse = existsSync(log);
  const names = inUse ? [path, log, `${path}-shm`] : [path];
  const unread = names.find((each) => !isAllowed(each, constants.R_OK));
  if (unread !== undefined)
    throw new StoreError(
      'unavailable',
      existsSync(unread)
        ? `${unread} may not be read by this user`
        : `${path} was not closed cleanly, and can be read once a user who may write it has opened it`,
    );
  let driver: DriverConnection | undefined;
  try {
    const url = pathToFileURL(path);
    if (!inUse) url.search = '?immutable=1';
    const before = readStamp(path);
    driver = new DatabaseSync(url, { readOnly: true });
    driver.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}; PRAGMA trusted_schema = OFF`);
    return { driver, isCurrent: () => inUse || (readStamp(path) === before && !existsSync(log)) };
  } catch (error) {
    driver?.close();
    throw toStoreError(error, path);
  }
}

/** Changes with every write to the file. */
function readStamp(path: string): string {
  const { size, mtimeNs, ctimeNs } = statSync(path, { bigint: true });
  return `${size} ${mtimeNs} ${ctimeNs}`;
}

/** How a connection is opened anew: `reopen` one that writes, `read` one that only reads. */
interface ConnectionKind {
  readonly reading?: Reading;
  readonly read?: () => Reading;
  readonly reopen?: () => DriverConnection;
}

/** A connection of the driver, shared by all openings of its file in this process. */
class Connection {
  readonly file: string;
  private driver: DriverConnection;
  private readonly onUnusable: () => void;
  private kind: ConnectionKind;
  private place: FilePlace | undefined;
  private readonly statements = new Map<string, Statement>();
  private readonly listeners = new Set<(message: string) => void>();
  private openings = 0;
  private durable = true;
  private waitMs = BUSY_TIMEOUT_MS;
  /** Grows when the file is opened anew: statements of before belong to a connection that is closed. */
  private generation = 0;
  /** Why no further commit is promised: the disk failed, so the last one may or may not have reached it, or the file was replaced. */
  private broken: StoreError | undefined;
  private isClosed = false;

  constructor(file: string, driver: DriverConnection, onUnusable: () => void, kind: ConnectionKind) {
    this.file = file;
    this.driver = driver;
    this.onUnusable = onUnusable;
    this.kind = kind;
    if (file === ':memory:') return;
    // The log is opened by the first statement, and cannot be distinguished from a newer one before that.
    this.driver.exec('SELECT count(*) FROM sqlite_schema');
    this.place = new FilePlace(file);
  }

  get isReadOnly(): boolean {
    return this.kind.reading !== undefined;
  }

  get isUsable(): boolean {
    return !this.isClosed && this.broken?.reason !== 'replaced';
  }

  open(): void {
    this.openings += 1;
  }

  leave(): void {
    this.openings -= 1;
    if (this.openings > 0) return;
    this.isClosed = true;
    this.onUnusable();
    this.statements.clear();
    try {
      this.driver.close();
    } catch (error) {
      throw toStoreError(error, this.file);
    }
  }

  statement(sql: string): Statement {
    const known = this.statements.get(sql);
    if (known !== undefined) return known;
    const prepare = () => ({ statement: this.driver.prepare(sql), generation: this.generation });
    let prepared = this.guard(prepare);
    let listing: DriverStatement | undefined;
    const current = () => {
      if (prepared.generation !== this.generation) {
        prepared = prepare();
        listing = undefined;
      }
      return prepared.statement;
    };
    const statement: Statement = {
      run: (...values) => this.guard(() => ({ changes: Number(current().run(...values).changes) })),
      get: (...values) => this.guard(() => current().get(...values) as SqlRow | undefined),
      all: (...values) => this.guard(() => current().all(...values) as readonly SqlRow[]),
      tuples: (...values) =>
        this.guard(() => {
          current();
          // A statement returns rows as objects or as lists; its mode is fixed once it has run.
          if (listing === undefined) {
            listing = this.driver.prepare(sql);
            listing.setReturnArrays(true);
          }
          return listing.all(...values) as SqlValue[][];
        }),
    };
    this.statements.set(sql, statement);
    return statement;
  }

  exec(sql: string): void {
    this.guard(() => this.driver.exec(sql));
  }

  /** Throws where no commit is promised any more. */
  requireSound(): void {
    this.findReplaced();
    if (this.broken === undefined) return;
    if (this.broken.reason === 'replaced' || this.kind.reopen === undefined) throw this.broken;
    this.openAnew(this.kind.reopen);
  }

  /**
   * Opens the file anew after a disk error. The system may have dropped pages that it could not write and report nothing the next time,
   * so all that is in the log is written to the file itself before a commit is promised again. Throws a StoreAway where that fails.
   */
  private openAnew(reopen: () => DriverConnection): void {
    let driver: DriverConnection | undefined;
    try {
      // What the failed transaction still reads would keep its part of the log out of the file.
      this.driver.exec('ROLLBACK');
    } catch {}
    try {
      driver = reopen();
      // Before anything that can wait: it waits with every heartbeat.
      driver.exec(`PRAGMA busy_timeout = ${this.waitMs}`);
      driver.exec(SETTINGS);
      const { busy, log, checkpointed } = driver.prepare('PRAGMA wal_checkpoint(PASSIVE)').get() as SqlRow;
      if (busy !== 0 || log !== checkpointed) throw new StoreAway(`${this.file} is still read by another process`);
    } catch (error) {
      driver?.close();
      throw toStoreError(error, this.file);
    }
    this.durable = true;
    this.broken = undefined;
    this.replaceDriver(driver);
  }

  private replaceDriver(driver: DriverConnection): void {
    const before = this.driver;
    this.driver = driver;
    this.generation += 1;
    try {
      before.close();
    } catch {
      // It failed before; what it had is in the new one.
    }
    this.place = new FilePlace(this.file);
  }

  /** Opens a file that is only read anew where it was written to since; whether it was. */
  private readAnew(): boolean {
    const { reading, read } = this.kind;
    if (read === undefined || reading?.isCurrent() !== false) return false;
    const next = read();
    this.kind = { reading: next, read };
    this.replaceDriver(next.driver);
    return true;
  }

  limitWait(ms: number): void {
    this.waitMs = ms;
    this.exec(`PRAGMA busy_timeout = ${ms}`);
  }

  transaction<T>(durable: boolean, work: () => T): T {
    // In this sequence: opening the file anew forgets how durable its commits are, and within a transaction that is fixed.
    this.requireSound();
    this.setDurable(durable);
    this.statement('BEGIN IMMEDIATE').run();
    try {
      const result = work();
      this.statement('COMMIT').run();
      return result;
    } catch (error) {
      // SQLite rolls back by itself after some errors; a failing ROLLBACK must not hide the first error.
      try {
        this.driver.exec('ROLLBACK');
      } catch {}
      throw error;
    }
  }

  setDurable(durable: boolean): void {
    if (durable === this.durable) return;
    // A transaction that a disk error has left open keeps the setting.
    if (this.broken !== undefined) this.requireSound();
    this.exec(`PRAGMA synchronous = ${durable ? 'FULL' : 'NORMAL'}`);
    this.durable = durable;
  }

  findReplaced(): string | undefined {
    if (this.broken?.reason === 'replaced') return this.broken.message;
    const file = this.place?.findReplaced();
    if (file === undefined) return undefined;
    const message = `${file} is no longer the file that this process has open: it was removed or replaced meanwhile`;
    this.broken = new StoreError('replaced', message);
    this.onUnusable();
    for (const listener of [...this.listeners]) listener(message);
    return message;
  }

  onReplaced(listener: (message: string) => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  hold(withinMs: number): boolean {
    this.exec(`PRAGMA busy_timeout = ${withinMs}`);
    try {
      this.driver.exec('BEGIN IMMEDIATE');
      return true;
    } catch (error) {
      this.driver.close();
      if (readResultCode(error) === SQLITE.BUSY) return false;
      throw toStoreError(error, this.file);
    }
  }

  release(): void {
    // A statement that is not garbage-collected yet keeps the locks of a closed connection.
    this.exec('ROLLBACK');
    this.driver.close();
  }

  private guard<T>(work: () => T): T {
    try {
      this.readAnew();
      let result = work();
      while (this.readAnew()) result = work();
      return result;
    } catch (error) {
      const translated = toStoreError(error, this.file);
      if (translated instanceof StoreError && readResultCode(error) === SQLITE.IOERR) this.broken ??= translated;
      throw translated;
    }
  }
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

/** Switches to WAL mode. This does not wait for other connections as other statements do, so it retries. */
async function switchToWal(connection: DriverConnection): Promise<void> {
  for (let tries = 0; ; tries += 1) {
    try {
      const { journal_mode: mode } = connection.prepare('PRAGMA journal_mode = WAL').get() as { journal_mode: string };
      if (mode === 'wal' || mode === 'memory') return;
      throw new StoreError(
        'unavailable',
        `the file system does not support write-ahead logging (journal mode ${mode})`,
      );
    } catch (error) {
      if (readResultCode(error) !== SQLITE.BUSY || tries >= BUSY_TIMEOUT_MS / 20) throw error;
      await pause(20);
    }
  }
}

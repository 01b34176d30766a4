/**
 * One connection to a SQLite file: opens it so that a commit survives a crash, translates the driver's errors into messages, and opens
 * the file anew after an error of the disk, or where a file that is only read was written to. Knows no tables, and not who uses it.
 */
import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { StoreAway, StoreError } from '../store.ts';
import { FilePlace } from './file-place.ts';
import {
  type Driver,
  type DriverConnection,
  type DriverStatement,
  readResultCode,
  SQLITE,
  toStoreError,
} from './sqlite-driver.ts';
import type { SqlRow, SqlValue } from './values.ts';

export interface Statement {
  run(...values: SqlValue[]): { readonly changes: number };
  get(...values: SqlValue[]): SqlRow | undefined;
  all(...values: SqlValue[]): readonly SqlRow[];
  /** As `all`, but each row is a list in the order of its columns, which costs about half when there are very many rows. */
  tuples(...values: SqlValue[]): readonly (readonly SqlValue[])[];
}

const BUSY_TIMEOUT_MS = 10_000;

export async function connect(
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

export function isAllowed(path: string, mode: number): boolean {
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

export async function connectReading(
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
export class Connection {
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

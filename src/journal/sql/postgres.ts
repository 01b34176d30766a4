/**
 * The only door to the PostgreSQL driver, loaded at first use. Opens a database, makes the stores' tables in it, and runs
 * statements so that a commit survives a crash of the server; turns the driver's errors into sentences that never hold the
 * URL, whose host, user and password are nobody's business. Knows tables only to make them.
 *
 * A connection that is lost is made anew by the next call. Where it was lost while a commit was under way nobody knows
 * whether the commit happened: that is found out (`kept`), never guessed.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Pool, PoolClient } from 'pg';
import { StoreError } from '../store.ts';
import { POSTGRES_SCHEMA, SCHEMA_NAME, SCHEMA_VERSION } from './postgres-schema.ts';
import type { SqlRow, SqlValue } from './values.ts';

export interface PostgresAccess {
  /** `postgres://user:password@host:port/database`: a secret as a whole. What it leaves out comes from the PG* variables. */
  readonly url: string;
  /** How messages call the database: without anything of the URL. */
  readonly name: string;
}

/** A value of a parameter; lists are for `unnest`. */
type PostgresValue = SqlValue | readonly (string | number | null)[];
/** Runs one statement, parameters written `?`, and gives its rows; of an UPDATE without RETURNING, none but their number. */
export type Query = (sql: string, values?: readonly PostgresValue[]) => Promise<Answer>;
interface Answer {
  readonly rows: readonly SqlRow[];
  readonly changes: number;
}

interface TransactionOptions {
  /** False: the commit waits for the server's memory alone; a crash of the server may lose the last ones. */
  readonly durable?: boolean;
  /**
   * Whether what the transaction wrote is there, asked under the same lock on another connection when the answer to the
   * commit was lost. Without it such a commit counts as failed, and the caller has to expect either.
   */
  readonly kept?: (query: Query) => Promise<boolean>;
  /** How long a lost connection is tried again, as long as nothing was committed, ms. */
  readonly patienceMs?: number;
}

export interface PostgresDatabase {
  /** One statement in a transaction of its own. */
  readonly query: Query;
  /** As `query`, for what only reads: a lost connection is tried again for `patienceMs`. */
  read(sql: string, values: readonly PostgresValue[], patienceMs: number): Promise<readonly SqlRow[]>;
  /**
   * Runs `work` while no other transaction with the same lock runs, in any process: the lock is taken first and everything
   * is read afterwards, each statement seeing what was committed when it began. A throw rolls back.
   */
  transaction<T>(lock: string, work: (query: Query) => Promise<T>, options?: TransactionOptions): Promise<T>;
  close(): Promise<void>;
}

/** How long a caller waits, and how many connections it may have. */
interface PostgresTimeouts {
  readonly connections: number;
  /** For a connection to be made or to become free, ms. */
  readonly connectMs: number;
  /** For a lock that another transaction holds; shorter than `answerMs`, so that the server is the first to give up. */
  readonly lockMs: number;
  /** For the answer to one statement, ms. */
  readonly answerMs: number;
}

/**
 * How long what can be repeated is tried again, ms: a server that is restarted is away for seconds. Longer, and the deadman
 * switches of a run's orders would be the first to act.
 */
export const RESTART_PATIENCE_MS = 4_000;
/** Older servers were never tried. */
const OLDEST_SERVER = 120_000;
/** A process that stands still inside a transaction holds its lock no longer than this. */
const LONGEST_IDLE_MS = 5_000;
const RETRY_EVERY_MS = 200;

/**
 * Opens the database and makes the tables where they are missing. Rejects with a StoreError: `unavailable` when it can not
 * be reached or used, `damaged` when it holds the tables of another version.
 */
export async function openPostgres(access: PostgresAccess, manners: PostgresTimeouts): Promise<PostgresDatabase> {
  const { default: driver } = await import('pg');
  const database = new PooledDatabase(
    access.name,
    new driver.Pool({
      connectionString: access.url,
      application_name: 'perp-runbook',
      max: manners.connections,
      connectionTimeoutMillis: manners.connectMs,
      query_timeout: manners.answerMs,
      keepAlive: true,
      allowExitOnIdle: true,
      onConnect: (client) => settle(client, manners),
    }),
  );
  try {
    await prepare(database, access.name);
    return database;
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** What every statement relies on, whatever the server, the database or the user are set to. */
async function settle(client: { query(sql: string): Promise<unknown> }, { lockMs, answerMs }: PostgresTimeouts) {
  await client.query(`
    SET search_path TO ${SCHEMA_NAME};
    SET default_transaction_isolation TO 'read committed';
    SET lock_timeout TO ${lockMs};
    SET statement_timeout TO ${answerMs};
    SET idle_in_transaction_session_timeout TO ${LONGEST_IDLE_MS};
    SELECT set_config('synchronous_commit', 'on', false)
      WHERE current_setting('synchronous_commit') IN ('off', 'local')`);
}

async function prepare(database: PostgresDatabase, name: string): Promise<void> {
  const { rows } = await database.query(`SELECT current_setting('server_version_num')::int AS version,
    current_setting('server_encoding') AS encoding, to_regclass('${SCHEMA_NAME}.store_version') IS NOT NULL AS made`);
  const [server] = rows;
  if (Number(server?.version) < OLDEST_SERVER)
    throw new StoreError('unavailable', `${name} is served by a PostgreSQL older than version 12`);
  if (server?.encoding !== 'UTF8')
    throw new StoreError('unavailable', `${name} has the encoding ${String(server?.encoding)}; UTF8 is needed`);
  // Not IF NOT EXISTS alone: that asks for the right to create even where there is nothing to create.
  if (!server.made) await database.transaction('schema', (query) => makeSchema(query));
  const version = (await database.query('SELECT max(version) AS version FROM store_version')).rows[0]?.version;
  if (version !== SCHEMA_VERSION) {
    throw new StoreError(
      'damaged',
      `${name} holds a store of version ${String(version)}; this program reads version ${SCHEMA_VERSION}`,
    );
  }
}

async function makeSchema(query: Query): Promise<void> {
  const { rows } = await query(`SELECT to_regclass('${SCHEMA_NAME}.store_version') IS NOT NULL AS made,
    to_regnamespace('${SCHEMA_NAME}') IS NOT NULL AS named`);
  if (rows[0]?.made) return;
  if (!rows[0]?.named) await query(`CREATE SCHEMA ${SCHEMA_NAME}`);
  for (const statement of POSTGRES_SCHEMA) await query(statement);
  await query('INSERT INTO store_version (version) VALUES (?)', [SCHEMA_VERSION]);
}

/** The connection was lost or could not be made: another try may find the server again. */
class Unreachable extends StoreError {
  constructor(message: string) {
    super('unavailable', message);
  }
}

class PooledDatabase implements PostgresDatabase {
  private readonly name: string;
  private readonly pool: Pool;
  private closed = false;

  constructor(name: string, pool: Pool) {
    this.name = name;
    this.pool = pool;
    // An idle connection that breaks has left the pool already; without a listener it would end the process.
    pool.on('error', () => {});
  }

  readonly query: Query = (sql, values) => this.connected((client) => this.ask(client, sql, values));

  async read(sql: string, values: readonly PostgresValue[], patienceMs: number): Promise<readonly SqlRow[]> {
    const patience = AbortSignal.timeout(patienceMs);
    for (;;) {
      try {
        return (await this.query(sql, values)).rows;
      } catch (error) {
        if (!(error instanceof Unreachable) || patience.aborted) throw error;
      }
      await pause(RETRY_EVERY_MS);
    }
  }

  async transaction<T>(lock: string, work: (query: Query) => Promise<T>, options: TransactionOptions = {}): Promise<T> {
    const { kept, durable = true, patienceMs = 0 } = options;
    const patience = patienceMs === 0 ? AbortSignal.abort() : AbortSignal.timeout(patienceMs);
    for (;;) {
      let done: { readonly result: T } | undefined;
      try {
        return await this.connected(async (client, spoil) => {
          try {
            await this.begin(client, lock, durable);
            done = { result: await work((sql, values) => this.ask(client, sql, values)) };
          } catch (error) {
            if (!(error instanceof Unreachable)) await client.query('ROLLBACK').catch(spoil);
            throw error;
          }
          await this.commit(client);
          return done.result;
        });
      } catch (error) {
        if (!(error instanceof Unreachable)) throw error;
        // From here on it is certain: kept, or never to be.
        if (done !== undefined && kept === undefined) throw error;
        if (done !== undefined && kept !== undefined && (await this.found(lock, kept, patience))) return done.result;
        if (patience.aborted) throw error;
      }
      await pause(RETRY_EVERY_MS);
    }
  }

  async close(): Promise<void> {
    this.closed = true;
    await this.pool.end();
  }

  private async begin(client: PoolClient, lock: string, durable: boolean): Promise<void> {
    await this.ask(client, durable ? 'BEGIN' : 'BEGIN; SET LOCAL synchronous_commit TO off');
    await this.ask(client, 'SELECT pg_advisory_xact_lock(hashtextextended(?, 0))', [`${SCHEMA_NAME} ${lock}`]);
  }

  private async commit(client: PoolClient): Promise<void> {
    const { command } = await this.guarded(() => client.query('COMMIT'));
    if (command !== 'COMMIT') throw new Error(`a transaction that was to be committed ended with ${command}`);
  }

  /** Until the server can be asked: the old transaction, if it still lives, holds the lock until it has ended either way. */
  private async found(lock: string, kept: (query: Query) => Promise<boolean>, patience: AbortSignal): Promise<boolean> {
    for (;;) {
      try {
        return await this.transaction(lock, kept);
      } catch (error) {
        if (!(error instanceof StoreError)) throw error;
        if (!patience.aborted) await pause(RETRY_EVERY_MS);
        else if (error instanceof Unreachable)
          throw new StoreError('unavailable', `${error.message}; whether the last commit was kept is not known`);
        else throw error;
      }
    }
  }

  private async ask(client: PoolClient, sql: string, values: readonly PostgresValue[] = []): Promise<Answer> {
    const { rows, rowCount } = await this.guarded(() =>
      client.query<Record<string, SqlValue>>(numbered(sql), values as unknown[]),
    );
    return { rows, changes: rowCount ?? 0 };
  }

  /** On a connection of its own, which is given up for good where anything went wrong with it. */
  private async connected<T>(work: (client: PoolClient, spoil: () => void) => Promise<T>): Promise<T> {
    if (this.closed) throw new StoreError('unavailable', `${this.name} was closed by this process`);
    const client = await this.guarded(() => this.pool.connect());
    let spoilt = false;
    const spoil = () => {
      spoilt = true;
    };
    client.on('error', spoil);
    try {
      return await work(client, spoil);
    } catch (error) {
      if (error instanceof Unreachable) spoil();
      throw error;
    } finally {
      client.off('error', spoil);
      client.release(spoilt);
    }
  }

  private async guarded<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw asStoreError(error, this.name);
    }
  }
}

const numberedStatements = new Map<string, string>();

/** `?` as the server wants it: `$1`, `$2`. No statement has a question mark in a text. */
function numbered(sql: string): string {
  const known = numberedStatements.get(sql);
  if (known !== undefined) return known;
  let number = 0;
  const text = sql.replace(/\?/g, () => `$${++number}`);
  numberedStatements.set(sql, text);
  return text;
}

/** By SQLSTATE, the longest beginning that is listed: the reason, and what is said of the database. */
const FAILURES: Readonly<Record<string, readonly [reason: StoreError['reason'] | 'unreachable', sentence: string]>> = {
  '08': ['unreachable', 'broke the connection off'],
  '25006': ['unavailable', 'may only be read: it is a standby, or set to read only'],
  '28': ['unavailable', 'refuses the user or the password'],
  '3D000': ['unavailable', 'does not exist on its server'],
  '40': ['unreachable', 'rolled the transaction back for the sake of another'],
  '42501': ['unavailable', 'may not be used by this user: permission denied'],
  '42P01': ['damaged', 'lacks one of its tables'],
  '42703': ['damaged', 'lacks a column of one of its tables'],
  '53': ['unreachable', 'is out of resources: connections, memory or disk'],
  '53100': ['unavailable', 'could not be written: the disk is full'],
  '55P03': ['unavailable', 'was held by another process for too long'],
  '57014': ['unavailable', 'did not answer in time'],
  '57P01': ['unreachable', 'is shutting down'],
  '57P02': ['unreachable', 'has crashed and starts again'],
  '57P03': ['unreachable', 'is starting or shutting down'],
  '57P04': ['unavailable', 'was dropped'],
  '57P05': ['unreachable', 'broke an idle connection off'],
  '25P03': ['unreachable', 'broke a transaction off that stood still'],
  '58': ['unavailable', 'could not be read or written: its disk reported an error'],
  XX001: ['damaged', 'is damaged: its pages contradict each other'],
  XX002: ['damaged', 'is damaged: an index contradicts its table'],
};

/**
 * The driver's error as a StoreError, in words of our own: the driver's may name host and user. What the server says of a
 * statement is our own mistake, and keeps the server's text.
 */
function asStoreError(error: unknown, name: string): unknown {
  if (error instanceof StoreError || !(error instanceof Error)) return error;
  const { code } = error as { code?: unknown };
  const state = typeof code === 'string' ? code : '';
  if (/^[0-9A-Z]{5}$/.test(state) && 'severity' in error) {
    const known = FAILURES[state] ?? FAILURES[state.slice(0, 2)];
    if (known === undefined) return new Error(`${name} refused a statement (${state}): ${error.message}`);
    const [reason, sentence] = known;
    return reason === 'unreachable'
      ? new Unreachable(`${name} ${sentence}`)
      : new StoreError(reason, `${name} ${sentence}`);
  }
  if (/CERT|TLS|SIGNATURE|SSL/.test(state) || /\bSSL\b/.test(error.message))
    return new StoreError(
      'unavailable',
      `${name} can not be reached over TLS${state === '' ? '' : ` (${state})`}; its URL says how (sslmode, sslrootcert)`,
    );
  if (state === 'ERR_INVALID_URL' || error instanceof TypeError || /SASL|password must/.test(error.message))
    return new StoreError(
      'unavailable',
      `${name} can not be opened: its URL is not one of PostgreSQL, or lacks a part`,
    );
  return new Unreachable(
    /^E[A-Z_]+$/.test(state) ? `${name} can not be reached (${state})` : `${name} does not answer, or broke off`,
  );
}

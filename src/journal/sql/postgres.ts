/**
 * The only module that uses the PostgreSQL driver, which it loads at first use. Opens a database, creates the stores' tables,
 * and runs statements so that a commit survives a crash of the server. Translates the driver's errors into messages without the
 * URL, because its host, user and password are secret.
 *
 * The next call after a lost connection makes a new one. When the connection was lost during a commit, the commit may or may not
 * have happened: `kept` finds out, nothing is guessed.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Pool, PoolClient } from 'pg';
import { type Failure, makeStoreError, StoreAway, StoreError } from '../store.ts';
import { SET_ASIDE_ACTS } from './act-table.ts';
import { LATER_TABLES, POSTGRES_SCHEMA, SCHEMA_NAME, SCHEMA_VERSION } from './postgres-schema.ts';
import type { SqlRow, SqlValue } from './values.ts';
import {
  RESTART_PATIENCE_MS,
  type SqlAnswer,
  type SqlDatabase,
  type SqlParameter,
  type TransactionOptions,
  type Work,
} from './work.ts';

export interface PostgresAccess {
  /** `postgres://user:password@host:port/database`; all of it is secret. Missing parts come from the PG* variables. */
  readonly url: string;
  /** Name of the database in messages; contains nothing of the URL. */
  readonly name: string;
}

/** Runs one statement, parameters written `?`. */
export type Query = (sql: string, values?: readonly SqlParameter[]) => Promise<SqlAnswer>;

type QueryOptions = TransactionOptions<(query: Query) => Promise<boolean>>;

export interface PostgresDatabase {
  /** One statement in a transaction of its own. */
  readonly query: Query;
  /** Whether a table exists and has the column: who may not create tables may open a store that lacks the later ones. */
  has(table: string, column: string): Promise<boolean>;
  /** As `query`, for statements that only read: retries for `patienceMs` after a lost connection. */
  read(sql: string, values: readonly SqlParameter[], patienceMs: number): Promise<readonly SqlRow[]>;
  /**
   * Runs `work` while no other transaction with the same lock runs in any process. The lock is taken before anything is
   * read, and each statement sees what was committed when it began. A throw rolls back.
   */
  transaction<T>(lock: string, work: (query: Query) => Promise<T>, options?: QueryOptions): Promise<T>;
  close(): Promise<void>;
}

/** The database for what is the same in every one. `readingMs`: how long what only reads is retried after a lost connection. */
export function toSqlDatabase(database: PostgresDatabase, readingMs?: number): SqlDatabase {
  return {
    rows: async (sql, ...values) =>
      readingMs === undefined ? (await database.query(sql, values)).rows : database.read(sql, values, readingMs),
    change: async (sql, ...values) => (await database.query(sql, values)).changes,
    has: (table, column) => database.has(table, column),
    transact: (lock, work, { kept, ...options } = {}) =>
      database.transaction(lock, (query) => finish(query, work()), {
        ...options,
        ...(kept === undefined ? {} : { kept: async (query: Query) => kept !== 'repeat' && finish(query, kept()) }),
      }),
    close: () => database.close(),
  };
}

async function finish<T>(query: Query, work: Work<T>): Promise<T> {
  let next = work.next();
  while (next.done !== true) next = work.next(await query(next.value.sql, next.value.values));
  return next.value;
}

/** The longest waits of a caller, and its number of connections. */
interface PostgresTimeouts {
  readonly connections: number;
  /** Longest wait for a new or a free connection, ms. */
  readonly connectMs: number;
  /** Longest wait for a lock, ms; shorter than `answerMs`, so that the server gives up first. */
  readonly lockMs: number;
  /** Longest wait for the answer to one statement, ms. */
  readonly answerMs: number;
}

/** Versions before this one have not been tested. */
const OLDEST_SERVER = 120_000;
/** A process that hangs inside a transaction holds its lock no longer than this. */
const LONGEST_IDLE_MS = 5_000;
const RETRY_EVERY_MS = 200;

/**
 * Opens the database and creates missing tables. Rejects with a StoreError: `unavailable` when it cannot be reached or
 * used, `damaged` when it holds the tables of another version.
 */
export async function openPostgres(access: PostgresAccess, timeouts: PostgresTimeouts): Promise<PostgresDatabase> {
  const { default: driver } = await import('pg');
  const database = new PooledDatabase(
    access.name,
    new driver.Pool({
      connectionString: access.url,
      application_name: 'perp-runbook',
      max: timeouts.connections,
      connectionTimeoutMillis: timeouts.connectMs,
      query_timeout: timeouts.answerMs,
      keepAlive: true,
      allowExitOnIdle: true,
      onConnect: (client) => configureSession(client, timeouts),
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

/** Sets everything that statements rely on, whatever the settings of the server, the database and the user. */
async function configureSession(
  client: { query(sql: string): Promise<unknown> },
  { lockMs, answerMs }: PostgresTimeouts,
): Promise<void> {
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
  const { rows } = await database.query(
    `SELECT current_setting('server_version_num')::int AS version,
    current_setting('server_encoding') AS encoding, to_regclass('${SCHEMA_NAME}.store_version') IS NOT NULL AS made,
    NOT (${HAS_COLUMN} AND ${HAS_COLUMN}) AS lacks_later`,
    [...columnOf('account_row', 'text'), ...columnOf('account_act', 'type')],
  );
  const [server] = rows;
  if (Number(server?.version) < OLDEST_SERVER)
    throw new StoreError('unavailable', `${name} runs on a PostgreSQL older than version 12`);
  if (server?.encoding !== 'UTF8')
    throw new StoreError('unavailable', `${name} has the encoding ${String(server?.encoding)}; it must be UTF8`);
  // IF NOT EXISTS alone would need the right to create even when everything exists.
  if (!server.made) await database.transaction('schema', (query) => createSchema(query));
  else if (server.lacks_later) await database.transaction('schema', (query) => createLaterTables(query));
  const version = (await database.query('SELECT max(version) AS version FROM store_version')).rows[0]?.version;
  if (version !== SCHEMA_VERSION) {
    throw new StoreError(
      'damaged',
      `${name} holds a store of version ${String(version)}; this program reads version ${SCHEMA_VERSION}`,
    );
  }
}

async function createSchema(query: Query): Promise<void> {
  const { rows } = await query(`SELECT to_regclass('${SCHEMA_NAME}.store_version') IS NOT NULL AS made,
    to_regnamespace('${SCHEMA_NAME}') IS NOT NULL AS named`);
  if (rows[0]?.made) return;
  if (!rows[0]?.named) await query(`CREATE SCHEMA ${SCHEMA_NAME}`);
  for (const statement of POSTGRES_SCHEMA) await query(statement);
  await query('INSERT INTO store_version (version) VALUES (?)', [SCHEMA_VERSION]);
}

async function createLaterTables(query: Query): Promise<void> {
  const { rows } = await query(
    `SELECT has_schema_privilege('${SCHEMA_NAME}', 'CREATE') AS allowed, ${HAS_COLUMN} AS made, ${HAS_COLUMN} AS sound`,
    [...columnOf('account_act', 'line'), ...columnOf('account_act', 'type')],
  );
  if (!rows[0]?.allowed) return;
  if (rows[0].made && !rows[0].sound) await query(SET_ASIDE_ACTS);
  for (const statement of LATER_TABLES) await query(statement);
}

/** Whether a table exists and has a column; its parameters are `columnOf`. */
const HAS_COLUMN =
  'EXISTS (SELECT FROM pg_attribute WHERE attrelid = to_regclass(?) AND attname = ? AND NOT attisdropped)';
const columnOf = (table: string, column: string) => [`${SCHEMA_NAME}.${table}`, column];

class PooledDatabase implements PostgresDatabase {
  private readonly name: string;
  private readonly pool: Pool;
  /** Those that were found: no program removes them. */
  private readonly columns = new Set<string>();
  private closed = false;

  constructor(name: string, pool: Pool) {
    this.name = name;
    this.pool = pool;
    // A broken idle connection has left the pool already; without a listener its error would end the process.
    pool.on('error', () => {});
  }

  readonly query: Query = (sql, values) => this.connect((client) => this.ask(client, sql, values));

  async read(sql: string, values: readonly SqlParameter[], patienceMs: number): Promise<readonly SqlRow[]> {
    const patience = AbortSignal.timeout(patienceMs);
    for (;;) {
      try {
        return (await this.query(sql, values)).rows;
      } catch (error) {
        if (!(error instanceof StoreAway) || patience.aborted) throw error;
      }
      await pause(RETRY_EVERY_MS);
    }
  }

  async has(table: string, column: string): Promise<boolean> {
    const name = `${table}.${column}`;
    if (!this.columns.has(name)) {
      const [found] = await this.read(`SELECT ${HAS_COLUMN} AS made`, columnOf(table, column), RESTART_PATIENCE_MS);
      if (found?.made) this.columns.add(name);
    }
    return this.columns.has(name);
  }

  async transaction<T>(lock: string, work: (query: Query) => Promise<T>, options: QueryOptions = {}): Promise<T> {
    const { kept, durable = true, patienceMs = 0 } = options;
    const patience = patienceMs === 0 ? AbortSignal.abort() : AbortSignal.timeout(patienceMs);
    for (;;) {
      let done: { readonly result: T } | undefined;
      try {
        return await this.connect(async (client, spoil) => {
          try {
            await this.begin(client, lock, durable);
            done = { result: await work((sql, values) => this.ask(client, sql, values)) };
          } catch (error) {
            if (!(error instanceof StoreAway)) await client.query('ROLLBACK').catch(spoil);
            throw error;
          }
          await this.commit(client);
          return done.result;
        });
      } catch (error) {
        if (!(error instanceof StoreAway)) throw error;
        if (done !== undefined && kept === undefined) throw error;
        // Once `isKept` has answered, the fate of the commit is certain.
        if (done !== undefined && kept !== undefined && (await this.isKept(lock, kept, patience))) return done.result;
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
    const { command } = await this.translateErrors(() => client.query('COMMIT'));
    if (command !== 'COMMIT') throw new Error(`COMMIT ended the transaction with ${command}`);
  }

  /** Asks until the server answers. A transaction that is still running holds the lock, so the answer comes after its end. */
  private async isKept(
    lock: string,
    kept: (query: Query) => Promise<boolean>,
    patience: AbortSignal,
  ): Promise<boolean> {
    for (;;) {
      try {
        return await this.transaction(lock, kept);
      } catch (error) {
        if (!(error instanceof StoreError)) throw error;
        if (!patience.aborted) await pause(RETRY_EVERY_MS);
        else if (error instanceof StoreAway)
          throw new StoreAway(`${error.message}; the last commit may or may not have been stored`);
        else throw error;
      }
    }
  }

  private async ask(client: PoolClient, sql: string, values: readonly SqlParameter[] = []): Promise<SqlAnswer> {
    const { rows, rowCount } = await this.translateErrors(() =>
      client.query<Record<string, SqlValue>>(numberParameters(sql), values as unknown[]),
    );
    return { rows, changes: rowCount ?? 0 };
  }

  /** Runs `work` on a connection of its own, which is discarded after any error on it. */
  private async connect<T>(work: (client: PoolClient, spoil: () => void) => Promise<T>): Promise<T> {
    if (this.closed) throw new StoreError('unavailable', `${this.name} was closed by this process`);
    const client = await this.translateErrors(() => this.pool.connect());
    let spoilt = false;
    const spoil = () => {
      spoilt = true;
    };
    client.on('error', spoil);
    try {
      return await work(client, spoil);
    } catch (error) {
      if (error instanceof StoreAway) spoil();
      throw error;
    } finally {
      client.off('error', spoil);
      client.release(spoilt);
    }
  }

  private async translateErrors<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw toStoreError(error, this.name);
    }
  }
}

const numberedStatements = new Map<string, string>();

/** Replaces each `?` by `$1`, `$2` … as the server expects. No statement has a question mark in a text. */
function numberParameters(sql: string): string {
  const known = numberedStatements.get(sql);
  if (known !== undefined) return known;
  let number = 0;
  const text = sql.replace(/\?/g, () => `$${++number}`);
  numberedStatements.set(sql, text);
  return text;
}

const UPGRADE =
  '`runbook doctor --profile FILE` makes it where the login owns the schema; then run deploy/postgres/roles.sql again, as after each upgrade';

/** By SQLSTATE or its first two characters: the reason, and the message after the database's name. */
const FAILURES: Readonly<Record<string, readonly [failure: Failure, sentence: string]>> = {
  '08': ['away', 'closed the connection'],
  '25006': ['away', 'is read-only: it is a standby, or set to read only'],
  '28': ['unavailable', 'refuses the user or the password'],
  '3D000': ['unavailable', 'does not exist on its server'],
  '40': ['away', 'rolled the transaction back because it conflicted with another'],
  '42501': ['unavailable', 'refuses this user: permission denied'],
  '42P01': ['damaged', `lacks a table that this version uses; ${UPGRADE}`],
  '42703': ['damaged', `lacks a column that this version uses; ${UPGRADE}`],
  '53': ['away', 'is out of resources: connections, memory or disk'],
  '53100': ['away', 'could not be written: the disk is full'],
  '55P03': ['away', 'was held by another process for too long'],
  '57014': ['away', 'did not answer in time'],
  '57P01': ['away', 'is shutting down'],
  '57P02': ['away', 'crashed and is restarting'],
  '57P03': ['away', 'is starting or shutting down'],
  '57P04': ['unavailable', 'was dropped'],
  '57P05': ['away', 'closed an idle connection'],
  '25P03': ['away', 'aborted a transaction that was idle for too long'],
  '58': ['away', 'could not be read or written: its disk reported an error'],
  '58P01': ['unavailable', 'lacks one of its files'],
  XX001: ['damaged', 'is damaged: its pages contradict each other'],
  XX002: ['damaged', 'is damaged: an index contradicts its table'],
};

/**
 * Turns the driver's error into a StoreError with our own text, because the driver's may contain host and user. An error in a
 * statement is a fault of this program, and keeps the server's text.
 */
function toStoreError(error: unknown, name: string): unknown {
  if (error instanceof StoreError || !(error instanceof Error)) return error;
  const { code } = error as { code?: unknown };
  const state = typeof code === 'string' ? code : '';
  if (/^[0-9A-Z]{5}$/.test(state) && 'severity' in error) {
    const known = FAILURES[state] ?? FAILURES[state.slice(0, 2)];
    if (known === undefined) return new Error(`${name} refused a statement (${state}): ${error.message}`);
    const [failure, sentence] = known;
    return makeStoreError(failure, `${name} ${sentence}`);
  }
  if (/CERT|TLS|SIGNATURE|SSL/.test(state) || /\bSSL\b/.test(error.message))
    return new StoreError(
      'unavailable',
      `${name} cannot be reached over TLS${state === '' ? '' : ` (${state})`}; check sslmode and sslrootcert in its URL`,
    );
  if (state === 'ERR_INVALID_URL' || error instanceof TypeError || /SASL|password must/.test(error.message))
    return new StoreError('unavailable', `${name} cannot be opened: its URL is not a PostgreSQL URL, or lacks a part`);
  return new StoreAway(
    /^E[A-Z_]+$/.test(state)
      ? `${name} cannot be reached (${state})`
      : `${name} does not answer, or closed the connection`,
  );
}

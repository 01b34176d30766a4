/**
 * Defines the tables in PostgreSQL, in a schema of their own. The first process creates all of them in one transaction; they do
 * not change afterwards. A new version means a new number here and the statements that migrate to it.
 */
import { buildActSchema } from './act-table.ts';

export const SCHEMA_NAME = 'runbook';
export const SCHEMA_VERSION = 1;

/** Tables that stores made by 0.2 lack. Who may create makes them when it opens the store; older programs do not look at them. */
export const LATER_TABLES: readonly string[] = [
  `CREATE TABLE IF NOT EXISTS account_row (
    key TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (key, name)
  )`,
  ...buildActSchema('BIGINT'),
];

/** Columns match those of the SQLite tables, so that the same functions read the rows (rows.ts). */
export const POSTGRES_SCHEMA: readonly string[] = [
  'CREATE TABLE store_version (version INTEGER NOT NULL)',
  // The one definition of the clock of leases and ledgers: the server's.
  `CREATE FUNCTION server_ms() RETURNS DOUBLE PRECISION LANGUAGE sql VOLATILE
    AS 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::double precision'`,

  `CREATE TABLE runs (
    run TEXT COLLATE "C" PRIMARY KEY,
    runbook TEXT NOT NULL,
    mode TEXT NOT NULL,
    account TEXT NOT NULL,
    trigger TEXT NOT NULL,
    started_at BIGINT NOT NULL,
    ended_at BIGINT,
    outcome TEXT,
    epoch BIGINT NOT NULL DEFAULT 0
  )`,
  'CREATE INDEX runs_by_start ON runs (started_at DESC, run DESC)',
  'CREATE INDEX runs_unfinished ON runs (account, started_at) WHERE outcome IS NULL',
  `CREATE TABLE entries (
    run TEXT COLLATE "C" NOT NULL,
    seq BIGINT NOT NULL,
    at BIGINT NOT NULL,
    type TEXT NOT NULL,
    step TEXT NOT NULL,
    line TEXT NOT NULL,
    hash TEXT NOT NULL,
    PRIMARY KEY (run, seq)
  )`,

  `CREATE TABLE ledger (
    key TEXT PRIMARY KEY,
    revision BIGINT NOT NULL,
    text TEXT NOT NULL,
    offset_ms DOUBLE PRECISION NOT NULL,
    now_ms DOUBLE PRECISION NOT NULL
  )`,
  `CREATE TABLE lease (
    account TEXT PRIMARY KEY,
    epoch BIGINT NOT NULL,
    held_by TEXT,
    process TEXT NOT NULL,
    clock TEXT NOT NULL,
    until_ms DOUBLE PRECISION NOT NULL
  )`,
  `CREATE TABLE kill_event (
    sequence BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    action TEXT NOT NULL CHECK (action IN ('engage', 'release')),
    scope TEXT NOT NULL,
    by_name TEXT NOT NULL,
    reason TEXT NOT NULL,
    at BIGINT NOT NULL
  )`,
  `CREATE TABLE message (
    sequence BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run TEXT NOT NULL,
    command TEXT NOT NULL,
    by_name TEXT NOT NULL,
    at BIGINT NOT NULL,
    step TEXT,
    reason TEXT,
    read INTEGER NOT NULL DEFAULT 0
  )`,
  'CREATE INDEX message_pending ON message (run, sequence) WHERE read = 0',

  'CREATE TABLE agenda_epoch (account TEXT PRIMARY KEY, epoch BIGINT NOT NULL)',
  `CREATE TABLE agenda_slot (
    account TEXT NOT NULL,
    slot TEXT NOT NULL,
    known_since BIGINT NOT NULL,
    PRIMARY KEY (account, slot)
  )`,
  `CREATE TABLE occurrence (
    account TEXT NOT NULL,
    slot TEXT COLLATE "C" NOT NULL,
    nominal BIGINT NOT NULL,
    verdict TEXT NOT NULL,
    why TEXT,
    run TEXT,
    decided_at BIGINT NOT NULL,
    began TEXT,
    PRIMARY KEY (account, slot, nominal)
  )`,
  'CREATE INDEX occurrence_by_time ON occurrence (account, nominal, slot)',
  "CREATE INDEX occurrence_waiting ON occurrence (account, nominal) WHERE verdict = 'waiting'",
  "CREATE INDEX occurrence_promised ON occurrence (account, nominal) WHERE verdict = 'started' AND began IS NULL",
  'CREATE INDEX occurrence_run ON occurrence (run) WHERE run IS NOT NULL',
  `CREATE TABLE handover (
    sequence BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run TEXT NOT NULL UNIQUE,
    account TEXT NOT NULL,
    request TEXT NOT NULL,
    answer TEXT
  )`,
  'CREATE INDEX handover_posted ON handover (account, sequence) WHERE answer IS NULL',
  ...LATER_TABLES,
];

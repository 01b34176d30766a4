/**
 * Locates and opens stores: a SQLite file, or a PostgreSQL database known by the variable or file that holds its URL. The URL
 * is a secret; it is read again for every opening and is in no list, journal or message.
 */
import { existsSync, lstatSync, realpathSync, statSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { decodePercent, makePrintable } from '../../base/printable.ts';
import { loadStoreUrl, type Secret } from '../../gateway/live/secret.ts';
import type { AccountJournal } from '../../journal/account/acts.ts';
import { MemoryAccountJournal } from '../../journal/account/memory.ts';
import { openPostgresAccountJournal } from '../../journal/account/postgres.ts';
import { openSqliteAccountJournal } from '../../journal/account/sqlite.ts';
import { makeFolders } from '../../journal/folder.ts';
import { openPostgresScheduleStore } from '../../journal/schedule/postgres.ts';
import { openSqliteScheduleStore, openSqliteScheduleStoreToRead } from '../../journal/schedule/sqlite.ts';
import type { OccurrenceRow, ScheduleStore } from '../../journal/schedule/store.ts';
import { type AccountGuard, mergeHistories, openGuardedShared } from '../../journal/shared/account-guard.ts';
import { openSharedMemory } from '../../journal/shared/memory.ts';
import { openSharedPostgres } from '../../journal/shared/postgres.ts';
import type { KillEvent, Shared } from '../../journal/shared/shared.ts';
import { openAccountGuard, openSharedSqlite } from '../../journal/shared/sqlite.ts';
import type { PostgresAccess } from '../../journal/sql/postgres.ts';
import { type JournalStore, StoreAway, StoreError } from '../../journal/store.ts';
import { MemoryStore } from '../../journal/stores/memory.ts';
import { openPostgresStore } from '../../journal/stores/postgres.ts';
import { openSqliteStore } from '../../journal/stores/sqlite.ts';
import type { Profile, SecretReference } from '../../venue/profile/profile.ts';
import type { Environment } from '../environment.ts';
import { EXIT, UserError } from '../errors.ts';
import { requireOwnFolder, type StateFolder } from '../state.ts';
import { toSystemError } from '../system-errors.ts';

export type StorePlace =
  | { readonly kind: 'sqlite'; readonly file: string }
  | { readonly kind: 'postgres'; readonly url: SecretReference };

/**
 * The parts of a store that can be opened. Each rejects with a UserError (exit 2, or 4 where it does not answer), but `journal` with the
 * StoreError itself, for readers that handle damage.
 */
export interface StoreAccess {
  openJournal(): Promise<JournalStore>;
  /** Leases, kill switch, mailbox and token ledgers, with the guard of the user's accounts on this machine. */
  openShared(): Promise<Shared>;
  openScheduleStore(): Promise<ScheduleStore>;
  openAccountJournal(): Promise<AccountJournal>;
  /** What was done to the kill switch, in this store and by this user on this machine. Reading creates no file. */
  readKills(where?: 'of the store alone'): Promise<readonly KillEvent[]>;
  /** What schedulers decided for the account with this key. Reading makes no table. */
  readOccurrences(account: string): Promise<readonly OccurrenceRow[]>;
}

/** The place of a profile's store; the state folder's journal where the profile names none. */
export function chooseStorePlace({ store }: Pick<Profile, 'store'>, state: StateFolder): StorePlace {
  if (store === undefined) return { kind: 'sqlite', file: state.file('runbook.db') };
  if ('postgres' in store) return { kind: 'postgres', url: store.postgres };
  // Leases and anchors are beside the file itself, whatever name leads to it.
  return { kind: 'sqlite', file: findRealPath(resolve(store.sqlite)) };
}

/**
 * What distinguishes stores however they are spelled: device and inode of a file, server and database of a URL. Where
 * neither can be read, the spelling.
 */
export function identifyStore(place: StorePlace, environment: Environment): string {
  if (place.kind === 'sqlite') {
    const found = statSync(place.file, { bigint: true, throwIfNoEntry: false });
    return found === undefined ? `file ${findRealPath(place.file)}` : `file ${found.dev}:${found.ino}`;
  }
  const { url: reference } = place;
  const read = loadStoreUrl(reference, readVariables(reference, environment));
  return 'secret' in read ? identifyDatabase(read.secret.reveal()) : describePlace(place);
}

const LOOPBACK: ReadonlySet<string> = new Set(['', 'localhost', '127.0.0.1', '[::1]']);

function identifyDatabase(text: string): string {
  if (!URL.canParse(text)) return `database ${text}`;
  const { hostname, port, pathname, username, searchParams } = new URL(text);
  const host = searchParams.get('host') ?? hostname.toLowerCase();
  const database = decodePercent(pathname.slice(1)) || username;
  return `database ${LOOPBACK.has(host) ? 'localhost' : host}:${port || searchParams.get('port') || '5432'}/${database}`;
}

/** The path without links, as far as it exists. */
function findRealPath(file: string): string {
  if (existsSync(file)) return realpathSync(file);
  const folder = dirname(file);
  return folder === file ? file : join(findRealPath(folder), basename(file));
}

/** Gives access to the store at a place. Nothing is opened and no URL is read until one of its functions is called. */
export function accessStore(place: StorePlace, environment: Environment): StoreAccess {
  const accountsFile = join(locateUserFolder(environment), 'accounts.db');
  if (place.kind === 'sqlite') {
    const { file } = place;
    return {
      openJournal: () => openSqliteStore(file),
      openShared: () =>
        convertStoreErrors(() =>
          openSharedSqlite({
            file: join(dirname(file), 'shared.db'),
            ledgerFile: locateUserFile('tokens.db', environment),
            accountsFile: locateUserFile('accounts.db', environment),
          }),
        ),
      openScheduleStore: () => convertStoreErrors(() => openSqliteScheduleStore(file)),
      openAccountJournal: () => openSqliteAccountJournal(file).catch(throwUserError),
      readKills: (where) =>
        convertStoreErrors(async () => {
          const events = await readKillsOf(join(dirname(file), 'shared.db'));
          return where === undefined ? mergeHistories(await readKillsOf(accountsFile), events) : events;
        }),
      readOccurrences: (account) => readOccurrencesOf(openSqliteScheduleStoreToRead(file), account),
    };
  }
  const access = () => accessDatabase(place, environment);
  return {
    openJournal: async () => openPostgresStore(access()),
    // The server decides for every machine; the guard keeps one user's processes on one machine apart even across stores.
    openShared: () =>
      convertStoreErrors(async () =>
        openGuardedShared(await openUserGuard(environment), () => openSharedPostgres(access())),
      ),
    openScheduleStore: () => convertStoreErrors(() => openPostgresScheduleStore(access())),
    openAccountJournal: async () => openPostgresAccountJournal(access()).catch(throwUserError),
    readKills: (where) =>
      convertStoreErrors(async () => {
        const shared = await openSharedPostgres(access());
        const events = await shared.killSwitch.history().finally(() => shared.close());
        return where === undefined ? mergeHistories(await readKillsOf(accountsFile), events) : events;
      }),
    readOccurrences: async (account) => readOccurrencesOf(openPostgresScheduleStore(access()), account),
  };
}

function readOccurrencesOf(
  opening: Promise<Pick<ScheduleStore, 'occurrences' | 'close'>>,
  account: string,
): Promise<readonly OccurrenceRow[]> {
  return convertStoreErrors(async () => {
    const store = await opening;
    return store.occurrences(account).finally(() => store.close());
  });
}

/** Reads the URL of a database. Throws a UserError (exit 2) where it cannot be read. */
export function accessDatabase(
  place: Extract<StorePlace, { kind: 'postgres' }>,
  environment: Environment,
): PostgresAccess {
  return { url: readUrl(place.url, environment).reveal(), name: describePlace(place) };
}

async function readKillsOf(file: string): Promise<readonly KillEvent[]> {
  if (!existsSync(file)) return [];
  const { killSwitch, close } = await openAccountGuard(file);
  return killSwitch.history().finally(close);
}

/** A store that keeps nothing: for actions that must work where no disk can be written. */
export function makeVolatileStore(nowMs: () => number): StoreAccess {
  return {
    openJournal: async () => new MemoryStore(),
    openShared: async () => openSharedMemory(nowMs),
    openScheduleStore: () => openSqliteScheduleStore(':memory:'),
    openAccountJournal: async () => new MemoryAccountJournal(),
    readKills: async () => [],
    readOccurrences: async () => [],
  };
}

/** Whether there is something to open: reading must not create a file. */
export function isThere(place: StorePlace): boolean {
  return place.kind === 'postgres' || existsSync(place.file);
}

/** The folder of the files beside a journal: anchors, refreshed tokens. For a database it is the state folder. */
export function locateFolder(place: StorePlace, state: StateFolder): string {
  return place.kind === 'sqlite' ? dirname(place.file) : dirname(state.file('anchors.jsonl'));
}

/** Describes a place to people. */
export function describePlace(place: StorePlace): string {
  if (place.kind === 'sqlite') return place.file;
  return `the PostgreSQL database of ${'env' in place.url ? place.url.env : place.url.file}`;
}

function readVariables(reference: SecretReference, environment: Environment) {
  return 'env' in reference ? { [reference.env]: environment.variable(reference.env) } : {};
}

function readUrl(reference: SecretReference, environment: Environment): Secret {
  const read = loadStoreUrl(reference, readVariables(reference, environment));
  if ('secret' in read) return read.secret;
  throw new UserError(
    makePrintable(`${read.problem}; runs are kept in the database it names`, 400),
    EXIT.usage,
    'configuration',
  );
}

/**
 * The user's own state folder, shared by all projects: an address has one token limit, and an account one process
 * (interface.md, Settled points).
 */
function locateUserFolder(environment: Environment): string {
  const home = environment.variable('HOME') ?? homedir();
  return join(environment.variable('XDG_STATE_HOME') ?? join(home, '.local', 'state'), 'perp-runbook');
}

function locateUserFile(name: string, environment: Environment): string {
  const folder = locateUserFolder(environment);
  makeFolders(folder);
  return join(folder, name);
}

/**
 * Throws a UserError (exit 2) where others can write to a folder that has leases and kill orders of the store. For a process that is to
 * act for an account: what stops it, as a kill or a person's cancel, must work all the same.
 */
export function requireOwnFolders(place: StorePlace, environment: Environment): void {
  const user = locateUserFolder(environment);
  if (existsSync(user)) requireOwnFolder(user, `the folder ${makePrintable(user, 300)}`);
  if (place.kind !== 'sqlite') return;
  const folder = dirname(place.file);
  if (existsSync(folder)) requireOwnFolder(folder, `the folder of the store, ${makePrintable(folder, 300)},`);
}

/** Opens the leases and kill orders of the user's accounts in all stores. */
export function openUserGuard(environment: Environment): Promise<AccountGuard> {
  return convertStoreErrors(() => openAccountGuard(locateUserFile('accounts.db', environment)));
}

/**
 * Opens the leases that every process of this user on this machine meets, whatever its home and state folder. Rejects with a
 * UserError, also where another user has made the folder.
 */
export function openMachineGuard(): Promise<AccountGuard> {
  return convertStoreErrors(async () => {
    const user = process.getuid?.();
    const folder = join(tmpdir(), user === undefined ? 'perp-runbook' : `perp-runbook-${user}`);
    makeFolders(folder);
    const { uid, mode } = lstatSync(folder);
    if (user !== undefined && (uid !== user || (mode & 0o077) !== 0))
      throw new UserError(`${folder} is not a folder of this user alone`, EXIT.usage, 'configuration');
    return openAccountGuard(join(folder, 'accounts.db'));
  });
}

/** Damage keeps its exit code (1): a reviewer asks for it. */
function throwUserError(error: unknown): never {
  throw toSystemError(error) ?? error;
}

/** Runs `open` and turns store errors into user errors about the configuration, but for a store that does not answer: that may pass. */
export async function convertStoreErrors<T>(open: () => Promise<T>): Promise<T> {
  try {
    return await open();
  } catch (error) {
    if (error instanceof StoreError && !(error instanceof StoreAway))
      throw new UserError(makePrintable(error.message), EXIT.usage, 'configuration');
    throw toSystemError(error) ?? error;
  }
}

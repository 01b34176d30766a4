/**
 * Restores a store while no process holds any of its accounts. A SQLite store gets the contents of a backup, and what it had is copied
 * first. Its file stays: SQLite removes logs by name, so a process with an older file open would remove the log of a new one.
 * PostgreSQL has been put back from its dump before. The restore is an act of a person in the journal of each account. Nothing that was
 * due since the backup is started.
 */
import { chmodSync, copyFileSync, existsSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { makePrintable } from '../../base/printable.ts';
import type { AccountJournal, ActData, NewAct, Who } from '../../journal/account/acts.ts';
import { openSqliteAccountJournal } from '../../journal/account/sqlite.ts';
import { makeFolders } from '../../journal/folder.ts';
import { openSqliteScheduleStore } from '../../journal/schedule/sqlite.ts';
import { makeDecidedAct, type ScheduleStore } from '../../journal/schedule/store.ts';
import type { Shared } from '../../journal/shared/shared.ts';
import { copyDatabase, type Database, holdFile, overwriteDatabase } from '../../journal/sql/sqlite.ts';
import { type JournalStore, KNOWN_AS, type RunFilter, StoreAway, StoreError } from '../../journal/store.ts';
import { liftShared, makeRestored, type OpenedBackup, readBackup, readShared } from '../../journal/stores/backup.ts';
import { openRestoredDatabase } from '../../journal/stores/restored-database.ts';
import { openSqliteStore } from '../../journal/stores/sqlite.ts';
import type { Environment } from '../environment.ts';
import { EXIT, UserError } from '../errors.ts';
import { putInPlace, verifyCopy, verifyJournals, withOneFile } from './backup.ts';
import { accessDatabase, accessStore, describePlace, identifyStore, type StorePlace } from './location.ts';

export interface Restored {
  readonly accounts: readonly string[];
  readonly runs: number;
  readonly entries: number;
  /** Epoch ms: when the backup was made, and when it was restored. */
  readonly backupAt: number;
  readonly restoredAt: number;
  readonly epoch: number;
  /** The name of the store that was there; undefined where there was none. */
  readonly kept: string | undefined;
  /** Live runs that had not ended when the backup was made: resumed, they cancel what is open and place nothing. */
  readonly unfinished: readonly string[];
}

export interface RestoreRequest {
  readonly backup: string;
  readonly place: Extract<StorePlace, { kind: 'sqlite' }>;
  readonly who: Who;
  readonly nowMs: number;
  readonly environment: Environment;
}

/** Throws a UserError: exit 3 while a process holds an account, exit 1 for a file that cannot be restored; then nothing was changed. */
export async function restoreStore(request: RestoreRequest): Promise<Restored> {
  const { backup, place, environment } = request;
  const { file } = place;
  if (!statSync(backup, { throwIfNoEntry: false })?.isFile())
    throw makeFailure(`there is no file ${makePrintable(backup, 300)}; nothing was restored`);
  if (identifyStore({ kind: 'sqlite', file: backup }, environment) === identifyStore(place, environment))
    throw makeFailure(`${makePrintable(backup, 300)} is the store itself; nothing was restored`);
  // The folder of the store is not made before the copy was verified.
  const part = `${join(findExistingFolder(dirname(file)), basename(file))}.${process.pid}.part`;
  try {
    // A log is beside it where a person has opened it since.
    for (const suffix of ['', '-wal'])
      if (existsSync(`${backup}${suffix}`)) {
        copyFileSync(`${backup}${suffix}`, `${part}${suffix}`);
        chmodSync(`${part}${suffix}`, 0o600);
      }
    const verified = await withOneFile(part, async (copy) => {
      const opened = readBackup(copy);
      return { opened, counted: await verifyCopy(part, opened.anchors) };
    });
    requireLater(verified.opened.at, request.nowMs);
    return await replaceStore(part, verified, request);
  } catch (error) {
    // The person has not heard of the copy that was read.
    throw error instanceof StoreError ? makeFailure(makePrintable(error.message.replaceAll(part, backup), 400)) : error;
  } finally {
    removeDatabase(part);
    rmSync(nameAnchors(part), { force: true });
  }
}

/** The anchors of a copy, until they get their name. */
const nameAnchors = (part: string) => `${part}.anchors`;

/** What was due since the backup is missed until the time of the restore: by a clock that is behind, the rest would be started again. */
function requireLater(backupAt: number, nowMs: number): void {
  if (nowMs >= backupAt) return;
  const [then, now] = [backupAt, nowMs].map((at) => new Date(at).toISOString());
  throw makeFailure(
    `the backup is of ${then}, and the clock of this machine shows ${now}: set it; nothing was restored`,
  );
}

/** Removes a file of a database that no process has open, with what SQLite keeps beside it. */
function removeDatabase(file: string): void {
  for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(`${file}${suffix}`, { force: true });
}

/** A copy of a backup whose entries were read back. */
interface VerifiedCopy {
  readonly opened: OpenedBackup;
  readonly counted: Pick<Restored, 'runs' | 'entries'>;
}

/** Makes the verified copy in `part` the store, while no process holds one of its accounts. */
async function replaceStore(part: string, { opened, counted }: VerifiedCopy, request: RestoreRequest) {
  const { place, nowMs, environment } = request;
  const { file } = place;
  const folder = dirname(file);
  makeFolders(folder);
  const stamp = new Date(nowMs).toISOString().replace(/[-:.]/g, '');
  const shared = await accessStore(place, environment).openShared();
  const leases = new RestoreLeases(shared);
  const kept = existsSync(file) ? join(folder, `runbook.before-${stamp}.db`) : undefined;
  let isBegun = false;
  try {
    const prepared = await withOneFile(part, (copy) => prepare(copy, { opened, request, kept, leases }));
    if (kept !== undefined) await copyDatabase(file, kept);
    // Before the store is replaced: what follows that needs no room on the disk.
    if (opened.anchors !== '') writeFileSync(nameAnchors(part), opened.anchors, { mode: 0o600, flush: true });
    await leases.requireHeld();
    await leases.whileNobodyActs(join(folder, SHARED), async () => {
      isBegun = true;
      if (kept === undefined) {
        putLogAside(file, join(folder, `runbook.before-${stamp}.db`));
        putInPlace(part, file);
      } else await overwriteDatabase(part, file);
    });
    // Behind the store: anchors that are newer than it are forgiven by the restore in its journal, older ones find nothing missing.
    const known = join(folder, ANCHORS);
    if (existsSync(known)) renameSync(known, join(folder, `anchors.before-${stamp}.jsonl`));
    if (opened.anchors !== '') putInPlace(nameAnchors(part), known);
    return { ...counted, ...prepared };
  } catch (error) {
    // Nothing was replaced, so what was kept says of no restore.
    if (!isBegun && kept !== undefined) removeDatabase(kept);
    throw error;
  } finally {
    await leases.end();
    await shared.close();
  }
}

/** Keeps what a removed file of a store has left, under another name: SQLite reads a log into whatever file has its name. */
function putLogAside(file: string, kept: string): void {
  for (const suffix of ['-wal', '-shm', '-journal'])
    if (existsSync(`${file}${suffix}`)) renameSync(`${file}${suffix}`, `${kept}${suffix}`);
}

/** The folder, or the nearest one above it that exists. */
function findExistingFolder(folder: string): string {
  const above = dirname(folder);
  return existsSync(folder) || above === folder ? folder : findExistingFolder(above);
}

const ANCHORS = 'anchors.jsonl';
const SHARED = 'shared.db';
/** A lease is taken or renewed within milliseconds. */
const LOCK_WITHIN_MS = 5_000;

interface RestoreParts {
  readonly opened: OpenedBackup;
  readonly request: RestoreRequest;
  readonly kept: string | undefined;
  readonly leases: RestoreLeases;
}

/** Takes every account, and makes the copy the store that it will be. */
async function prepare(
  copy: Database,
  { opened, request: { place, who, nowMs }, kept, leases }: RestoreParts,
): Promise<Omit<Restored, 'runs' | 'entries'>> {
  const { keys, epoch } = await takeAccounts(join(dirname(place.file), SHARED), opened, leases);
  const times = { backupAt: opened.at, restoredAt: nowMs };
  const { unfinished, runs, accounts } = await readRestored(await openSqliteStore(copy.file), keys);
  const data = { ...times, epoch, runs, who, ...(kept === undefined ? {} : { kept: basename(kept) }) };
  await recordRestore(await openSqliteAccountJournal(copy.file), accounts, data);
  makeRestored(copy, nowMs);
  await recordDecided(await openSqliteScheduleStore(copy.file), await openSqliteAccountJournal(copy.file), nowMs);
  return { ...times, accounts, epoch, kept, unfinished };
}

/** Takes every account under the epoch of the restore: newer than everything in the backup and in the file of leases that is there. */
async function takeAccounts(sharedFile: string, opened: OpenedBackup, held: RestoreLeases) {
  const { leases } = await readShared(sharedFile);
  const epoch = Math.max(opened.epoch, ...leases.map((lease) => Number(lease['epoch']))) + 1;
  const keys = [...new Set([...opened.accounts, ...leases.map(({ account }) => String(account))])].sort();
  // Refused before anything is changed where a process holds one; only free ones are lifted.
  await held.take(keys);
  await held.release();
  await liftShared(sharedFile, keys, epoch, opened.kills);
  await held.take(keys);
  return { keys, epoch };
}

async function recordRestore(
  journal: AccountJournal,
  accounts: readonly string[],
  data: ActData['store.restored'] & { readonly who: Who },
): Promise<void> {
  const act: NewAct = { type: 'store.restored', by: data.who.name, at: data.restoredAt, data };
  try {
    for (const account of accounts) await journal.append(account, act);
  } finally {
    await journal.close();
  }
}

/** Journals what the restore decided about schedules. */
async function recordDecided(schedules: ScheduleStore, journal: AccountJournal, at: number): Promise<void> {
  try {
    for (const account of await schedules.decidedAccounts()) {
      const rows = (await schedules.occurrences(account)).filter(({ decidedAt }) => decidedAt === at);
      if (rows.length > 0) await journal.append(account, makeDecidedAct(rows) as NewAct);
    }
  } finally {
    await journal.close();
    await schedules.close();
  }
}

/**
 * Marks a database that was put back from a dump as restored. Throws a UserError: exit 3 while a process holds an account, exit 1 where an
 * entry does not verify; then nothing was changed.
 */
export async function markRestored({
  place,
  who,
  nowMs,
  environment,
}: Omit<RestoreRequest, 'backup' | 'place'> & {
  readonly place: Extract<StorePlace, { kind: 'postgres' }>;
}): Promise<Restored> {
  const access = accessStore(place, environment);
  try {
    const counted = await verifyJournals(await access.openJournal(), await access.openAccountJournal(), []);
    const database = await openRestoredDatabase(accessDatabase(place, environment));
    const shared = await access.openShared();
    const leases = new RestoreLeases(shared);
    try {
      const { accounts: keys, newestAt: backupAt } = database;
      if (keys.length === 0)
        throw makeFailure(`${describePlace(place)} has no account: put its dump back first; nothing was restored`);
      // Nothing shows which epochs the lost processes had: leases were not taken as often as once a second.
      const epoch = Math.max(database.epoch + 1, Math.floor(nowMs / 1000));
      await leases.take(keys);
      // Behind the leases: a process that holds one writes what is newer than the time of this command.
      requireLater(backupAt, nowMs);
      const { unfinished, runs, accounts } = await readRestored(await access.openJournal(), keys);
      const data = { backupAt, restoredAt: nowMs, epoch, runs, who };
      await recordRestore(await access.openAccountJournal(), accounts, data);
      await database.settle(keys, epoch, nowMs);
      await recordDecided(await access.openScheduleStore(), await access.openAccountJournal(), nowMs);
      return { ...counted, backupAt, restoredAt: nowMs, accounts, epoch, kept: undefined, unfinished };
    } finally {
      await leases.end();
      await shared.close();
      await database.close();
    }
  } catch (error) {
    throw error instanceof StoreError ? makeFailure(makePrintable(error.message, 400)) : error;
  }
}

interface RestoredParts {
  readonly unfinished: readonly string[];
  /** Those that had not ended, and those that halted: all that may be resumed. */
  readonly runs: readonly string[];
  /** Of the keys of leases, those of accounts. */
  readonly accounts: readonly string[];
}

/** Reads the live runs that may go on, and which of the leases' keys are accounts; closes the store. */
async function readRestored(store: JournalStore, keys: readonly string[]): Promise<RestoredParts> {
  try {
    const list = async (filter: RunFilter) =>
      (await store.runs(filter)).flatMap(({ run, mode }) => (mode === 'live' ? [run] : []));
    const unfinished = await list({ unfinished: true });
    const accounts: string[] = [];
    for (const key of keys)
      if (!(await store.accountRows(key)).some(({ name }) => name === KNOWN_AS)) accounts.push(key);
    return { unfinished, runs: [...unfinished, ...(await list({ outcome: 'halted' }))], accounts };
  } finally {
    await store.close();
  }
}

/** The leases on every account of the store, so that no process acts while its store is replaced. */
export class RestoreLeases {
  private readonly shared: Pick<Shared, 'leases'>;
  private held: { readonly account: string; readonly epoch: number }[] = [];

  constructor(shared: Pick<Shared, 'leases'>) {
    this.shared = shared;
  }

  /** Throws a UserError (exit 3) where a process holds one of them. */
  async take(accounts: readonly string[]): Promise<void> {
    for (const account of accounts) {
      this.held.push({ account, epoch: await this.acquire(account) });
    }
  }

  /**
   * Takes those again that ran out while a large store was copied. Throws a UserError (exit 3) where another process had one of them
   * meanwhile: what it wrote would be lost.
   */
  async requireHeld(): Promise<void> {
    const renewed: typeof this.held = [];
    for (const { account, epoch } of this.held) {
      const now = (await this.shared.leases.renew(account, epoch)) ? epoch : await this.acquire(account);
      renewed.push({ account, epoch: now });
      if (now > epoch + 1) throw refuseHeld(account, 'it has acted meanwhile');
    }
    this.held = renewed;
  }

  /**
   * Does `work` while no lease can be taken or renewed. Throws a UserError (exit 3) where a process has taken one since they were
   * renewed: this one may have been stopped for any time, and would write over the journal of a run that acts.
   */
  async whileNobodyActs(sharedFile: string, work: () => Promise<void>): Promise<void> {
    const lock = await holdFile(sharedFile, LOCK_WITHIN_MS);
    if (lock === undefined) throw new StoreAway(`${sharedFile} was held by another process for too long`);
    try {
      const epochs = new Map(
        (await readShared(sharedFile)).leases.map((row) => [row['account'], Number(row['epoch'])]),
      );
      const taken = this.held.find(({ account, epoch }) => epochs.get(account) !== epoch);
      if (taken !== undefined) throw refuseHeld(taken.account, 'it has acted meanwhile');
      await work();
    } finally {
      lock.release();
    }
  }

  private async acquire(account: string): Promise<number> {
    const answer = await this.shared.leases.acquire(account, 'restore');
    if (answer.kind === 'taken') throw refuseHeld(account, makePrintable(answer.heldBy, 200));
    return answer.epoch;
  }

  async release(): Promise<void> {
    for (const { account, epoch } of this.held.splice(0)) await this.shared.leases.release(account, epoch);
  }

  /** Releases them whatever became of the restore. One that cannot be released ends with this process: no failure of the restore. */
  async end(): Promise<void> {
    await this.release().catch(() => {});
  }
}

function refuseHeld(account: string, by: string): UserError {
  return new UserError(
    `the account ${makePrintable(account, 200)} is held by another process (${by}); stop it first. Nothing was restored`,
    EXIT.held,
    'held',
  );
}

function makeFailure(message: string): UserError {
  return new UserError(message, EXIT.failed, 'restore');
}

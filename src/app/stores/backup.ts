/**
 * Backs up a SQLite store while it is used, into one file: the store as it is at one instant, with its anchors and kill orders, read
 * back entry by entry before it gets its name.
 */

import { existsSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { makePrintable } from '../../base/printable.ts';
import type { AccountJournal } from '../../journal/account/acts.ts';
import { openSqliteAccountJournal } from '../../journal/account/sqlite.ts';
import { type Anchor, sortAnchors } from '../../journal/anchors/anchors.ts';
import { syncPath } from '../../journal/folder.ts';
import { copyDatabase, type Database, openDatabase, sealDatabase } from '../../journal/sql/sqlite.ts';
import { type JournalReader, StoreError } from '../../journal/store.ts';
import { makeBackup, readBackup } from '../../journal/stores/backup.ts';
import { openSqliteStore } from '../../journal/stores/sqlite.ts';
import { verifyChain, verifyRun } from '../../report/compare/verify.ts';
import { EXIT, UserError } from '../errors.ts';

export interface Backup {
  readonly file: string;
  readonly runs: number;
  readonly entries: number;
  /** Epoch ms: what happened later is not in it. */
  readonly at: number;
}

/** Backs up the store in `from` into `to`, which must not exist. Throws a UserError (exit 1) with the reason; then there is no file. */
export async function backUpStore(from: string, to: string, nowMs: number): Promise<Backup> {
  const file = resolve(to);
  // SQLite would read the log of an older backup into the new one.
  for (const name of [to, `${to}-wal`, `${to}-journal`])
    if (existsSync(resolve(name))) throw makeFailure(`${makePrintable(name, 300)} exists already; it was not changed`);
  if (!existsSync(from)) throw makeFailure(`there is no store ${makePrintable(from, 300)}; nothing was backed up`);
  const part = `${file}.${process.pid}.part`;
  try {
    const anchorsFile = join(dirname(from), 'anchors.jsonl');
    const sharedFile = join(dirname(from), 'shared.db');
    const anchors = existsSync(anchorsFile) ? readFileSync(anchorsFile, 'utf8') : '';
    await copyDatabase(from, part);
    const counted = await withOneFile(part, async (copy) => {
      const shared = existsSync(sharedFile) ? sharedFile : undefined;
      await makeBackup(copy, { sharedFile: shared, anchors, at: nowMs });
      return verifyCopy(part, readBackup(copy).anchors);
    });
    putInPlace(part, file);
    return { file, at: nowMs, ...counted };
  } catch (error) {
    for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(`${part}${suffix}`, { force: true });
    throw error instanceof StoreError ? makeFailure(makePrintable(error.message, 400)) : error;
  }
}

/** Works on a database that only this process uses, with one connection, and leaves one file. */
export async function withOneFile<T>(file: string, work: (database: Database) => Promise<T>): Promise<T> {
  const database = await openDatabase(file);
  try {
    const result = await work(database);
    sealDatabase(database);
    return result;
  } finally {
    database.close();
  }
}

/** Reads every entry of every run and account of a file, as `verifyJournals` does. */
export async function verifyCopy(file: string, anchorsText: string): Promise<Counted> {
  const { anchors } = sortAnchors(anchorsText.split('\n'), {});
  return verifyJournals(await openSqliteStore(file), await openSqliteAccountJournal(file), anchors);
}

interface Counted {
  readonly runs: number;
  readonly entries: number;
}

/**
 * Reads every entry of every run, against its hash, its row and its anchors, and the journals of the accounts, and closes both. Throws a
 * StoreError (`damaged`) at the first that is wrong.
 */
export async function verifyJournals(
  store: JournalReader,
  journal: AccountJournal,
  anchors: readonly Anchor[],
): Promise<Counted> {
  try {
    const rows = await store.runs();
    let entries = 0;
    for (const { run } of rows) {
      const verdict = await verifyRun(store, run, anchors);
      if (!verdict.ok)
        throw new StoreError(
          'damaged',
          `run ${run} does not verify: ${verdict.problem?.detail ?? 'its chain is broken'}`,
        );
      entries += verdict.entries;
    }
    for (const account of await journal.accounts()) {
      const { ok, problem } = await verifyChain(await journal.lines(account), anchors);
      if (!ok) throw new StoreError('damaged', `the journal of ${account} does not verify: ${problem?.detail}`);
    }
    return { runs: rows.length, entries };
  } finally {
    await journal.close();
    await store.close();
  }
}

/** Gives a whole file its name, on the disk when this returns. */
export function putInPlace(part: string, file: string): void {
  syncPath(part);
  renameSync(part, file);
  syncPath(dirname(file));
}

function makeFailure(message: string): UserError {
  return new UserError(message, EXIT.failed, 'backup');
}

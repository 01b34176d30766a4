/**
 * Opens the journals for reviewing commands: the state folder's own, those of live runs, and the archives of closed months,
 * read as one; or a single archive. Reading creates no file. Store errors become user errors. Entries are read in pages, so
 * memory does not grow with the length of a run.
 */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { makePrintable } from '../../base/printable.ts';
import { type Anchor, type ReadAnchors, readAnchors, sortAnchors } from '../../journal/anchors/anchors.ts';
import { ArchiveStore, openArchive, openSalvage } from '../../journal/archive/store.ts';
import {
  type AccountRow,
  filterRuns,
  type JournalReader,
  type JournalStore,
  type RunFilter,
  type RunRow,
  type StoredEntry,
  StoreError,
} from '../../journal/store.ts';
import { EXIT, UserError } from '../errors.ts';
import type { StateFolder } from '../state.ts';
import { asUserError, requireReadable } from '../system-errors.ts';
import type { Voice } from '../voice.ts';
import { listArchives } from './archives.ts';
import { findRun } from './find-run.ts';
import { listStorePlaces } from './known-stores.ts';
import { accessStore, isThere, locateFolder, type StorePlace } from './location.ts';

const JOURNAL_FILE = 'runbook.db';
/** File of anchors beside each journal. */
const ANCHORS_FILE = 'anchors.jsonl';

/** The stores to read: all that the state folder knows, or one archive. */
export interface Reviewed {
  readonly state: StateFolder;
  readonly archive?: string | undefined;
  /** Gets the reports of damaged archives. */
  readonly voice?: Pick<Voice, 'complain'>;
}

/** Opens the journals for `read` and closes them afterwards; undefined where there are none. */
export async function withJournal<T>(
  reviewed: Reviewed,
  read: (store: JournalReader) => Promise<T>,
): Promise<T | undefined> {
  return withPlaces(reviewed, listJournalPlaces(reviewed), read);
}

/** Like `withJournal`, of the archives alone. */
export function withArchives<T>(
  reviewed: Reviewed,
  read: (store: JournalReader) => Promise<T>,
): Promise<T | undefined> {
  return withPlaces(reviewed, [], read);
}

async function withPlaces<T>(
  reviewed: Reviewed,
  places: readonly StorePlace[],
  read: (store: JournalReader) => Promise<T>,
): Promise<T | undefined> {
  const { voice } = reviewed;
  const opened: ReadJournal[] = [];
  try {
    for (const place of places) opened.push(await accessStore(place, reviewed.state.environment).openJournal());
    const archives = openArchives(reviewed);
    for (const { damage } of archives)
      if (damage !== undefined) voice?.complain(`${makePrintable(damage, 400)}; the readable part is used`);
    opened.push(...archives);
    return opened.length === 0 ? undefined : await read(new Journals(opened));
  } catch (error) {
    throw error instanceof StoreError ? asUserError(error) : error;
  } finally {
    for (const store of opened) await store.close();
  }
}

/** Like `withJournal`, for commands that need a run: throws a UserError where there is no journal. */
export async function withRuns<T>(reviewed: Reviewed, read: (store: JournalReader) => Promise<T>): Promise<T> {
  const outcome = await withJournal(reviewed, async (store) => ({ value: await read(store) }));
  if (outcome === undefined) throw new UserError(describeNoRuns(reviewed.state));
  return outcome.value;
}

/** The same with one run, as a person names it. */
export async function withRun<T>(
  reviewed: Reviewed,
  name: string,
  read: (store: JournalReader, run: RunRow) => Promise<T>,
): Promise<T> {
  return withRuns(reviewed, async (store) => read(store, await findRun(store, name)));
}

export function describeNoRuns(state: StateFolder): string {
  return `there is no run yet: ${join(state.shown, JOURNAL_FILE)} is made by the first \`runbook dry-run FILE\`; --state shows the runs of another folder`;
}

export type AnchorsOfFile = ReadAnchors & {
  readonly file: string;
  /** All anchors of a file, and not only those of an archive's runs. */
  readonly isWhole?: true;
  /** It was kept elsewhere, where several machines may write it. */
  readonly isCopy?: true;
};

/**
 * The anchors beside every journal and in every archive, with the ends of runs that each archive records. `publicKey`: PEM;
 * with it only anchors signed with that key count. `run`: only the anchors of that run. `copies`: files that were kept elsewhere.
 */
export function readAnchorFiles(
  reviewed: Reviewed,
  wanted: {
    readonly publicKey?: string | undefined;
    readonly run?: string | undefined;
    readonly copies?: readonly string[];
  } = {},
): readonly AnchorsOfFile[] {
  const { state } = reviewed;
  const folders = [
    ...new Set([state.path, ...listJournalPlaces({ state }).map((place) => locateFolder(place, state))]),
  ];
  const read = (path: string, file = path): AnchorsOfFile => ({
    file,
    isWhole: true,
    ...checkWithKey(file, wanted, () => readAnchors(path, wanted)),
  });
  const beside = folders.map((folder) =>
    read(join(folder, ANCHORS_FILE), join(folder === state.path ? state.shown : folder, ANCHORS_FILE)),
  );
  for (const file of wanted.copies ?? []) {
    if (!existsSync(file)) throw new UserError(`${makePrintable(file, 300)} is not there`, EXIT.usage, 'configuration');
    beside.push({ ...read(file), isCopy: true });
  }
  const archives = openArchives(reviewed);
  const within = archives.map(({ file, contents, ends }): AnchorsOfFile => {
    const sorted = checkWithKey(file, wanted, () => sortAnchors(contents.anchors.map(anchorLine), wanted));
    return { file, ...sorted, anchors: [...sorted.anchors, ...ends.filter(({ run }) => isWanted(run, wanted))] };
  });
  if (reviewed.archive === undefined) return [...beside, ...within];
  // Of the journals' anchors, only those of runs in the archive: they name others, which are then not there.
  const held = (anchor: Anchor) => archives.some((archive) => archive.archived(anchor.run) !== undefined);
  return [
    ...beside.map(({ isWhole: _isWhole, ...each }) => ({ ...each, anchors: each.anchors.filter(held) })),
    ...within,
  ];
}

const anchorLine = (anchor: Anchor) => JSON.stringify(anchor);
const isWanted = (run: string, wanted: { readonly run?: string | undefined }) =>
  wanted.run === undefined || wanted.run === run;

function checkWithKey(
  file: string,
  { publicKey }: { readonly publicKey?: string | undefined },
  read: () => ReadAnchors,
) {
  try {
    return read();
  } catch (error) {
    const what =
      publicKey === undefined
        ? `cannot be read: ${makePrintable((error as Error).message, 300)}`
        : 'cannot be checked with this key, which must be a public key in PEM form, of an Ed25519 pair';
    throw new UserError(`${makePrintable(file, 300)} ${what}`, EXIT.usage, 'configuration');
  }
}

/** Places of the journals; none where a single archive is reviewed. */
export function listJournalPlaces({ state, archive }: Reviewed): readonly StorePlace[] {
  if (archive !== undefined || !existsSync(state.path)) return [];
  return listStorePlaces(state).filter(isThere);
}

/** Every known archive, or the named one. A damaged archive gives its readable part and does not hide the others. */
function openArchives(reviewed: Reviewed): readonly ArchiveStore[] {
  const known = OPENED.get(reviewed) ?? openArchivesOnce(reviewed);
  OPENED.set(reviewed, known);
  return known;
}

/** Opened archives by request: an archive never changes once it has its name, and a damaged one takes long to scan. */
const OPENED = new WeakMap<Reviewed, readonly ArchiveStore[]>();

function openArchivesOnce({ state, archive }: Reviewed): readonly ArchiveStore[] {
  if (archive === undefined) return listArchives(state).there.map(openSalvage);
  requireReadable(archive, 'archive');
  try {
    return [openArchive(resolve(archive))];
  } catch (error) {
    throw error instanceof StoreError ? asUserError(error) : error;
  }
}

/** Damaged archives, each with its problem. */
export function findDamagedArchives(
  reviewed: Reviewed,
): readonly { readonly file: string; readonly problem: string }[] {
  return openArchives(reviewed).flatMap(({ file, damage }) =>
    damage === undefined ? [] : [{ file, problem: makePrintable(damage, 400) }],
  );
}

export type ReadJournal = JournalStore | ArchiveStore;

/**
 * Several journals read as one. A run is in one of them, or briefly in both a journal and its archive, or in a store and in what that
 * was copied from: there its journal is not continued, so the one with most entries is read.
 */
class Journals implements JournalReader {
  private readonly stores: readonly ReadJournal[];
  private readonly ordered = new Map<string, Promise<readonly ReadJournal[]>>();

  constructor(stores: readonly ReadJournal[]) {
    this.stores = stores;
  }

  async read(
    run: string,
    range?: { readonly after?: number; readonly limit?: number },
  ): Promise<readonly StoredEntry[]> {
    for (const store of await this.order(run)) {
      const entries = await store.read(run, range);
      if (entries.length > 0) return entries;
    }
    return [];
  }

  async runs(filter: RunFilter = {}): Promise<readonly RunRow[]> {
    return listRuns(this.stores, filter);
  }

  async accountRows(key: string): Promise<readonly AccountRow[]> {
    const rows = await Promise.all(this.stores.map((store: JournalReader) => store.accountRows?.(key) ?? []));
    return rows.flat();
  }

  async chains(account: string): Promise<readonly string[]> {
    const stores = this.stores.filter((store) => !(store instanceof ArchiveStore));
    return (await Promise.all(stores.map((store) => store.lastAct(account)))).flatMap((act) => act?.run ?? []);
  }

  async run(run: string): Promise<RunRow | undefined> {
    return (await findLongestJournal(this.stores, run))?.row;
  }

  async close(): Promise<void> {
    for (const store of this.stores) await store.close();
  }

  /** The stores, that with most entries of the run first. */
  private order(run: string): Promise<readonly ReadJournal[]> {
    const known = this.ordered.get(run) ?? orderByEntries(this.stores, run);
    this.ordered.set(run, known);
    return known;
  }
}

/** The runs of all stores, each once: as its longest journal has it. */
export async function listRuns(stores: readonly ReadJournal[], filter: RunFilter = {}): Promise<readonly RunRow[]> {
  const lists = await Promise.all(stores.map((store) => store.runs(filter)));
  const once = new Map<string, RunRow>();
  // A copy that is not continued may show as unfinished what has ended elsewhere.
  const mayDiffer = filter.unfinished === true || filter.outcome !== undefined;
  const asked = new Set<string>();
  for (const row of lists.flat()) {
    if (mayDiffer || once.has(row.run)) asked.add(row.run);
    once.set(row.run, row);
  }
  for (const run of stores.length === 1 ? [] : asked) {
    const longest = await findLongestJournal(stores, run);
    if (longest !== undefined) once.set(run, longest.row);
  }
  return filterRuns(once.values(), filter);
}

/** The store with most entries of a run, and its row; undefined where none has it. */
export async function findLongestJournal(
  stores: readonly ReadJournal[],
  run: string,
): Promise<{ readonly row: RunRow; readonly store: ReadJournal } | undefined> {
  for (const store of await orderByEntries(stores, run)) {
    const row = await store.run(run);
    if (row !== undefined) return { row, store };
  }
  return undefined;
}

async function orderByEntries(stores: readonly ReadJournal[], run: string): Promise<readonly ReadJournal[]> {
  if (stores.length === 1) return stores;
  const counted: { readonly store: ReadJournal; readonly entries: number }[] = [];
  for (const store of stores) counted.push({ store, entries: await countEntries(store, run) });
  return counted.sort((a, b) => b.entries - a.entries).map(({ store }) => store);
}

/** The number of a run's last entry; 0 where the store does not have it. */
export async function countEntries(store: ReadJournal, run: string): Promise<number> {
  return store instanceof ArchiveStore ? (store.archived(run)?.entries ?? 0) : ((await store.last(run))?.seq ?? 0);
}

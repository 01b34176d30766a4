/**
 * The journals the reviewing verbs read: the state folder's own and those that live runs were written to, seen as one. They
 * are opened only where there are some (looking at runs makes no file), and the stores' errors become sentences. Entries
 * are read in pages, so that a long run needs no long memory.
 */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { printable } from '../base/printable.ts';
import { type ReadAnchors, readAnchors } from '../journal/anchors.ts';
import { readEntry } from '../journal/chain.ts';
import type { Entry } from '../journal/entry.ts';
import { openSqliteStore } from '../journal/sqlite-store.ts';
import { type JournalStore, type RunFilter, type RunRow, type StoredEntry, StoreError } from '../journal/store.ts';
import { EXIT, Refusal } from './exit.ts';
import type { StateFolder } from './state.ts';
import { storeFiles } from './store-list.ts';

const JOURNAL_FILE = 'runbook.db';
/** Beside each journal: how far its chains had come, written down a second time. */
const ANCHORS_FILE = 'anchors.jsonl';

/** Opens the journals for `read` and closes them after; undefined where there is none. */
export async function withJournal<T>(
  state: StateFolder,
  read: (store: JournalStore) => Promise<T>,
): Promise<T | undefined> {
  const files = journalFiles(state);
  if (files.length === 0) return undefined;
  const stores: JournalStore[] = [];
  try {
    for (const file of files) stores.push(await openSqliteStore(file));
    return await read(new Journals(stores));
  } catch (error) {
    throw error instanceof StoreError ? asRefusal(error) : error;
  } finally {
    for (const store of stores) await store.close();
  }
}

/** As `withJournal`, for what needs a run: without a journal there is none. */
export async function withRuns<T>(state: StateFolder, read: (store: JournalStore) => Promise<T>): Promise<T> {
  const outcome = await withJournal(state, async (store) => ({ value: await read(store) }));
  if (outcome === undefined) throw new Refusal(noRunYet(state));
  return outcome.value;
}

export function noRunYet(state: StateFolder): string {
  return `there is no run yet: ${join(state.shown, JOURNAL_FILE)} is made by the first \`runbook dry-run FILE\``;
}

/** The anchors beside every journal. `publicKey`: PEM; then only those signed with it count. */
export function anchorsOf(
  state: StateFolder,
  publicKey?: string,
): readonly (ReadAnchors & { readonly file: string })[] {
  const folders = [...new Set([state.path, ...journalFiles(state).map(dirname)])];
  return folders.map((folder) => {
    const file = join(folder === state.path ? state.shown : folder, ANCHORS_FILE);
    try {
      return { file, ...readAnchors(join(folder, ANCHORS_FILE), publicKey) };
    } catch (error) {
      const why = printable((error as Error).message, 300);
      const what =
        publicKey === undefined
          ? 'can not be read'
          : 'can not be checked with this key, which must be a public key in PEM form';
      throw new Refusal(`${printable(file, 300)} ${what}: ${why}`, EXIT.usage, 'configuration');
    }
  });
}

function journalFiles(state: StateFolder): readonly string[] {
  return existsSync(state.path) ? storeFiles(state).filter((file) => existsSync(file)) : [];
}

function asRefusal(error: StoreError): Refusal {
  if (error.reason !== 'damaged') return new Refusal(error.message, EXIT.usage, 'journal');
  const hint = error.message.startsWith('entry ') ? '; `runbook audit verify` says more' : '';
  return new Refusal(`${error.message}${hint}`, EXIT.failed, 'damaged');
}

/** Several journals to read as one. Each run is in one of them. */
class Journals implements JournalStore {
  private readonly stores: readonly JournalStore[];

  constructor(stores: readonly JournalStore[]) {
    this.stores = stores;
  }

  append(): Promise<void> {
    return Promise.reject(new StoreError('unavailable', 'a journal opened for review is not written to'));
  }

  async read(
    run: string,
    range?: { readonly after?: number; readonly limit?: number },
  ): Promise<readonly StoredEntry[]> {
    for (const store of this.stores) {
      const entries = await store.read(run, range);
      if (entries.length > 0) return entries;
    }
    return [];
  }

  async runs(filter: RunFilter = {}): Promise<readonly RunRow[]> {
    const rows = await Promise.all(this.stores.map((store) => store.runs(filter)));
    return rows
      .flat()
      .sort((a, b) => b.startedAt - a.startedAt || (a.run < b.run ? 1 : -1))
      .slice(0, filter.limit);
  }

  async run(run: string): Promise<RunRow | undefined> {
    for (const store of this.stores) {
      const row = await store.run(run);
      if (row !== undefined) return row;
    }
    return undefined;
  }

  async close(): Promise<void> {
    for (const store of this.stores) await store.close();
  }
}

const PAGE = 2000;

export async function* storedEntries(store: JournalStore, run: string): AsyncGenerator<StoredEntry> {
  for (let after = 0, more = true; more; ) {
    const page = await store.read(run, { after, limit: PAGE });
    yield* page;
    after = page.at(-1)?.seq ?? after;
    more = page.length === PAGE;
  }
}

/** Every entry of a run, in order. Throws StoreError `damaged` at a line that is none. */
export async function* entriesOf(store: JournalStore, run: string): AsyncGenerator<Entry> {
  for await (const stored of storedEntries(store, run)) yield readEntry(stored);
}

/** Feeds a fold with every entry of a run and gives it back. */
export async function folded<F extends { apply(entry: Entry): unknown }>(
  store: JournalStore,
  run: string,
  fold: F,
): Promise<F> {
  for await (const entry of entriesOf(store, run)) fold.apply(entry);
  return fold;
}

export async function allEntries(store: JournalStore, run: string): Promise<readonly Entry[]> {
  const entries: Entry[] = [];
  for await (const entry of entriesOf(store, run)) entries.push(entry);
  return entries;
}

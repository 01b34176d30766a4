/**
 * The journal in the state folder as the reviewing verbs open it: only where there is one (looking at runs makes no file),
 * and with the store's errors turned into sentences. Reads in pages, so that a long run needs no long memory.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readEntry } from '../journal/chain.ts';
import type { Entry } from '../journal/entry.ts';
import { openSqliteStore } from '../journal/sqlite-store.ts';
import { type JournalStore, type StoredEntry, StoreError } from '../journal/store.ts';
import { EXIT, Refusal } from './exit.ts';
import type { StateFolder } from './state.ts';

export const JOURNAL_FILE = 'runbook.db';
export const ANCHORS_FILE = 'anchors.jsonl';

/** Opens the journal for `read` and closes it after; undefined where there is none. */
export async function withJournal<T>(
  state: StateFolder,
  read: (store: JournalStore) => Promise<T>,
): Promise<T | undefined> {
  const file = join(state.path, JOURNAL_FILE);
  if (!existsSync(file)) return undefined;
  let store: JournalStore | undefined;
  try {
    store = await openSqliteStore(file);
    return await read(store);
  } catch (error) {
    throw error instanceof StoreError ? asRefusal(error, state) : error;
  } finally {
    await store?.close();
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

function asRefusal(error: StoreError, state: StateFolder): Refusal {
  if (error.reason !== 'damaged') return new Refusal(error.message, EXIT.usage, 'journal');
  return new Refusal(
    `${error.message}; \`runbook audit verify\` says what is wrong with ${join(state.shown, JOURNAL_FILE)}`,
    EXIT.failed,
    'damaged',
  );
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

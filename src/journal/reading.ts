/** Reads the journal of a run in pages: a run of days is longer than one query should be. */
import { settle } from '../base/clock.ts';
import { hasOwnColumns, readBriefly, readEntry } from './chain.ts';
import type { BriefEntry, Entry, EntryOf } from './entry.ts';
import { toCurrentType } from './entry-v1.ts';
import { expandEntry } from './round-line.ts';
import { type JournalReader, type StoredEntry, StoreError } from './store.ts';

const PAGE = 2000;

/** Between two pages the event loop gets a round: heartbeats, leases and signals of the process must not wait for a long journal. */
export async function* readStoredEntries(store: JournalReader, run: string): AsyncGenerator<StoredEntry> {
  for (let after = 0, more = true; more; ) {
    const page = await store.read(run, { after, limit: PAGE });
    yield* page;
    after = page.at(-1)?.seq ?? after;
    more = page.length === PAGE;
    if (more) await settle();
  }
}

/** The entries that stored lines hold, in sequence. Throws StoreError `damaged` at an unreadable line. */
export function* readLines(lines: Iterable<StoredEntry>): Generator<Entry> {
  for (const stored of lines) yield* expandEntry(readEntry(stored));
}

/** The entries of some types, by their present names; only lines that can hold one are parsed. */
export async function* readEntriesOf(
  store: JournalReader,
  run: string,
  types: ReadonlySet<string>,
): AsyncGenerator<Entry> {
  for await (const stored of readStoredEntries(store, run))
    if (stored.type === 'round.idle' || types.has(toCurrentType(stored.type)))
      for (const entry of readLines([stored])) if (types.has(entry.type)) yield entry;
}

/** A run's journal as its stored lines: each iteration parses them anew, so that its entries are never in memory together. */
export class RecordedRun implements Iterable<Entry> {
  readonly lines: readonly StoredEntry[];
  /** Whether the columns of every line are known to say what it says. */
  private readonly columnsHold: boolean;

  constructor(lines: readonly StoredEntry[], columnsHold = false) {
    this.lines = lines;
    this.columnsHold = columnsHold;
  }

  [Symbol.iterator](): Generator<Entry> {
    return readLines(this.lines);
  }

  /** What executing the run again needs of its entries. */
  *briefly(): Generator<BriefEntry> {
    for (const stored of this.lines)
      if (this.columnsHold && stored.type !== 'round.idle') yield readBriefly(stored);
      else yield* expandEntry(readEntry(stored));
  }

  /** The first `count` lines. */
  upTo(count: number): RecordedRun {
    return new RecordedRun(this.lines.slice(0, count), this.columnsHold);
  }
}

/**
 * Reads the stored lines of a run. `visit` is given each line with its entry, rounds that changed nothing as the one entry they are. Throws
 * StoreError `damaged` at an unreadable line, so that no iteration of the result does.
 */
export async function readRecordedRun(
  store: JournalReader,
  run: string,
  visit: (entry: Entry, stored: StoredEntry) => void = () => {},
): Promise<RecordedRun> {
  const lines: StoredEntry[] = [];
  let columnsHold = true;
  for await (const stored of readStoredEntries(store, run)) {
    const entry = readEntry(stored);
    expandEntry(entry).next();
    visit(entry, stored);
    lines.push(stored);
    columnsHold &&= hasOwnColumns(stored, entry);
    if (stored.type === 'round.idle') await settle();
  }
  return new RecordedRun(lines, columnsHold);
}

/** Every entry of a run in sequence. Throws StoreError `damaged` at an unreadable line. */
export async function* readEntries(store: JournalReader, run: string): AsyncGenerator<Entry> {
  for await (const stored of readStoredEntries(store, run)) {
    yield* expandEntry(readEntry(stored));
    if (stored.type === 'round.idle') await settle();
  }
}

/** A run's first entry. Throws StoreError `damaged` where it is not run.started. */
export async function readFirstEntry(store: JournalReader, run: string): Promise<EntryOf<'run.started'>> {
  const [stored] = await store.read(run, { limit: 1 });
  const entry = stored === undefined ? undefined : readEntry(stored);
  if (entry?.type !== 'run.started') throw new StoreError('damaged', `run ${run} does not begin with run.started`);
  return entry;
}

/** Applies every entry of a run to a fold and returns the fold. */
export async function foldEntries<F extends { apply(entry: Entry): unknown }>(
  store: JournalReader,
  run: string,
  fold: F,
): Promise<F> {
  for await (const entry of readEntries(store, run)) fold.apply(entry);
  return fold;
}

export async function readAllEntries(store: JournalReader, run: string): Promise<readonly Entry[]> {
  const entries: Entry[] = [];
  for await (const entry of readEntries(store, run)) entries.push(entry);
  return entries;
}

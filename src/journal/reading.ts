/** Reads the journal of a run in pages: a run of days is longer than one query should be. */
import { settle } from '../base/clock.ts';
import { BriefReader, EMPTY_HEAD, readEntry, toHead } from './chain.ts';
import type { BriefEntry, Entry, EntryOf } from './entry.ts';
import { toCurrentType } from './entry-v1.ts';
import { readHeldEntries } from './rounds/held-lines.ts';
import { expandEntry } from './rounds/round-line.ts';
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

  constructor(lines: readonly StoredEntry[]) {
    this.lines = lines;
  }

  [Symbol.iterator](): Generator<Entry> {
    return readLines(this.lines);
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
  for await (const stored of readStoredEntries(store, run)) {
    const entry = readEntry(stored);
    expandEntry(entry).next();
    visit(entry, stored);
    lines.push(stored);
    if (stored.type === 'round.idle') await settle();
  }
  return new RecordedRun(lines);
}

/** Author of an end that the engine did not write. */
export const RECOVERY = 'recovery';

/** Whether the last entry of a run is an end that its engine wrote. */
export async function hasEngineEnd(store: JournalReader, run: string): Promise<boolean> {
  let last: StoredEntry | undefined;
  for await (last of readStoredEntries(store, run));
  return last?.type === 'run.ended' && readEntry(last).actor !== RECOVERY;
}

/** The lines that were read are at their end, and the run is not. */
export class ReadTooLittle extends Error {}

/**
 * A run as far as its engine wrote it, read while it is executed again: of its lines those of the next turns are in memory. To be iterated
 * once; it throws StoreError `damaged` at an unreadable line, and ReadTooLittle where more is taken than was read.
 */
export class RecordAhead implements Iterable<BriefEntry> {
  private readonly store: JournalReader;
  private readonly run: string;
  private readonly ahead: number;
  private lines: readonly StoredEntry[] = [];
  private taken = 0;
  private readTo = 0;
  private isWhole = false;

  /** `ahead`: how many lines at least are in memory after `readOn`. */
  constructor(store: JournalReader, run: string, ahead: number) {
    this.store = store;
    this.run = run;
    this.ahead = ahead;
  }

  /** Reads on: to be awaited before the first entry is taken, and between turns. Undefined where enough was read. */
  readOn(): Promise<void> | undefined {
    return this.isWhole || this.lines.length - this.taken >= this.ahead ? undefined : this.readPage();
  }

  private async readPage(): Promise<void> {
    const { ahead } = this;
    const page = await this.store.read(this.run, { after: this.readTo, limit: ahead });
    this.lines = [...this.lines.slice(this.taken), ...page];
    this.taken = 0;
    this.readTo = page.at(-1)?.seq ?? this.readTo;
    this.isWhole = page.length < ahead;
    if (!this.isWhole) await settle();
  }

  *[Symbol.iterator](): Generator<BriefEntry> {
    const reader = new BriefReader();
    for (;;) {
      const stored = this.lines[this.taken];
      if (stored === undefined && !this.isWhole) throw new ReadTooLittle('more is taken of a record than was read');
      if (stored === undefined) return;
      this.taken += 1;
      const entry = reader.read(stored);
      if (entry.type === 'run.ended' && readEntry(stored).actor === RECOVERY) return;
      if (entry.type === 'round.idle') yield* expandEntry(entry as Entry);
      else yield entry;
    }
  }
}

/** Every entry of a run in sequence, also those that it holds back. Throws StoreError `damaged` at an unreadable line. */
export async function* readEntries(store: JournalReader, run: string): AsyncGenerator<Entry> {
  let head = EMPTY_HEAD;
  for await (const stored of readStoredEntries(store, run)) {
    yield* expandEntry(readEntry(stored));
    if (stored.type === 'round.idle') await settle();
    head = toHead(stored);
  }
  yield* readHeldEntries(store, run, head);
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

/** Reads the journal of a run in pages: a run of days is longer than one query should be. */
import { settle } from '../base/clock.ts';
import { EMPTY_HEAD, LineReader, readEntry, toHead } from './chain.ts';
import type { Entry, EntryOf } from './entry.ts';
import { toCurrentType } from './entry-v1.ts';
import { addBase, findBaseNumber, MOST_BASES, REPEATED } from './repeated-rows.ts';
import { readHeldEntries } from './rounds/held-lines.ts';
import { expandEntry } from './rounds/round-line.ts';
import { type JournalReader, type StoredEntry, StoreError } from './store.ts';

const PAGE = 2000;

/** After so many characters of lines others get a turn: a few milliseconds of hashing, parsing and folding. */
const TURN = 2 ** 18;

/** After so many entries of one line, which may stand for thousands. */
const ENTRIES_IN_TURN = 256;

/** Says when others get a turn between the entries that lines hold: a line of idle rounds alone is a second of folding. */
export class Turns {
  private count = 0;

  /** Whether others wait, asked after each entry. */
  isOver(): boolean {
    this.count += 1;
    return this.count % ENTRIES_IN_TURN === 0;
  }
}

/**
 * The lines of a run in parts of a page. Between two of them the event loop gets a round: heartbeats, leases and signals of the process
 * must not wait for a long journal.
 */
export async function* readPages(
  store: Pick<JournalReader, 'read'>,
  run: string,
  size: number,
): AsyncGenerator<readonly StoredEntry[]> {
  const bases = new Map<number, StoredEntry>();
  for (let after = 0, more = true; more; ) {
    const page = await readRange(store, run, { after, limit: size }, bases);
    after = page.at(-1)?.seq ?? after;
    more = page.length === size;
    for (let from = 0; from < page.length; ) {
      let end = from;
      for (let length = 0; end < page.length && length < TURN; end += 1) length += page[end]?.line.length ?? 0;
      yield from === 0 && end === page.length ? page : page.slice(from, end);
      from = end;
      if (more || from < page.length) await settle();
    }
  }
}

/**
 * A part of a run's lines; one that repeats rows of another has that with it, as `readEntry` needs it. `bases`: those found before, by
 * number, for who reads part after part; the one used last is the last.
 */
export async function readRange(
  store: Pick<JournalReader, 'read'>,
  run: string,
  range: { readonly after?: number; readonly limit?: number } = {},
  bases = new Map<number, StoredEntry>(),
): Promise<readonly StoredEntry[]> {
  const page = await store.read(run, range);
  if (!page.some(({ type }) => type === REPEATED)) return page;
  const own = new Map(page.map((stored) => [stored.seq, stored]));
  for (const number of page.map(findBaseNumber)) {
    if (number === undefined) continue;
    const [found] = own.has(number) || bases.has(number) ? [] : await store.read(run, { after: number - 1, limit: 1 });
    const base = own.get(number) ?? bases.get(number) ?? found;
    bases.delete(number);
    if (base !== undefined) bases.set(number, base);
  }
  const lines = page.map((stored) => addBase(stored, (number) => bases.get(number)));
  for (const number of [...bases.keys()].slice(0, -MOST_BASES)) bases.delete(number);
  return lines;
}

export async function* readStoredEntries(store: Pick<JournalReader, 'read'>, run: string): AsyncGenerator<StoredEntry> {
  for await (const page of readPages(store, run, PAGE)) yield* page;
}

/**
 * The entries that stored lines hold, in sequence. What a line repeats is among those before it, or it has it with it (`readRange`).
 * Throws StoreError `damaged` at an unreadable line.
 */
export function* readLines(lines: Iterable<StoredEntry>): Generator<Entry> {
  const reader = new LineReader();
  const before = new Map<string, StoredEntry>();
  for (const stored of lines) {
    const { run, seq, type, base } = stored;
    if (type === 'call.settled') before.set(`${seq} ${run}`, stored);
    const line = base === undefined ? addBase(stored, (number) => before.get(`${number} ${run}`)) : stored;
    yield* expandEntry(reader.read(line));
  }
}

/** The entries of some types, by their present names; only lines that can hold one are parsed. */
export async function* readEntriesOf(
  store: Pick<JournalReader, 'read'>,
  run: string,
  types: ReadonlySet<string>,
): AsyncGenerator<Entry> {
  const turns = new Turns();
  for await (const stored of readStoredEntries(store, run))
    if (stored.type === 'round.idle' || types.has(toEntryType(stored.type)))
      for (const entry of readLines([stored])) {
        if (types.has(entry.type)) yield entry;
        if (turns.isOver()) await settle();
      }
}

/** The type of the entry that a line of this type holds. */
function toEntryType(type: string): string {
  return type === REPEATED ? 'call.settled' : toCurrentType(type);
}

/** Author of an end that the engine did not write. */
export const RECOVERY = 'recovery';

/** Whether the last entry of a run is an end that its engine wrote. */
export async function hasEngineEnd(store: Pick<JournalReader, 'read'>, run: string): Promise<boolean> {
  let last: StoredEntry | undefined;
  for await (last of readStoredEntries(store, run));
  return last?.type === 'run.ended' && readEntry(last).actor !== RECOVERY;
}

/** What entries are read from; a run holds some back beside its lines. */
type EntrySource = Pick<JournalReader, 'read' | 'accountRows'>;

/** Every entry of a run in sequence, also those that it holds back. Throws StoreError `damaged` at an unreadable line. */
export async function* readEntries(store: EntrySource, run: string): AsyncGenerator<Entry> {
  let head = EMPTY_HEAD;
  const reader = new LineReader();
  const turns = new Turns();
  for await (const stored of readStoredEntries(store, run)) {
    for (const entry of expandEntry(reader.read(stored))) {
      yield entry;
      if (turns.isOver()) await settle();
    }
    head = toHead(stored);
  }
  yield* readHeldEntries(store, run, head);
}

/** A run's first entry. Throws StoreError `damaged` where it is not run.started. */
export async function readFirstEntry(store: Pick<JournalReader, 'read'>, run: string): Promise<EntryOf<'run.started'>> {
  const [stored] = await store.read(run, { limit: 1 });
  const entry = stored === undefined ? undefined : readEntry(stored);
  if (entry?.type !== 'run.started') throw new StoreError('damaged', `run ${run} does not begin with run.started`);
  return entry;
}

/** Applies every entry of a run to a fold and returns the fold. */
export async function foldEntries<F extends { apply(entry: Entry): unknown }>(
  store: EntrySource,
  run: string,
  fold: F,
): Promise<F> {
  for await (const entry of readEntries(store, run)) fold.apply(entry);
  return fold;
}

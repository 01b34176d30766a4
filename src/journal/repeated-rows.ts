/**
 * Lists that are read again and again: most rows of such an answer are those of a reading before. It is stored as a line that has the
 * new rows, and says at which places of an earlier line the others are, its base (docs/journal-format.md). Made where entries are stored and
 * undone where lines are read, so that everything else knows whole answers only.
 */
import type { Json, JsonObject } from './entry.ts';
import type { StoredEntry } from './store.ts';

/** The type of such a line; the entry that it holds is a `call.settled`. */
export const REPEATED = 'call.repeated';

/** A base is stored whole, so that a line needs one other line to be read, and never a third. */
const BASE = 'call.settled';

/** A list of fewer rows is stored whole: a person who reads the line finds all of them in it. */
const FEWEST_ROWS = 4;
/**
 * How many bases a run keeps for the readings to come: the lists of its loops, page by page. A page has at most 1000 rows. A line refers
 * to one of the bases that were used last, so that who reads the lines needs no more of them.
 */
export const MOST_BASES = 8;

/** Rows in their order: `count` of the base, from `first` (from 0) on, or new ones. */
type Part = { readonly first: number; readonly count: number } | { readonly rows: readonly Json[] };

/** In place of the rows of an answer; `of`: number of the line with the base. */
interface RepeatedResult {
  readonly of: number;
  readonly parts: readonly Part[];
}

interface Base {
  readonly seq: number;
  readonly size: number;
  /** The places of its rows, by their texts. */
  readonly places: ReadonlyMap<string, number>;
  /** New rows that the lines which refer to it have. */
  added: number;
}

/** Shortens the answers of one run, in the order in which they are stored. */
export class RepeatedRows {
  /** The one used last is the first. */
  private bases: readonly Base[] = [];
  private readonly fewest: number;

  constructor(fewest = FEWEST_ROWS) {
    this.fewest = fewest;
  }

  /** The data of the line under this number; undefined for an answer that is stored whole. */
  shorten(data: { readonly result?: Json }, seq: number): object | undefined {
    const { result } = data;
    if (!Array.isArray(result) || result.length < this.fewest) return undefined;
    const rows = result as readonly Json[];
    const texts = rows.map((row) => JSON.stringify(row));
    const base = this.bases.find(({ places }) => 2 * texts.filter((text) => places.has(text)).length >= texts.length);
    const parts = base === undefined ? [] : cutRows(rows, texts, base.places);
    const added = parts.reduce((sum, part) => sum + ('rows' in part ? part.rows.length : 0), 0);
    // The lines that refer to a base grow as its rows pass; once they have as many new rows as it has, a new one costs less.
    if (base === undefined || base.added + added > base.size) {
      this.keep({ seq, size: rows.length, places: placeRows(texts), added: 0 }, base);
      return undefined;
    }
    base.added += added;
    this.keep(base, base);
    const shortened: RepeatedResult = { of: base.seq, parts };
    return { ...data, result: shortened };
  }

  private keep(used: Base, instead: Base | undefined): void {
    this.bases = [used, ...this.bases.filter((each) => each !== instead)].slice(0, MOST_BASES);
  }
}

function placeRows(texts: readonly string[]): ReadonlyMap<string, number> {
  return new Map(texts.map((text, place) => [text, place]));
}

function cutRows(
  rows: readonly Json[],
  texts: readonly string[],
  places: ReadonlyMap<string, number>,
): readonly Part[] {
  const parts: ({ first: number; count: number } | { rows: Json[] })[] = [];
  for (const [index, row] of rows.entries()) {
    const place = places.get(texts[index] as string);
    const last = parts.at(-1);
    if (place === undefined) {
      if (last !== undefined && 'rows' in last) last.rows.push(row);
      else parts.push({ rows: [row] });
    } else if (last !== undefined && 'first' in last && last.first + last.count === place) last.count += 1;
    else parts.push({ first: place, count: 1 });
  }
  return parts;
}

/** Of the line that this one refers to, its number; undefined for a line that refers to none. */
export function findBaseNumber({ type, line }: Pick<StoredEntry, 'type' | 'line'>): number | undefined {
  // Before the parts a line has no other number of this name: what a venue sent is text there.
  const [, of] = (type === REPEATED ? /"of":(\d{1,15})\b/.exec(line) : undefined) ?? [];
  return of === undefined ? undefined : Number(of);
}

/** A line with the one that it refers to, which `find` gives by its number. */
export function addBase(stored: StoredEntry, find: (number: number) => StoredEntry | undefined): StoredEntry {
  const number = findBaseNumber(stored);
  const base = number === undefined ? undefined : find(number);
  return base === undefined ? stored : { ...stored, base };
}

/** The data of the whole answer; undefined where the line and its base do not go together. */
export function restoreRows(
  data: JsonObject,
  { base, rows }: { readonly base: Pick<StoredEntry, 'seq' | 'type'>; readonly rows: Json | undefined },
): JsonObject | undefined {
  const { of, parts } = (data['result'] ?? {}) as Partial<RepeatedResult>;
  if (of !== base.seq || base.type !== BASE || !Array.isArray(rows) || !Array.isArray(parts)) return undefined;
  const result: (readonly Json[])[] = [];
  for (const part of parts as readonly (Partial<{ first: number; count: number; rows: readonly Json[] }> | null)[]) {
    const { first = 0, count = 0, rows: own } = part ?? {};
    if (Array.isArray(own)) result.push(own);
    else if (Number.isSafeInteger(first) && first >= 0 && count > 0 && first + count <= rows.length)
      result.push((rows as readonly Json[]).slice(first, first + count));
    else return undefined;
  }
  return { ...data, result: result.flat() };
}

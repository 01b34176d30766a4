/**
 * The form of a `round.idle` entry: rounds of a loop that say what the round before them said, as the entries of the first round
 * and, for each figure that is not the same in every round, its differences from round to round. Expanding it gives the entries
 * back as they were appended, each field in its place; only `seq` and the hashes are those of the line that holds them.
 */
import { type Entry, type EntryOf, type EntryType, isInstant, type Json, type JsonObject } from './entry.ts';
import { type Figure, packColumn, unpackColumn, unpackNumbers } from './figure-columns.ts';
import { StoreError } from './store.ts';

/** An entry before it is sealed. */
export interface Draft {
  readonly type: EntryType;
  readonly step: string;
  readonly data: unknown;
  /** Where it is not the engine. */
  readonly actor?: string | undefined;
  /** As in the envelope. */
  readonly at: number;
  readonly mono: number;
}

/**
 * The types of entries that an idle round may have, and their fields whose values may differ from round to round: instants, what a
 * decision read (not its value), what an answer says of the token window, and what a request for a moving span of time asks. Any
 * other difference is news.
 */
const VARYING: Readonly<Partial<Record<EntryType, readonly string[]>>> = {
  'step.started': ['now'],
  'step.decided': ['inputs'],
  'step.ended': [],
  'variable.set': [],
  'call.intended': ['params'],
  'call.attempted': ['params', 'digest', 'waitedMs'],
  'call.settled': ['sentAt', 'headers'],
  'feed.read': ['at'],
};

/** The most rounds of one line, and the most entries of a round: what is held in memory, and lost with a process. */
export const MOST_ROUNDS = 600;
export const MOST_ENTRIES = 100;

/** Whether an entry can be part of a round that changed nothing: it read, or decided, and has no effect outside of the run. */
export function mayBeIdle({ type, data, actor }: Pick<Draft, 'type' | 'data' | 'actor'>): boolean {
  if (actor !== undefined) return false;
  const { endpoint, kind } = data as { readonly endpoint?: string; readonly kind?: string };
  if (type === 'call.intended') return endpoint?.startsWith('GET ') === true;
  return Object.hasOwn(VARYING, type) && (type !== 'call.settled' || kind === 'confirmed');
}

/** Parts of an entry's data, as the first round has them. `whole`: the part itself, where nothing in it differs from round to round. */
type Part =
  | { readonly kind: 'fixed'; readonly value: Json }
  /** A text that begins with the path of the round. */
  | { readonly kind: 'path'; readonly rest: string }
  | { readonly kind: 'figure'; readonly of: 'number' | 'string' }
  | { readonly kind: 'list'; readonly parts: readonly Part[]; readonly whole?: Json }
  | {
      readonly kind: 'object';
      readonly keys: readonly string[];
      readonly parts: readonly Part[];
      readonly whole?: Json;
    };

interface EntryShape {
  readonly type: EntryType;
  readonly step: Part;
  readonly data: Part;
}

/** What differs in one entry of one round: ms since the entry before it, and its figures in the order of the shape. */
export interface Found {
  readonly at: number;
  readonly mono: number;
  readonly figures: readonly Figure[];
}

type ShapeEntry = Pick<Draft, 'type' | 'step' | 'data'>;

/** A round's entries as stored, for comparing later rounds with them and for writing those. */
export class RoundShape {
  readonly length: number;
  /** Its number in the loop. */
  readonly number: number;
  private readonly read: (place: number) => ShapeEntry;
  private readonly path: string;
  private readonly shapes: EntryShape[] = [];

  /** `read`: parses an entry of the round, when it is first needed. */
  constructor(loop: string, number: number, length: number, read: (place: number) => ShapeEntry) {
    this.number = number;
    this.length = length;
    this.read = read;
    this.path = makeRoundPath(loop, number);
  }

  /** As they were written. */
  listEntries(): readonly ShapeEntry[] {
    return Array.from({ length: this.length }, (_, place) => this.read(place));
  }

  /** What differs in an entry at a place of the round; undefined where it is not the same entry. */
  match(place: number, draft: Draft, round: string): Found | undefined {
    if (place >= this.length || draft.actor !== undefined) return undefined;
    const shape = this.shapeOf(place);
    if (shape.type !== draft.type) return undefined;
    const figures: Figure[] = [];
    if (!matches(shape.step, draft.step, round, figures) || !matches(shape.data, draft.data, round, figures))
      return undefined;
    return { at: draft.at, mono: draft.mono, figures };
  }

  /** The entry at a place of the round, with the figures that `match` found. */
  rebuild(place: number, { at, mono, figures }: Found, round: string): Draft {
    const { type, step, data } = this.shapeOf(place);
    const rest = figures.values();
    return { type, step: fill(step, round, rest) as string, data: fill(data, round, rest), at, mono };
  }

  /** How many figures each of the round's entries has. */
  countFigures(): readonly number[] {
    return Array.from({ length: this.length }, (_, place) => {
      const { step, data } = this.shapeOf(place);
      return countOf(step) + countOf(data);
    });
  }

  private shapeOf(place: number): EntryShape {
    const known = this.shapes[place];
    if (known !== undefined) return known;
    const { type, step, data } = this.read(place);
    const shape = {
      type,
      step: toPart(step, this.path),
      data: toDataPart(data as JsonObject, VARYING[type] ?? [], this.path),
    };
    this.shapes[place] = shape;
    return shape;
  }
}

function countOf(part: Part): number {
  if (part.kind === 'figure') return 1;
  return part.kind === 'list' || part.kind === 'object' ? part.parts.reduce((sum, each) => sum + countOf(each), 0) : 0;
}

function toDataPart(data: JsonObject, varying: readonly string[], round: string): Part {
  const keys = Object.keys(data);
  const parts = keys.map((key) => toPart(data[key] as Json, round, varying.includes(key)));
  return { kind: 'object', keys, parts };
}

function toPart(value: Json, round: string, varies = false): Part {
  if (typeof value === 'string' && value.startsWith(round)) return { kind: 'path', rest: value.slice(round.length) };
  if (varies && typeof value === 'string') return { kind: 'figure', of: 'string' };
  if (varies && typeof value === 'number' && Number.isSafeInteger(value)) return { kind: 'figure', of: 'number' };
  if (typeof value !== 'object' || value === null) return { kind: 'fixed', value };
  const keys = Object.keys(value);
  const parts = keys.map((key) => toPart((value as JsonObject)[key] as Json, round, varies));
  const whole = parts.every((part) => part.kind === 'fixed' || ('whole' in part && part.whole !== undefined));
  const known = { parts, ...(whole ? { whole: value } : {}) };
  return Array.isArray(value) ? { kind: 'list', ...known } : { kind: 'object', keys, ...known };
}

/** Compares a value that is about to be written, where what is undefined is not written, with the stored one. */
function matches(part: Part, value: unknown, round: string, figures: Figure[]): boolean {
  switch (part.kind) {
    case 'fixed':
      return part.value === value;
    case 'path':
      return (
        typeof value === 'string' &&
        value.length === round.length + part.rest.length &&
        value.startsWith(round) &&
        value.endsWith(part.rest)
      );
    case 'figure':
      if (part.of === 'number' ? !Number.isSafeInteger(value) || Object.is(value, -0) : typeof value !== 'string')
        return false;
      figures.push(value as Figure);
      return true;
    case 'list':
      return (
        Array.isArray(value) &&
        value.length === part.parts.length &&
        part.parts.every((each, index) => matches(each, value[index], round, figures))
      );
    case 'object': {
      if (typeof value !== 'object' || value === null || Array.isArray(value) || 'toJSON' in value) return false;
      let place = 0;
      for (const key of Object.keys(value)) {
        const field = (value as Readonly<Record<string, unknown>>)[key];
        if (field === undefined) continue;
        if (part.keys[place] !== key || !matches(part.parts[place] as Part, field, round, figures)) return false;
        place += 1;
      }
      return place === part.keys.length;
    }
    default:
      return part satisfies never;
  }
}

function fill(part: Part, round: string, figures: Iterator<Figure>): Json {
  switch (part.kind) {
    case 'fixed':
      return part.value;
    case 'path':
      return round + part.rest;
    case 'figure':
      return figures.next().value as Figure;
    case 'list':
      return part.whole ?? part.parts.map((each) => fill(each, round, figures));
    case 'object': {
      if (part.whole !== undefined) return part.whole;
      const filled: Record<string, Json> = {};
      part.keys.forEach((key, index) => {
        const value = fill(part.parts[index] as Part, round, figures);
        // A plain assignment of this name would set the prototype.
        if (key === '__proto__') Object.defineProperty(filled, key, { value, enumerable: true, configurable: true });
        else filled[key] = value;
      });
      return filled;
    }
    default:
      return part satisfies never;
  }
}

/** The rounds of a loop from `first` on, each with what differs in its entries. */
export interface HeldRounds {
  /** The path of the loop, such as `steps/1:repeat`. */
  readonly loop: string;
  readonly first: number;
  readonly shape: RoundShape;
  readonly rounds: readonly (readonly Found[])[];
}

export function makeRoundPath(loop: string, round: number): string {
  return `${loop}[${round}]`;
}

/** The entry that stands for these rounds; its times are those of the last entry in it. */
export function packRounds({ loop, first, shape, rounds }: HeldRounds): Draft {
  const columns: Json[] = [];
  const starts = rounds.map((round) => (round[0] as Found).at);
  shape.countFigures().forEach((count, place) => {
    const at = rounds.map((round) => (round[place] as Found).at - (round[Math.max(0, place - 1)] as Found).at);
    columns.push(place === 0 ? packColumn(starts, []) : packColumn(at, starts));
    for (let index = 0; index < count; index += 1)
      columns.push(
        packColumn(
          rounds.map((round) => round[place]?.figures[index] as Figure),
          starts,
        ),
      );
  });
  const last = rounds.at(-1)?.at(-1) as Found;
  const data = {
    loop,
    first,
    rounds: rounds.length,
    firstAt: starts[0] as number,
    lastAt: last.at,
    like: shape.number,
    entries: shape.listEntries().map(({ type, step, data }) => ({ type, step, data })),
    columns,
  };
  // That of the entry which was written earliest in its turn: how long a run is away is measured from it (run-clock.ts).
  const zero = Math.max(...rounds.map((round) => Math.max(...round.map(({ at, mono }) => at - mono))));
  return { type: 'round.idle', step: loop, data, at: last.at, mono: Math.round((last.at - zero) * 1000) / 1000 };
}

/** The entries of the rounds that a `round.idle` entry stands for; another entry is given as it is. Throws StoreError `damaged`. */
export function* expandEntry(entry: Entry): Generator<Entry> {
  if (entry.type === 'round.idle') yield* expandRounds(entry);
  else yield entry;
}

function* expandRounds(entry: EntryOf<'round.idle'>): Generator<Entry> {
  const { v, run, seq, prev, boot, epoch, account, def, actor, hash } = entry;
  for (const { type, step, data, at, mono } of listDrafts(entry))
    yield { v, run, seq, at, type, step, prev, mono, boot, epoch, account, def, actor, data, hash } as Entry;
}

function listDrafts(entry: EntryOf<'round.idle'>): Iterable<Draft> {
  try {
    return unpackRounds(entry);
  } catch {
    const message = `entry ${entry.seq} of run ${entry.run} cannot be read: its rounds cannot be expanded`;
    throw new StoreError('damaged', message, entry.seq);
  }
}

function unpackRounds({ data, at: lastAt, mono: lastMono }: EntryOf<'round.idle'>): Iterable<Draft> {
  const { loop, first, rounds, like, entries, columns } = data;
  if (!Number.isSafeInteger(rounds) || rounds < 1 || rounds > MOST_ROUNDS) throw new RangeError('rounds');
  if (
    !Number.isSafeInteger(first) ||
    !Number.isSafeInteger(like) ||
    entries.length < 1 ||
    entries.length > MOST_ENTRIES
  )
    throw new RangeError('first');
  if (!entries.every((each) => mayBeIdle(each) && typeof each.step === 'string')) throw new TypeError('entries');
  const shape = new RoundShape(loop, like, entries.length, (place) => entries[place] as ShapeEntry);
  const starts = unpackNumbers(columns[0], rounds);
  const unpacked = columns.map((column) => unpackColumn(column, starts, rounds));
  const counts = shape.countFigures();
  if (unpacked.length !== counts.reduce((sum, count) => sum + count + 1, 0)) throw new RangeError('columns');
  const timeColumns = new Set(
    counts.map((_, place) => counts.slice(0, place).reduce((sum, count) => sum + count + 1, 0)),
  );
  const times = starts.map((_, round) => {
    let [column, at] = [0, 0];
    return counts.map((count) => {
      at += unpacked[column]?.[round] as number;
      column += count + 1;
      if (!isInstant(at)) throw new RangeError('not an instant');
      return at;
    });
  });
  const figures = unpacked.filter((_, column) => !timeColumns.has(column));
  return (function* () {
    for (const [round, ats] of times.entries()) {
      const path = makeRoundPath(loop, first + round);
      let column = 0;
      for (const [place, at] of ats.entries()) {
        const end = column + (counts[place] as number);
        const found = figures.slice(column, end).map((values) => values[round] as Figure);
        column = end;
        // The monotonic clock is kept of the last entry alone; between entries of one process it goes as the other does.
        yield shape.rebuild(place, { at, mono: lastMono - (lastAt - at), figures: found }, path);
      }
    }
  })();
}

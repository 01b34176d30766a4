/**
 * The form of a `round.idle` entry: rounds of a loop that did what the round before them did, and the heartbeats among them, as the
 * entries of the first of each and, for each figure that is not the same every time, its differences. Expanding it gives the
 * entries back as they were appended, each field in its place; only `seq` and the hashes are those of the line that holds them.
 */
import {
  type DataOf,
  type Entry,
  type EntryOf,
  type EntryType,
  isInstant,
  type Json,
  type JsonObject,
} from '../entry.ts';
import { StoreError } from '../store.ts';
import { type Figure, FigureColumn, unpackColumn, unpackNumbers } from './figure-columns.ts';
import {
  type Draft,
  FORM,
  type Found,
  HEARTBEAT_STEP,
  isOfHeartbeat,
  MOST_ENTRIES,
  MOST_ROUNDS,
  makeRoundPath,
  mayBeIdle,
  nameHeartbeat,
  RoundShape,
  type ShapeEntry,
} from './round-shape.ts';

/** What differs in a heartbeat, or in a reading of the switch, and where its entries stand among all that are held. */
export interface HeldHeartbeat {
  readonly shape: RoundShape;
  /** Of its call. */
  readonly number: number;
  readonly found: FoundEntries;
  readonly places: readonly number[];
}

/** What differs in the entries of a round or heartbeat, in their sequence; undefined for an entry that it lacks. */
export type FoundEntries = readonly (Found | undefined)[];

/** What differs in all rounds, or heartbeats, of one shape: for each entry a column of its instants, then one for each figure. */
class ShapeColumns {
  readonly shape: RoundShape;
  count = 0;
  /** Of an entry that a round may lack: in which rounds it is, as 1 and 0. */
  private readonly presence: readonly (FigureColumn | undefined)[];
  private readonly columns: readonly (readonly FigureColumn[])[];

  constructor(shape: RoundShape) {
    const places = shape.listPlaces();
    this.shape = shape;
    this.presence = places.map(({ isOptional }) => (isOptional ? new FigureColumn(false) : undefined));
    this.columns = places.map(({ figures }, place) =>
      Array.from({ length: figures + 1 }, (_, index) => new FigureColumn(place + index > 0)),
    );
  }

  add(entries: FoundEntries): void {
    this.count += 1;
    const start = (entries[0] as Found).at;
    let before = 0;
    for (let place = 0; place < this.columns.length; place += 1) {
      const found = entries[place];
      this.presence[place]?.add(found === undefined ? 0 : 1);
      if (found === undefined) continue;
      const { at, figures } = found;
      const columns = this.columns[place] as readonly FigureColumn[];
      columns[0]?.add(at - before, start);
      for (let index = 0; index < figures.length; index += 1) columns[index + 1]?.add(figures[index] as Figure, start);
      before = at;
    }
  }

  write(): readonly Json[] {
    return this.columns
      .flatMap((columns, place) => [this.presence[place] ?? [], columns].flat())
      .map((column) => column.write());
  }

  /** Makes them the empty columns that they were. */
  clear(): void {
    this.count = 0;
    for (const column of [...this.presence, ...this.columns.flat()]) column?.clear();
  }
}

/** Of heartbeats also a column of their numbers, and for each entry one of its places. */
class HeartbeatColumns extends ShapeColumns {
  private readonly numbers = new FigureColumn(false);
  private readonly places: readonly FigureColumn[];

  constructor(shape: RoundShape) {
    super(shape);
    this.places = Array.from({ length: shape.length }, () => new FigureColumn(false));
  }

  addHeartbeat({ number, places, found }: HeldHeartbeat): void {
    this.add(found);
    this.numbers.add(number);
    for (const [entry, column] of this.places.entries())
      column.add((places[entry] as number) - (places[entry - 1] ?? 0));
  }

  override clear(): void {
    super.clear();
    for (const column of [this.numbers, ...this.places]) column.clear();
  }

  writeHeartbeats(): NonNullable<DataOf<'round.idle'>['heartbeats']>[number] {
    const places = this.places.map((column) => column.write());
    return {
      count: this.count,
      like: this.shape.number,
      entries: listOf(this.shape) as readonly { type: EntryType; step: string; data: JsonObject }[],
      columns: [this.numbers.write(), ...places, ...this.write()],
    };
  }
}

/** An entry that stands for rounds of one loop and the heartbeats among them, while they are added; its times are those of the last. */
export class IdleLine {
  /** How many there are. */
  rounds = 0;
  heartbeats = 0;
  private columns: ShapeColumns | undefined;
  private byShape = new Map<RoundShape, HeartbeatColumns>();
  /** Of the line before, emptied: most lines of a loop are of the same shapes. */
  private usedByShape = new Map<RoundShape, HeartbeatColumns>();
  private firstAt = Number.POSITIVE_INFINITY;
  private lastAt = Number.NEGATIVE_INFINITY;
  /** Of the entry which was written earliest in its turn: how long a run is away is measured from it (run-clock.ts). */
  private zero = Number.NEGATIVE_INFINITY;

  addRound(shape: RoundShape, found: FoundEntries): void {
    const kept = this.rounds > 0 || this.columns?.shape === shape ? this.columns : undefined;
    const columns = kept ?? new ShapeColumns(shape);
    this.columns = columns;
    this.rounds += 1;
    columns.add(found);
    this.noteTimes(found);
  }

  addHeartbeat(heartbeat: HeldHeartbeat): void {
    this.heartbeats += 1;
    const { shape } = heartbeat;
    const columns = this.byShape.get(shape) ?? this.usedByShape.get(shape) ?? new HeartbeatColumns(shape);
    this.byShape.set(shape, columns);
    columns.addHeartbeat(heartbeat);
    this.noteTimes(heartbeat.found);
  }

  /** Makes it the empty line that it was. */
  clear(): void {
    this.rounds = 0;
    this.heartbeats = 0;
    this.columns?.clear();
    for (const columns of this.byShape.values()) columns.clear();
    this.usedByShape = this.byShape;
    this.byShape = new Map();
    this.firstAt = Number.POSITIVE_INFINITY;
    this.lastAt = Number.NEGATIVE_INFINITY;
    this.zero = Number.NEGATIVE_INFINITY;
  }

  private noteTimes(found: FoundEntries): void {
    for (const each of found) {
      if (each === undefined) continue;
      const { at, mono } = each;
      this.firstAt = Math.min(this.firstAt, at);
      this.lastAt = Math.max(this.lastAt, at);
      this.zero = Math.max(this.zero, at - mono);
    }
  }

  /** `loop`: its path, such as `steps/1:repeat`, and the number of the first round; heartbeats alone have neither. `shape`: of rounds. */
  write(loop: string, first: number, shape: RoundShape | undefined): Draft {
    const { firstAt, lastAt } = this;
    const columns = this.rounds === 0 ? undefined : this.columns;
    const heartbeats = [...this.byShape.values()].map((each) => each.writeHeartbeats());
    const step = columns === undefined ? HEARTBEAT_STEP : loop;
    const data = {
      loop: step,
      first: columns === undefined ? 0 : first,
      rounds: this.rounds,
      firstAt,
      lastAt,
      like: shape?.number ?? 0,
      ...(columns === undefined ? {} : { form: FORM }),
      entries: columns === undefined ? [] : listOf(columns.shape),
      columns: columns?.write() ?? [],
      ...(heartbeats.length === 0 ? {} : { heartbeats }),
    };
    const mono = Math.round((lastAt - this.zero) * 1000) / 1000;
    return { type: 'round.idle', step, data, at: lastAt, mono };
  }
}

/** The feeds that at least one of a line's rounds has read, from their columns alone: `nameFeed` of each. */
export function listFeedsRead({ loop, like, form, entries, columns }: DataOf<'round.idle'>): readonly string[] {
  const shape = RoundShape.ofRound(loop, like, entries.length, (place) => entries[place] as ShapeEntry, form);
  const read: string[] = [];
  let column = 0;
  for (const [place, { figures, isOptional }] of shape.listPlaces().entries()) {
    const { type, data } = entries[place] as ShapeEntry;
    const inNone = isOptional && JSON.stringify(columns[column]) === NEVER;
    if (type === 'feed.read' && !inNone) read.push(nameFeed(data as DataOf<'feed.read'>));
    column += figures + (isOptional ? 2 : 1);
  }
  return read;
}

/** A column of presence that has no 1. */
const NEVER = '["number",0]';

export function nameFeed({ name, key }: Pick<DataOf<'feed.read'>, 'name' | 'key'>): string {
  return JSON.stringify([name, key]);
}

function listOf(shape: RoundShape): readonly ShapeEntry[] {
  return shape.listEntries().map(({ type, step, data }) => ({ type, step, data }));
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

/** The monotonic clock is kept of the last entry alone; between entries of one process it goes as the other does. */
type LineEnd = Pick<Entry, 'at' | 'mono'>;

/** An entry of a round or of a heartbeat, before it is put together. */
interface Packed {
  readonly shape: RoundShape;
  readonly place: number;
  readonly found: Found;
  readonly path: string;
}

function unpackRounds({ data, at, mono }: EntryOf<'round.idle'>): Iterable<Draft> {
  const { loop, first, rounds, like, form = 1, entries, columns, heartbeats = [] } = data;
  if (form !== 1 && form !== FORM) throw new RangeError('form');
  if (!Number.isSafeInteger(first) || !Number.isSafeInteger(like)) throw new RangeError('first');
  const last = { at, mono };
  const shape = RoundShape.ofRound(loop, like, entries.length, (place) => entries[place] as ShapeEntry, form);
  requireCount(rounds, heartbeats.length === 0 ? 1 : 0);
  if (rounds > 0 && !entries.every((each) => mayBeIdle(each) && typeof each.step === 'string'))
    throw new TypeError('entries');
  const found = rounds === 0 ? [] : unpackTimes(shape, columns, rounds, last);
  const between = new Map(heartbeats.flatMap((each) => [...unpackHeartbeats(each, last)]));
  const total = found.flat().filter((each) => each !== undefined).length + between.size;
  if (between.size !== heartbeats.reduce((sum, each) => sum + each.count * each.entries.length, 0))
    throw new RangeError('two entries at one place');
  for (const place of between.keys()) if (place < 0 || place >= total) throw new RangeError('place');
  const ofRounds: Iterator<Draft, undefined> = listRounds(shape, found, loop, first);
  return (function* () {
    for (let place = 0; place < total; place += 1) {
      const heartbeat = between.get(place);
      if (heartbeat !== undefined) yield heartbeat.shape.rebuild(heartbeat.place, heartbeat.found, heartbeat.path);
      else yield ofRounds.next().value as Draft;
    }
  })();
}

function* listRounds(
  shape: RoundShape,
  rounds: readonly FoundEntries[],
  loop: string,
  first: number,
): Generator<Draft, undefined> {
  for (const [round, entries] of rounds.entries())
    for (const [place, found] of entries.entries())
      if (found !== undefined) yield shape.rebuild(place, found, makeRoundPath(loop, first + round));
}

function requireCount(count: number, least: number): void {
  if (!Number.isSafeInteger(count) || count < least || count > MOST_ROUNDS) throw new RangeError('rounds');
}

/** Each entry with its place among all of the line. */
function* unpackHeartbeats(
  { count, like, entries, columns }: NonNullable<DataOf<'round.idle'>['heartbeats']>[number],
  last: LineEnd,
): Generator<[number, Packed]> {
  requireCount(count, 1);
  if (!entries.every((each) => isOfHeartbeat(each))) throw new TypeError('entries');
  const shape = RoundShape.ofHeartbeat(like, entries.length, (place) => entries[place] as ShapeEntry);
  const numbers = unpackNumbers(columns[0], count);
  const steps = entries.map((_, entry) => unpackNumbers(columns[1 + entry], count));
  const found = unpackTimes(shape, columns.slice(1 + entries.length), count, last);
  for (const [index, number] of numbers.entries()) {
    let at = 0;
    for (const [place, column] of steps.entries()) {
      at += column[index] as number;
      yield [at, { shape, place, found: found[index]?.[place] as Found, path: nameHeartbeat(number) }];
    }
  }
}

/** What `ShapeColumns` wrote. Throws where it is not that. */
function unpackTimes(
  shape: RoundShape,
  columns: readonly Json[],
  rounds: number,
  last: LineEnd,
): readonly FoundEntries[] {
  if (shape.length < 1 || shape.length > MOST_ENTRIES) throw new RangeError('entries');
  const starts = unpackNumbers(columns[0], rounds);
  const found: (Found | undefined)[][] = Array.from({ length: rounds }, () => []);
  const newest: number[] = Array.from({ length: rounds }, () => 0);
  const rest = columns.values();
  const next = () => rest.next().value;
  for (const [place, { figures: count, isOptional }] of shape.listPlaces().entries()) {
    const presence = isOptional ? unpackNumbers(next(), rounds) : undefined;
    const present = [...starts.keys()].filter((round) => presence?.[round] !== 0);
    const ofPresent = present.map((round) => starts[round] as number);
    const unpack = (column: Json | undefined) =>
      present.length === 0 ? [] : unpackColumn(column ?? null, place === 0 ? [] : ofPresent, present.length);
    const times = unpack(next());
    const figures = Array.from({ length: count }, () => {
      const column = next();
      return present.length === 0 ? [] : unpackColumn(column ?? null, ofPresent, present.length);
    });
    for (const entries of found) entries.push(undefined);
    for (const [index, round] of present.entries()) {
      const at = (times[index] as number) + (newest[round] as number);
      if (!isInstant(at)) throw new RangeError('not an instant');
      newest[round] = at;
      const mono = last.mono - (last.at - at);
      (found[round] as (Found | undefined)[])[place] = {
        at,
        mono,
        figures: figures.map((values) => values[index] as Figure),
      };
    }
  }
  if (next() !== undefined) throw new RangeError('columns');
  return found;
}

/**
 * The shape of a round, or of a heartbeat: its entries as they were written, and which of their figures may differ where the loop does the
 * same once more. Compares later rounds with it, and puts them together again.
 */
import { setField } from '../../base/json.ts';
import type { EndpointName } from '../../venue/catalogue.ts';
import { type EntryType, isFeedRequest, type Json, type JsonObject } from '../entry.ts';
import type { Figure } from './figure-columns.ts';

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

/** By type of entry, the fields whose values may differ from one time to the next; a dot leads into a field. */
type Varying = Readonly<Partial<Record<EntryType, readonly string[]>>>;

/**
 * The types of entries that an idle round may have: what differs are instants, what a decision read (not its value), what an answer
 * says of the token window, and what a request for a moving span of time asks.
 */
const OF_ROUNDS: Varying = {
  'step.started': ['now'],
  'step.decided': ['inputs'],
  'step.ended': [],
  'variable.set': [],
  'call.intended': ['params'],
  'call.attempted': ['params', 'digest', 'waitedMs'],
  'call.settled': ['sentAt', 'headers'],
  'feed.read': ['at'],
};

/**
 * Figures that may differ too, and are news where they do: what was read, and what the run keeps of it. Not what is said of orders and
 * fills: the run acts on that outside of its steps, so a round in which it changes is written in full.
 */
const NEWS: Varying = {
  'step.ended': ['value'],
  'variable.set': ['value'],
  'call.settled': ['result'],
  'feed.read': ['value'],
};
const OF_ORDERS: ReadonlySet<unknown> = new Set<EndpointName>([
  'GET /orders',
  'GET /fills',
  'GET /fills/order',
  'GET /cancel_all_after',
]);
/** Lines of earlier versions have no form: in those, news was never among the figures. */
export const FORM = 2;

/** The same of heartbeats, and of readings of the switch: the terms of a request are never among them. */
const OF_HEARTBEATS: Varying = {
  'call.intended': [],
  'call.attempted': ['waitedMs'],
  'call.settled': ['sentAt', 'headers', 'result.last_updated'],
  'deadman.moved': [],
};

/** The step of the entries that keep the deadman switch, and the start of the ids of their calls. */
export const HEARTBEAT_STEP = 'deadman';
const HEARTBEAT_CALL = `${HEARTBEAT_STEP}#`;

/** The most rounds of one line, and the most entries of a round: what is held in memory, and lost with a process. */
export const MOST_ROUNDS = 600;
export const MOST_ENTRIES = 100;

/** Whether an entry can be part of a round that changed nothing: it read, or decided, and has no effect outside of the run. */
export function mayBeIdle({ type, data, actor }: Pick<Draft, 'type' | 'data' | 'actor'>): boolean {
  if (actor !== undefined) return false;
  const { endpoint = '', kind } = data as { readonly endpoint?: string; readonly kind?: string };
  // Requests that a profile declares only read.
  if (type === 'call.intended') return endpoint.startsWith('GET ') || endpoint.startsWith('request ');
  return Object.hasOwn(OF_ROUNDS, type) && (type !== 'call.settled' || kind === 'confirmed');
}

/** Whether an entry is one of a heartbeat, or of a reading of the switch, that found nothing new. What arms or disarms it never is. */
export function isOfHeartbeat({ type, step, data, actor }: Pick<Draft, 'type' | 'step' | 'data' | 'actor'>): boolean {
  if (actor !== undefined || step !== HEARTBEAT_STEP) return false;
  const { call, endpoint, event, kind, purpose } = data as Readonly<Record<string, unknown>>;
  if (type === 'deadman.moved') return event === 'renewed';
  if (typeof call !== 'string' || parseHeartbeat(call) === undefined) return false;
  if (type === 'call.intended')
    return endpoint === 'GET /cancel_all_after' || (endpoint === 'POST /cancel_all_after' && purpose === 'keep-alive');
  return type === 'call.attempted' || (type === 'call.settled' && kind === 'confirmed');
}

/** The number of a heartbeat's call; undefined for any other call. */
export function parseHeartbeat(call: string): number | undefined {
  const number = Number(call.slice(HEARTBEAT_CALL.length));
  return Number.isSafeInteger(number) && call === nameHeartbeat(number) ? number : undefined;
}

export function nameHeartbeat(number: number): string {
  return `${HEARTBEAT_CALL}${number}`;
}

/** Parts of an entry's data, as the first round has them. */
type Part =
  | { readonly kind: 'fixed'; readonly value: Json }
  /** A text that begins with the path of the round; `isNumbered`: a number is behind the rest, which differs from round to round. */
  | { readonly kind: 'path'; readonly rest: string; readonly isNumbered?: true }
  /** `newest`: of one that is news, the value that was found last. */
  | { readonly kind: 'figure'; readonly of: 'number' | 'string'; newest?: Figure }
  | ({ readonly kind: 'list' } & PartOfParts)
  | ({ readonly kind: 'object'; readonly keys: readonly string[] } & PartOfParts);

interface PartOfParts {
  readonly parts: readonly Part[];
  /** The part itself, where nothing in it differs from round to round. */
  readonly whole?: Json;
  /** Whether it names its round. */
  readonly hasPath: boolean;
  /**
   * What was found to match last, and its figures once it was found twice: an order, or a page, that does not change is the same object
   * in each round.
   */
  found?: object;
  figures: readonly Figure[] | undefined;
}

interface EntryShape {
  readonly type: EntryType;
  /** Whether a round may lack it: a feed is read again when its value is too old. */
  readonly isOptional: boolean;
  readonly step: Part;
  readonly data: Part;
}

/** What differs in one entry of one round: ms since the entry before it, and its figures in the order of the shape. */
export interface Found {
  readonly at: number;
  readonly mono: number;
  readonly figures: readonly Figure[];
  /** Whether one of them is news. */
  readonly isNew?: boolean;
}

export type ShapeEntry = Pick<Draft, 'type' | 'step' | 'data'>;

/** What was found of the entry that is compared; kept for the next, because a list that grows is several times as long as it has to be. */
interface Matching {
  readonly figures: Figure[];
  count: number;
  isNew: boolean;
  /** The path that was found last, and what of it is behind that of its round: most entries name their step twice. */
  path: string;
  rest: string;
}

/** The entries of a round, or of a heartbeat, as stored: for comparing later ones with them and for writing those. */
export class RoundShape {
  readonly length: number;
  /** Its number in the loop, or of the heartbeat's call. */
  readonly number: number;
  private readonly read: (place: number) => ShapeEntry;
  private readonly path: string;
  private readonly varying: Varying;
  private readonly news: Varying;
  private readonly shapes: EntryShape[] = [];
  private readonly matching: Matching = { figures: [], count: 0, isNew: false, path: '', rest: '' };

  /** `read`: parses an entry of it, when it is first needed. */
  private constructor(
    of: { readonly path: string; readonly number: number; readonly varying: Varying; readonly news?: Varying },
    length: number,
    read: (place: number) => ShapeEntry,
  ) {
    this.number = of.number;
    this.length = length;
    this.read = read;
    this.path = of.path;
    this.varying = of.varying;
    this.news = of.news ?? {};
  }

  static ofRound(
    loop: string,
    number: number,
    length: number,
    read: (place: number) => ShapeEntry,
    form: number | undefined = FORM,
  ): RoundShape {
    const news = form === FORM ? NEWS : {};
    return new RoundShape({ path: makeRoundPath(loop, number), number, varying: OF_ROUNDS, news }, length, read);
  }
  static ofHeartbeat(number: number, length: number, read: (place: number) => ShapeEntry): RoundShape {
    return new RoundShape({ path: nameHeartbeat(number), number, varying: OF_HEARTBEATS }, length, read);
  }

  /** As they were written. */
  listEntries(): readonly ShapeEntry[] {
    return Array.from({ length: this.length }, (_, place) => this.read(place));
  }

  /** What differs in an entry at a place of `round`, a path or a call; undefined where it is not the same entry. */
  match(place: number, draft: Draft, round: string): Found | undefined {
    if (place >= this.length || draft.actor !== undefined) return undefined;
    const shape = this.shapeOf(place);
    if (shape.type !== draft.type) return undefined;
    const { matching } = this;
    matching.count = 0;
    matching.isNew = false;
    if (!matches(shape.step, draft.step, round, matching) || !matches(shape.data, draft.data, round, matching))
      return undefined;
    const figures = matching.figures.slice(0, matching.count);
    return { at: draft.at, mono: draft.mono, figures, isNew: matching.isNew };
  }

  /** The entry at a place of the round, with the figures that `match` found. */
  rebuild(place: number, { at, mono, figures }: Found, round: string): Draft {
    const { type, step, data } = this.shapeOf(place);
    const rest = figures.values();
    return { type, step: fill(step, round, rest) as string, data: fill(data, round, rest), at, mono };
  }

  isOptional(place: number): boolean {
    return place < this.length && this.shapeOf(place).isOptional;
  }

  /** Of each of the round's entries, how many figures it has, and whether a round may lack it. */
  listPlaces(): readonly { readonly figures: number; readonly isOptional: boolean }[] {
    return Array.from({ length: this.length }, (_, place) => {
      const { step, data } = this.shapeOf(place);
      return { figures: countOf(step) + countOf(data), isOptional: this.isOptional(place) };
    });
  }

  private shapeOf(place: number): EntryShape {
    const known = this.shapes[place];
    if (known !== undefined) return known;
    const { type, step, data } = this.read(place);
    const { call = '' } = data as { readonly call?: string };
    const ofFeed = 'feed.read' in this.news && (type === 'feed.read' || isFeedRequest(call));
    const shape = {
      type,
      // The first entry dates the round.
      isOptional: place > 0 && ofFeed,
      step: toPart(step, this.path),
      data: toFields(data as JsonObject, this.varying[type] ?? [], this.listNews({ type, step, data }), this.path),
    };
    this.shapes[place] = shape;
    return shape;
  }

  private listNews({ type, step, data }: ShapeEntry): readonly string[] {
    const news = this.news[type] ?? [];
    if (news.length === 0 || (type !== 'call.settled' && type !== 'step.ended')) return news;
    const { call } = data as { readonly call?: string };
    const asked = this.listEntries().flatMap((each) => {
      const intent = each.data as { readonly call: string; readonly endpoint: string };
      if (each.type !== 'call.intended' || each.step !== step) return [];
      return (call === undefined ? !isFeedRequest(intent.call) : call === intent.call) ? [intent.endpoint] : [];
    });
    return asked.length === 0 || asked.some((endpoint) => OF_ORDERS.has(endpoint)) ? [] : news;
  }
}

function countOf(part: Part): number {
  if (part.kind === 'figure' || (part.kind === 'path' && part.isNumbered === true)) return 1;
  return part.kind === 'list' || part.kind === 'object' ? part.parts.reduce((sum, each) => sum + countOf(each), 0) : 0;
}

function hasPath(part: Part): boolean {
  return part.kind === 'path' || ('hasPath' in part && part.hasPath);
}

const NONE: readonly Figure[] = [];

/** The fields of an entry's data, or of one of its fields. */
function toFields(data: JsonObject, varying: readonly string[], news: readonly string[], round: string): Part {
  const keys = Object.keys(data);
  const parts = keys.map((key) => {
    const value = data[key] as Json;
    const within = varying.filter((name) => name.startsWith(`${key}.`)).map((name) => name.slice(key.length + 1));
    const isRecord = typeof value === 'object' && value !== null && !Array.isArray(value);
    return within.length > 0 && isRecord
      ? toFields(value as JsonObject, within, [], round)
      : toPart(value, round, news.includes(key) ? 'news' : varying.includes(key));
  });
  return { kind: 'object', keys, parts, hasPath: parts.some(hasPath), figures: undefined };
}

function toPart(value: Json, round: string, varies: boolean | 'news' = false): Part {
  if (typeof value === 'string' && value.startsWith(round)) {
    const rest = value.slice(round.length);
    return isFeedRequest(rest)
      ? { kind: 'path', rest: rest.replace(/\d+$/, ''), isNumbered: true }
      : { kind: 'path', rest };
  }
  const newest = varies === 'news' ? { newest: value as Figure } : {};
  if (varies !== false && typeof value === 'string') return { kind: 'figure', of: 'string', ...newest };
  if (varies !== false && typeof value === 'number' && Number.isSafeInteger(value))
    return { kind: 'figure', of: 'number', ...newest };
  if (typeof value !== 'object' || value === null) return { kind: 'fixed', value };
  const keys = Object.keys(value);
  const parts = keys.map((key) => toPart((value as JsonObject)[key] as Json, round, varies));
  const whole = parts.every((part) => part.kind === 'fixed' || ('whole' in part && part.whole !== undefined));
  const known = { parts, ...(whole ? { whole: value } : {}), hasPath: parts.some(hasPath), figures: undefined };
  return Array.isArray(value) ? { kind: 'list', ...known } : { kind: 'object', keys, ...known };
}

/** Compares a value that is about to be written, where what is undefined is not written, with the stored one. */
function matches(part: Part, value: unknown, round: string, found: Matching): boolean {
  switch (part.kind) {
    case 'fixed':
      return part.value === value;
    case 'path': {
      if (typeof value !== 'string') return false;
      if (value === found.path && part.rest === found.rest) return true;
      if (!value.startsWith(round)) return false;
      const end = round.length + part.rest.length;
      if (part.isNumbered === undefined) {
        if (value.length !== end || !value.endsWith(part.rest)) return false;
        found.path = value;
        found.rest = part.rest;
        return true;
      }
      const number = Number(value.slice(end));
      found.figures[found.count] = number;
      found.count += 1;
      return Number.isSafeInteger(number) && value === round + part.rest + number;
    }
    case 'figure':
      if (part.of === 'number' ? !Number.isSafeInteger(value) || Object.is(value, -0) : typeof value !== 'string')
        return false;
      found.figures[found.count] = value as Figure;
      found.count += 1;
      if (part.newest !== undefined && part.newest !== value) {
        part.newest = value as Figure;
        found.isNew = true;
      }
      return true;
    case 'list': {
      if (part.found === value && part.figures !== undefined) return foundAgain(part.figures, found);
      const { parts } = part;
      if (!Array.isArray(value) || value.length !== parts.length) return false;
      const before = found.count;
      for (let index = 0; index < parts.length; index += 1)
        if (!matches(parts[index] as Part, value[index], round, found)) return false;
      keepFound(part, value, found, before);
      return true;
    }
    case 'object': {
      if (typeof value !== 'object' || value === null) return false;
      if (part.found === value && part.figures !== undefined) return foundAgain(part.figures, found);
      const record = value as Readonly<Record<string, unknown>>;
      // A field of that name in a plain object is none of the shape.
      if (Object.getPrototypeOf(value) !== Object.prototype && (Array.isArray(value) || record['toJSON'] !== undefined))
        return false;
      const before = found.count;
      let place = 0;
      // What is written as JSON are own fields alone; an object of the engine inherits none that can be listed.
      for (const key in record) {
        const field = record[key];
        if (field === undefined) continue;
        if (part.keys[place] !== key || !matches(part.parts[place] as Part, field, round, found)) return false;
        place += 1;
      }
      if (place !== part.keys.length) return false;
      keepFound(part, value, found, before);
      return true;
    }
    default:
      return part satisfies never;
  }
}

function keepFound(part: PartOfParts, value: object, { figures, count }: Matching, before: number): void {
  if (part.hasPath) return;
  part.figures = count === before ? NONE : part.found === value ? figures.slice(before, count) : undefined;
  part.found = value;
}

/** Takes the figures of what was found to match before. */
function foundAgain(figures: readonly Figure[], found: Matching): true {
  for (let index = 0; index < figures.length; index += 1) {
    found.figures[found.count] = figures[index] as Figure;
    found.count += 1;
  }
  return true;
}

function fill(part: Part, round: string, figures: Iterator<Figure>): Json {
  switch (part.kind) {
    case 'fixed':
      return part.value;
    case 'path':
      return round + part.rest + (part.isNumbered === undefined ? '' : figures.next().value);
    case 'figure':
      return figures.next().value as Figure;
    case 'list':
      return part.whole ?? part.parts.map((each) => fill(each, round, figures));
    case 'object': {
      if (part.whole !== undefined) return part.whole;
      const filled: Record<string, Json> = {};
      part.keys.forEach((key, index) => {
        setField(filled, key, fill(part.parts[index] as Part, round, figures));
      });
      return filled;
    }
    default:
      return part satisfies never;
  }
}

export function makeRoundPath(loop: string, round: number): string {
  return `${loop}[${round}]`;
}

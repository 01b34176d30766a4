/**
 * The hash chain: seals entries and verifies them. Each entry is one line of JSON that holds the hash of the line before, so
 * changing, removing, inserting or moving an entry breaks every later link. Pure; the store keeps the lines. The chain cannot
 * show that its tail was cut off or that all of it was computed anew; anchors show that.
 */
import { hash as digest } from 'node:crypto';
import { escapeUnprintable } from '../base/printable.ts';
import {
  ENTRY_VERSION,
  type Entry,
  type EntryBody,
  type Envelope,
  isInstant,
  type Json,
  type JsonObject,
} from './entry.ts';
import { upgradeEntry } from './entry-v1.ts';
import { MOST_BASES, REPEATED, restoreRows } from './repeated-rows.ts';
import { type StoredEntry, StoreError } from './store.ts';

/** The end of a chain: the last entry's number and hash. */
export interface ChainHead {
  readonly seq: number;
  /** 64 hex digits. */
  readonly hash: string;
}

/** The head before the first entry. */
export const EMPTY_HEAD: ChainHead = { seq: 0, hash: '0'.repeat(64) };

/** Separates these hashes from any other use of SHA-256 over the same bytes. */
const DOMAIN = 'rbe-audit-v1\0';

/**
 * Makes the entry that follows `head`: its line (JSON without blanks, keys in a fixed order, unprintable characters escaped,
 * without its own hash) and the SHA-256 over the domain and the line. `shortened`: what the line has in place of the body.
 */
export function sealEntry(
  body: EntryBody,
  envelope: Omit<Envelope, 'prev' | 'seq'>,
  head: ChainHead,
  shortened: { readonly type: string; readonly data: object } = body,
): { readonly entry: Entry; readonly stored: StoredEntry } {
  const { at, mono, boot, epoch, account, run, def, step, actor } = envelope;
  const { type, data } = body;
  const stored = sealLine(shortened, envelope, head);
  const { seq, hash } = stored;
  const v = ENTRY_VERSION;
  const prev = head.hash;
  const entry = { v, run, seq, at, type, step, prev, mono, boot, epoch, account, def, actor, data, hash } as Entry;
  return { entry, stored };
}

/** Makes the line that follows `head`, of whatever type. */
export function sealLine(
  { type, data }: { readonly type: string; readonly data: object },
  envelope: Omit<Envelope, 'prev' | 'seq'>,
  head: ChainHead,
): StoredEntry {
  const { at, mono, run, step } = envelope;
  const seq = head.seq + 1;
  const start = buildLineStart({ run, seq, at, type, step }, head.hash, ENTRY_VERSION);
  // Hashed as one text and cut behind the domain: a cut shares the characters, where joining domain and line would copy them.
  const text = `${DOMAIN}${start}"mono":${mono}${writeOrigin(envelope)}${escapeUnprintable(JSON.stringify(data))}}`;
  return { run, seq, at, type, step, line: text.slice(DOMAIN.length), hash: digest('sha256', text, 'hex') };
}

type Origin = Pick<Envelope, 'boot' | 'epoch' | 'account' | 'def' | 'actor'>;

let newest: (Origin & { readonly text: string }) | undefined;

/** The middle of a line, from `boot` to the data. Nearly all entries that a process seals have the one of the entry before. */
function writeOrigin({ boot, epoch, account, def, actor }: Origin): string {
  if (
    newest?.boot !== boot ||
    newest.epoch !== epoch ||
    newest.account !== account ||
    newest.def !== def ||
    newest.actor !== actor
  ) {
    const fields = escapeUnprintable(JSON.stringify({ boot, epoch, account, def, actor }));
    newest = { boot, epoch, account, def, actor, text: `,${fields.slice(1, -1)},"data":` };
  }
  return newest.text;
}

/**
 * Parses a stored line as an entry. Throws StoreError `damaged`, with run and number, when it is not one, or when it repeats rows of a
 * line that it does not have with it.
 */
export function readEntry(stored: StoredEntry): Entry {
  const entry = readLine(stored);
  return stored.type === REPEATED ? restore(entry, stored, readRows) : entry;
}

function readLine(stored: StoredEntry): Entry {
  const parsed = parseLine(stored.line);
  if (parsed === undefined) throw makeUnreadable(stored, 'its line is not an entry');
  // The parsed object has no other owner, so it is changed in place: a copy would be the largest cost after the parsing.
  return Object.assign(parsed, parsed.v === 1 ? upgradeEntry(parsed.type, parsed.data as JsonObject) : undefined, {
    hash: stored.hash,
  }) as Entry;
}

/** The whole answer, of which the line has the rows that are new. */
function restore(entry: Entry, stored: StoredEntry, rowsOf: (base: StoredEntry) => Json | undefined): Entry {
  const { base } = stored;
  const data =
    base === undefined || base.run !== stored.run || base.seq >= stored.seq
      ? undefined
      : restoreRows(entry.data as JsonObject, { base, rows: rowsOf(base) });
  if (data === undefined) throw makeUnreadable(stored, 'the line whose rows it repeats is not there');
  return { ...entry, type: 'call.settled', data } as unknown as Entry;
}

function readRows(base: StoredEntry): Json | undefined {
  const { data } = readLine(base);
  return 'result' in data ? (data.result as Json) : undefined;
}

function makeUnreadable({ seq, run }: StoredEntry, why: string): StoreError {
  return new StoreError('damaged', `entry ${seq} of run ${run} cannot be read: ${why}`);
}

/**
 * Reads the lines of a run, in sequence. Of most lines it parses only the data, which is half of them: where all before the data is,
 * character for character, what the columns and the lines before say. Any other line is parsed whole.
 */
export class LineReader {
  /** Hash of the line before. */
  private prev = '';
  /** What the lines before say from `boot` to the data, and as `writeOrigin` writes it. */
  private origin: (Origin & { readonly text: string }) | undefined;

  /** The rows of lines to which others refer, by hash: a list that is read in each round is parsed once. */
  private readonly rows = new Map<string, Json | undefined>();

  /** Throws StoreError `damaged` as `readEntry`. */
  read(stored: StoredEntry): Entry {
    const entry = this.readAlike(stored) ?? this.readWhole(stored);
    this.prev = stored.hash;
    return stored.type === REPEATED ? restore(entry, stored, (base) => this.readRowsOnce(base)) : entry;
  }

  private readRowsOnce(base: StoredEntry): Json | undefined {
    if (this.rows.has(base.hash)) return this.rows.get(base.hash);
    const rows = readRows(base);
    this.rows.set(base.hash, rows);
    const [oldest] = this.rows.keys();
    if (this.rows.size > MOST_BASES && oldest !== undefined) this.rows.delete(oldest);
    return rows;
  }

  private readAlike(stored: StoredEntry): Entry | undefined {
    const { run, seq, at, type, step, line, hash } = stored;
    const { prev, origin } = this;
    if (origin === undefined || !Number.isSafeInteger(seq) || !isInstant(at)) return undefined;
    const start = buildLineStart(stored, prev, ENTRY_VERSION);
    MONO.lastIndex = start.length;
    if (!line.startsWith(start) || !MONO.test(line)) return undefined;
    const { lastIndex } = MONO;
    if (!line.startsWith(origin.text, lastIndex)) return undefined;
    const data = parseLast(line, lastIndex + origin.text.length);
    if (data === undefined) return undefined;
    const mono = Number(line.slice(start.length + MONO_NAME.length, lastIndex));
    const { boot, epoch, account, def, actor } = origin;
    const v = ENTRY_VERSION;
    return { v, run, seq, at, type, step, prev, mono, boot, epoch, account, def, actor, data, hash } as Entry;
  }

  private readWhole(stored: StoredEntry): Entry {
    const entry = readLine(stored);
    const { boot, epoch, account, def, actor } = entry;
    this.origin = { boot, epoch, account, def, actor, text: writeOrigin(entry) };
    return entry;
  }
}

const MONO_NAME = '"mono":';
const MONO = /"mono":(?:0|[1-9]\d*)(?:\.\d+)?/y;

/** Parses the last field of a line, from its value on; undefined where that is no object, or more fields follow. */
function parseLast(line: string, from: number): object | undefined {
  if (!line.endsWith('}')) return undefined;
  try {
    const value: unknown = JSON.parse(line.slice(from, -1));
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The head after an entry. */
export function toHead(stored: StoredEntry | undefined): ChainHead {
  return stored === undefined ? EMPTY_HEAD : { seq: stored.seq, hash: stored.hash };
}

export type ChainProblemKind = 'edited' | 'missing' | 'swapped' | 'inserted' | 'truncated' | 'rechained' | 'unreadable';

export interface ChainProblem {
  /** Number of the faulty entry, or of the first missing one. */
  readonly sequence: number;
  readonly kind: ChainProblemKind;
  readonly detail: string;
}

export type ChainVerdict =
  | { readonly ok: true; readonly entries: number; readonly head: string }
  | { readonly ok: false; readonly entries: number; readonly problem: ChainProblem };

/**
 * Checks one run's entries, given in the order of their numbers, and reports the first that does not fit. `entries` in the
 * result counts the entries that were given.
 */
export function verifyChain(entries: Iterable<StoredEntry>): ChainVerdict {
  const chain = new ChainCheck();
  for (const stored of entries) chain.add(stored);
  return chain.end();
}

/** Whether a line alone is the one that was sealed; the links to others are not looked at. */
export function isSound({ line, hash }: Pick<StoredEntry, 'line' | 'hash'>): boolean {
  return hashLine(line) === hash;
}

/** The same check, entry by entry, for a run that is read in pages. */
export class ChainCheck {
  private head = EMPTY_HEAD;
  private before: ChainHead | undefined;
  private last: StoredEntry | undefined;
  /** An entry that does not fit; diagnosing it needs the entry after it. */
  private odd: StoredEntry | undefined;
  private problem: ChainProblem | undefined;
  private count = 0;

  /** The problem found so far; one at the newest entry is known only after the next entry, or at the end. */
  get found(): ChainProblem | undefined {
    return this.problem;
  }

  add(stored: StoredEntry): void {
    this.count += 1;
    if (this.problem !== undefined) return;
    if (this.odd !== undefined) {
      this.problem = this.diagnose(this.odd, stored);
      return;
    }
    if (!followsHead(stored, this.head)) {
      this.odd = stored;
      return;
    }
    this.before = this.head;
    this.head = { seq: stored.seq, hash: stored.hash };
    this.last = stored;
  }

  end(): ChainVerdict {
    if (this.odd !== undefined) this.problem ??= this.diagnose(this.odd, undefined);
    if (this.problem !== undefined) return { ok: false, entries: this.count, problem: this.problem };
    return { ok: true, entries: this.count, head: this.head.hash };
  }

  /** The newest entry that fits. */
  get newest(): StoredEntry | undefined {
    return this.last;
  }

  /**
   * Diagnoses `odd`, which does not follow the head. The lines still carry the numbers and hashes they were
   * written with; where these contradict their position, they show what was done.
   */
  private diagnose(odd: StoredEntry, next: StoredEntry | undefined): ChainProblem {
    const { head, before } = this;
    const expected = head.seq + 1;
    const line = parseLine(odd.line);
    const follower = next === undefined ? undefined : parseLine(next.line);
    const sound = isSound(odd);

    if (odd.seq > expected)
      return makeProblem(expected, 'missing', `entry ${expected} is not there, the next one is ${odd.seq}`);
    if (odd.seq < expected) return makeProblem(odd.seq, 'inserted', `number ${odd.seq} is there twice`);
    if (line === undefined) return makeProblem(expected, 'unreadable', 'its line is not an entry');
    // The next entry follows the head directly: this one was inserted between them.
    if (follower !== undefined && follower.seq === expected && follower.prev === head.hash) {
      return makeProblem(
        expected,
        line.seq === expected + 1 ? 'swapped' : 'inserted',
        describeDisplaced(line.seq, expected),
      );
    }
    if (!sound) return makeProblem(expected, 'edited', 'its hash is not that of its text');
    if (line.run !== odd.run) return makeProblem(expected, 'inserted', `it was written for run ${line.run}`);
    if (line.seq === expected) {
      if (line.prev === head.hash) return makeProblem(expected, 'edited', 'its index columns differ from its text');
      return makeProblem(Math.max(1, head.seq), 'edited', 'its text is not the one that the next entry was chained to');
    }
    // It originally followed the entry before the head: the head was inserted later.
    if (line.prev === before?.hash)
      return makeProblem(head.seq, 'inserted', 'the entry after it followed the one before it');
    if (line.seq > expected && (follower === undefined || follower.seq === line.seq + 1)) {
      return makeProblem(expected, 'missing', `entry ${line.seq} is in its place`);
    }
    return makeProblem(expected, 'swapped', `entry ${line.seq} is in its place`);
  }
}

export function makeProblem(sequence: number, kind: ChainProblemKind, detail: string): ChainProblem {
  return { sequence, kind, detail: `entry ${sequence}: ${detail}` };
}

function describeDisplaced(found: number, expected: number): string {
  return found === expected + 1 ? `entry ${found} is in its place` : 'the entry after it follows the one before it';
}

/** True when a stored entry follows `head` (number, columns, link and hash); does not parse its line. */
export function followsHead(stored: StoredEntry, head: ChainHead): boolean {
  if (stored.seq !== head.seq + 1) return false;
  const start = buildLineStart(stored, head.hash, stored.line.startsWith('{"v":1,') ? 1 : ENTRY_VERSION);
  return stored.line.startsWith(start) && hashLine(stored.line) === stored.hash;
}

/**
 * Builds the beginning of a line: the values that a store keeps in columns, and the link to the entry before. They come first,
 * so that a million entries can be verified by comparing texts instead of parsing them.
 */
function buildLineStart(columns: Omit<StoredEntry, 'line' | 'hash'>, prev: string, version: Entry['v']): string {
  const { run, seq, at, type, step } = columns;
  return `{"v":${version},"run":${quote(run)},"seq":${seq},"at":${at},"type":${quote(type)},"step":${quote(step)},"prev":"${prev}",`;
}

/** Printable ASCII except the quote and the backslash. */
const UNQUOTED = /^[ !#-[\]-~]*$/;

/** Writes a text as printable JSON. Names and paths rarely need escaping, and most of them occur in every entry of a run. */
function quote(text: string): string {
  const known = QUOTED.get(text);
  if (known !== undefined) return known;
  const made = UNQUOTED.test(text) ? `"${text}"` : escapeUnprintable(JSON.stringify(text));
  if (QUOTED.size >= QUOTED_KEPT) QUOTED.clear();
  QUOTED.set(text, made);
  return made;
}

const QUOTED = new Map<string, string>();
const QUOTED_KEPT = 64;

/** SHA-256 in hex; on texts of this length the one-shot form costs less than half of `createHash`. */
function hashLine(line: string): string {
  return digest('sha256', DOMAIN + line, 'hex');
}

/** Parses a line as an entry without its hash; undefined when it is not JSON or not an entry of a known version. */
function parseLine(line: string): Omit<Entry, 'hash'> | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (typeof parsed !== 'object' || parsed === null) return undefined;
  const { v, seq, at, run, type, prev, step, data } = parsed as { readonly [key: string]: unknown };
  const isEntry =
    (v === 1 || v === ENTRY_VERSION) &&
    Number.isSafeInteger(seq) &&
    isInstant(at) &&
    typeof run === 'string' &&
    typeof type === 'string' &&
    typeof prev === 'string' &&
    typeof step === 'string' &&
    typeof data === 'object' &&
    data !== null;
  return isEntry ? (parsed as Omit<Entry, 'hash'>) : undefined;
}

/**
 * The hash chain: an entry becomes one line of JSON that names the hash of the line before, so that no entry can be changed,
 * taken out, put in or moved without every later one disagreeing. Pure; where lines are kept is the store's business. It can
 * not see that a tail was cut off, nor that the whole chain was computed afresh: that is what anchors are for.
 */
import { hash as digest } from 'node:crypto';
import { escapeUnprintable } from '../base/printable.ts';
import { ENTRY_VERSION, type Entry, type EntryBody, type Envelope, type JsonObject } from './entry.ts';
import { upgradeEntry } from './entry-v1.ts';
import { type StoredEntry, StoreError } from './store.ts';

/** Where a chain stands: the last entry's number and hash. */
export interface ChainHead {
  readonly seq: number;
  /** 64 hex digits. */
  readonly hash: string;
}

/** Before the first entry. */
export const EMPTY_HEAD: ChainHead = { seq: 0, hash: '0'.repeat(64) };

/** Separates these hashes from any other use of SHA-256 over the same bytes. */
const DOMAIN = 'rbe-audit-v1\0';

/**
 * Makes the entry that follows `head`: its line (JSON without blanks, keys in a fixed order, unprintable characters escaped,
 * no hash in it) and the SHA-256 over the domain and the line.
 */
export function sealEntry(
  body: EntryBody,
  envelope: Omit<Envelope, 'prev' | 'seq'>,
  head: ChainHead,
): { readonly entry: Entry; readonly stored: StoredEntry } {
  const { at, mono, boot, epoch, account, run, def, step, actor } = envelope;
  const { type, data } = body;
  const seq = head.seq + 1;
  const prev = head.hash;
  // Its beginning is `lineStart`'s. One call for all of it: in a short run most entries are written by code that was never
  // optimised, and there every further text that is put together costs more than what it saves.
  const content = { v: ENTRY_VERSION, run, seq, at, type, step, prev, mono, boot, epoch, account, def, actor, data };
  const line = escapeUnprintable(JSON.stringify(content));
  const hash = hashLine(line);
  const entry = {
    v: ENTRY_VERSION,
    seq,
    at,
    mono,
    boot,
    epoch,
    account,
    run,
    def,
    step,
    actor,
    prev,
    type,
    data,
    hash,
  } as Entry;
  return { entry, stored: { run, seq, at, type, step, line, hash } };
}

/** The entry a line holds. Throws StoreError `damaged`, naming run and number, when it does not parse as one. */
export function readEntry(stored: StoredEntry): Entry {
  const parsed = parseLine(stored.line);
  if (parsed === undefined) {
    throw new StoreError(
      'damaged',
      `entry ${stored.seq} of run ${stored.run} can not be read: its line is not an entry`,
    );
  }
  // The parsed object has no other owner. Copying every entry would cost more than everything else but the parsing.
  return Object.assign(parsed, parsed.v === 1 ? upgradeEntry(parsed.type, parsed.data as JsonObject) : undefined, {
    hash: stored.hash,
  }) as Entry;
}

/** The head after an entry. */
export function headOf(stored: StoredEntry | undefined): ChainHead {
  return stored === undefined ? EMPTY_HEAD : { seq: stored.seq, hash: stored.hash };
}

export type ChainProblemKind = 'edited' | 'missing' | 'swapped' | 'inserted' | 'truncated' | 'rechained' | 'unreadable';

export interface ChainProblem {
  /** The number of the entry at fault, or of the first that is gone. */
  readonly sequence: number;
  readonly kind: ChainProblemKind;
  readonly detail: string;
}

type ChainVerdict =
  | { readonly ok: true; readonly entries: number; readonly head: string }
  | { readonly ok: false; readonly entries: number; readonly problem: ChainProblem };

/**
 * Walks one run's entries in the order of their numbers and names the first one that does not fit. `entries` in the verdict
 * counts those that were there to look at.
 */
export function verifyChain(entries: Iterable<StoredEntry>): ChainVerdict {
  const chain = new ChainCheck();
  for (const stored of entries) chain.add(stored);
  return chain.end();
}

/** The same check fed entry by entry, for a run that is read in pages. */
export class ChainCheck {
  private head = EMPTY_HEAD;
  private before: ChainHead | undefined;
  private last: StoredEntry | undefined;
  /** An entry that does not fit; what it is shows only with the one after it. */
  private odd: StoredEntry | undefined;
  private problem: ChainProblem | undefined;
  private count = 0;

  /** What has been found so far; a problem at the newest entry is known only after the next one, or at the end. */
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
    if (!fits(stored, this.head)) {
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
   * Says what happened to `odd`, which does not follow the head. The lines still carry the numbers and hashes they were
   * written with; where they contradict the place they stand in, they tell what was done.
   */
  private diagnose(odd: StoredEntry, next: StoredEntry | undefined): ChainProblem {
    const { head, before } = this;
    const expected = head.seq + 1;
    const line = parseLine(odd.line);
    const follower = next === undefined ? undefined : parseLine(next.line);
    const sound = hashLine(odd.line) === odd.hash;

    if (odd.seq > expected)
      return problem(expected, 'missing', `entry ${expected} is not there, the next one is ${odd.seq}`);
    if (odd.seq < expected) return problem(odd.seq, 'inserted', `number ${odd.seq} is there twice`);
    if (line === undefined) return problem(expected, 'unreadable', 'its line is not an entry');
    // The one after follows the head directly: this one was put between them.
    if (follower !== undefined && follower.seq === expected && follower.prev === head.hash) {
      return problem(
        expected,
        line.seq === expected + 1 ? 'swapped' : 'inserted',
        swappedOrInserted(line.seq, expected),
      );
    }
    if (!sound) return problem(expected, 'edited', 'its hash is not that of its text');
    if (line.run !== odd.run) return problem(expected, 'inserted', `it was written for run ${line.run}`);
    if (line.seq === expected) {
      if (line.prev === head.hash) return problem(expected, 'edited', 'its index columns differ from its text');
      return problem(
        Math.max(1, head.seq),
        'edited',
        'the entry after it was written after another text than it holds now',
      );
    }
    // It once followed the one before the head: the head itself was put in later.
    if (line.seq === head.seq && line.prev === before?.hash)
      return problem(head.seq, 'inserted', 'the entry after it followed the one before it');
    if (line.seq > expected && (follower === undefined || follower.seq === line.seq + 1)) {
      return problem(expected, 'missing', `entry ${line.seq} stands in its place`);
    }
    return problem(expected, 'swapped', `entry ${line.seq} stands in its place`);
  }
}

function problem(sequence: number, kind: ChainProblemKind, detail: string): ChainProblem {
  return { sequence, kind, detail: `entry ${sequence}: ${detail}` };
}

function swappedOrInserted(found: number, expected: number): string {
  return found === expected + 1 ? `entry ${found} stands in its place` : 'the entry after it follows the one before it';
}

/** Whether a stored entry is what follows `head`: numbers, columns, link and hash, without parsing its line. */
function fits(stored: StoredEntry, head: ChainHead): boolean {
  if (stored.seq !== head.seq + 1) return false;
  const start = lineStart(stored, head.hash, stored.line.startsWith('{"v":1,') ? 1 : ENTRY_VERSION);
  // Hardly any start holds something to escape, and looking for it costs as much as comparing.
  if (!stored.line.startsWith(start) && !stored.line.startsWith(escapeUnprintable(start))) return false;
  return hashLine(stored.line) === stored.hash;
}

/**
 * The beginning of a line: what a store keeps in columns and the link to the entry before. It comes first, so that a
 * million entries can be verified by comparing texts instead of parsing them.
 */
function lineStart(columns: Omit<StoredEntry, 'line' | 'hash'>, prev: string, version: Entry['v']): string {
  const { run, seq, at, type, step } = columns;
  return `{"v":${version},"run":${quoted(run)},"seq":${seq},"at":${at},"type":${quoted(type)},"step":${quoted(step)},"prev":"${prev}",`;
}

/** Printable ASCII but for the quote and the backslash. */
const UNQUOTED = /^[ !#-[\]-~]*$/;

/** A text as JSON; names and paths hardly ever hold anything to escape, and most of them come with every entry of a run. */
function quoted(text: string): string {
  const known = QUOTED.get(text);
  if (known !== undefined) return known;
  const made = UNQUOTED.test(text) ? `"${text}"` : JSON.stringify(text);
  if (QUOTED.size >= QUOTED_KEPT) QUOTED.clear();
  QUOTED.set(text, made);
  return made;
}

const QUOTED = new Map<string, string>();
const QUOTED_KEPT = 64;

/** SHA-256 in hex; the one-shot form costs less than half of `createHash` on texts of this length. */
function hashLine(line: string): string {
  return digest('sha256', DOMAIN + line, 'hex');
}

/** The line as an entry without its hash, or undefined: not JSON, or not of this version's form. */
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

/** Epoch ms that a date can hold; a forged line must not make a report throw. */
function isInstant(at: unknown): boolean {
  return Number.isSafeInteger(at) && Math.abs(at as number) <= 8.64e15;
}

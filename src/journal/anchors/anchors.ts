/**
 * Writes and reads anchors: the end of a chain at a time, kept in a second place. A chain alone cannot show that its tail was
 * cut off or that all of it was computed anew; an anchor shows both. Each names the one before it, so that none can be removed from
 * between others. Anchors cover only entries that are already
 * stored, so a crash between the two cannot look like tampering.
 */
import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { closeSync, constants, fstatSync, fsyncSync, openSync, readFileSync, readSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Clock, Timer } from '../../base/clock.ts';
import { sha256 } from '../../base/digest.ts';
import type { ChainHead } from '../chain.ts';
import type { Entry } from '../entry.ts';
import { makeFolders } from '../folder.ts';
import { StoreError } from '../store.ts';
import type { JournalWriter } from '../writer.ts';

/** A statement that entry `seq` of `run` exists and has hash `head`. */
export interface Anchor {
  readonly v: 1;
  readonly run: string;
  readonly seq: number;
  /** 64 hex digits. */
  readonly head: string;
  /** Number of entries up to `seq`: equal to it, because numbers have no gaps; written so that the line explains itself. */
  readonly count: number;
  /** ISO 8601, UTC. */
  readonly time: string;
  /** Hash of the anchor before it in this file (`hashAnchor`); absent in the first one, and in those of earlier versions. */
  readonly prev?: string;
  /** It is the first that its process wrote of the run: `prev` is the last one in its machine's own file. */
  readonly first?: true;
  /** Ed25519 over the line without this field, base64. */
  readonly signature?: string;
}

/** A destination of anchors: a file, a pipe to a log, a remote that can only append. */
export interface AnchorSink {
  readonly name: string;
  /** Resolves when the sink has stored the anchor durably. */
  write(anchor: Anchor): Promise<void>;
}

/** The end of the chain `run`. */
export type NamedHead = ChainHead & { readonly run: string };

export interface AnchorerOptions {
  readonly run: string;
  readonly clock: Clock;
  readonly sinks: readonly AnchorSink[];
  /** The ends of the account's own chains, which are anchored with the run where they have moved; rejects where one cannot be read. */
  readonly accountHeads?: () => Promise<readonly NamedHead[]>;
  /** Hash of the last anchor that is there already: the first one names it. */
  readonly findPrevious?: () => string | undefined;
  /** PEM of an Ed25519 private key; signs the anchors when given. */
  readonly key?: string;
  /** Most order events between two anchors. */
  readonly everyOrderEvents?: number;
  /** Longest time between two anchors while entries are written, ms; `null` writes none by time. */
  readonly everyMs?: number | null;
  /** Called once when a sink fails and once when it works again (`undefined`); the other sinks continue. */
  readonly onSink?: (sink: string, failure: string | undefined) => void;
}

/** Pause before a failed sink is tried again. */
const RETRY_MS = 15_000;
/** The most anchors that are kept for a sink that fails; nothing new is sent long before there are as many. */
const MOST_MISSED = 1_000;

/** True for the events that count towards the next anchor: an order's changes, and requests that change something at the venue. */
function isOrderEvent(entry: Entry): boolean {
  return entry.type.startsWith('order.') || (entry.type === 'call.attempted' && entry.data.method !== 'GET');
}

/** Writes anchors for one run: every ten order events, every minute while there are new entries, and at its end. */
export class Anchorer {
  private readonly options: AnchorerOptions;
  private readonly key: KeyObject | undefined;
  /** Since when a sink fails, on the monotonic clock. */
  private readonly failing = new Map<string, number>();
  /** What each sink has not stored yet, oldest first. */
  private readonly missed = new Map<AnchorSink, Anchor[]>();
  /** Of the last anchor that this process wrote of the run. */
  private previous: string | undefined;
  private retry: Timer | undefined;
  private readonly everyOrderEvents: number;
  private readonly everyMs: number | null;
  private orderEvents = 0;
  private hasClosed = false;
  private hasEnded = false;
  private anchoredSeq: number;
  /** Hashes, by chain of the account. */
  private readonly anchoredHeads = new Map<string, string>();
  private timer: Timer | undefined;
  private writing: Promise<void> = Promise.resolve();
  private readonly writer: JournalWriter;

  constructor(writer: JournalWriter, options: AnchorerOptions) {
    this.writer = writer;
    this.options = options;
    this.key = readSigningKey(options.key);
    this.everyOrderEvents = options.everyOrderEvents ?? 10;
    this.everyMs = options.everyMs === undefined ? 60_000 : options.everyMs;
    this.anchoredSeq = writer.storedHead.seq;
    writer.subscribe((entry) => {
      if (isOrderEvent(entry)) this.orderEvents += 1;
      if (entry.type === 'run.ended') this.hasEnded = true;
    });
    writer.onStored((head) => {
      if (this.hasEnded || this.orderEvents >= this.everyOrderEvents) this.anchor(head);
      else this.armTimer();
    });
  }

  /** The sink that has been failing longest, and for how many ms. */
  get longestFailure(): { readonly sink: string; readonly ms: number } | undefined {
    const now = this.options.clock.monotonic();
    const [first] = [...this.failing].sort(([, a], [, b]) => a - b);
    return first === undefined ? undefined : { sink: first[0], ms: now - first[1] };
  }

  /** Cancels the timers; writes in progress still finish. */
  close(): void {
    this.timer?.cancel();
    this.retry?.cancel();
    this.hasClosed = true;
  }

  /** Resolves when every sink has answered for every anchor so far. Never rejects: `onSink` reports failures. */
  settled(): Promise<void> {
    return this.writing;
  }

  private armTimer(): void {
    if (this.timer !== undefined || this.everyMs === null || this.hasClosed) return;
    this.timer = this.options.clock.at(this.options.clock.now() + this.everyMs, () => {
      this.timer = undefined;
      if (this.writer.storedHead.seq > this.anchoredSeq) this.anchor(this.writer.storedHead);
    });
  }

  private anchor(head: ChainHead): void {
    this.timer?.cancel();
    this.timer = undefined;
    this.orderEvents = 0;
    this.anchoredSeq = head.seq;
    const { run } = this.options;
    this.writing = this.writing.then(async () => {
      await this.write(this.seal({ ...head, run }));
      for (const chain of (await this.options.accountHeads?.().catch(() => [])) ?? []) {
        if (chain.hash === this.anchoredHeads.get(chain.run)) continue;
        this.anchoredHeads.set(chain.run, chain.hash);
        await this.write(this.seal(chain));
      }
    });
  }

  /** Called in the sequence of the writes: an anchor must not name one that a crash keeps from being written. */
  private seal(head: NamedHead): Anchor {
    const anchor = sealAnchor(head, this.options, this.key, this.previous);
    this.previous = hashAnchor(anchor);
    return anchor;
  }

  /** Gives sinks that failed what they missed, even when no new anchor is due. */
  private armRetry(): void {
    if (this.retry !== undefined || this.hasEnded || this.hasClosed) return;
    const { clock, sinks } = this.options;
    this.retry = clock.at(clock.now() + RETRY_MS, () => {
      this.retry = undefined;
      this.writing = this.writing.then(async () => {
        await Promise.all(sinks.map((sink) => this.catchUp(sink)));
      });
    });
  }

  private async write(anchor: Anchor): Promise<void> {
    const { sinks } = this.options;
    for (const sink of sinks) this.missed.set(sink, [...(this.missed.get(sink) ?? []), anchor].slice(-MOST_MISSED));
    await Promise.all(sinks.map((sink) => this.catchUp(sink)));
  }

  private async catchUp(sink: AnchorSink): Promise<void> {
    const missed = this.missed.get(sink) ?? [];
    try {
      for (let next = missed[0]; next !== undefined; next = missed[0]) {
        await sink.write(next);
        missed.shift();
      }
      if (this.failing.delete(sink.name)) this.options.onSink?.(sink.name, undefined);
    } catch (error) {
      if (!this.failing.has(sink.name)) {
        this.failing.set(sink.name, this.options.clock.monotonic());
        this.options.onSink?.(sink.name, (error as Error).message);
      }
      this.armRetry();
    }
  }
}

/** `own`: hash of the last anchor that this process wrote of the run. */
function sealAnchor(
  { run, seq, hash }: NamedHead,
  { clock, findPrevious }: Pick<AnchorerOptions, 'clock' | 'findPrevious'>,
  key: KeyObject | undefined,
  own?: string,
): Anchor {
  const time = new Date(clock.now()).toISOString();
  const before = own ?? findPrevious?.();
  const prev = before === undefined ? {} : { prev: before, ...(own === undefined ? { first: true as const } : {}) };
  return signAnchor({ v: 1, run, seq, head: hash, count: seq, time, ...prev }, key);
}

/** Anchors the end of a chain outside of a run, and tries each sink once. Resolves when all have answered; `onSink` gets failures. */
export async function anchorOnce(
  head: NamedHead,
  options: Pick<AnchorerOptions, 'clock' | 'sinks' | 'findPrevious' | 'key' | 'onSink'>,
): Promise<void> {
  const { sinks, key, onSink } = options;
  const anchor = sealAnchor(head, options, readSigningKey(key));
  await Promise.all(
    sinks.map((sink) => sink.write(anchor).catch((error: Error) => onSink?.(sink.name, error.message))),
  );
}

/** Appends anchors to a file that only its owner can read, one JSON line each, on the disk before `write` resolves. */
export class AnchorFile implements AnchorSink {
  readonly name: string;
  private readonly file: string;

  constructor(file: string) {
    this.file = file;
    this.name = file;
  }

  async write(anchor: Anchor): Promise<void> {
    makeFolders(dirname(this.file));
    const handle = openSync(this.file, constants.O_RDWR | constants.O_CREAT | constants.O_APPEND, 0o600);
    try {
      // Ends a line that a crash cut short, so that the new anchor is not read as part of it.
      // All of it or an error: one call of write() may take a part, where the disk is nearly full.
      writeFileSync(handle, `${endsInsideLine(handle) ? '\n' : ''}${JSON.stringify(anchor)}\n`);
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
  }
}

function endsInsideLine(handle: number): boolean {
  const { size } = fstatSync(handle);
  if (size === 0) return false;
  const last = Buffer.alloc(1);
  readSync(handle, last, 0, 1, size - 1);
  return last[0] !== 0x0a;
}

export interface ReadAnchors {
  readonly anchors: readonly Anchor[];
  /** Numbers, from 1, of the lines that are not anchors: cut short by a crash, or changed. */
  readonly unreadable: readonly number[];
  /** Those of `unreadable` that a crash cannot leave: they are not the beginning of an anchor. */
  readonly changed: readonly number[];
  /** Lines whose signature is absent or wrong, when a public key was given. They are not among `anchors`. */
  readonly unsigned: readonly number[];
}

interface WantedAnchors {
  /** PEM of an Ed25519 public key; when given, only anchors signed with it count. */
  readonly publicKey?: string | undefined;
  /** Selects this run's anchors; unreadable lines are reported all the same, because they may belong to any run. */
  readonly run?: string | undefined;
}

/** Reads an anchor file; a missing file has no anchors. Throws when the key is not an Ed25519 key. */
export function readAnchors(file: string, wanted: WantedAnchors = {}): ReadAnchors {
  return sortAnchors(readLines(file), wanted);
}

/** Sorts the lines of an anchor file into valid anchors and the numbers of the other lines. */
export function sortAnchors(lines: readonly string[], { publicKey, run }: WantedAnchors): ReadAnchors {
  const anchors: Anchor[] = [];
  const unreadable: number[] = [];
  const changed: number[] = [];
  const unsigned: number[] = [];
  const key = publicKey === undefined ? undefined : requireEd25519(createPublicKey(publicKey));
  for (const [index, line] of lines.entries()) {
    if (line === '') continue;
    const anchor = parseAnchor(line);
    if (anchor === undefined) {
      unreadable.push(index + 1);
      if (!isCutShort(line)) changed.push(index + 1);
    } else if (run !== undefined && anchor.run !== run) continue;
    else if (key !== undefined && !isSigned(anchor, key)) unsigned.push(index + 1);
    else anchors.push(anchor);
  }
  return { anchors, unreadable, changed, unsigned };
}

/** Groups anchors by run, for readers of many runs. */
export function groupAnchorsByRun(anchors: Iterable<Anchor>): ReadonlyMap<string, readonly Anchor[]> {
  const byRun = new Map<string, Anchor[]>();
  for (const anchor of anchors) {
    const known = byRun.get(anchor.run);
    if (known === undefined) byRun.set(anchor.run, [anchor]);
    else known.push(anchor);
  }
  return byRun;
}

function readLines(file: string): readonly string[] {
  try {
    return readFileSync(file, 'utf8').split('\n');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw new StoreError('unavailable', `${file} cannot be read: ${(error as Error).message}`);
  }
}

export function parseAnchor(line: string): Anchor | undefined {
  try {
    const parsed = JSON.parse(line) as Partial<Anchor> | null;
    const isAnchor =
      parsed?.v === 1 &&
      typeof parsed.run === 'string' &&
      Number.isSafeInteger(parsed.seq) &&
      Number(parsed.seq) >= 1 &&
      parsed.count === parsed.seq &&
      /^[0-9a-f]{64}$/.test(String(parsed.head)) &&
      typeof parsed.time === 'string' &&
      (parsed.prev === undefined || /^[0-9a-f]{64}$/.test(String(parsed.prev))) &&
      (parsed.first === undefined || parsed.first === true) &&
      (parsed.signature === undefined || typeof parsed.signature === 'string');
    return isAnchor ? (parsed as Anchor) : undefined;
  } catch {
    return undefined;
  }
}

/** The parts of an anchor's line, in the order in which they are written: those of every version, then with `prev` and `first` or without. */
const FIRST_PARTS: readonly (string | RegExp)[] = [
  '{"v":1,"run":"',
  /^(?:[^"\\]|\\.)*\\?/,
  '","seq":',
  /^\d*/,
  ',"head":"',
  /^[0-9a-f]*/,
  '","count":',
  /^\d*/,
  ',"time":"',
  /^[^"]*/,
];
const SIGNATURE = ['","signature":"', /^[A-Za-z0-9+/=]*/] as const;
const LINES: readonly (readonly (string | RegExp)[])[] = [
  [...FIRST_PARTS, ...SIGNATURE],
  [...FIRST_PARTS, '","prev":"', /^[0-9a-f]*/, ...SIGNATURE],
  [...FIRST_PARTS, '","prev":"', /^[0-9a-f]*/, '","first":true,"signature":"', SIGNATURE[1]],
];

/**
 * True when a line is only the beginning of an anchor, as a crash during the write leaves it. The next anchor then
 * begins a line of its own, so the line need not be the file's last.
 */
function isCutShort(line: string): boolean {
  return LINES.some((parts) => isBeginningOf(parts, line));
}

function isBeginningOf(parts: readonly (string | RegExp)[], line: string): boolean {
  let rest = line;
  for (const part of parts) {
    if (rest === '') return true;
    if (typeof part === 'string') {
      if (part.startsWith(rest)) return true;
      if (!rest.startsWith(part)) return false;
      rest = rest.slice(part.length);
    } else {
      rest = rest.slice(part.exec(rest)?.[0].length ?? 0);
    }
  }
  return rest === '' || rest === '"';
}

/** True for the PEM of a key that can sign anchors. */
export function isSigningKey(pem: string): boolean {
  try {
    return createPrivateKey(pem).asymmetricKeyType === 'ed25519';
  } catch {
    return false;
  }
}

function readSigningKey(pem: string | undefined): KeyObject | undefined {
  return pem === undefined ? undefined : requireEd25519(createPrivateKey(pem));
}

function requireEd25519(key: KeyObject): KeyObject {
  if (key.asymmetricKeyType !== 'ed25519')
    throw new Error(`anchors are signed with an Ed25519 key, found ${key.asymmetricKeyType}`);
  return key;
}

function signAnchor(anchor: Anchor, key: KeyObject | undefined): Anchor {
  return key === undefined
    ? anchor
    : { ...anchor, signature: sign(null, buildSignedBytes(anchor), key).toString('base64') };
}

function isSigned(anchor: Anchor, key: KeyObject): boolean {
  return (
    anchor.signature !== undefined &&
    verify(null, buildSignedBytes(anchor), key, Buffer.from(anchor.signature, 'base64'))
  );
}

/** Builds the bytes that are signed: the fields in this order, whatever their order in the file. */
function buildSignedBytes({ v, run, seq, head, count, time, prev, first }: Anchor): Buffer {
  return Buffer.from(JSON.stringify({ v, run, seq, head, count, time, prev, first }));
}

/** SHA-256 of the anchor as it is written, 64 hex digits. */
export function hashAnchor({ v, run, seq, head, count, time, prev, first, signature }: Anchor): string {
  return sha256(JSON.stringify({ v, run, seq, head, count, time, prev, first, signature }));
}

/**
 * Finds the anchors of a file that name one before them which no known file has: it was removed. The first of a file may: what was
 * before was moved away. In a copy, which several machines may write, the first of each process may: what it names is in the file of
 * its own machine, and may be older than the copy. `known`: hashes of all anchors of all files.
 */
export function findGaps(
  anchors: readonly Anchor[],
  known: ReadonlySet<string>,
  { isCopy = false }: { readonly isCopy?: boolean } = {},
): readonly Anchor[] {
  return anchors
    .slice(1)
    .filter(({ prev, first }) => prev !== undefined && !known.has(prev) && !(isCopy && first === true));
}

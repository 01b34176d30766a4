/**
 * Anchors: where a chain stood at a time, written down in a second place. A chain alone can not show that its tail was cut
 * off or that all of it was computed afresh; against an anchor both show. An anchor only ever speaks of entries that the
 * store has, so a crash between the two can not look like tampering.
 */
import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import type { Clock, Timer } from '../../base/clock.ts';
import type { ChainHead } from '../chain.ts';
import type { Entry } from '../entry.ts';
import { StoreError } from '../store.ts';
import type { JournalWriter } from '../writer.ts';

/** A statement that entry `seq` of `run` exists and has hash `head`. */
export interface Anchor {
  readonly v: 1;
  readonly run: string;
  readonly seq: number;
  /** 64 hex digits. */
  readonly head: string;
  /** Entries there are up to `seq`: the same figure, since numbers have no gaps; stated so that the line stands alone. */
  readonly count: number;
  /** ISO 8601, UTC. */
  readonly time: string;
  /** Ed25519 over the line without this field, base64. */
  readonly signature?: string;
}

/** Where anchors go: a file, a pipe to a log, a remote that can only append. */
export interface AnchorSink {
  readonly name: string;
  /** Resolves when the sink has it for good. */
  write(anchor: Anchor): Promise<void>;
}

export interface AnchorerOptions {
  readonly run: string;
  readonly clock: Clock;
  readonly sinks: readonly AnchorSink[];
  /** PEM of an Ed25519 private key, where anchors are signed. */
  readonly key?: string;
  /** Order events between two anchors, at most. */
  readonly everyOrderEvents?: number;
  /** Time between two anchors while entries are written, at most; `null` for none but those by events and at the end. */
  readonly everyMs?: number | null;
  /** Told once when a sink fails and once when it works again (`undefined`); writing to the others goes on. */
  readonly onSink?: (sink: string, failure: string | undefined) => void;
}

/** How soon a sink that failed is tried again. */
const RETRY_MS = 15_000;

/** What counts towards the ten: an order's moves, and every request that changes something at the venue. */
function isOrderEvent(entry: Entry): boolean {
  return entry.type.startsWith('order.') || (entry.type === 'call.attempted' && entry.data.method !== 'GET');
}

/** Writes anchors for one run: every ten order events, every minute while there is something new, and at its end. */
export class Anchorer {
  private readonly options: AnchorerOptions;
  private readonly key: KeyObject | undefined;
  private readonly failing = new Map<string, { readonly message: string; readonly since: number }>();
  private newest: Anchor | undefined;
  private retry: Timer | undefined;
  private readonly everyOrderEvents: number;
  private readonly everyMs: number | null;
  private orderEvents = 0;
  private hasClosed = false;
  private hasEnded = false;
  private anchoredSeq: number;
  private timer: Timer | undefined;
  private writing: Promise<void> = Promise.resolve();
  private readonly writer: JournalWriter;

  constructor(writer: JournalWriter, options: AnchorerOptions) {
    this.writer = writer;
    this.options = options;
    this.key = options.key === undefined ? undefined : readSigningKey(options.key);
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

  /** Sinks that fail now, with their messages. */
  get failures(): ReadonlyMap<string, string> {
    return new Map([...this.failing].map(([name, { message }]) => [name, message]));
  }

  /** The sink that has failed for the longest time without a break, and for how long, ms. */
  get longestFailure(): { readonly sink: string; readonly ms: number } | undefined {
    const now = this.options.clock.monotonic();
    const [first] = [...this.failing].sort(([, a], [, b]) => a.since - b.since);
    return first === undefined ? undefined : { sink: first[0], ms: now - first[1].since };
  }

  /** No timer of it is left; what was begun to be written is still written. */
  close(): void {
    this.timer?.cancel();
    this.retry?.cancel();
    this.hasClosed = true;
  }

  /** Resolves when every sink has answered to everything anchored so far. Never rejects: failures are told by `onSink`. */
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
    const { run, clock, sinks } = this.options;
    const anchor = signAnchor(
      { v: 1, run, seq: head.seq, head: head.hash, count: head.seq, time: new Date(clock.now()).toISOString() },
      this.key,
    );
    this.newest = anchor;
    this.writing = this.writing.then(async () => {
      await Promise.all(sinks.map((sink) => this.write(sink, anchor)));
    });
  }

  /** An anchor speaks for all before it: a sink that was down is given the newest, also when nothing is written meanwhile. */
  private armRetry(): void {
    if (this.retry !== undefined || this.hasEnded || this.hasClosed) return;
    const { clock, sinks } = this.options;
    this.retry = clock.at(clock.now() + RETRY_MS, () => {
      this.retry = undefined;
      const { newest } = this;
      if (newest === undefined) return;
      this.writing = this.writing.then(async () => {
        const failing = sinks.filter((sink) => this.failing.has(sink.name));
        await Promise.all(failing.map((sink) => this.write(sink, newest)));
      });
    });
  }

  private async write(sink: AnchorSink, anchor: Anchor): Promise<void> {
    try {
      await sink.write(anchor);
      if (this.failing.delete(sink.name)) this.options.onSink?.(sink.name, undefined);
    } catch (error) {
      const { message } = error as Error;
      const since = this.failing.get(sink.name)?.since ?? this.options.clock.monotonic();
      if (!this.failing.has(sink.name)) this.options.onSink?.(sink.name, message);
      this.failing.set(sink.name, { message, since });
      this.armRetry();
    }
  }
}

/** Appends anchors to a file of the owner alone, one JSON line each, on the disk before `write` resolves. */
export class AnchorFile implements AnchorSink {
  readonly name: string;
  private readonly file: string;

  constructor(file: string) {
    this.file = file;
    this.name = file;
  }

  async write(anchor: Anchor): Promise<void> {
    mkdirSync(dirname(this.file), { recursive: true, mode: 0o700 });
    const handle = openSync(this.file, constants.O_RDWR | constants.O_CREAT | constants.O_APPEND, 0o600);
    try {
      // A line that a crash cut short must not swallow the next one.
      writeSync(handle, `${endsInsideLine(handle) ? '\n' : ''}${JSON.stringify(anchor)}\n`);
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
  /** Lines, from 1, that are no anchors: cut short by a crash, or changed. */
  readonly unreadable: readonly number[];
  /** Those of them that no crash leaves behind: they are not the beginning of an anchor. */
  readonly changed: readonly number[];
  /** Anchors whose signature is absent or wrong, where a public key was given. They are not among `anchors`. */
  readonly unsigned: readonly number[];
}

interface WantedAnchors {
  /** PEM of an Ed25519 public key; then only anchors signed with it count. */
  readonly publicKey?: string | undefined;
  /** Only this run's; a line that can not be read may be anybody's. */
  readonly run?: string | undefined;
}

/** Reads an anchor file; one that is not there has no anchors. Throws where the key is none. */
export function readAnchors(file: string, wanted: WantedAnchors = {}): ReadAnchors {
  return sortedAnchors(readLines(file), wanted);
}

/** Lines of an anchor file: those that count, and the numbers of those that do not. */
export function sortedAnchors(lines: readonly string[], { publicKey, run }: WantedAnchors): ReadAnchors {
  const anchors: Anchor[] = [];
  const unreadable: number[] = [];
  const changed: number[] = [];
  const unsigned: number[] = [];
  const key = publicKey === undefined ? undefined : readVerifyingKey(publicKey);
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

/** Anchors by run, for whoever looks at many runs. */
export function anchorsByRun(anchors: Iterable<Anchor>): ReadonlyMap<string, readonly Anchor[]> {
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
    throw new StoreError('unavailable', `${file} can not be read: ${(error as Error).message}`);
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
      (parsed.signature === undefined || typeof parsed.signature === 'string');
    return isAnchor ? (parsed as Anchor) : undefined;
  } catch {
    return undefined;
  }
}

/** An anchor's line, part by part, in the order in which it is written. */
const LINE_PARTS: readonly (string | RegExp)[] = [
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
  '","signature":"',
  /^[A-Za-z0-9+/=]*/,
];

/**
 * Whether a line is the beginning of an anchor and no more. A crash in the middle of writing leaves that, and what is written
 * after it begins a line of its own, so it need not be the file's last.
 */
function isCutShort(line: string): boolean {
  let rest = line;
  for (const part of LINE_PARTS) {
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

/** Whether a text is a key that anchors can be signed with. */
export function isSigningKey(pem: string): boolean {
  try {
    return createPrivateKey(pem).asymmetricKeyType === 'ed25519';
  } catch {
    return false;
  }
}

function readSigningKey(pem: string): KeyObject {
  const key = createPrivateKey(pem);
  if (key.asymmetricKeyType !== 'ed25519')
    throw new Error(`anchors are signed with an Ed25519 key, found ${key.asymmetricKeyType}`);
  return key;
}

function readVerifyingKey(pem: string): KeyObject {
  const key = createPublicKey(pem);
  if (key.asymmetricKeyType !== 'ed25519')
    throw new Error(`anchors are signed with an Ed25519 key, found ${key.asymmetricKeyType}`);
  return key;
}

function signAnchor(anchor: Anchor, key: KeyObject | undefined): Anchor {
  return key === undefined ? anchor : { ...anchor, signature: sign(null, signedBytes(anchor), key).toString('base64') };
}

function isSigned(anchor: Anchor, key: KeyObject): boolean {
  return (
    anchor.signature !== undefined && verify(null, signedBytes(anchor), key, Buffer.from(anchor.signature, 'base64'))
  );
}

/** What the signature is over: the fields in this order, whatever order the file has them in. */
function signedBytes({ v, run, seq, head, count, time }: Anchor): Buffer {
  return Buffer.from(JSON.stringify({ v, run, seq, head, count, time }));
}

/**
 * An archive: the runs of a closed month in one compressed file that can be verified as the journal could. It is gzip, one
 * member after another, so `gunzip -c` gives every line on any machine: a header, each run as it is exported (jsonl: the
 * exact lines with their hashes), a table of contents with the anchors, and a last line of fixed length that says where
 * that table lies. So one run is read without unpacking the others, and a broken part breaks one run alone.
 */
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { createGunzip, gunzipSync, gzipSync } from 'node:zlib';
import { type Anchor, parseAnchor } from '../anchors/anchors.ts';
import { ChainCheck } from '../chain.ts';
import { type RunRow, type StoredEntry, StoreError } from '../store.ts';

/** A run in the table of contents. */
export interface ArchivedRun {
  readonly row: RunRow;
  readonly entries: number;
  /** Hash of its last entry. */
  readonly head: string;
  /** Where its member lies in the file, bytes. */
  readonly at: number;
  readonly length: number;
}

export interface ArchiveContents {
  readonly v: 1;
  /** `2026-10`, UTC. */
  readonly month: string;
  /** When it was made, ISO 8601. */
  readonly made: string;
  readonly runs: readonly ArchivedRun[];
  /** Of these runs, as they stood in the anchor files. */
  readonly anchors: readonly Anchor[];
}

const KIND = 'perp-runbook archive';
export const ARCHIVE_ENDING = '.jsonl.gz';
const LEVEL = 6;
/** Where the table of contents lies; not compressed, so that its length is known. */
const trailer = (at: number, length: number) =>
  gzipSync(
    `${JSON.stringify({ contents: String(at).padStart(16, '0'), length: String(length).padStart(12, '0') })}\n`,
    {
      level: 0,
    },
  );
const TRAILER_LENGTH = trailer(0, 0).length;

/** Writes an archive beside its final place; it is one only after `publish`. Throws a StoreError `unavailable`. */
export class ArchiveWriter {
  readonly part: string;
  private readonly handle: number;
  private readonly folder: string;
  private readonly about: Pick<ArchiveContents, 'month' | 'made'>;
  private readonly runs: ArchivedRun[] = [];
  private readonly anchors: Anchor[] = [];
  private at = 0;

  /** `pid`: of this process; what a process leaves behind that died is taken away by the next (`removeRemains`). */
  constructor(folder: string, about: Pick<ArchiveContents, 'month' | 'made'>, pid: number) {
    this.folder = folder;
    this.about = about;
    this.part = join(folder, `.${about.month}.${pid}.part`);
    this.handle = stated(this.part, () => {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      rmSync(this.part, { force: true });
      return openSync(this.part, 'wx', 0o600);
    });
    this.member(`${JSON.stringify({ v: 1, archive: KIND, ...about })}\n`);
  }

  add(row: RunRow, entries: readonly StoredEntry[], anchors: readonly Anchor[]): void {
    const last = entries.at(-1);
    if (last === undefined) throw new RangeError(`run ${row.run} has no entries to archive`);
    const place = this.member(entries.map(hashedLine).join(''));
    this.runs.push({ row, entries: entries.length, head: last.hash, ...place });
    this.anchors.push(...anchors);
  }

  /** Writes the table of contents and waits for the disk. */
  finish(): void {
    const contents: ArchiveContents = { v: 1, ...this.about, runs: this.runs, anchors: this.anchors };
    const { at, length } = this.member(`${JSON.stringify(contents)}\n`);
    stated(this.part, () => {
      writeAll(this.handle, trailer(at, length));
      fsyncSync(this.handle);
      closeSync(this.handle);
    });
  }

  /**
   * Gives the finished file its name, the month's first that is free, and waits for the disk to have it. Never in the place
   * of another: what stands there may be the only copy of other runs.
   */
  publish(): string {
    for (let number = 1; ; number += 1) {
      const file = join(this.folder, `${this.about.month}${number === 1 ? '' : `.${number}`}${ARCHIVE_ENDING}`);
      const isOurs = stated(file, () => {
        try {
          linkSync(this.part, file);
          return true;
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
          throw error;
        }
      });
      if (!isOurs) continue;
      rmSync(this.part, { force: true });
      stated(this.folder, () => syncFolder(this.folder));
      return file;
    }
  }

  abandon(): void {
    try {
      closeSync(this.handle);
    } catch {}
    rmSync(this.part, { force: true });
  }

  private member(text: string): { readonly at: number; readonly length: number } {
    const bytes = gzipSync(text, { level: LEVEL });
    stated(this.part, () => writeAll(this.handle, bytes));
    const place = { at: this.at, length: bytes.length };
    this.at += bytes.length;
    return place;
  }
}

/** Takes away what writers left behind whose processes are gone. */
export function removeRemains(folder: string): void {
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder)) {
    const pid = /^\.\d{4}-\d{2}\.(\d+)\.part$/.exec(name)?.[1];
    if (pid !== undefined && !isRunning(Number(pid))) rmSync(join(folder, name), { force: true });
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

/** Reads the table of contents. Throws a StoreError that names the file: `damaged` where it is no whole archive. */
export function readContents(file: string): ArchiveContents {
  const size = stated(file, () => statSync(file).size);
  const broken = (why: string) => new StoreError('damaged', `${file} is not a whole archive: ${why}`);
  if (size <= TRAILER_LENGTH) throw broken('it is too short');
  const end = unpacked(readBytes(file, size - TRAILER_LENGTH, TRAILER_LENGTH));
  const place = end === undefined ? undefined : parsed(end);
  const [at, length] = [Number(place?.['contents']), Number(place?.['length'])];
  if (!(at >= 0 && length > 0 && at + length + TRAILER_LENGTH === size)) throw broken('its last line is missing');
  const text = unpacked(readBytes(file, at, length));
  const contents = text === undefined ? undefined : contentsIn(text);
  if (contents === undefined) throw broken('its table of contents can not be read');
  return contents;
}

/**
 * The entries of one run, as far as its part of the file can be unpacked and is sound. `damage`: what is wrong with the part
 * of the file, and the first entry that is lost by it.
 */
export async function readRun(
  file: string,
  { row, at, length }: ArchivedRun,
): Promise<{ readonly entries: readonly StoredEntry[]; readonly damage?: StoreError }> {
  const { text, whole } = await unpackedAsFarAsPossible(readBytes(file, at, length));
  const lines = text.split('\n');
  const rest = lines.pop() ?? '';
  const entries = lines.map((line, index) => storedLine(row.run, line, index + 1));
  if (whole && rest === '') return { entries };
  // What is unpacked behind the damage may be anything.
  const chain = new ChainCheck();
  for (const entry of entries) chain.add(entry);
  // Not the number that the first unsound line bears: its digits may be what was damaged.
  const lost = (chain.newest?.seq ?? 0) + 1;
  const message = `${file} is damaged: of run ${row.run} entry ${lost} and those after it can not be unpacked`;
  return { entries: entries.slice(0, lost - 1), damage: new StoreError('damaged', message, lost) };
}

function hashedLine({ line, hash }: StoredEntry): string {
  return `${line.slice(0, -1)},"hash":"${hash}"}\n`;
}
const HASH_TAIL = /,"hash":"([0-9a-f]{64})"\}$/;

/** The entry of a line; one that is none is given as it stands, and the chain says what is wrong with it. */
export function storedLine(run: string, text: string, place: number): StoredEntry {
  const hash = HASH_TAIL.exec(text)?.[1];
  const line = hash === undefined ? text : `${text.slice(0, -(hash.length + 11))}}`;
  const { seq, at, type, step } = parsed(line) ?? {};
  return {
    run,
    seq: Number.isSafeInteger(seq) ? (seq as number) : place,
    at: typeof at === 'number' ? at : 0,
    type: String(type ?? ''),
    step: String(step ?? ''),
    line,
    hash: hash ?? '',
  };
}

function contentsIn(text: string): ArchiveContents | undefined {
  const { v, month, made, runs, anchors } = parsed(text) ?? {};
  const isOne =
    v === 1 &&
    typeof month === 'string' &&
    typeof made === 'string' &&
    Array.isArray(runs) &&
    runs.every(isArchivedRun) &&
    Array.isArray(anchors) &&
    anchors.every((anchor) => parseAnchor(JSON.stringify(anchor)) !== undefined);
  return isOne ? ({ v, month, made, runs, anchors } as ArchiveContents) : undefined;
}

function isArchivedRun(value: unknown): boolean {
  const { row, entries, head, at, length } = (value ?? {}) as Partial<ArchivedRun>;
  const { run, runbook, mode, account, trigger, startedAt } = row ?? {};
  const texts = [run, runbook, mode, account, trigger, head];
  const numbers = [entries, at, length, startedAt];
  return texts.every((text) => typeof text === 'string') && numbers.every((number) => Number.isSafeInteger(number));
}

function parsed(text: string): { readonly [key: string]: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as { readonly [key: string]: unknown }) : undefined;
  } catch {
    return undefined;
  }
}

function unpacked(bytes: Uint8Array): string | undefined {
  try {
    return gunzipSync(bytes).toString('utf8');
  } catch {
    return undefined;
  }
}

/** A damaged part still gives what comes before the damage. */
async function unpackedAsFarAsPossible(bytes: Uint8Array): Promise<{ readonly text: string; readonly whole: boolean }> {
  const gunzip = createGunzip();
  const chunks: Buffer[] = [];
  const whole = await new Promise<boolean>((resolve) => {
    gunzip.on('data', (chunk: Buffer) => chunks.push(chunk));
    gunzip.on('error', () => resolve(false));
    gunzip.on('end', () => resolve(true));
    gunzip.end(bytes);
  });
  return { text: Buffer.concat(chunks).toString('utf8'), whole };
}

function readBytes(file: string, at: number, length: number): Uint8Array {
  return stated(file, () => {
    const { size } = statSync(file);
    const bytes = Buffer.alloc(Math.max(0, Math.min(length, size - at)));
    const handle = openSync(file, 'r');
    try {
      for (let done = 0; done < bytes.length; ) {
        const read = readSync(handle, bytes, done, bytes.length - done, at + done);
        if (read === 0) return bytes.subarray(0, done);
        done += read;
      }
      return bytes;
    } finally {
      closeSync(handle);
    }
  });
}

function writeAll(handle: number, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length; ) done += writeSync(handle, bytes, done);
}

function syncFolder(folder: string): void {
  const handle = openSync(folder, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** What the system refuses, as a StoreError that names the file. */
function stated<T>(file: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof StoreError || !(error instanceof Error && 'code' in error)) throw error;
    const place = join(basename(dirname(file)), basename(file));
    throw new StoreError('unavailable', `the archive ${place} can not be read or written: ${error.message}`);
  }
}

/**
 * Writes and reads archives: the runs of a closed month in one compressed file that can be verified like the journal. The file
 * is a sequence of gzip members, so `gunzip -c` gives every line on any machine: a header, each run as exported (jsonl: the
 * exact lines with their hashes), a table of contents with the anchors, and a trailer of fixed length with the position of
 * that table. So one run is read without unpacking the others, and a damaged member affects one run only.
 */

import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
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
import { makeFolders, syncPath } from '../folder.ts';
import { type RunRow, type StoredEntry, StoreError } from '../store.ts';

/** A run in the table of contents. */
export interface ArchivedRun {
  readonly row: RunRow;
  readonly entries: number;
  /** Hash of its last entry. */
  readonly head: string;
  /** Offset of its member in the file, bytes. */
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
  /** The anchors of these runs, as the anchor files had them. */
  readonly anchors: readonly Anchor[];
}

const KIND = 'perp-runbook archive';
export const ARCHIVE_ENDING = '.jsonl.gz';
const LEVEL = 6;
/** Builds the trailer, with the position of the table of contents; not compressed, so that its length is known. */
const buildTrailer = (at: number, length: number) =>
  gzipSync(
    `${JSON.stringify({ contents: String(at).padStart(16, '0'), length: String(length).padStart(12, '0') })}\n`,
    {
      level: 0,
    },
  );
const TRAILER_LENGTH = buildTrailer(0, 0).length;

/** Writes an archive under a temporary name until `publish`. Throws a StoreError `unavailable`. */
export class ArchiveWriter {
  readonly part: string;
  private readonly handle: number;
  private readonly folder: string;
  private readonly about: Pick<ArchiveContents, 'month' | 'made'>;
  private readonly runs: ArchivedRun[] = [];
  private readonly anchors: Anchor[] = [];
  private at = 0;

  /** `pid` is this process's number: the next process removes the temporary files of one that died (`removeRemains`). */
  constructor(folder: string, about: Pick<ArchiveContents, 'month' | 'made'>, pid: number) {
    this.folder = folder;
    this.about = about;
    this.part = join(folder, `.${about.month}.${pid}.part`);
    this.handle = withStoreErrors(this.part, () => {
      makeFolders(folder);
      rmSync(this.part, { force: true });
      return openSync(this.part, 'wx', 0o600);
    });
    this.writeMember(`${JSON.stringify({ v: 1, archive: KIND, ...about })}\n`);
  }

  add(row: RunRow, entries: readonly StoredEntry[], anchors: readonly Anchor[]): void {
    const last = entries.at(-1);
    if (last === undefined) throw new RangeError(`run ${row.run} has no entries to archive`);
    const place = this.writeMember(
      entries.map(({ line, hash }) => `${line.slice(0, -1)},"hash":"${hash}"}\n`).join(''),
    );
    this.runs.push({ row, entries: entries.length, head: last.hash, ...place });
    for (const anchor of anchors) this.anchors.push(anchor);
  }

  /** Writes the table of contents and waits for the disk. */
  finish(): void {
    const contents: ArchiveContents = { v: 1, ...this.about, runs: this.runs, anchors: this.anchors };
    const { at, length } = this.writeMember(`${JSON.stringify(contents)}\n`);
    withStoreErrors(this.part, () => {
      writeAll(this.handle, buildTrailer(at, length));
      fsyncSync(this.handle);
      closeSync(this.handle);
    });
  }

  /**
   * Gives the finished file its name, the first free one of the month, and waits for the disk. Never replaces an existing
   * file, which may be the only copy of other runs.
   */
  publish(): string {
    for (let number = 1; ; number += 1) {
      const file = join(this.folder, `${this.about.month}${number === 1 ? '' : `.${number}`}${ARCHIVE_ENDING}`);
      const isOurs = withStoreErrors(file, () => {
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
      withStoreErrors(this.folder, () => syncPath(this.folder));
      return file;
    }
  }

  abandon(): void {
    try {
      closeSync(this.handle);
    } catch {}
    rmSync(this.part, { force: true });
  }

  private writeMember(text: string): { readonly at: number; readonly length: number } {
    const bytes = gzipSync(text, { level: LEVEL });
    withStoreErrors(this.part, () => writeAll(this.handle, bytes));
    const place = { at: this.at, length: bytes.length };
    this.at += bytes.length;
    return place;
  }
}

/** Removes the temporary files of writers whose processes have ended. */
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

/** Reads the table of contents. Throws a StoreError that names the file: `damaged` when the archive is not whole. */
export function readContents(file: string): ArchiveContents {
  const size = withStoreErrors(file, () => statSync(file).size);
  const broken = (why: string) => new StoreError('damaged', `${file} is not a whole archive: ${why}`);
  if (size <= TRAILER_LENGTH) throw broken('it is too short');
  const end = unpack(readBytes(file, size - TRAILER_LENGTH, TRAILER_LENGTH));
  const place = end === undefined ? undefined : parseObject(end);
  const [at, length] = [Number(place?.['contents']), Number(place?.['length'])];
  if (!(at >= 0 && length > 0 && at + length + TRAILER_LENGTH === size)) throw broken('its last line is missing');
  const text = unpack(readBytes(file, at, length));
  const contents = text === undefined ? undefined : parseContents(text);
  if (contents === undefined) throw broken('its table of contents cannot be read');
  return contents;
}

/**
 * Reads the entries of one run, as far as its member can be unpacked and is sound. `damage` is the error of a damaged member,
 * with the number of the first entry that is lost.
 */
export async function readRun(
  file: string,
  { row, at, length }: ArchivedRun,
): Promise<{ readonly entries: readonly StoredEntry[]; readonly damage?: StoreError }> {
  const { text, whole } = await unpackAsFarAsPossible(readBytes(file, at, length));
  const lines = text.split('\n');
  const rest = lines.pop() ?? '';
  const entries = lines.map((line, index) => readStoredLine(row.run, line, index + 1));
  if (whole && rest === '') return { entries };
  // The text unpacked after the damage may be anything.
  const chain = new ChainCheck();
  for (const entry of entries) chain.add(entry);
  // Counted, not read from the first unsound line: its number may be damaged.
  const lost = (chain.newest?.seq ?? 0) + 1;
  const message = `${file} is damaged: entry ${lost} of run ${row.run} and the entries after it cannot be unpacked`;
  return { entries: entries.slice(0, lost - 1), damage: new StoreError('damaged', message, lost) };
}
const HASH_TAIL = /,"hash":"([0-9a-f]{64})"\}$/;

/** Reads an exported line. A line that is not an entry is passed on as it is; the chain check reports what is wrong with it. */
export function readStoredLine(run: string, text: string, place: number): StoredEntry {
  const hash = HASH_TAIL.exec(text)?.[1];
  const line = hash === undefined ? text : `${text.slice(0, -(hash.length + 11))}}`;
  const { seq, at, type, step } = parseObject(line) ?? {};
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

function parseContents(text: string): ArchiveContents | undefined {
  const { v, month, made, runs, anchors } = parseObject(text) ?? {};
  const isContents =
    v === 1 &&
    typeof month === 'string' &&
    typeof made === 'string' &&
    Array.isArray(runs) &&
    runs.every(isArchivedRun) &&
    Array.isArray(anchors) &&
    anchors.every((anchor) => parseAnchor(JSON.stringify(anchor)) !== undefined);
  return isContents ? ({ v, month, made, runs, anchors } as ArchiveContents) : undefined;
}

function isArchivedRun(value: unknown): boolean {
  const { row, entries, head, at, length } = (value ?? {}) as Partial<ArchivedRun>;
  const { run, runbook, mode, account, trigger, startedAt } = row ?? {};
  const texts = [run, runbook, mode, account, trigger, head];
  const numbers = [entries, at, length, startedAt];
  return texts.every((text) => typeof text === 'string') && numbers.every((number) => Number.isSafeInteger(number));
}

function parseObject(text: string): { readonly [key: string]: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as { readonly [key: string]: unknown }) : undefined;
  } catch {
    return undefined;
  }
}

function unpack(bytes: Uint8Array): string | undefined {
  try {
    return gunzipSync(bytes).toString('utf8');
  } catch {
    return undefined;
  }
}

/** Unpacks a member; of a damaged one, the text before the damage. */
async function unpackAsFarAsPossible(bytes: Uint8Array): Promise<{ readonly text: string; readonly whole: boolean }> {
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
  return withStoreErrors(file, () => {
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

/** Runs `work` and turns system errors into a StoreError that names the file. */
function withStoreErrors<T>(file: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof StoreError || !(error instanceof Error && 'code' in error)) throw error;
    const place = join(basename(dirname(file)), basename(file));
    throw new StoreError('unavailable', `the archive ${place} cannot be read or written: ${error.message}`);
  }
}

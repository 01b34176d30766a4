/**
 * What can still be read of an archive whose end is broken: its runs lie in parts of their own, and each part begins with
 * bytes that hardly occur elsewhere, so they are found without the table of contents. What the table said of them, and the
 * anchors in it, are lost.
 */
import { readFileSync } from 'node:fs';
import { constants, gunzipSync } from 'node:zlib';
import { readEntry } from '../chain.ts';
import type { RunRow } from '../store.ts';
import { nextRow } from '../writer.ts';
import { type ArchiveContents, type ArchivedRun, storedLine } from './archive.ts';

/** The beginning of a part: gzip, deflate, no flags, no time. */
const BEGIN = Buffer.from('1f8b080000000000', 'hex');

/** A table of contents made of what is found, of no run where nothing can be read. Never throws. */
export function salvagedContents(file: string): ArchiveContents {
  const bytes = bytesOf(file);
  const runs = partsOf(bytes).flatMap(([at, end]) => runIn(bytes.subarray(at, end), at) ?? []);
  return { v: 1, month: '', made: '', runs, anchors: [] };
}

function bytesOf(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch {
    return Buffer.alloc(0);
  }
}

/** Where parts begin and end, as offsets. */
function partsOf(bytes: Buffer): readonly (readonly [number, number])[] {
  const begins: number[] = [];
  for (let at = bytes.indexOf(BEGIN); at !== -1; at = bytes.indexOf(BEGIN, at + 1)) begins.push(at);
  return begins.map((at, index) => [at, begins[index + 1] ?? bytes.length]);
}

/** The run that a part holds; undefined for the other parts, and for one that can not be unpacked at all. */
function runIn(part: Buffer, at: number): ArchivedRun | undefined {
  const lines = unpackedStart(part).split('\n');
  // A whole part ends with a line's end; of one that was cut short the last line is none.
  lines.pop();
  let row: RunRow | undefined;
  let head = '';
  for (const [index, line] of lines.entries()) {
    const stored = storedLine(row?.run ?? '', line, index + 1);
    if (stored.type === 'run.started' || stored.type === 'run.ended') {
      try {
        row = nextRow(row, readEntry(stored));
      } catch {
        // The chain says what is wrong with a line that is no entry.
      }
    }
    head = stored.hash;
  }
  return row === undefined ? undefined : { row, entries: lines.length, head, at, length: part.length };
}

/** Also of a part that was cut short. */
function unpackedStart(part: Buffer): string {
  try {
    return gunzipSync(part, { finishFlush: constants.Z_SYNC_FLUSH }).toString('utf8');
  } catch {
    return '';
  }
}

/**
 * Finds the runs of an archive whose end is damaged. Each run is a gzip member of its own, and members begin with
 * bytes that rarely occur elsewhere, so they are found without the table of contents. The table itself and the anchors in it
 * are lost.
 */
import { readFileSync } from 'node:fs';
import { constants, gunzipSync } from 'node:zlib';
import { readEntry } from '../chain.ts';
import type { RunRow } from '../store.ts';
import { updateRow } from '../writer.ts';
import { type ArchiveContents, type ArchivedRun, readStoredLine } from './archive.ts';

/** The beginning of a member: gzip, deflate, no flags, no time. */
const BEGIN = Buffer.from('1f8b080000000000', 'hex');

/** Builds a table of contents from the runs that are found; an empty one when nothing can be read. Never throws. */
export function salvageContents(file: string): ArchiveContents {
  const bytes = readBytes(file);
  const runs = findMembers(bytes).flatMap(([at, end]) => readRun(bytes.subarray(at, end), at) ?? []);
  return { v: 1, month: '', made: '', runs, anchors: [] };
}

function readBytes(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch {
    return Buffer.alloc(0);
  }
}

/** Finds the members, as offsets of begin and end. */
function findMembers(bytes: Buffer): readonly (readonly [number, number])[] {
  const begins: number[] = [];
  for (let at = bytes.indexOf(BEGIN); at !== -1; at = bytes.indexOf(BEGIN, at + 1)) begins.push(at);
  return begins.map((at, index) => [at, begins[index + 1] ?? bytes.length]);
}

/** Reads the run that a member holds; undefined for other members, and for one that cannot be unpacked at all. */
function readRun(member: Buffer, at: number): ArchivedRun | undefined {
  const lines = unpackStart(member).split('\n');
  // A whole member ends with a line end; the last line of a truncated one is incomplete.
  lines.pop();
  let row: RunRow | undefined;
  let head = '';
  for (const [index, line] of lines.entries()) {
    const stored = readStoredLine(row?.run ?? '', line, index + 1);
    if (stored.type === 'run.started' || stored.type === 'run.ended') {
      try {
        row = updateRow(row, readEntry(stored));
      } catch {
        // The chain check reports what is wrong with a line that is not an entry.
      }
    }
    head = stored.hash;
  }
  return row === undefined ? undefined : { row, entries: lines.length, head, at, length: member.length };
}

/** Unpacks a member, also a truncated one. */
function unpackStart(member: Buffer): string {
  try {
    return gunzipSync(member, { finishFlush: constants.Z_SYNC_FLUSH }).toString('utf8');
  } catch {
    return '';
  }
}

/**
 * Compares the last anchors of a file with the journal, before a run sends anything. Cheap enough for every start: it reads the
 * end of one file and one entry of each of a few runs. `audit verify` checks the rest: every entry, and whether a whole run is
 * missing; it reads everything, archives included.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import type { JournalReader } from '../store.ts';
import { type Anchor, parseAnchor } from './anchors.ts';

/** About two hundred anchors. */
const TAIL_BYTES = 65_536;
const MOST_RUNS = 20;

/** Reads the last anchor of each of the latest runs, newest first; none when the file is missing or cannot be read. */
export function readNewestAnchors(file: string): readonly Anchor[] {
  const byRun = new Map<string, Anchor>();
  for (const line of readTail(file).split('\n').reverse()) {
    // The first line of the tail is incomplete; others may have been cut short by a crash.
    const anchor = parseAnchor(line);
    if (anchor === undefined) continue;
    const newer = byRun.get(anchor.run);
    // Two processes may write the file: the last line of a run need not be its furthest.
    if (newer === undefined ? byRun.size < MOST_RUNS : newer.seq < anchor.seq) byRun.set(anchor.run, anchor);
  }
  return [...byRun.values()];
}

interface Contradiction {
  readonly anchor: Anchor;
  /** `cut`: the journal ends before the entry; `changed`: the entry has another hash. */
  readonly kind: 'cut' | 'changed';
}

/**
 * Finds the first anchor that the journal contradicts. A run that is missing altogether does not count: it may be in an archive or
 * in another store. Rejects with a StoreError when the journal cannot be read.
 */
export async function findContradictedAnchor(
  store: Pick<JournalReader, 'read' | 'run'>,
  anchors: readonly Anchor[],
): Promise<Contradiction | undefined> {
  for (const anchor of anchors) {
    const [entry] = await store.read(anchor.run, { after: anchor.seq - 1, limit: 1 });
    if (entry?.seq === anchor.seq) {
      if (entry.hash !== anchor.head) return { anchor, kind: 'changed' };
    } else if (entry !== undefined || (await store.run(anchor.run)) !== undefined) return { anchor, kind: 'cut' };
  }
  return undefined;
}

function readTail(file: string): string {
  let handle: number | undefined;
  try {
    handle = openSync(file, 'r');
    const { size } = fstatSync(handle);
    const tail = Buffer.alloc(Math.min(size, TAIL_BYTES));
    return tail.toString('utf8', 0, readSync(handle, tail, 0, tail.length, size - tail.length));
  } catch {
    // Missing, or a copy that the engine may only append to. A file that cannot be written shows up as a failing sink.
    return '';
  } finally {
    if (handle !== undefined) closeSync(handle);
  }
}

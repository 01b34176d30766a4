/**
 * The last anchors of a file, held against the journal they speak of. What a run may rest on before it sends anything: cheap
 * enough for every start, because it reads the end of one file and one entry of each of a few runs. Whether every entry is what
 * was written, and whether a whole run is gone, is for `audit verify`, which reads everything and knows archives.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import type { JournalReader } from '../store.ts';
import { type Anchor, parseAnchor } from './anchors.ts';

/** About as many bytes as two hundred anchors take. */
const TAIL_BYTES = 65_536;
const MOST_RUNS = 20;

/** The last anchor of each of the runs that were anchored last, newest first; none where the file is not there or not to be read. */
export function newestAnchors(file: string): readonly Anchor[] {
  const byRun = new Map<string, Anchor>();
  for (const line of tailOf(file).split('\n').reverse()) {
    // The first line of the tail is the end of one; others may have been cut short by a crash.
    const anchor = parseAnchor(line);
    if (anchor === undefined) continue;
    const newer = byRun.get(anchor.run);
    // Two processes write one file: the last line need not be the furthest.
    if (newer === undefined ? byRun.size < MOST_RUNS : newer.seq < anchor.seq) byRun.set(anchor.run, anchor);
  }
  return [...byRun.values()];
}

interface Contradiction {
  readonly anchor: Anchor;
  /** `cut`: the journal ends before the entry; `changed`: the entry has another hash. */
  readonly kind: 'cut' | 'changed';
}

/** The first anchor that the journal contradicts. A run that is not there at all may lie in an archive, or in another store. Throws StoreError. */
export async function contradictedAnchor(
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

function tailOf(file: string): string {
  let handle: number | undefined;
  try {
    handle = openSync(file, 'r');
    const { size } = fstatSync(handle);
    const tail = Buffer.alloc(Math.min(size, TAIL_BYTES));
    return tail.toString('utf8', 0, readSync(handle, tail, 0, tail.length, size - tail.length));
  } catch {
    // Not there yet, or a copy that the engine may only append to. One that can not be written shows as a sink that fails.
    return '';
  } finally {
    if (handle !== undefined) closeSync(handle);
  }
}

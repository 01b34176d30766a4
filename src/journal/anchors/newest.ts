/**
 * Compares the last anchors of a file with the journal, before a run sends anything. Cheap enough for every start: it reads the
 * end of one file and one entry of each of a few runs; other stores and archives only for a run that the journal does not have.
 * `audit verify` checks the rest: every entry of every run.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import type { JournalReader, JournalStore } from '../store.ts';
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

/** The anchor that was written last; undefined where the file has none, or cannot be read. */
export function readLastAnchor(file: string): Anchor | undefined {
  for (const line of readTail(file).split('\n').reverse()) {
    const anchor = parseAnchor(line);
    if (anchor !== undefined) return anchor;
  }
  return undefined;
}

export interface Contradiction {
  readonly anchor: Anchor;
  /** `cut`: the journal ends before the entry; `changed`: the entry has another hash; `missing`: nothing has the run. */
  readonly kind: 'cut' | 'changed' | 'missing';
}

type ComparedReader = Pick<JournalReader, 'read' | 'run'>;

/**
 * Finds the first anchor that the journal contradicts. `elsewhere` opens the archives and the other stores whose anchors are in the
 * same file; it is called only where the journal lacks a run. Rejects with a StoreError when something cannot be read.
 */
export async function findContradictedAnchor(
  store: ComparedReader,
  anchors: readonly Anchor[],
  elsewhere: <T>(compare: (reader: ComparedReader) => Promise<T>) => Promise<T | undefined>,
): Promise<Contradiction | undefined> {
  const absent: Anchor[] = [];
  for (const anchor of anchors) {
    const found = await compare(store, anchor);
    if (found?.kind === 'missing') absent.push(anchor);
    else if (found !== undefined) return found;
  }
  const [first] = absent;
  if (first === undefined) return undefined;
  const compared = await elsewhere(async (reader) => {
    for (const anchor of absent) {
      const found = await compare(reader, anchor);
      if (found !== undefined) return { found };
    }
    return { found: undefined };
  });
  return compared === undefined ? { anchor: first, kind: 'missing' } : compared.found;
}

/** The same for the anchors of the account's own chain, given those that name it. */
export async function findContradictedAct(
  store: Pick<JournalStore, 'lastAct'>,
  account: string,
  anchors: readonly Anchor[],
): Promise<Contradiction | undefined> {
  for (const anchor of anchors) {
    const act = await store.lastAct(account, anchor.seq);
    if (act?.seq !== anchor.seq) return { anchor, kind: 'cut' };
    if (act.hash !== anchor.head) return { anchor, kind: 'changed' };
  }
  return undefined;
}

async function compare(reader: ComparedReader, anchor: Anchor): Promise<Contradiction | undefined> {
  const [entry] = await reader.read(anchor.run, { after: anchor.seq - 1, limit: 1 });
  if (entry?.seq === anchor.seq) return entry.hash === anchor.head ? undefined : { anchor, kind: 'changed' };
  const exists = entry !== undefined || (await reader.run(anchor.run)) !== undefined;
  return { anchor, kind: exists ? 'cut' : 'missing' };
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

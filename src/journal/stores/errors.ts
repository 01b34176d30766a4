/**
 * What every store refuses, worded once: the first two are the world's doing and end a run's writing, the others are our
 * own mistakes and say so.
 */
import { type AppendOptions, type StoredEntry, StoreError } from '../store.ts';

/** What a store knows of a run before an append; `epoch` undefined where it does not know the run. */
interface RunHead {
  readonly epoch: number | undefined;
  /** Number of the last entry, 0 for none. */
  readonly last: number;
}

/** Throws what an append to a run of that head is refused with. */
export function refuseAppend(
  entries: readonly StoredEntry[],
  { row, epoch = 0 }: Pick<AppendOptions, 'row' | 'epoch'>,
  head: RunHead,
): void {
  const [first] = entries;
  if (first === undefined) return;
  const { run } = first;
  if (epoch < (head.epoch ?? 0)) throw fenced(run, epoch, head.epoch ?? 0);
  for (const [index, entry] of entries.entries()) {
    const next = head.last + 1 + index;
    if (entry.run !== run) throw otherRun(run, entry.run);
    if (entry.seq !== next) throw conflict(run, entry.seq, next);
  }
  if (row === undefined && head.epoch === undefined) throw missingRow(run);
}

/** Somebody else appended to the run. */
export function conflict(run: string, found: number, expected: number): StoreError {
  return new StoreError('conflict', `run ${run} was written by someone else: entry ${expected} is next, not ${found}`);
}

/** A newer holder of the account's lease has written to the run. */
function fenced(run: string, epoch: number, newest: number): StoreError {
  return new StoreError(
    'fenced',
    `run ${run} was taken over: epoch ${newest} has written to it, this process acts under epoch ${epoch}`,
  );
}

function missingRow(run: string): Error {
  return new Error(`the first entries of run ${run} came without its row`);
}

function otherRun(run: string, other: string): Error {
  return new Error(`one append is for one run, found ${run} and ${other}`);
}

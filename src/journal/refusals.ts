/**
 * What every store refuses, worded once: the first two are the world's doing and end a run's writing, the others are our
 * own mistakes and say so.
 */
import { StoreError } from './store.ts';

/** Somebody else appended to the run. */
export function conflict(run: string, found: number, expected: number): StoreError {
  return new StoreError('conflict', `run ${run} was written by someone else: entry ${expected} is next, not ${found}`);
}

/** A newer holder of the account's lease has written to the run. */
export function fenced(run: string, epoch: number, newest: number): StoreError {
  return new StoreError(
    'fenced',
    `run ${run} was taken over: epoch ${newest} has written to it, this process acts under epoch ${epoch}`,
  );
}

export function missingRow(run: string): Error {
  return new Error(`the first entries of run ${run} came without its row`);
}

export function otherRun(run: string, other: string): Error {
  return new Error(`one append is for one run, found ${run} and ${other}`);
}

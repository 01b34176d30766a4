/**
 * Checks an append before it is stored, with the same errors in every store. `conflict` and `fenced` have outside causes
 * and end the run's writing; the other errors are faults of this program.
 */
import { type AppendOptions, type StoredEntry, StoreError } from '../store.ts';

/** The end of a run before an append; `epoch` is undefined when the store does not know the run. */
interface RunHead {
  readonly epoch: number | undefined;
  /** Number of the last entry, 0 for none. */
  readonly last: number;
  /** Type of the last entry, answers of people to a halted run left out. */
  readonly lastType?: string | undefined;
  /** Outcome of the run, where it has ended. */
  readonly outcome?: string | undefined;
}

/** An entry by which a person answers a halted run. */
export const ANSWER = 'operator.acted';
/** What may follow the end of a halted run, which is a pause. */
const BEHIND_A_HALT: ReadonlySet<string> = new Set([ANSWER, 'run.resumed']);

/** Throws when the append does not continue the run's head, or continues behind its end. */
export function refuseAppend(
  entries: readonly StoredEntry[],
  { row, epoch = 0 }: Pick<AppendOptions, 'row' | 'epoch'>,
  head: RunHead,
): void {
  const [first] = entries;
  if (first === undefined) return;
  const { run } = first;
  if (epoch < (head.epoch ?? 0))
    throw new StoreError(
      'fenced',
      `run ${run} was taken over: epoch ${head.epoch} has written to it, this process has epoch ${epoch}`,
    );
  let before = head.lastType;
  for (const [index, entry] of entries.entries()) {
    const next = head.last + 1 + index;
    if (entry.run !== run) throw new Error(`one append is for one run, found ${run} and ${entry.run}`);
    if (entry.seq !== next) throw buildConflict(run, entry.seq, next);
    // Only a halted run may be resumed (reliability.md, Journal lines).
    if (before === 'run.ended' && !(head.outcome === 'halted' && BEHIND_A_HALT.has(entry.type)))
      throw new StoreError(
        'conflict',
        `run ${run} has ended: nothing is written behind its end, and so no ${entry.type}`,
      );
    if (entry.type !== ANSWER) before = entry.type;
  }
  if (row === undefined && head.epoch === undefined)
    throw new Error(`the first entries of run ${run} came without its row`);
}

/** Builds the error for a run to which another process has appended. */
export function buildConflict(run: string, found: number, expected: number): StoreError {
  return new StoreError(
    'conflict',
    `run ${run} was written by another process: entry ${expected} is next, not ${found}`,
  );
}

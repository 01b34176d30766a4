/** Makes the page's comparison of two runs: the facts of both, and the differences of their journals. */
import { type ComparedUntil, type DiffDocument, readDiff, type StoredRun } from '../compare/diff.ts';
import type { RunPageDocument } from '../folds/run-facts.ts';

interface ComparisonDocument {
  readonly left: RunPageDocument;
  readonly right: RunPageDocument;
  readonly diff: Omit<DiffDocument, 'differences'> &
    ComparedUntil & {
      /** The first differences; `audit diff --json` has all. */
      readonly differences: DiffDocument['differences'];
      readonly differenceCount: number;
    };
}

const MOST_DIFFERENCES = 300;
/** Runs that differ in more are not compared to their ends: a page shows the first of them. */
const MOST_HELD = 10_000;

/** A run, and the document of its page. */
type ShownRun = StoredRun & { readonly page: RunPageDocument };

export async function compareRuns(left: ShownRun, right: ShownRun, mostHeld = MOST_HELD): Promise<ComparisonDocument> {
  const diff = await readDiff(left, right, mostHeld);
  return {
    left: left.page,
    right: right.page,
    diff: {
      ...diff,
      before: diff.before.slice(-20),
      differences: diff.differences.slice(0, MOST_DIFFERENCES),
      differenceCount: diff.differences.length,
    },
  };
}

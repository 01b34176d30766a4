/** Two runs side by side: the heads of both, and what the comparison of their journals found. */
import type { Entry } from '../../journal/entry.ts';
import { type DiffDocument, diffRuns } from '../compare/diff.ts';
import { type RunPageDocument, RunPageFold } from '../folds/run-facts.ts';

interface ComparisonDocument {
  readonly left: RunPageDocument;
  readonly right: RunPageDocument;
  readonly diff: Omit<DiffDocument, 'differences'> & {
    /** The first of them; the whole list is in `audit diff --json`. */
    readonly differences: DiffDocument['differences'];
    readonly differenceCount: number;
  };
}

const MOST_DIFFERENCES = 300;

export function compareRuns(left: readonly Entry[], right: readonly Entry[]): ComparisonDocument {
  const diff = diffRuns(left, right);
  return {
    left: pageOf(left),
    right: pageOf(right),
    diff: {
      ...diff,
      before: diff.before.slice(-20),
      differences: diff.differences.slice(0, MOST_DIFFERENCES),
      differenceCount: diff.differences.length,
    },
  };
}

function pageOf(entries: readonly Entry[]): RunPageDocument {
  const fold = new RunPageFold();
  for (const entry of entries) fold.apply(entry);
  return fold.document();
}

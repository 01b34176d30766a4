/** Makes the page's comparison of two runs: the facts of both, and the differences of their journals. */
import type { Entry } from '../../journal/entry.ts';
import { type DiffDocument, diffRuns } from '../compare/diff.ts';
import { type RunPageDocument, RunPageFold } from '../folds/run-facts.ts';

interface ComparisonDocument {
  readonly left: RunPageDocument;
  readonly right: RunPageDocument;
  readonly diff: Omit<DiffDocument, 'differences'> & {
    /** The first differences; `audit diff --json` has all. */
    readonly differences: DiffDocument['differences'];
    readonly differenceCount: number;
  };
}

const MOST_DIFFERENCES = 300;

export function compareRuns(left: readonly Entry[], right: readonly Entry[]): ComparisonDocument {
  const diff = diffRuns(left, right);
  return {
    left: foldPage(left),
    right: foldPage(right),
    diff: {
      ...diff,
      before: diff.before.slice(-20),
      differences: diff.differences.slice(0, MOST_DIFFERENCES),
      differenceCount: diff.differences.length,
    },
  };
}

function foldPage(entries: readonly Entry[]): RunPageDocument {
  const fold = new RunPageFold();
  for (const entry of entries) fold.apply(entry);
  return fold.document();
}

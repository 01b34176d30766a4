/** Makes the list of runs: filtered, counted by kind, with the progress of unfinished runs. */
import type { RunMode, RunOutcome } from '../../journal/entry.ts';
import type { RunRow } from '../../journal/store.ts';
import type { ActiveStep } from './steps.ts';

export interface RunsFilter {
  /** Words to find in the run's name, runbook, account or trigger; case does not matter. */
  readonly text?: string;
  readonly outcome?: RunOutcome | 'unfinished';
  readonly mode?: RunMode;
  readonly runbook?: string;
  readonly account?: string;
  readonly offset?: number;
  readonly limit?: number;
}

export interface ListedRun extends RunRow {
  /** Of a run without an end only. */
  readonly progress?: RunProgress;
}

export interface RunProgress {
  readonly entries: number;
  /** Epoch ms of the newest entry. */
  readonly lastAt: number;
  /** The run writes and renews its switch; if false, it may be dead. */
  readonly isGoing: boolean;
  readonly active: readonly ActiveStep[];
  /** A person is asked. */
  readonly waitsForPerson: boolean;
}

interface RunsDocument {
  /** The number of runs after filtering. */
  readonly total: number;
  readonly offset: number;
  readonly runs: readonly ListedRun[];
  /** The number of all runs, by each value that a filter can take. */
  readonly counts: {
    readonly all: number;
    readonly outcomes: Readonly<Record<RunOutcome | 'unfinished', number>>;
    readonly modes: Readonly<Record<string, number>>;
    readonly runbooks: Readonly<Record<string, number>>;
    readonly accounts: Readonly<Record<string, number>>;
  };
}

const PAGE = 100;
const MOST_PER_PAGE = 500;

/**
 * The rows of all runs, newest first, by the moment in their names: a dry-run's own times are virtual. What depends on the rows alone
 * is made once: a page that is open asks every few seconds.
 */
export class RunsList {
  readonly rows: readonly RunRow[];
  private readonly counts: RunsDocument['counts'];
  /** What words are looked for in, row by row; made at the first search. */
  private texts: readonly string[] | undefined;

  constructor(rows: readonly RunRow[]) {
    this.rows = rows.toSorted((a, b) => (a.run < b.run ? 1 : a.run > b.run ? -1 : 0));
    const outcomes = { succeeded: 0, stopped: 0, failed: 0, halted: 0, unfinished: 0 };
    for (const { outcome } of rows) outcomes[outcome ?? 'unfinished'] += 1;
    this.counts = {
      all: rows.length,
      outcomes,
      modes: countWords(rows.map(({ mode }) => mode)),
      runbooks: countWords(rows.map(({ runbook }) => runbook)),
      accounts: countWords(rows.map(({ account }) => account)),
    };
  }

  makeDocument(filter: RunsFilter): RunsDocument {
    const { offset = 0, limit = PAGE, text = '' } = filter;
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length > 0)
      this.texts ??= this.rows.map((row) => `${row.run} ${row.runbook} ${row.account} ${row.trigger}`.toLowerCase());
    const { texts } = this;
    const matching = this.rows.filter(
      (row, index) => matches(row, filter) && words.every((word) => texts?.[index]?.includes(word)),
    );
    const runs = matching.slice(offset, offset + Math.min(limit, MOST_PER_PAGE));
    return { total: matching.length, offset, runs, counts: this.counts };
  }
}

function matches(row: RunRow, { outcome, mode, runbook, account }: RunsFilter): boolean {
  return (
    (outcome === undefined || (row.outcome ?? 'unfinished') === outcome) &&
    (mode === undefined || row.mode === mode) &&
    (runbook === undefined || row.runbook === runbook) &&
    (account === undefined || row.account === account)
  );
}

function countWords(words: readonly string[]): Readonly<Record<string, number>> {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return Object.fromEntries([...counts].sort(([a], [b]) => (a < b ? -1 : 1)));
}

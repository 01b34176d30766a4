/** The list of runs with its filters: which there are, how many of each kind, and how far those under way have come. */
import type { RunMode, RunOutcome } from '../../journal/entry.ts';
import type { RunRow } from '../../journal/store.ts';
import type { ActiveStep } from './steps.ts';

export interface RunsFilter {
  /** Found anywhere in the run's name, the runbook, the account or the trigger; letters' case does not matter. */
  readonly text?: string;
  readonly outcome?: RunOutcome | 'unfinished';
  readonly mode?: RunMode;
  readonly runbook?: string;
  readonly account?: string;
  readonly offset?: number;
  readonly limit?: number;
}

export interface ListedRun extends RunRow {
  /** Of a run without an end. */
  readonly progress?: RunProgress;
}

export interface RunProgress {
  readonly entries: number;
  /** Epoch ms of the newest entry. */
  readonly lastAt: number;
  /** It writes, and renews its switch; of one that does not nobody knows. */
  readonly isGoing: boolean;
  readonly active: readonly ActiveStep[];
  /** Somebody is asked. */
  readonly waitsForPerson: boolean;
}

interface RunsDocument {
  /** After filtering. */
  readonly total: number;
  readonly offset: number;
  readonly runs: readonly ListedRun[];
  /** Of all runs, by each word a filter can take. */
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

/** Newest first, by the moment in their names: a dry-run's own times are virtual. */
export function runsDocument(rows: readonly RunRow[], filter: RunsFilter): RunsDocument {
  const { offset = 0, limit = PAGE } = filter;
  const fitting = rows
    .filter((row) => fits(row, filter))
    .toSorted((a, b) => (a.run < b.run ? 1 : a.run > b.run ? -1 : 0));
  const outcomes = { succeeded: 0, stopped: 0, failed: 0, halted: 0, unfinished: 0 };
  for (const { outcome } of rows) outcomes[outcome ?? 'unfinished'] += 1;
  return {
    total: fitting.length,
    offset,
    runs: fitting.slice(offset, offset + Math.min(limit, MOST_PER_PAGE)),
    counts: {
      all: rows.length,
      outcomes,
      modes: counted(rows.map(({ mode }) => mode)),
      runbooks: counted(rows.map(({ runbook }) => runbook)),
      accounts: counted(rows.map(({ account }) => account)),
    },
  };
}

function fits(row: RunRow, { text = '', outcome, mode, runbook, account }: RunsFilter): boolean {
  const { run, trigger } = row;
  const hay = `${run} ${row.runbook} ${row.account} ${trigger}`.toLowerCase();
  return (
    (outcome === undefined || (row.outcome ?? 'unfinished') === outcome) &&
    (mode === undefined || row.mode === mode) &&
    (runbook === undefined || row.runbook === runbook) &&
    (account === undefined || row.account === account) &&
    text
      .toLowerCase()
      .split(/\s+/)
      .every((word) => hay.includes(word))
  );
}

function counted(words: readonly string[]): Readonly<Record<string, number>> {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return Object.fromEntries([...counts].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/**
 * Reads what schedulers decided about each occurrence, from every store that the state folder knows: whether its run was started, and
 * how late, or why it was not.
 */
import type { OccurrenceRow } from '../../journal/schedule/store.ts';
import type { RunRow } from '../../journal/store.ts';
import type { StateFolder } from '../state.ts';
import { accessStore } from './location.ts';
import { listJournalPlaces, withJournal } from './review.ts';

/** `due`: it waits, or its run was promised and is not known to have begun. */
type OccurrenceVerdict = 'started' | 'skipped' | 'missed' | 'due';

export interface DecidedOccurrence {
  readonly account: string;
  readonly runbook: string;
  readonly slot: string;
  /** The scheduled instant, epoch ms. */
  readonly nominalMs: number;
  readonly verdict: OccurrenceVerdict;
  readonly why?: string;
  readonly run?: string;
  /** From the scheduled instant to the first entry of its run, ms. */
  readonly lateMs?: number;
}

export interface OccurrenceFilter {
  readonly runbook?: string | undefined;
  /** Scheduled instants: from the first on, and before the second, epoch ms. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  readonly limit: number;
}

/** The newest occurrences that fit, newest first. */
export async function readOccurrences(
  state: StateFolder,
  filter: OccurrenceFilter,
): Promise<readonly DecidedOccurrence[]> {
  const rows = await listRows(state);
  const fitting = rows
    .filter(
      ({ runbook, row }) =>
        (filter.runbook === undefined || runbook === filter.runbook) &&
        row.nominalMs >= (filter.from ?? Number.NEGATIVE_INFINITY) &&
        row.nominalMs < (filter.to ?? Number.POSITIVE_INFINITY),
    )
    .sort((a, b) => b.row.nominalMs - a.row.nominalMs || compareTexts(a.row.slot, b.row.slot))
    .slice(0, filter.limit);
  const runs = await readRuns(
    state,
    fitting.flatMap(({ row: { run } }) => (run === undefined ? [] : [run])),
  );
  return fitting.map(({ account, runbook, slot, row }) => {
    const { nominalMs, why, run } = row;
    const begun = run === undefined ? undefined : runs.get(run);
    return {
      account,
      runbook,
      slot,
      nominalMs,
      verdict: judge(row, begun),
      ...(why === undefined ? {} : { why }),
      ...(run === undefined ? {} : { run }),
      ...(begun === undefined ? {} : { lateMs: Math.max(0, begun.startedAt - nominalMs) }),
    };
  });
}

function judge({ verdict, began }: OccurrenceRow, begun: RunRow | undefined): OccurrenceVerdict {
  if (verdict === 'waiting') return 'due';
  if (verdict !== 'started' || begun !== undefined || began === 'begun') return verdict;
  return began === 'lost' ? 'missed' : 'due';
}

interface PlacedRow {
  readonly account: string;
  readonly runbook: string;
  readonly slot: string;
  readonly row: OccurrenceRow;
}

async function listRows(state: StateFolder): Promise<readonly PlacedRow[]> {
  const found: PlacedRow[] = [];
  for (const place of listJournalPlaces({ state })) {
    const store = await accessStore(place, state.environment).openScheduleStore();
    try {
      for (const account of await store.decidedAccounts())
        for (const row of await store.occurrences(account)) found.push({ account, ...splitSlot(row.slot), row });
    } finally {
      await store.close();
    }
  }
  return found;
}

async function readRuns(state: StateFolder, names: readonly string[]): Promise<ReadonlyMap<string, RunRow>> {
  const runs = new Map<string, RunRow>();
  if (names.length === 0) return runs;
  await withJournal({ state }, async (store) => {
    for (const name of names) {
      const row = await store.run(name);
      if (row !== undefined) runs.set(name, row);
    }
  });
  return runs;
}

/** The id of a slot is the runbook's name and the slot's times (app/schedule/timetable.ts). */
function splitSlot(id: string): { readonly runbook: string; readonly slot: string } {
  const end = id.indexOf('/');
  return { runbook: id.slice(0, end), slot: id.slice(end + 1) };
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/**
 * `runbook audit stats`: counts runs, outcomes, denials and tokens by runbook and by day. Counts of ended runs are kept in an
 * index beside the journals, so that each run is read once. The index is rebuilt when it is missing, and holds nothing but
 * counts. A run that continued since is counted again.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { EXIT, type ExitCode } from '../../app/errors.ts';
import type { StateFolder } from '../../app/state.ts';
import { describeNoRuns, withJournal } from '../../app/stores/review.ts';
import { readEntriesOf } from '../../journal/reading.ts';
import { type Database, openDatabase } from '../../journal/sql/sqlite.ts';
import type { JournalReader, RunRow } from '../../journal/store.ts';
import {
  type RunFigures,
  type RunTally,
  type StatsDocument,
  StatsFold,
  TALLIED,
  TallyFold,
} from '../../report/compare/stats.ts';
import { formatText } from '../../report/format.ts';
import type { Given } from '../actions/actions.ts';
import type { Invocation } from '../invocation.ts';
import type { Output, Style } from '../terminal/output.ts';
import { type Cell, formatStyledTable } from '../terminal/text-table.ts';

export async function showStats({ runbook }: Given<'audit stats'>, review: Invocation): Promise<ExitCode> {
  const { terminal } = review;
  const document = await withJournal(review, async (store) => {
    const rows = await store.runs(runbook === undefined ? {} : { runbook });
    const fold = new StatsFold();
    const known = await openTallies(review.state);
    try {
      for (const row of rows) {
        const tally = known.get(row) ?? (await tallyRun(store, row.run, terminal));
        known.keep(row, tally);
        fold.add(row, tally);
      }
      known.flush();
    } finally {
      known.close();
    }
    return fold.document();
  });
  terminal.answer(document ?? new StatsFold().document(), () =>
    document === undefined || document.total.runs === 0
      ? describeNoRuns(review.state)
      : formatStats(document, terminal),
  );
  return EXIT.done;
}

async function tallyRun(store: JournalReader, run: string, terminal: Output): Promise<RunTally> {
  terminal.progress(`reading ${run}`);
  const fold = new TallyFold();
  for await (const entry of readEntriesOf(store, run, TALLIED)) fold.apply(entry);
  return fold.tally();
}

function formatStats({ total, byRunbook, byDay, denials }: StatsDocument, terminal: Output): string {
  const columns = [
    '#runs',
    '#succeeded',
    '#stopped',
    '#failed',
    '#halted',
    '#no end',
    '#orders',
    '#denials',
    '#rejections',
    '#ambiguous',
    '#alarms',
    '#requests',
    '#tokens',
  ];
  const sections = [
    formatStyledTable(
      ['runbook', ...columns],
      [...byRunbook.map((each) => [formatText(each.runbook), ...formatCounts(each)]), ['all', ...formatCounts(total)]],
      terminal,
    ),
    formatStyledTable(
      ['day', ...columns],
      byDay.map((each) => [each.day, ...formatCounts(each)]),
      terminal,
    ),
    formatStyledTable(
      ['refused here because of', '#times'],
      denials.map(({ code, count }): readonly Cell[] => [formatText(code), String(count)]),
      terminal,
    ),
  ];
  return sections.filter((section) => section !== '').join('\n\n');
}

function formatCounts({
  runs,
  outcomes,
  orders,
  denials,
  rejections,
  ambiguous,
  alarms,
  requests,
  tokens,
}: RunFigures): readonly Cell[] {
  const { succeeded, stopped, failed, halted, unfinished } = outcomes;
  const alarming = (count: number, style: Style): Cell => (count === 0 ? '0' : { text: String(count), style });
  return [
    String(runs),
    String(succeeded),
    String(stopped),
    alarming(failed, 'bad'),
    alarming(halted, 'warning'),
    alarming(unfinished, 'warning'),
    String(orders),
    alarming(denials, 'warning'),
    alarming(rejections, 'warning'),
    alarming(ambiguous, 'warning'),
    alarming(alarms, 'bad'),
    String(requests),
    String(tokens),
  ];
}

// The index of counts.

/** Version of the counts: another version counts everything again. */
const VERSION = 1;
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS tally (
    run TEXT PRIMARY KEY,
    ended_at INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    version INTEGER NOT NULL,
    tally TEXT NOT NULL
  ) WITHOUT ROWID;`;

interface Tallies {
  get(row: RunRow): RunTally | undefined;
  keep(row: RunRow, tally: RunTally): void;
  /** Writes the kept counts. */
  flush(): void;
  close(): void;
}

/** Opens the index of the state folder; an unusable one counts as missing. */
async function openTallies(state: StateFolder): Promise<Tallies> {
  const nowhere: Tallies = { get: () => undefined, keep: () => {}, flush: () => {}, close: () => {} };
  // Reading an archive elsewhere creates no folder.
  if (!existsSync(state.path)) return nowhere;
  try {
    const database = await openDatabase(join(state.path, 'tallies.db'));
    database.setDurable(false);
    database.exec(SCHEMA);
    return new TallyIndex(database);
  } catch {
    return nowhere;
  }
}

class TallyIndex implements Tallies {
  private readonly database: Database;
  private readonly known = new Map<string, RunTally>();
  private readonly fresh: (readonly [RunRow, RunTally])[] = [];

  constructor(database: Database) {
    this.database = database;
    const rows = database.statement('SELECT run, ended_at, outcome, tally FROM tally WHERE version = ?').all(VERSION);
    for (const { run, ended_at, outcome, tally } of rows)
      this.known.set(`${run} ${ended_at} ${outcome}`, JSON.parse(String(tally)) as RunTally);
  }

  get(row: RunRow): RunTally | undefined {
    return this.known.get(makeKey(row));
  }

  keep(row: RunRow, tally: RunTally): void {
    if (row.outcome !== undefined && !this.known.has(makeKey(row))) this.fresh.push([row, tally]);
  }

  flush(): void {
    if (this.fresh.length === 0) return;
    this.database.transaction(() => {
      const insert = this.database.statement('INSERT OR REPLACE INTO tally VALUES (?, ?, ?, ?, ?)');
      for (const [{ run, endedAt = 0, outcome = '' }, tally] of this.fresh.splice(0))
        insert.run(run, endedAt, outcome, VERSION, JSON.stringify(tally));
    });
  }

  close(): void {
    this.database.close();
  }
}

function makeKey({ run, endedAt, outcome }: RunRow): string {
  return `${run} ${endedAt} ${outcome}`;
}

/**
 * Writes the report of a run that has ended as JSON, piece by piece, while its journal is read once for each list of rows: a run of a
 * month has gigabytes of them. The same rows, one by one, are for what shows a few.
 */
import type { Entry } from '../../journal/entry.ts';
import { readEntries } from '../../journal/reading.ts';
import type { JournalReader } from '../../journal/store.ts';
import { composeReport, RunFold, type RunOutlineFold, type RunReport } from '../folds/run.ts';
import { type DeadmanRow, listDeadman, type RequestRow, type StepRow, TokenSum } from '../results/run-rows.ts';

/** What the report of a run that has ended is written from. */
export interface ReportSource {
  /** Has folded the whole run. */
  readonly known: RunOutlineFold;
  /** Reads the journal from its first entry. */
  entries(): AsyncIterable<Entry>;
}

/** Gets every row of a report. */
export interface RowTaker {
  addSteps(rows: readonly StepRow[]): void;
  addRequests(rows: readonly RequestRow[]): void;
  addDeadman(rows: readonly DeadmanRow[]): void;
}

export function fromStore(store: JournalReader, run: string, known: RunOutlineFold): ReportSource {
  return { known, entries: () => readEntries(store, run) };
}

/** Gives every row to `taker`, reading the journal once. */
export async function readRows(run: ReportSource, taker: RowTaker): Promise<void> {
  const { steps, requests } = run.known.makeRowFolds();
  for await (const entry of run.entries()) {
    if (isBehindEnd(entry, run)) break;
    steps.apply(entry);
    requests.apply(entry);
    taker.addSteps(steps.take());
    taker.addRequests(requests.take());
    taker.addDeadman(listDeadman(entry));
  }
  taker.addSteps(steps.list());
  taker.addRequests(requests.list());
}

/** The last step at a path, reading the journal once. */
export async function findLastStep(run: ReportSource, path: string): Promise<StepRow | undefined> {
  let last: StepRow | undefined;
  const addSteps = (rows: readonly StepRow[]) => {
    last = rows.findLast((row) => row.path === path) ?? last;
  };
  await readRows(run, { addSteps, addRequests() {}, addDeadman() {} });
  return last;
}

/** The report with every row in memory. */
export async function readRunReport(run: ReportSource): Promise<RunReport> {
  const fold = new RunFold();
  for await (const entry of run.entries()) {
    if (isBehindEnd(entry, run)) break;
    fold.apply(entry);
  }
  return fold.report();
}

/** The JSON of `readRunReport`, character for character. */
export async function* writeRunReport(run: ReportSource): AsyncGenerator<string> {
  const { steps, requests } = run.known.makeRowFolds();
  const tokens = new TokenSum();
  const lists: Readonly<Record<string, RowList>> = {
    steps: {
      apply(entry) {
        steps.apply(entry);
        return steps.take();
      },
      end: () => steps.list(),
    },
    requests: {
      apply(entry) {
        requests.apply(entry);
        return addTokens(tokens, requests.take());
      },
      end: () => addTokens(tokens, requests.list()),
    },
    deadman: { apply: listDeadman, end: () => [] },
  };
  const none = { steps: [], requests: [], tokens: tokens.use, deadman: [] };
  let before = '{';
  for (const [name, value] of Object.entries(composeReport(run.known.outline(), none))) {
    yield `${before}${JSON.stringify(name)}:`;
    before = ',';
    const list = Object.hasOwn(lists, name) ? lists[name] : undefined;
    if (list !== undefined) yield* writeList(run, list);
    // The requests before it have been added up.
    else yield JSON.stringify(name === 'tokens' ? tokens.use : value);
  }
  yield '}';
}

function addTokens(tokens: TokenSum, rows: readonly RequestRow[]): readonly RequestRow[] {
  for (const row of rows) tokens.add(row);
  return rows;
}

interface RowList {
  /** The rows that are complete with this entry. */
  apply(entry: Entry): readonly object[];
  end(): readonly object[];
}

/** Length of a piece; the output is written piece by piece. */
const PIECE = 1 << 16;

async function* writeList(run: ReportSource, list: RowList): AsyncGenerator<string> {
  let piece = '[';
  let before = '';
  const add = (row: object) => {
    piece += `${before}${JSON.stringify(row)}`;
    before = ',';
  };
  for await (const entry of run.entries()) {
    if (isBehindEnd(entry, run)) break;
    for (const row of list.apply(entry)) add(row);
    if (piece.length < PIECE) continue;
    yield piece;
    piece = '';
  }
  for (const row of list.end()) add(row);
  yield `${piece}]`;
}

/** A run may go on, or be resumed, while it is read. */
function isBehindEnd({ seq }: Entry, { known }: ReportSource): boolean {
  return seq > known.newest;
}

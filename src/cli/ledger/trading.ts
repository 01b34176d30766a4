/** `runbook audit pnl` and `runbook audit blotter`: what the runs gained, and every fill and order of theirs. */
import { EXIT, type ExitCode, UserError } from '../../app/errors.ts';
import { describeNoRuns, withJournal } from '../../app/stores/review.ts';
import { makePrintable } from '../../base/printable.ts';
import { readEntriesOf } from '../../journal/reading.ts';
import type { JournalReader } from '../../journal/store.ts';
import { formatCsv } from '../../report/export/csv.ts';
import { formatText } from '../../report/format.ts';
import {
  makeBlotter,
  type Span,
  TRADING_ENTRIES,
  type TradedRun,
  TradedRunFold,
} from '../../report/trading/blotter.ts';
import { makePnl } from '../../report/trading/pnl.ts';
import { readTime } from '../../runbook/expression/literals.ts';
import type { Given } from '../actions/actions.ts';
import type { Invocation } from '../invocation.ts';
import type { Output } from '../terminal/output.ts';
import { formatStyledTable } from '../terminal/text-table.ts';

export interface TradingOptions {
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly csv: boolean;
}

export async function showPnl(options: Given<'audit pnl'>, review: Invocation): Promise<ExitCode> {
  const { terminal } = review;
  const span = readSpan(options);
  const { by = 'run' } = options;
  const document = makePnl(await readTradedRuns(review), by, span);
  const columns = [by, 'realized', 'unrealized', 'fees', 'net', 'fills', 'runs'];
  terminal.answer(document, () => formatRows(document.rows, columns, options, terminal) ?? 'nothing was traded');
  return EXIT.done;
}

export async function showBlotter(options: Given<'audit blotter'>, review: Invocation): Promise<ExitCode> {
  const { terminal } = review;
  const document = makeBlotter(await readTradedRuns(review), readSpan(options));
  const columns = [
    'at',
    'run',
    'runbook',
    'step',
    'market',
    'side',
    'size',
    'price',
    'fee',
    'clientOrderId',
    'orderId',
  ];
  terminal.answer(document, () => formatRows(document.fills, columns, options, terminal) ?? 'nothing was traded');
  return EXIT.done;
}

/** What each run traded: live runs, or dry-runs where there are no others. */
async function readTradedRuns(review: Invocation): Promise<readonly TradedRun[]> {
  const runs = await withJournal(review, async (store) => {
    const all = (await store.runs()).toReversed();
    const live = all.filter(({ mode }) => mode === 'live');
    if (live.length === 0 && all.length > 0) review.terminal.note('no live run is known: these are dry-runs');
    const read: TradedRun[] = [];
    for (const { run } of live.length === 0 ? all : live)
      read.push(...(await readTradedRun(store, run, review.terminal)));
    return read;
  });
  if (runs === undefined) throw new UserError(describeNoRuns(review.state));
  return runs;
}

async function readTradedRun(store: JournalReader, run: string, terminal: Output): Promise<readonly TradedRun[]> {
  terminal.progress(`reading ${run}`);
  const fold = new TradedRunFold();
  for await (const entry of readEntriesOf(store, run, TRADING_ENTRIES)) fold.apply(entry);
  const traded = fold.finish();
  return traded === undefined ? [] : [traded];
}

function formatRows(
  rows: readonly object[],
  columns: readonly string[],
  { csv }: TradingOptions,
  terminal: Output,
): string | undefined {
  if (csv) return formatCsv(columns, rows as never);
  if (rows.length === 0) return undefined;
  const NUMBERS = new Set(['realized', 'unrealized', 'fees', 'net', 'fills', 'runs', 'size', 'price', 'fee']);
  const cells = (rows as readonly Readonly<Record<string, unknown>>[]).map((row) =>
    columns.map((column) => formatText(String(row[column] ?? ''))),
  );
  return formatStyledTable(
    columns.map((column) => (NUMBERS.has(column) ? `#${column}` : column)),
    cells,
    terminal,
  );
}

export function readSpan({ from, to }: Pick<TradingOptions, 'from' | 'to'>): Span {
  const span = { from: readInstant('--from', from), to: readInstant('--to', to) };
  if (span.from !== undefined && span.to !== undefined && span.from >= span.to)
    throw new UserError('--to is not after --from');
  return span;
}

/** A day is its first instant in UTC. */
function readInstant(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const time = readTime(/^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T00:00:00Z` : text);
  if (!('value' in time))
    throw new UserError(
      `${option} takes a day, or a time in ISO 8601 with its offset, such as 2026-01-05 or 2026-01-05T08:00:00Z; found ${makePrintable(text, 100)}`,
    );
  return time.value.ms;
}

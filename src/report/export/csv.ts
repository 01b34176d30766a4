/**
 * Exports a run as CSV (RFC 4180) that is safe to open in a spreadsheet: a cell that a spreadsheet would read as a formula
 * begins with an apostrophe, and no cell holds a line break or an escape. Plain decimals are unchanged, also negative ones. A
 * spreadsheet shows at most 15 digits, so read exact figures from the JSON.
 */
import { parseDecimal } from '../../base/decimal.ts';
import { escapeUnprintable } from '../../base/printable.ts';
import type { Entry, Json } from '../../journal/entry.ts';
import { summarizeFills } from '../folds/fills.ts';
import { foldOrders, makeOrdersDocument } from '../folds/orders.ts';
import { makeRunReport } from '../folds/run.ts';
import { formatIsoTime } from '../format.ts';
import { makeTimeline } from '../timeline/timeline.ts';

type Row = Readonly<Record<string, Json | undefined>>;

interface CsvTable {
  readonly about: string;
  readonly columns: readonly string[];
  rows(entries: readonly Entry[]): Iterable<Row>;
}

/** The tables of a run; `timeline` has the whole story, the others have figures. */
export const CSV_TABLES = {
  timeline: {
    about: 'the whole story, one line per event',
    columns: ['sequence', 'at', 'offsetMs', 'kind', 'depth', 'text'],
    rows: listTimelineRows,
  },
  entries: {
    about: 'every entry of the journal',
    columns: ['sequence', 'at', 'type', 'step', 'actor', 'epoch', 'data', 'hash'],
    rows: (entries) =>
      entries.map(({ seq, at, type, step, actor, epoch, data, hash }) => ({
        sequence: seq,
        at: formatIsoTime(at),
        type,
        step,
        actor,
        epoch,
        data: data as Json,
        hash,
      })),
  },
  steps: {
    about: 'steps with their outcome',
    columns: ['path', 'id', 'verb', 'outcome', 'attempts', 'startedAt', 'endedAt'],
    rows: (entries) => makeRunReport(entries).steps as readonly object[] as readonly Row[],
  },
  requests: {
    about: 'requests, with keep-alives and look-ups',
    columns: ['at', 'method', 'path', 'params', 'tokens', 'status', 'success'],
    rows: (entries) => makeRunReport(entries).requests as readonly object[] as readonly Row[],
  },
  orders: {
    about: 'orders with their last state',
    columns: ['clientOrderId', 'orderId', 'market', 'side', 'type', 'price', 'size', 'filled', 'averagePrice', 'state'],
    rows: (entries) => makeOrdersDocument(entries).orders as readonly object[] as readonly Row[],
  },
  fills: {
    about: 'fills of the orders',
    columns: [
      'id',
      'at',
      'clientOrderId',
      'orderId',
      'step',
      'market',
      'side',
      'price',
      'size',
      'value',
      'fee',
      'maker',
      'liquidation',
    ],
    rows: (entries) => summarizeFills(foldOrders(entries)).fills as readonly object[] as readonly Row[],
  },
} as const satisfies Record<string, CsvTable>;
export type CsvTableName = keyof typeof CSV_TABLES;

export function exportCsv(entries: readonly Entry[], table: CsvTableName = 'timeline'): string {
  const { columns, rows }: CsvTable = CSV_TABLES[table];
  return formatCsv(columns, rows(entries));
}

export function formatCsv(columns: readonly string[], rows: Iterable<Row>): string {
  let text = formatLine(columns);
  for (const row of rows) text += formatLine(columns.map((column) => formatCell(row[column])));
  return text;
}

function* listTimelineRows(entries: readonly Entry[]): Iterable<Row> {
  for (const { seq, at, offsetMs, kind, depth, spans } of makeTimeline(entries)) {
    yield {
      sequence: seq,
      at: formatIsoTime(at),
      offsetMs,
      kind,
      depth,
      text: spans.map((span) => span.text).join(''),
    };
  }
}

function formatLine(cells: readonly string[]): string {
  return `${cells.map(quoteCell).join(',')}\r\n`;
}

function formatCell(value: Json | undefined): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** Characters that begin a formula in a spreadsheet, after blanks and in full-width forms too. */
const FORMULA = /^[\s'"]*[=+\-@\uff1d\uff0b\uff0d\uff20|]/u;

/** One cell: never a formula, and quoted if necessary. */
export function quoteCell(text: string): string {
  const printed = escapeUnprintable(text);
  const safe = FORMULA.test(printed) && parseDecimal(printed) === undefined ? `'${printed}` : printed;
  return /[",\r\n;]|^\s|\s$/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

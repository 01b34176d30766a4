/**
 * Exports a run as CSV (RFC 4180) that is safe to open in a spreadsheet: a cell that a spreadsheet would read as a formula
 * begins with an apostrophe, and no cell holds a line break or an escape. Plain decimals are unchanged, also negative ones. A
 * spreadsheet shows at most 15 digits, so read exact figures from the JSON.
 */
import { parseDecimal } from '../../base/decimal.ts';
import { escapeUnprintable } from '../../base/printable.ts';
import type { Entry, Json } from '../../journal/entry.ts';
import { summarizeFills } from '../folds/fills.ts';
import { OrderFold } from '../folds/orders.ts';
import type { RunOutlineFold } from '../folds/run.ts';
import { formatIsoTime } from '../format.ts';
import type { RequestFold, StepFold } from '../results/run-rows.ts';
import { makeRowDocument, TimelineFold } from '../timeline/timeline.ts';

type Row = Readonly<Record<string, Json | undefined>>;

/** Lists the rows of a table, entry by entry. */
interface RowList {
  /** The rows that are complete with this entry. */
  apply(entry: Entry): readonly Row[];
  end(): readonly Row[];
}

interface CsvTable {
  readonly about: string;
  readonly columns: readonly string[];
  /** `known`: has folded the whole run. */
  list(known: RunOutlineFold): RowList;
}

/** The tables of a run; `timeline` has the whole story, the others have figures. */
export const CSV_TABLES = {
  timeline: {
    about: 'the whole story, one line per event',
    columns: ['sequence', 'at', 'offsetMs', 'kind', 'depth', 'text'],
    list: () => {
      const fold = new TimelineFold();
      return {
        apply: (entry) => fold.apply(entry).map(makeRowDocument),
        end: () => fold.unanswered().map(makeRowDocument),
      };
    },
  },
  entries: {
    about: 'every entry of the journal',
    columns: ['sequence', 'at', 'type', 'step', 'actor', 'epoch', 'data', 'hash'],
    list: () => ({ apply: (entry) => [toEntryRow(entry)], end: () => [] }),
  },
  steps: {
    about: 'steps with their outcome',
    columns: ['path', 'id', 'verb', 'outcome', 'attempts', 'startedAt', 'endedAt'],
    list: (known) => listTaken(known.makeRowFolds().steps),
  },
  requests: {
    about: 'requests, with keep-alives and look-ups',
    columns: ['at', 'method', 'path', 'params', 'tokens', 'status', 'success'],
    list: (known) => listTaken(known.makeRowFolds().requests),
  },
  orders: {
    about: 'orders with their last state',
    columns: ['clientOrderId', 'orderId', 'market', 'side', 'type', 'price', 'size', 'filled', 'averagePrice', 'state'],
    list: () => listOrders((orders) => orders.rows()),
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
    list: () => listOrders((orders) => summarizeFills(orders.orders()).fills),
  },
} as const satisfies Record<string, CsvTable>;
export type CsvTableName = keyof typeof CSV_TABLES;

/** The lines of a table: its head, those that are complete with an entry, and those at the end. `known` has folded the whole run. */
export function listCsv(known: RunOutlineFold, table: CsvTableName) {
  const { columns, list }: CsvTable = CSV_TABLES[table];
  const rows = list(known);
  return {
    head: formatLine(columns),
    apply: (entry: Entry) => formatRows(columns, rows.apply(entry)),
    end: () => formatRows(columns, rows.end()),
  };
}

function listTaken(fold: StepFold | RequestFold): RowList {
  return {
    apply(entry) {
      fold.apply(entry);
      return fold.take() as readonly object[] as readonly Row[];
    },
    end: () => fold.list() as readonly object[] as readonly Row[],
  };
}

/** Orders change to the end. */
function listOrders(list: (orders: OrderFold) => readonly object[]): RowList {
  const orders = new OrderFold();
  return {
    apply(entry) {
      orders.apply(entry);
      return [];
    },
    end: () => list(orders) as readonly Row[],
  };
}

export function formatCsv(columns: readonly string[], rows: Iterable<Row>): string {
  return `${formatLine(columns)}${formatRows(columns, rows)}`;
}

function formatRows(columns: readonly string[], rows: Iterable<Row>): string {
  let text = '';
  for (const row of rows) text += formatLine(columns.map((column) => formatCell(row[column])));
  return text;
}

function toEntryRow({ seq, at, type, step, actor, epoch, data, hash }: Entry): Row {
  return { sequence: seq, at: formatIsoTime(at), type, step, actor, epoch, data: data as Json, hash };
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

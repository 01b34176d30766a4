/**
 * Reads series of values over time from CSV files, plain or gzipped: the columns by their names in the first line, times that
 * do not descend. A broken file is refused with its line, because a rehearsal on half-read prices would show a result that no
 * market gave.
 */
import { gunzipSync } from 'node:zlib';
import { CsvError, parse } from 'csv-parse/sync';
import { isDecimalText } from '../../base/decimal.ts';
import { makePrintable } from '../../base/printable.ts';
import { UserError } from '../errors.ts';
import { LARGEST_RECORDING, readBytes } from './files.ts';

/** One form that a file may have. */
export interface SeriesForm<Column extends string> {
  readonly columns: readonly Column[];
  readonly optional: readonly Column[];
  /** Whether two rows may have the same time. */
  readonly sameTimes: boolean;
}

/** A row as it is read. Throws what `refuse` makes. */
export type RowReader<Column extends string> = (
  row: {
    /** Epoch ms. */
    readonly at: number;
    /** The text of a column, a plain decimal; empty where an optional column is absent. */
    readonly text: (column: Column) => string;
  },
  refuse: (problem: string) => UserError,
) => void;

/**
 * Reads a file, row by row, in the first form whose columns it has; `begin` gets that form. The column `time` is in every form.
 * `what` names the file's role in a message.
 */
export function readSeries<Column extends string>(
  path: string,
  what: string,
  forms: readonly SeriesForm<Column>[],
  begin: (form: SeriesForm<Column>) => RowReader<Column>,
): void {
  const named = `the ${what} ${makePrintable(path, 300)}`;
  const refuseAt = (line: number, problem: string) => new UserError(`${named}, line ${line}: ${problem}`);
  let readRow: ((cells: readonly string[], line: number) => void) | undefined;
  let rows = 0;
  const onRecord = (cells: readonly string[], line: number) => {
    if (readRow === undefined) {
      if (line !== 1) throw refuseAt(1, `is empty; it has the names of the columns: ${listForms(forms)}`);
      readRow = makeRowReader(cells, forms, begin, refuseAt);
      return;
    }
    readRow(cells, line);
    rows += 1;
  };
  parseCsv(readText(path, named), onRecord, refuseAt);
  if (rows === 0) throw refuseAt(1, `no rows follow; the first line has the names of the columns: ${listForms(forms)}`);
}

function readText(path: string, named: string): string {
  const bytes = readBytes(path, named, LARGEST_RECORDING);
  try {
    const zipped = bytes[0] === 0x1f && bytes[1] === 0x8b;
    const plain = zipped ? gunzipSync(bytes, { maxOutputLength: LARGEST_RECORDING }) : bytes;
    return new TextDecoder('utf-8', { fatal: true }).decode(plain);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (code === 'ERR_BUFFER_TOO_LARGE')
      throw new UserError(`${named} has more than ${LARGEST_RECORDING} bytes when it is unpacked`);
    throw new UserError(`${named} ${code.startsWith('Z_') ? 'cannot be unpacked' : 'is not UTF-8 text'}`);
  }
}

function parseCsv(
  text: string,
  onRecord: (cells: readonly string[], line: number) => void,
  refuseAt: (line: number, problem: string) => UserError,
): void {
  let line = 0;
  try {
    parse(text, {
      relax_column_count: true,
      skip_empty_lines: true,
      trim: true,
      record_delimiter: ['\r\n', '\n', '\r'],
      on_record: (cells: string[], context) => {
        line = context.lines;
        onRecord(cells, line);
        return null;
      },
    });
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    const at = typeof error['lines'] === 'number' ? error['lines'] : line + 1;
    throw refuseAt(at, `a quote is open or misplaced (${error.code})`);
  }
}

function makeRowReader<Column extends string>(
  header: readonly string[],
  forms: readonly SeriesForm<Column>[],
  begin: (form: SeriesForm<Column>) => RowReader<Column>,
  refuseAt: (line: number, problem: string) => UserError,
): (cells: readonly string[], line: number) => void {
  const names = header.map((name) => name.toLowerCase());
  const form = forms.find(
    ({ columns, optional }) =>
      columns.every((column) => names.includes(column)) &&
      names.every((name) => [...columns, ...optional].some((column) => column === name)) &&
      new Set(names).size === names.length,
  );
  if (form === undefined)
    throw refuseAt(1, `the columns are ${makePrintable(header.join(','), 200)}; they must be ${listForms(forms)}`);
  const read = begin(form);
  const places = new Map(names.map((name, index) => [name, index]));
  let before: { readonly at: number; readonly line: number } | undefined;
  return (cells, line) => {
    const refuse = (problem: string) => refuseAt(line, problem);
    if (cells.length !== names.length) throw refuse(`has ${cells.length} columns; the first line has ${names.length}`);
    const cell = (name: string) => cells[places.get(name) ?? -1] ?? '';
    const at = readTime(cell('time'), refuse);
    if (before !== undefined && (at < before.at || (at === before.at && !form.sameTimes)))
      throw refuse(
        `the time ${makePrintable(cell('time'), 60)} is ${at === before.at ? 'the same as' : 'before'} that of line ${before.line}; times ascend`,
      );
    before = { at, line };
    const text = (column: Column) => {
      const found = cell(column);
      if (found === '' && !places.has(column)) return '';
      if (!isDecimalText(found, 40))
        throw refuse(`${column} must be a plain decimal, such as 64000.5; found ${makePrintable(found, 60)}`);
      return found;
    };
    read({ at, text }, refuse);
  };
}

function listForms(forms: readonly SeriesForm<string>[]): string {
  return forms
    .map(({ columns, optional }) => `${columns.join(',')}${optional.map((each) => `[,${each}]`).join('')}`)
    .join(' or ');
}

const ISO = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(Z|[+-]\d\d:?\d\d)?$/i;

/** Epoch ms of a time in ISO 8601 with its zone, or of whole seconds, milliseconds or microseconds since 1970. */
function readTime(text: string, refuse: (problem: string) => UserError): number {
  if (/^\d{10}$/.test(text)) return Number(text) * 1000;
  if (/^\d{13}$/.test(text)) return Number(text);
  if (/^\d{16}$/.test(text)) return Math.floor(Number(text) / 1000);
  const shown = makePrintable(text, 60);
  const [, day = '', minute = '', second = '00', fraction = '', zone] = ISO.exec(text) ?? [];
  if (day === '')
    throw refuse(
      `the time must be ISO 8601 with its zone, such as 2026-01-05T08:00:00Z, or seconds, milliseconds or microseconds since 1970; found ${shown}`,
    );
  if (zone === undefined)
    throw refuse(`the time ${shown} has no zone; write ${day}T${minute}:${second}Z for UTC, or with its offset`);
  const offset = zone.length === 5 ? `${zone.slice(0, 3)}:${zone.slice(3)}` : zone.toUpperCase();
  const wall = Date.parse(`${day}T${minute}:${second}Z`);
  const at = Date.parse(`${day}T${minute}:${second}${offset}`);
  // Date.parse turns the 30th of February into March.
  if (Number.isNaN(at) || !new Date(wall).toISOString().startsWith(day))
    throw refuse(`there is no such time as ${shown}`);
  return at + Number(fraction.padEnd(3, '0').slice(0, 3));
}

/** A table for people: columns as wide as their widest cell, numbers to the right, colours that do not disturb the widths. */
import type { Output, Style } from './output.ts';

export type Cell = string | { readonly text: string; readonly style: Style };

/** Texts of others must have been made printable. `#` before a heading: its column is of numbers. Empty for no rows. */
export function textTable(headings: readonly string[], rows: readonly (readonly Cell[])[], terminal: Output): string {
  if (rows.length === 0) return '';
  const titles = headings.map((heading) => heading.replace(/^#/, ''));
  const widths = titles.map((title, column) =>
    rows.reduce((width, row) => Math.max(width, textOf(row[column]).length), title.length),
  );
  const aligned = (text: string, column: number): string => {
    if (headings[column]?.startsWith('#') === true) return text.padStart(widths[column] ?? 0);
    return column === titles.length - 1 ? text : text.padEnd(widths[column] ?? 0);
  };
  const head = titles.map((title, column) => terminal.style('faint', aligned(title, column))).join('  ');
  const body = rows.map((row) =>
    titles.map((_title, column) => painted(row[column], (text) => aligned(text, column), terminal)).join('  '),
  );
  return [head, ...body].join('\n');
}

function textOf(cell: Cell | undefined): string {
  return cell === undefined ? '' : typeof cell === 'string' ? cell : cell.text;
}

function painted(cell: Cell | undefined, align: (text: string) => string, terminal: Output): string {
  const text = align(textOf(cell));
  return typeof cell === 'object' ? terminal.style(cell.style, text) : text;
}

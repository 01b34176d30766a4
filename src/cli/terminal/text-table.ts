/** Formats tables for people: columns as wide as their widest cell, numbers right-aligned, colours without effect on widths. */

import { formatTable } from '../../base/format.ts';
import type { Output, Style } from './output.ts';

export type Cell = string | { readonly text: string; readonly style: Style };

/** Foreign texts must be printable already. `#` before a heading: a column of numbers. Empty for no rows. */
export function formatStyledTable(
  headings: readonly string[],
  rows: readonly (readonly Cell[])[],
  terminal: Output,
): string {
  if (rows.length === 0) return '';
  const titles = headings.map((heading) => terminal.style('faint', heading.replace(/^#/, '')));
  const cells = rows.map((row) =>
    row.map((cell) => (typeof cell === 'string' ? cell : terminal.style(cell.style, cell.text))),
  );
  const right = [...headings.keys()].filter((column) => headings[column]?.startsWith('#'));
  return formatTable([titles, ...cells], right);
}

/** Tables of the project's pages, so that a test can hold the code to what a page says. */
import { readFileSync } from 'node:fs';

/** The cells of the first table below a heading, its first row among them. `page` is a path from the root. */
export function tableBelow(page: string, heading: string): readonly (readonly string[])[] {
  const text = readFileSync(new URL(`../${page}`, import.meta.url), 'utf8');
  const [, below] = text.split(`\n## ${heading}\n`);
  if (below === undefined) throw new Error(`${page} has no heading ${heading}`);
  const [table = ''] = /^\|.*(?:\n\|.*)*/m.exec(below) ?? [];
  const rows = table.split('\n').map((line) => line.split('|').slice(1, -1));
  return rows.filter((_, index) => index !== 1).map((cells) => cells.map((cell) => cell.trim()));
}

/** Tables of tests that each need much time for what they show: the first rows run in `npm test`, the others in `npm run test:ci`. */
import { it } from 'vitest';

/** As `it.each(rows)`; `npm test` has so many of them. */
export function itFirst<T extends readonly [unknown, ...unknown[]]>(count: number, rows: readonly T[]) {
  return (title: string, check: (...row: [...T]) => void | Promise<void>): void => {
    it.each<T>(rows.slice(0, count))(title, check as never);
    it.each<T>(rows.slice(count))(title, { tags: ['long'] }, check as never);
  };
}

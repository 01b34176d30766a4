/** Lists of several pages: when they are whole, and when no further page is asked for. */
import { expect, it } from 'vitest';
import { PAGE_ROWS } from '../../src/venue/order/requests.ts';
import { Pages } from '../../src/venue/pages.ts';

const page = (from: number, rows = PAGE_ROWS) =>
  Array.from({ length: rows }, (_, index) => ({ id: `f${from + index}` }));

/** What each page says of the next one, then how many rows there are, and whether that is all. */
function read(pages: readonly (readonly { readonly id: string }[])[], most?: number) {
  const list = new Pages(most);
  return [...pages.map((each) => list.take(each)), list.rows.length, list.cut === undefined];
}

it.each([
  ['with a page that is not full', [page(0, 999)], [false, 999, true]],
  ['with an empty page behind full ones', [page(0), page(1000), []], [true, true, false, 2000, true]],
  ['of which a row is on two pages', [page(0), page(999), page(1999, 1)], [true, true, false, 2000, true]],
])('a list ends whole %s', (_what, pages, says) => {
  expect(read(pages)).toEqual(says);
});

it.each([
  ['a full page shows nothing new', [page(0), page(0)], undefined, [true, false, 1000, false]],
  ['a later page is an earlier one', [page(0), page(1000), page(500)], undefined, [true, true, false, 2000, false]],
  ['it has more pages than are read', [page(0), page(1000)], 2, [true, false, 2000, false]],
])('a list is cut where %s', (_what, pages, most, says) => {
  expect(read(pages, most)).toEqual(says);
});

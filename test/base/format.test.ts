import { describe, expect, it } from 'vitest';
import {
  formatCount,
  formatFirst,
  formatList,
  formatMicros,
  formatOffset,
  formatSpan,
  formatTable,
  formatWholeSeconds,
} from '../../src/base/format.ts';

describe('a span of time', () => {
  it.each([
    [0, '0 ms'],
    [450, '450 ms'],
    [999.6, '1 s'],
    [1768, '1.768 s'],
    [59_999, '59.999 s'],
    [60_000, '1 min'],
    [62_900, '1 min 2 s'],
    [11_100_000, '3 h 5 min'],
    [86_430_000, '1 d'],
    [187_200_000, '2 d 4 h'],
    [-90_000, '−1 min 30 s'],
  ])('of %d ms is %s', (ms, text) => expect(formatSpan(ms)).toBe(text));

  it.each([
    [0, '0 s'],
    [499, '0 s'],
    [11_600, '12 s'],
    [62_400, '1 min 2 s'],
  ])('of %d ms is %s in whole seconds', (ms, text) => expect(formatWholeSeconds(ms)).toBe(text));
});

describe('an offset on a time line', () => {
  it.each([
    [0, '+0.000'],
    [450, '+0.450'],
    [62_002, '+1:02.002'],
    [3_723_456, '+1:02:03.456'],
    [180_000_000, '+50:00:00.000'],
    [-500, '−0.500'],
  ])('of %d ms is %s', (ms, text) => expect(formatOffset(ms)).toBe(text));

  it.each([
    [5000, 0, '+5 s'],
    [65_000, 0, '+1:05'],
    [3_605_000, 0, '+1:00:05'],
    [1250, 2, '+1.25'],
    [59_999, 1, '+1:00.0'],
  ])('of %d ms with %d digits is %s', (ms, digits, text) => expect(formatOffset(ms, digits)).toBe(text));
});

it('an instant has six digits where they matter', () => {
  expect(formatMicros(1_767_600_000_000_000)).toBe('2026-01-05T08:00:00.000Z');
  expect(formatMicros(1_767_600_000_000_007)).toBe('2026-01-05T08:00:00.000007Z');
});

it('a count has its word in the singular only for one', () => {
  expect([0, 1, 2].map((count) => formatCount(count, 'order'))).toEqual(['0 orders', '1 order', '2 orders']);
  expect(formatCount(2, 'entry', 'entries')).toBe('2 entries');
});

it('a list names all of its items, or the first ones', () => {
  expect([[], ['a'], ['a', 'b'], ['a', 'b', 'c']].map((items) => formatList(items))).toEqual([
    '',
    'a',
    'a and b',
    'a, b and c',
  ]);
  expect(formatList(['a', 'b'], 'or')).toBe('a or b');
  expect([formatFirst(['a', 'b'], 2), formatFirst(['a', 'b', 'c', 'd'], 2)]).toEqual(['a, b', 'a, b and 2 more']);
});

describe('a table', () => {
  it('has columns as wide as their widest cell, numbers to the right, and no blanks at the end of a line', () => {
    const rows = [
      ['a', '7', 'c'],
      ['aaa', '12', ''],
    ];
    expect(formatTable(rows, [1])).toBe('a     7  c\naaa  12');
    expect(formatTable([])).toBe('');
  });

  it('gives colours no room', () => {
    const red = '\u001b[31mab\u001b[39m';
    expect(
      formatTable([
        [red, 'x'],
        ['abc', 'y'],
      ]),
    ).toBe(`${red}   x\nabc  y`);
  });
});

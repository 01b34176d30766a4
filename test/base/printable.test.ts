import { describe, expect, it } from 'vitest';
import { escapeUnprintable, makePrintable } from '../../src/base/printable.ts';

describe('printable', () => {
  it.each([
    ['plain text, ümlauts, 価格 and 😀', 'plain text, ümlauts, 価格 and 😀'],
    ['\u001b[31mred\u001b[0m', '\\u001b[31mred\\u001b[0m'],
    ['a\r\nb\tc\u0000d\u007fe', 'a\\u000d\\u000ab\\u0009c\\u0000d\\u007fe'],
    ['\u0085\u009b\u2028\u2029', '\\u0085\\u009b\\u2028\\u2029'],
    ['\u061c\u200b\u200f\u202a\u202e\u2066\u2069\ufeff', '\\u061c\\u200b\\u200f\\u202a\\u202e\\u2066\\u2069\\ufeff'],
    ['lone \ud83d surrogate', 'lone \\ud83d surrogate'],
    ['', ''],
  ])('writes %j without anything a terminal acts on', (text, shown) => {
    expect(makePrintable(text)).toBe(shown);
    expect(JSON.parse(`"${escapeUnprintable(JSON.stringify(text).slice(1, -1))}"`)).toBe(text);
  });

  it('cuts after so many characters, never inside a pair or an escape', () => {
    expect(makePrintable('x'.repeat(512))).toBe('x'.repeat(512));
    expect(makePrintable('x'.repeat(513))).toBe(`${'x'.repeat(512)}…`);
    expect(makePrintable('ab😀cd', 3)).toBe('ab…');
    expect(makePrintable('ab😀cd', 4)).toBe('ab😀…');
    expect(makePrintable('ab\u001bcd', 7)).toBe('ab…');
    expect(makePrintable('ab\u001bcd', 8)).toBe('ab\\u001b…');
  });

  it('does not read a text of many megabytes to print its beginning', () => {
    const start = process.hrtime.bigint();
    expect(makePrintable('\u001b'.repeat(8 * 1024 * 1024), 12)).toBe('\\u001b\\u001b…');
    expect(Number(process.hrtime.bigint() - start) / 1e6).toBeLessThan(200);
  });
});

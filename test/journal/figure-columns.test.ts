import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Figure, FigureColumn, unpackColumn } from '../../src/journal/rounds/figure-columns.ts';

function packColumn(values: readonly Figure[], starts: readonly number[]) {
  const column = new FigureColumn(starts.length > 0);
  for (const [round, value] of values.entries()) column.add(value, starts[round]);
  return column.write();
}

const LARGEST = Number.MAX_SAFE_INTEGER;

function drawColumns() {
  const number = fc.oneof(
    fc.integer({ min: -5, max: 5 }),
    fc.constantFrom(LARGEST, -LARGEST, LARGEST - 1),
    fc.maxSafeInteger(),
  );
  const text = fc.oneof(
    fc.constantFrom(
      'Invalid Date',
      '7',
      '007',
      '-0',
      'NaN',
      '9007199254740991',
      '-9007199254740991',
      '9007199254740993',
    ),
    fc.constantFrom(
      'Mon, 05 Jan 2026 08:00:01 GMT',
      'Mon, 05 Jan 2026 08:00:02 GMT',
      'Mon, 05 Jan 2026 08:00:01.5 GMT',
    ),
    fc.string(),
  );
  const column = fc.oneof(fc.array(number, { minLength: 1 }), fc.array(text, { minLength: 1 }));
  return { number, column };
}

it('gives back every figure, whatever form would be shorter', () => {
  const { number, column } = drawColumns();
  fc.assert(
    fc.property(column, number, (values, start) => {
      const starts = values.map((_, round) => (round % 3 === 0 ? start : round));
      const stored = JSON.parse(JSON.stringify(packColumn(values, starts)));
      expect(unpackColumn(stored, starts, values.length)).toEqual(values);
    }),
    { numRuns: 300 },
  );
});

it('writes a line as if it had written none before', () => {
  const { number, column } = drawColumns();
  fc.assert(
    fc.property(fc.array(column, { minLength: 2, maxLength: 5 }), number, fc.boolean(), (lines, start, isCounted) => {
      const used = new FigureColumn(isCounted);
      for (const values of lines) {
        const starts = isCounted ? values.map((_, round) => start + round) : [];
        used.clear();
        for (const [round, value] of values.entries()) used.add(value, starts[round]);
        expect(used.write()).toEqual(packColumn(values, starts));
      }
    }),
    { numRuns: 300 },
  );
});

it('is short for what changes evenly', () => {
  const rounds = Array.from({ length: 600 }, (_, round) => round);
  expect(packColumn(rounds, [])).toEqual(['number', 0, [1, 599]]);
  expect(packColumn(rounds.map(String), [])).toEqual(['text', 0, [1, 599]]);
  const dates = rounds.map((round) => new Date(Date.UTC(2026, 0, 5) + round * 1000).toUTCString());
  expect(packColumn(dates, [])).toEqual(['date', Date.UTC(2026, 0, 5) / 1000, [1, 599]]);
});

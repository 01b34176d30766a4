import { describe, expect, it } from 'vitest';
import {
  chooseTicks,
  computeSilenceColumns,
  computeTokenColumns,
  createTimeScale,
  findLowerBound,
  findNearest,
} from '../../src/report/time-scale.ts';

/** The page's own scripts are JavaScript. */
const folder = new URL('../../src/report/page/assets/', import.meta.url).href;
const { toPosition } = (await import(`${folder}price-lanes.js`)) as { toPosition(price: string): number };
const { formatAgo, formatNumber, formatPlural, shortenName } = (await import(`${folder}words.js`)) as {
  formatAgo(ms: number): string;
  formatNumber(count: number): string;
  formatPlural(count: number, one: string, many?: string): string;
  shortenName(run: string): string;
};

describe('time on the axis', () => {
  it('converts to pixels and back', () => {
    const scale = createTimeScale(-1000, 9000, 500);
    expect([scale.x(-1000), scale.x(4000), scale.x(9000)]).toEqual([0, 250, 500]);
    expect(scale.at(scale.x(1234))).toBeCloseTo(1234);
    expect(createTimeScale(5, 5, 100).x(5)).toBe(0);
  });

  it.each([
    [0, 7_200_000, 8, 1_200_000, 0],
    [0, 10_000, 10, 1000, 0],
    [100, 130, 6, 5, 3],
    [0, 1_000_000_000_000, 5, 604_800_000 * 331, 0],
  ])('from %d to %d has at most %d round ticks', (from, until, most, step, digits) => {
    const found = chooseTicks(from, until, most);
    expect([found.step, found.digits]).toEqual([step, digits]);
    expect(found.ticks.length).toBeLessThanOrEqual(most + 1);
    expect(found.ticks.every((tick) => tick % step === 0 && tick >= from && tick <= until)).toBe(true);
  });

  it('finds positions in a sorted list', () => {
    const list = [1, 3, 3, 8];
    expect([0, 1, 2, 3, 4, 8, 9].map((value) => findLowerBound(list, value))).toEqual([0, 0, 1, 1, 3, 3, 4]);
    expect([0, 2, 5, 6, 100].map((value) => findNearest(list, value))).toEqual([0, 0, 2, 3, 3]);
    expect(findNearest([], 5)).toBe(-1);
  });
});

describe('a price', () => {
  it('has only a position', () => {
    expect(toPosition('64000.5')).toBe(64000.5);
    expect(toPosition('0.000000000000000001') > toPosition('0')).toBe(true);
    expect(toPosition('none')).toBeNaN();
  });
});

describe('tokens within a window', () => {
  const marks = { at: [0, 10, 20, 100, 161], tokens: [5, 5, 5, 50, 1] };

  it('are the most at any time of a column, whatever span is in view', () => {
    expect(computeTokenColumns(marks, 60, 0, 200, 4)).toEqual([15, 50, 50, 50]);
    expect(computeTokenColumns(marks, 60, 61, 71, 1)).toEqual([15 - 5]);
    expect(computeTokenColumns(marks, 60, 161, 162, 1)).toEqual([1]);
  });

  it('has the last request in its last column', () => {
    expect(computeTokenColumns({ at: [0, 87], tokens: [1, 2] }, 60, 0, 87, 399).at(-1)).toBe(2);
  });

  it('agree with counting one by one', () => {
    const at = Array.from({ length: 300 }, (_none, index) => (index * index * 7) % 5000).sort((a, b) => a - b);
    const tokens = at.map((_at, index) => 1 + (index % 9));
    const within = (end: number) =>
      at.reduce((sum, each, index) => (each > end - 600 && each <= end ? sum + (tokens[index] ?? 0) : sum), 0);
    const columns = computeTokenColumns({ at, tokens }, 600, 0, 5000, 50);
    columns.forEach((most, column) => {
      const moments = [column * 100, ...at.filter((each) => each > column * 100 && each <= (column + 1) * 100)];
      expect(most).toBe(Math.max(...moments.map(within)));
    });
  });
});

describe('silence of the deadman switch', () => {
  const armed = [{ from: 10, until: 90, timeoutMs: 40 }];
  it('is the longest time without a heartbeat while it is armed, as a share of the time-out', () => {
    const shares = computeSilenceColumns({ heartbeats: [10, 30, 70], armed }, 0, 100, 10, 100);
    expect(shares).toEqual([0, 0.25, 0.5, 0.5, 0.5, 0.75, 1, 1, 0.5, 0.5]);
  });
  it('is zero while it is not armed', () => {
    expect(computeSilenceColumns({ heartbeats: [], armed: [] }, 0, 100, 4, 100)).toEqual([0, 0, 0, 0]);
    expect(computeSilenceColumns({ heartbeats: [10], armed: [{ from: 10, timeoutMs: 40 }] }, 0, 100, 4, 50)).toEqual([
      0.375, 1, 1, 0,
    ]);
  });
});

describe('words of the page', () => {
  it('group digits and shorten names', () => {
    expect([formatNumber(7), formatNumber(1234567)]).toEqual(['7', '1\u202f234\u202f567']);
    expect([formatPlural(1, 'entry', 'entries'), formatPlural(12_345, 'order')]).toEqual([
      '1 entry',
      '12\u202f345 orders',
    ]);
    expect(shortenName('20260105T080000123-ladder-3f9a')).toBe('ladder-3f9a');
  });
  it('write how long ago, to the second', () => {
    expect([1400, 12_345, 62_000].map(formatAgo)).toEqual(['just now', '12 s ago', '1 min 2 s ago']);
  });
});

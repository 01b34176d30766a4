import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  bookFill,
  computeAveragePrice,
  computeShortfall,
  isSameDecimal,
  isZeroDecimal,
  pickLarger,
  sumFills,
  sumNetSize,
} from '../../src/venue/order/fills.ts';
import type { FillRecord } from '../../src/venue/records.ts';
import { fill } from './order-samples.ts';

describe('fills', () => {
  it('sum, average and net to the last digit', () => {
    const fills = [
      fill('1', '0.1', { price: '0.3' }),
      fill('2', '0.2', { price: '0.6', side: 'short' }),
      fill('3', '123456789012345678.000000000000000001', { price: '1' }),
    ];
    expect(sumFills(fills)).toBe('123456789012345678.300000000000000001');
    expect(sumNetSize(fills)).toBe('123456789012345677.900000000000000001');
    expect(computeAveragePrice(fills.slice(0, 2))).toBe('0.5');
    expect([sumFills([]), sumNetSize([]), computeAveragePrice([])]).toEqual(['0', '0', undefined]);
  });

  it('are compared as numbers, not as text', () => {
    expect(['0', '0.000', '0.001'].map(isZeroDecimal)).toEqual([true, true, false]);
    expect([
      isSameDecimal('0.10', '0.1'),
      isSameDecimal('1', '10'),
      pickLarger('9', '10'),
      pickLarger('2', '2.0'),
    ]).toEqual([true, false, '10', '2']);
    expect([computeShortfall('10', '9.5'), computeShortfall('9.5', '10'), computeShortfall('7', '0')]).toEqual([
      '0.5',
      '0',
      '7',
    ]);
  });

  it('count once each, in whatever order and however often they are read', () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 10 ** 9 }), { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(sizes, fc.array(fc.nat(19), { maxLength: 60 }), (units, reads) => {
        const all = units.map((size, index) => fill(String(index), `0.${String(size).padStart(9, '0')}`));
        const seen = reads.flatMap((index) => all[index] ?? []);
        let tracker: { fills: ReadonlyMap<string, FillRecord>; filled: string } = { fills: new Map(), filled: '0' };
        for (const each of seen) tracker = bookFill(tracker.fills, tracker.filled, each);
        const distinct = new Set(seen);
        expect(tracker.fills.size).toBe(distinct.size);
        expect(isSameDecimal(tracker.filled, sumFills(distinct))).toBe(true);
      }),
    );
  });
});

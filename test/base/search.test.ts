import fc from 'fast-check';
import { expect, it } from 'vitest';
import { findFirst } from '../../src/base/search.ts';

it('finds where a condition begins to hold', () => {
  fc.assert(
    fc.property(fc.nat(200), fc.nat(200), (count, from) => {
      expect(findFirst(count, (position) => position >= from)).toBe(Math.min(count, from));
    }),
  );
});

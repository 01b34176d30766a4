import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseDurationMs, writeDuration } from '../../src/base/duration.ts';

describe('a duration', () => {
  it.each([
    ['0ms', 0],
    ['42ms', 42],
    ['20s', 20_000],
    ['1m30s', 90_000],
    ['1d2h3m4s5ms', 93_784_005],
    ['-250ms', -250],
    ['90m', 5_400_000],
  ])('%s is %i ms', (text, ms) => expect(parseDurationMs(text)).toBe(ms));

  it.each(['', '-', '5', '5 s', '1.5s', '1s1m', '1s1s', 's', '1S', '1ms1s', '1h\n', '９s', `${'1'.repeat(20)}s`])(
    '%j is none',
    (text) => {
      expect(parseDurationMs(text)).toBeUndefined();
    },
  );

  it('is read back from its text', () => {
    fc.assert(fc.property(fc.integer({ min: -1e12, max: 1e12 }), (ms) => parseDurationMs(writeDuration(ms)) === ms));
  });
});

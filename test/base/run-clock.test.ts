import { describe, expect, it } from 'vitest';
import { measureAway } from '../../src/base/run-clock.ts';

const EIGHT = Date.parse('2026-01-05T08:00:00Z');
const HOUR = 3_600_000;

/** Entries of a process whose run began when its machine had been up for a thousand seconds. */
const entries = (...written: readonly (readonly [at: number, lateMs: number])[]) =>
  written.map(([at, lateMs]) => ({ at: EIGHT + at, mono: 1_000_000 + at + lateMs, boot: 'one' }));
const LEFT = entries([0, 0], [4_000, 0]);

describe('the time that a run was without a process', () => {
  it.each([
    ['was right', 0],
    ['was put back an hour', -HOUR],
    ['was put forward an hour', HOUR],
  ])('is measured by the machine where the wall clock %s', (_, byMs) => {
    const now = { at: EIGHT + 16_000 + byMs, mono: 1_016_000, boot: 'one' };
    expect(measureAway(LEFT, now)).toEqual({ ms: 12_010, by: 'machine' });
  });

  it('is never too short, even where the last entry was written long into its turn', () => {
    const now = { at: EIGHT, mono: 1_016_000, boot: 'one' };
    expect(measureAway(entries([0, 0.4], [4_000, 700]), now)).toEqual({ ms: 12_010, by: 'machine' });
  });

  it.each([
    ['ahead', 16_000, 12_000],
    ['behind', -HOUR, 0],
  ])('is taken from the wall clock on another machine, at least 0, and is not evidence: %s', (_, at, ms) => {
    expect(measureAway(LEFT, { at: EIGHT + at, mono: 5, boot: 'two' })).toEqual({ ms, by: 'wall' });
  });
});

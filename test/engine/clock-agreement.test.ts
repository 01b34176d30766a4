import { describe, expect, it } from 'vitest';
import { ClockAgreement } from '../../src/engine/schedule/clock-agreement.ts';

const WALL = Date.parse('2026-01-05T08:00:00.000Z');
const HOUR = 3_600_000;

/** Asked from 1,000 to 1,400 ms of the monotonic clock; the wall clock was `aheadMs` ahead of the clock that answered. */
function asked(aheadMs: number, grainMs = 1_000): ClockAgreement {
  const agreement = new ClockAgreement();
  const shown = WALL + 1_200 - aheadMs;
  agreement.note('the venue', { fromMs: 1_000, untilMs: 1_400 }, shown - (shown % grainMs), grainMs);
  return agreement;
}
const find = (agreement: ClockAgreement, atMs = 1_400) => agreement.findDifference(WALL + atMs, atMs)?.aheadMs ?? 0;

describe('the agreement of clocks', () => {
  it.each([0, 300, -300, 900, -900])('allows for the time of the answer and the grain of its clock: %d ms', (ms) => {
    expect(Math.abs(find(asked(ms)))).toBeLessThan(1_000);
  });

  it.each([HOUR, -HOUR, 8_000, -8_000])('finds a clock that is %d ms off, by no more than that', (ms) => {
    const found = find(asked(ms));
    expect(Math.sign(found)).toBe(Math.sign(ms));
    expect(Math.abs(found)).toBeLessThanOrEqual(Math.abs(ms));
    expect(Math.abs(found)).toBeGreaterThan(Math.abs(ms) - 1_500);
  });

  it.each([4_000, -4_000])('gives whole milliseconds by a monotonic clock that has fractions: %d ms', (ms) => {
    const agreement = new ClockAgreement();
    agreement.note('the venue', { fromMs: 1_000.123, untilMs: 1_400.456 }, WALL - ms, 1_000);
    const found = agreement.findDifference(WALL + 1_400, 1_400.789)?.aheadMs;
    expect(Number.isInteger(found)).toBe(true);
    expect(Math.sign(found ?? 0)).toBe(Math.sign(ms));
  });

  it('finds an adjustment of the wall clock without another reading, and that it is over', () => {
    const agreement = asked(0);
    const later = 1_400 + 4 * HOUR;
    expect(agreement.findDifference(WALL + later, later)).toBeUndefined();
    expect(agreement.findDifference(WALL + later + HOUR, later)?.aheadMs).toBeGreaterThan(HOUR - 1_500);
    expect(agreement.findDifference(WALL + later, later)).toBeUndefined();
  });

  it('names the clock with the larger difference', () => {
    const agreement = asked(0);
    agreement.note('the store', { fromMs: 1_300, untilMs: 1_301 }, WALL + 1_300 - 20_000, 1);
    expect(agreement.findDifference(WALL + 1_400, 1_400)).toMatchObject({ source: 'the store' });
    expect(agreement.isKnown).toBe(true);
  });

  it('says nothing before a clock was read', () => {
    expect(new ClockAgreement().findDifference(WALL, 0)).toBeUndefined();
  });
});

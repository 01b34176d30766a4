/**
 * The table against a small lagging, faulty venue: no wrong final status, no wrong sum of fills, no second order for one
 * intent, and never less counted than works at the venue. ORDER_LIVES sets how many lives `npm run test:ci` has; a failing
 * seed is printed.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { live, type Verdict } from './lagging-venue.ts';

const MANY_LIVES = Number(process.env['ORDER_LIVES'] ?? '10000');
const FIRST_SEED = Number(process.env['ORDER_FIRST_SEED'] ?? '1');

describe('the table in a lagging, faulty venue', () => testLives(2500));

describe('the table in a lagging, faulty venue, for long', { tags: ['long'] }, () => testLives(MANY_LIVES));

function testLives(lives: number): void {
  let verdicts: readonly Verdict[] = [];
  beforeAll(() => {
    verdicts = Array.from({ length: lives }, (_, index) => live(FIRST_SEED + index));
  }, 600_000);

  it(`is right at the end of each of ${lives} lives`, () => {
    expect(verdicts.flatMap(({ problems }) => problems).slice(0, 10)).toEqual([]);
  });

  it('reaches a definite end, or needs a person where a client gave up before absence was proven', () => {
    const open = verdicts.filter(({ state }) => !['closed', 'canceled', 'rejected', 'absent'].includes(state));
    expect(open.filter(({ state }) => state !== 'quarantined').length / lives).toBeLessThan(0.01);
    expect(open.length / lives).toBeLessThan(0.08);
  });

  it('reaches every situation it is made for', () => {
    const states = new Set(verdicts.map(({ state }) => state));
    for (const state of ['closed', 'canceled', 'rejected', 'absent']) expect(states).toContain(state);
    const alarms = new Map<string, number>();
    for (const verdict of verdicts)
      for (const [alarm, count] of verdict.alarms) alarms.set(alarm, (alarms.get(alarm) ?? 0) + count);
    for (const alarm of ['LateFill', 'RejectedWithFill', 'AmendLost', 'CancelLost'])
      expect(alarms.get(alarm) ?? 0).toBeGreaterThan(0);
    expect(alarms.get('Overfill') ?? 0).toBe(0);
  });
}

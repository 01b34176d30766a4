import { describe, expect, it } from 'vitest';
import { DeadmanFacts } from '../../src/gateway/limits/deadman.ts';
import type { DataOf, Entry, EntryType } from '../../src/journal/entry.ts';

const NINE = Date.parse('2026-01-05T09:00:00Z');

/** A switch after some entries, each at so many ms after nine. */
function applyEntries(...entries: readonly (readonly [at: number, type: EntryType, data: object])[]): DeadmanFacts {
  const standing = new DeadmanFacts();
  for (const [at, type, data] of entries)
    standing.apply({ at: NINE + at, type, data: data as DataOf<EntryType> } as Entry);
  return standing;
}
const intended = (call: string, endpoint: string) => ['call.intended', { call, endpoint }] as const;
const settled = (call: string, kind: string, sentAt: number) =>
  ['call.settled', { call, kind, sentAt: NINE + sentAt }] as const;
const moved = (event: string, more: object = {}) => ['deadman.moved', { event, market: 'BTC-USD', ...more }] as const;
const ARMED = [
  [0, ...intended('a', 'POST /cancel_all_after')],
  [30, ...settled('a', 'confirmed', 10)],
  [30, ...moved('armed', { timeoutMs: 5000 })],
] as const;

describe('a deadman switch in the journal', () => {
  it('is armed for its timeout from when the request was sent, and then may have fired', () => {
    const standing = applyEntries(...ARMED);
    expect(standing.lapsedAt(NINE + 5010)).toBeUndefined();
    expect(standing.lapsedAt(NINE + 5011)).toBe(NINE + 5010);
    expect(standing.lapsedAt(NINE + 60_000)).toBe(NINE + 5010);
  });

  it('may have fired after an unknown time without a process, until it is armed again', () => {
    const unseen = [100, 'run.resumed', { openCalls: [], away: { ms: 5, by: 'wall' } }] as const;
    const seen = [100, 'run.resumed', { openCalls: [], away: { ms: 5, by: 'machine' } }] as const;
    expect(applyEntries(...ARMED, seen).lapsedAt(NINE + 200)).toBeUndefined();
    expect(applyEntries(...ARMED, unseen).lapsedAt(NINE + 200)).toBe(NINE + 200);
    expect(
      applyEntries(...ARMED, unseen, [150, ...moved('armed', { timeoutMs: 5000 })]).lapsedAt(NINE + 200),
    ).toBeUndefined();
    expect(applyEntries(unseen).lapsedAt(NINE + 200)).toBeUndefined();
  });

  it('is renewed by qualifying requests that were confirmed, and by nothing else', () => {
    const renewed = applyEntries(
      ...ARMED,
      [100, ...intended('b', 'DELETE /orders')],
      [300, ...settled('b', 'confirmed', 200)],
    );
    expect(renewed.lapsedAt(NINE + 5200)).toBeUndefined();
    expect(renewed.lapsedAt(NINE + 5201)).toBe(NINE + 5200);
    const read = applyEntries(
      ...ARMED,
      [100, ...intended('b', 'GET /orders')],
      [300, ...settled('b', 'confirmed', 200)],
    );
    const unanswered = applyEntries(
      ...ARMED,
      [100, ...intended('b', 'POST /orders')],
      [300, ...settled('b', 'unresolved', 200)],
    );
    for (const standing of [read, unanswered]) expect(standing.lapsedAt(NINE + 5011)).toBe(NINE + 5010);
  });

  it('taken for fired stays so until it is armed again', () => {
    const fired = [...ARMED, [100, ...moved('assumed_fired')]] as const;
    expect(applyEntries(...fired).lapsedAt(NINE + 200)).toBe(NINE + 200);
    const again = [
      [300, ...intended('c', 'POST /cancel_all_after')],
      [330, ...settled('c', 'confirmed', 310)],
      [330, ...moved('armed', { timeoutMs: 5000 })],
    ] as const;
    expect(applyEntries(...fired, ...again).lapsedAt(NINE + 400)).toBeUndefined();
  });

  it('blocks no order of a run that never requested it, disarmed it, or armed it by a step', () => {
    expect(applyEntries().lapsedAt(NINE + 60_000)).toBeUndefined();
    expect(
      applyEntries(...ARMED, [100, ...moved('disarmed', { because: 'the run has ended' })]).lapsedAt(NINE + 60_000),
    ).toBeUndefined();
    expect(
      applyEntries([0, ...moved('armed', { timeoutMs: 5000, because: 'arm_deadman' })]).lapsedAt(NINE + 60_000),
    ).toBeUndefined();
  });
});

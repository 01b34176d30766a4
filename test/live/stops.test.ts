/** A process that is stopped while it sends an order sends nothing late when it goes on, whatever has happened meanwhile. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildStopping, EVENTS, type Event, PLACES, type Place, type Program, playStop } from './stopping.ts';

/** Those of every `npm test`: at the gate, and where most time goes by before it. */
const ALWAYS: readonly (readonly [Place, Event])[] = [
  ['CP23', 'kill'],
  ['CP4', 'kill'],
  ['CP23', 'deadman switch'],
];
const EACH = PLACES.flatMap((place) => EVENTS.map((event) => [place, event] as const));
const REST = EACH.filter(([place, event]) => !ALWAYS.some(([p, e]) => p === place && e === event));

let program: Program;
beforeAll(async () => {
  program = await buildStopping();
}, 60_000);
afterAll(() => program.remove());

async function judge(place: Place, event: Event): Promise<void> {
  const { late, before, repeated, ended, report, left } = await playStop(program, place, event);
  expect({ late, repeated }, ended.err).toEqual({ late: 0, repeated: [] });
  if (event === 'kill') expect([left, before, ended.exit]).toEqual([0, 0, 1]);
  if (event === 'deadman switch') expect([before, report?.outcome], JSON.stringify(ended)).toEqual([0, 'failed']);
  // Another process has the run: whatever it did, this one says nothing of it.
  if (event === 'takeover') expect(ended.exit).toBe(3);
}

describe.concurrent('a process stopped while it sends an order', { tags: ['linux'], timeout: 120_000 }, () => {
  it.each(ALWAYS)('at %s, through a %s', judge);
});

describe.concurrent('a process stopped at every other place', { tags: ['linux', 'long'], timeout: 300_000 }, () => {
  it.each(REST)('at %s, through a %s', judge);
});

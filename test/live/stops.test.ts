/** A process that is stopped while it sends a request sends nothing late when it goes on, whatever has happened meanwhile. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  BEHIND,
  buildStopping,
  EVENTS,
  type Event,
  type Place,
  type Program,
  playStop,
  type TaskName,
} from './stopping.ts';

/** That of every `npm test`: at the gate. */
const ALWAYS: readonly (readonly [TaskName, Place, Event])[] = [['an order', 'CP23', 'kill']];
const AT_THE_GATE: readonly Place[] = ['CP2', 'CP5', 'CP3', 'CP4', 'CP23'];
/** What is tried at each of them: at the last one every event is, and a night draws the others. */
const TRIED: readonly Event[] = ['kill', 'takeover'];
const REST = AT_THE_GATE.flatMap((place) =>
  (place === 'CP23' ? EVENTS : TRIED).map((event) => ['an order', place, event] as const),
).filter(([, place, event]) => !ALWAYS.some(([, p, e]) => p === place && e === event));
/** A stop at each other place, and on each other task. */
const ELSEWHERE: readonly (readonly [TaskName, Place, Event])[] = [
  ['an order', 'connected', 'takeover'],
  ['an order', 'in a commit', 'kill'],
  ['an order', 'behind the gate', 'takeover'],
  ['an order', 'written', 'takeover'],
  ['an order', 'CP10', 'takeover'],
  ['an order that waits for tokens', 'in the queue', 'takeover'],
  ['an amend', 'CP23', 'takeover'],
  ['a cancel', 'CP23', 'takeover'],
  ['a heartbeat', 'CP23', 'takeover'],
  ['the next stop of manage', 'CP23', 'takeover'],
  ['the cancel of the last stop of manage', 'written', 'takeover'],
  ['an order of a resumed run', 'CP23', 'takeover'],
  ['a look-up of a resumed run', 'written', 'takeover'],
];

let program: Program;
beforeAll(async () => {
  program = await buildStopping();
});
afterAll(() => program.remove());

async function judge(task: TaskName, place: Place, event: Event): Promise<void> {
  const played = await playStop(program, task, place, event);
  const { late, before, repeated, unknown, unsound, ended, report, left, wasStopped } = played;
  expect({ wasStopped, repeated, unsound }, ended.err).toEqual({ wasStopped: true, repeated: [], unsound: [] });
  // What was stopped behind the gate leaves when the process goes on; the run that took over sent none in its place.
  if (BEHIND.has(place)) return expect(late.length).toBeLessThanOrEqual(1);
  expect({ late, unknown }, ended.err).toEqual({ late: [], unknown: [] });
  if (event.startsWith('kill')) expect([left, before, ended.exit]).toEqual([0, 0, 1]);
  if (event === 'deadman switch') expect([before, report?.outcome], JSON.stringify(ended)).toEqual([0, 'failed']);
  if (event === 'nothing') expect([ended.exit, report?.outcome]).toEqual([0, 'succeeded']);
  // Another process has the run: whatever it did, this one says nothing of it.
  if (event === 'takeover') expect(ended.exit).toBe(3);
}

describe.concurrent('a process stopped while it sends an order', { tags: ['linux'] }, () => {
  it.each(ALWAYS)('%s, at %s, through a %s', judge);
});

describe.concurrent('a process stopped at every other place', { tags: ['linux', 'long'], timeout: 300_000 }, () => {
  it.each([...REST, ...ELSEWHERE])('%s, at %s, through: %s', judge);
});

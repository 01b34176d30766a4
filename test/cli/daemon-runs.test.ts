/** Runs that are handed to the scheduler, where the store or the request is not as it should be. */
import { expect, it } from 'vitest';
import { DaemonRuns, type DaemonRunsParts } from '../../src/app/schedule/runs.ts';
import { VirtualClock } from '../../src/base/clock.ts';
import type { Daemon } from '../../src/engine/schedule/scheduler.ts';
import { MemoryAgenda } from '../../src/journal/schedule/memory.ts';
import type { HandoverRequest } from '../../src/journal/schedule/store.ts';
import { StoreError } from '../../src/journal/store.ts';

const NOW = Date.parse('2026-01-05T08:00:00Z');
const ACCOUNT = 'http://127.0.0.1:8080 main';
const daemon = { admit: () => expect.unreachable('nothing of this can be begun') } as unknown as Daemon;

function bench(journal: ReadonlySet<string> = new Set()) {
  const agenda = new MemoryAgenda();
  const crashes: unknown[] = [];
  const store = { run: async (run: string) => (journal.has(run) ? { run } : undefined) };
  const account = { key: ACCOUNT, clock: new VirtualClock(NOW), store };
  const voice = { diagnostics: () => {} };
  const crashed = (error: unknown) => {
    crashes.push(error);
    return 'a mistake of the program';
  };
  const parts = { host: { account, voice }, agenda, slots: () => [], crashed, journalFailed: () => {} };
  return { agenda, crashes, runs: new DaemonRuns(parts as unknown as DaemonRunsParts) };
}

const request = (run: string, rest: Partial<HandoverRequest> = {}): HandoverRequest => ({
  run,
  account: ACCOUNT,
  by: 'ada',
  at: NOW - 1_000,
  sources: [{ name: 'broken', file: 'broken.yaml', text: 'runbook: broken\nsteps: [' }],
  inputs: {},
  plan: 'abc',
  ...rest,
});

it('a refusal that the store did not take is said again', async () => {
  const { agenda, runs } = bench();
  await agenda.post(request('r1'));
  const answer = agenda.answer.bind(agenda);
  agenda.answer = async () => {
    throw new StoreError('unavailable', 'the database can not be reached');
  };
  await expect(runs.takeGuests(daemon)).rejects.toThrow('can not be reached');
  agenda.answer = answer;
  await runs.takeGuests(daemon);
  expect(await agenda.handover('r1')).toMatchObject({ state: 'refused', kind: 'invalid' });
});

it('a request that nobody can make sense of is refused, and takes nobody along', async () => {
  const { agenda, crashes, runs } = bench();
  await agenda.post(request('r1', { sources: undefined as unknown as HandoverRequest['sources'] }));
  await agenda.post(request('r2'));
  await runs.takeGuests(daemon);
  expect(await agenda.handover('r1')).toEqual({ state: 'refused', why: 'a mistake of the program', kind: 'internal' });
  expect(await agenda.handover('r2')).toMatchObject({ state: 'refused', kind: 'invalid' });
  expect(crashes).toHaveLength(1);
});

it('what was taken by a process before this one is begun, or refused', async () => {
  const { agenda, runs } = bench(new Set(['r1']));
  for (const run of ['r1', 'r2', 'r3']) await agenda.post(request(run));
  for (const run of ['r1', 'r2']) await agenda.answer(run, { state: 'taken' });
  await runs.settleTaken();
  expect(await agenda.handover('r1')).toEqual({ state: 'begun' });
  expect(await agenda.handover('r2')).toMatchObject({ state: 'refused', kind: 'lost' });
  expect(await agenda.handover('r3')).toEqual({ state: 'posted' });
});

/** Runs submitted to the scheduler, with a failing store or an invalid request. */
import { expect, it } from 'vitest';
import { ScheduledRuns, type ScheduledRunsParts } from '../../src/app/schedule/runs.ts';
import { VirtualClock } from '../../src/base/clock.ts';
import type { Scheduler } from '../../src/engine/schedule/scheduler.ts';
import type { SubmissionRequest } from '../../src/journal/schedule/store.ts';
import { StoreError } from '../../src/journal/store.ts';
import { MemoryScheduleStore } from '../engine/memory-schedule-store.ts';

const NOW = Date.parse('2026-01-05T08:00:00Z');
const ACCOUNT = 'http://127.0.0.1:8080 main';
const scheduler = { admit: () => expect.unreachable('nothing of this can be begun') } as unknown as Scheduler;

function bench(journal: ReadonlySet<string> = new Set()) {
  const scheduleStore = new MemoryScheduleStore();
  const crashes: unknown[] = [];
  const store = { run: async (run: string) => (journal.has(run) ? { run } : undefined) };
  const openAccountJournal = async () => scheduleStore.accountJournal;
  const account = { key: ACCOUNT, clock: new VirtualClock(NOW), store, openAccountJournal };
  const voice = { diagnostics: () => {} };
  const reportCrash = (error: unknown) => {
    crashes.push(error);
    return 'an internal error';
  };
  const parts = { host: { account, voice }, scheduleStore, slots: () => [], reportCrash, onJournalFailed: () => {} };
  return { scheduleStore, crashes, runs: new ScheduledRuns(parts as unknown as ScheduledRunsParts) };
}

const request = (run: string, rest: Partial<SubmissionRequest> = {}): SubmissionRequest => ({
  run,
  account: ACCOUNT,
  by: 'ada',
  at: NOW - 1_000,
  sources: [{ name: 'broken', file: 'broken.yaml', text: 'runbook: broken\nsteps: [' }],
  inputs: {},
  plan: 'abc',
  ...rest,
});

it('repeats a refusal that the store did not accept', async () => {
  const { scheduleStore, runs } = bench();
  await scheduleStore.post(request('r1'));
  const answer = scheduleStore.answer.bind(scheduleStore);
  scheduleStore.answer = async () => {
    throw new StoreError('unavailable', 'no database');
  };
  await expect(runs.takeSubmissions(scheduler)).rejects.toThrow('no database');
  scheduleStore.answer = answer;
  await runs.takeSubmissions(scheduler);
  expect(await scheduleStore.submission('r1')).toMatchObject({ state: 'refused', kind: 'invalid' });
  expect(await scheduleStore.accountJournal.find(ACCOUNT, ['start.refused'])).toMatchObject([
    { by: 'ada', data: { run: 'r1', runbook: 'broken', kind: 'invalid' } },
  ]);
});

it('refuses an unreadable request without effect on others', async () => {
  const { scheduleStore, crashes, runs } = bench();
  await scheduleStore.post(request('r1', { sources: undefined as unknown as SubmissionRequest['sources'] }));
  await scheduleStore.post(request('r2'));
  await runs.takeSubmissions(scheduler);
  expect(await scheduleStore.submission('r1')).toEqual({
    state: 'refused',
    why: 'an internal error',
    kind: 'internal',
  });
  expect(await scheduleStore.submission('r2')).toMatchObject({ state: 'refused', kind: 'invalid' });
  expect(crashes).toHaveLength(1);
});

it('answers for the requests that an earlier process accepted', async () => {
  const { scheduleStore, runs } = bench(new Set(['r1']));
  for (const run of ['r1', 'r2', 'r3']) await scheduleStore.post(request(run));
  for (const run of ['r1', 'r2']) await scheduleStore.answer(run, { state: 'taken' });
  await runs.settleAccepted();
  expect(await scheduleStore.submission('r1')).toEqual({ state: 'begun' });
  expect(await scheduleStore.submission('r2')).toMatchObject({ state: 'refused', kind: 'lost' });
  expect(await scheduleStore.submission('r3')).toEqual({ state: 'posted' });
});

/** Runs of the scheduler with a failing store, and submitted ones with an invalid request. */
import { afterEach, describe, expect, it, vi } from 'vitest';
import { EXIT, UserError } from '../../src/app/errors.ts';
import { buildStartedData, describeProcess } from '../../src/app/run/first-entry.ts';
import { LiveRun } from '../../src/app/run/live-run.ts';
import { ScheduledRuns, type ScheduledRunsParts } from '../../src/app/schedule/runs/runs.ts';
import type { PlannedSlot } from '../../src/app/schedule/runs/timetable.ts';
import { VirtualClock } from '../../src/base/clock.ts';
import type { Scheduler } from '../../src/engine/schedule/scheduler.ts';
import type { SubmissionRequest } from '../../src/journal/schedule/store.ts';
import { openSharedMemory } from '../../src/journal/shared/memory.ts';
import { StoreAway, StoreError } from '../../src/journal/store.ts';
import { MemoryStore } from '../../src/journal/stores/memory.ts';
import { SIMULATED_PROFILE } from '../../src/venue/profile/profile.ts';
import { MemoryScheduleStore } from '../engine/memory-schedule-store.ts';
import { loadedFrom } from '../engine/stage.ts';
import { newWriter, startedData } from '../journal/sample.ts';

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
  await expect(runs.submitted.take(scheduler)).rejects.toThrow('no database');
  scheduleStore.answer = answer;
  await runs.submitted.take(scheduler);
  expect(await scheduleStore.submission('r1')).toMatchObject({ state: 'refused', kind: 'invalid' });
  expect(await scheduleStore.accountJournal.find(ACCOUNT, ['start.refused'])).toMatchObject([
    { by: 'ada', data: { run: 'r1', runbook: 'broken', kind: 'invalid' } },
  ]);
});

it('refuses an unreadable request without effect on others', async () => {
  const { scheduleStore, crashes, runs } = bench();
  await scheduleStore.post(request('r1', { sources: undefined as unknown as SubmissionRequest['sources'] }));
  await scheduleStore.post(request('r2'));
  await runs.submitted.take(scheduler);
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
  await runs.submitted.settleAccepted();
  expect(await scheduleStore.submission('r1')).toEqual({ state: 'begun' });
  expect(await scheduleStore.submission('r2')).toMatchObject({ state: 'refused', kind: 'lost' });
  expect(await scheduleStore.submission('r3')).toEqual({ state: 'posted' });
});

describe('a store that does not answer', () => {
  afterEach(() => void vi.restoreAllMocks());

  /** Resumes one run, which fails `times` times first; the names of what was adopted, and whether a person has to look. */
  async function resume(failure: Error, times: number) {
    const clock = new VirtualClock(NOW);
    const store = new MemoryStore();
    const writer = newWriter(store, 'r1', { clock });
    const loaded = loadedFrom({ file: 'r.yaml', text: 'runbook: r\ndsl: 1\nsteps:\n  - wait: 1s\n' });
    const profile = { ...SIMULATED_PROFILE, account: 'main' };
    writer.append(
      'run.started',
      buildStartedData(
        profile,
        loaded,
        { mode: 'live', trigger: 'manual', inputs: {}, seed: 1, startedAt: NOW },
        { process: describeProcess(), account: 'main' },
      ),
    );
    await writer.flush();
    let calls = 0;
    vi.spyOn(LiveRun.prototype, 'resume').mockImplementation(async () => {
      calls += 1;
      if (calls <= times) throw failure;
    });
    vi.spyOn(LiveRun.prototype, 'waitForEnd').mockReturnValue(new Promise(() => {}));
    const account = { key: `${profile.baseUrl} main`, clock, store, profile };
    const adopted: unknown[] = [];
    const crashes: unknown[] = [];
    const host = { account, voice: { diagnostics: () => {} } };
    const parts = { host, slots: () => [], reportCrash: (error: unknown) => crashes.push(error) };
    const runs = new ScheduledRuns(parts as unknown as ScheduledRunsParts);
    const adopt = ({ run }: { run: string }, _runbook: string, state: object) =>
      adopted.push([run, 'why' in state ? 'stuck' : 'resumed']);
    const resuming = runs.resumeAll({ adopt } as unknown as Scheduler);
    const error = await clock.runUntil(resuming).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    return { adopted, error, crashes, tookMs: clock.now() - NOW };
  }

  it.each([
    ['itself', new StoreAway('no database')],
    ['in the words for people', new UserError('no database', EXIT.halted, 'journal')],
  ])('says nothing about a run: %s, and it is resumed once it answers', async (_how, failure) => {
    expect(await resume(failure, 9)).toMatchObject({ adopted: [['r1', 'resumed']], error: undefined, crashes: [] });
  });

  it.each([
    [120_000, true, 9_000],
    [3_000, false, 3_000],
    [0, false, 0],
  ])('keeps an occurrence from beginning for its %d ms: begun %s', async (withinMs, isBegun, tookMs) => {
    const clock = new VirtualClock(NOW);
    const loaded = loadedFrom({ file: 'r.yaml', text: 'runbook: r\ndsl: 1\nsteps:\n  - wait: 1s\n' });
    const declaration = { paper: false, misfire: { within: { ms: withinMs } } };
    const slots = [{ id: 'r/every 1h', declaration, loaded, inputs: {} }] as unknown as readonly PlannedSlot[];
    const scheduleStore = new MemoryScheduleStore();
    const account = {
      key: ACCOUNT,
      clock,
      profile: SIMULATED_PROFILE,
      openAccountJournal: async () => scheduleStore.accountJournal,
    };
    const crashes: unknown[] = [];
    const parts = { host: { account }, slots: () => slots, reportCrash: (error: unknown) => crashes.push(error) };
    let calls = 0;
    vi.spyOn(LiveRun.prototype, 'begin').mockImplementation(async () => {
      calls += 1;
      if (calls < 10) throw new StoreAway('no database');
    });
    vi.spyOn(LiveRun.prototype, 'flush').mockResolvedValue();
    vi.spyOn(LiveRun.prototype, 'waitForEnd').mockResolvedValue({ outcome: 'succeeded' } as never);
    const runs = new ScheduledRuns(parts as unknown as ScheduledRunsParts);
    const { begun } = runs.start({ run: 'r1', slot: 'r/every 1h', nominalMs: NOW });
    expect([await clock.runUntil(begun), clock.now() - NOW, crashes]).toEqual([isBegun, tookMs, []]);
  });

  it('for longer than a minute leaves the run to the next process, and to no person', async () => {
    const failure = new StoreAway('no database');
    const { adopted, error, tookMs } = await resume(failure, 1_000);
    expect([adopted, error, tookMs >= 60_000]).toEqual([[], failure, true]);
  });

  it('is not taken for a run that cannot be resumed', async () => {
    const { adopted, tookMs } = await resume(new UserError('no', EXIT.halted, 'diverged'), 1);
    expect([adopted, tookMs]).toEqual([[['r1', 'stuck']], 0]);
  });
});

describe('a run whose journal cannot be read', () => {
  const RUN = '20260105T075900000-r-0123456789';

  async function open() {
    const clock = new VirtualClock(NOW);
    const store = new MemoryStore();
    const writer = newWriter(store, RUN, { clock });
    writer.append('run.started', startedData({ mode: 'live', settings: { base_url: 'not an address' } }));
    await writer.flush();
    const scheduleStore = new MemoryScheduleStore();
    await scheduleStore.engage(ACCOUNT, 1, ['r/every 1h'], NOW - 1_000);
    await scheduleStore.record(ACCOUNT, 1, [
      { slot: 'r/every 1h', nominalMs: NOW, verdict: 'started', run: RUN, decidedAt: NOW },
    ]);
    const shared = openSharedMemory(() => clock.monotonic());
    const account = { key: ACCOUNT, clock, store, shared, profile: { ...SIMULATED_PROFILE, account: 'main' } };
    const crashes: unknown[] = [];
    const host = { account, lease: { epoch: 1 }, voice: { diagnostics: () => {} } };
    const parts = { host, scheduleStore, slots: () => [], reportCrash: (error: unknown) => crashes.push(error) };
    return { shared, crashes, store, runs: new ScheduledRuns(parts as unknown as ScheduledRunsParts) };
  }

  it('keeps its slot, and no other run from being resumed', async () => {
    const { runs, crashes } = await open();
    const adopted: unknown[] = [];
    const adopt = (run: object) => adopted.push(run);
    const resumed = await runs.resumeAll({ adopt } as unknown as Scheduler);
    expect(resumed).toMatchObject({ resumed: [], halted: [], stuck: [{ run: RUN }] });
    expect([adopted, crashes]).toEqual([[{ run: RUN, slot: 'r/every 1h' }], []]);
  });

  it('is settled by the cancel of a person, also after a restart', async () => {
    const { runs, shared, store } = await open();
    const settled: unknown[] = [];
    const scheduler = {
      unresolved: () => [{ run: RUN }],
      settle: (run: string, by: string) => settled.push([run, by]),
    } as unknown as Scheduler;
    await runs.settleAnswered(scheduler);
    expect(settled).toEqual([]);
    await shared.mailbox.post({ run: RUN, command: 'cancel', by: 'ada', at: NOW });
    await runs.settleAnswered(scheduler);
    // Also one that halted, of which no entry can be read.
    const halted = await store.run(RUN);
    store.run = async () => halted && { ...halted, outcome: 'halted' };
    store.read = async () => [{ run: RUN, seq: 1, at: NOW, type: 'run.started', step: '', line: '{', hash: '' }];
    await runs.settleAnswered(scheduler);
    expect(settled).toEqual([
      [RUN, 'ada'],
      [RUN, 'ada'],
    ]);
  });
});

/**
 * The scheduler as a process, against the simulated venue over HTTP. Real time and real signals: it is about what processes
 * do. Its decisions are tested in virtual time (test/engine).
 */
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { SystemClock } from '../../src/base/clock.ts';
import { startSimServer } from '../../src/gateway/simulator/server.ts';
import { Simulator } from '../../src/gateway/simulator/simulator.ts';
import { readEntry } from '../../src/journal/chain.ts';
import { openSqliteScheduleStore } from '../../src/journal/schedule/sqlite.ts';
import type { SubmissionRequest } from '../../src/journal/schedule/store.ts';
import { holdFile } from '../../src/journal/sql/sqlite.ts';
import type { StoredEntry } from '../../src/journal/store.ts';
import { openSqliteStore } from '../../src/journal/stores/sqlite.ts';
import { profileFor, until } from './background.ts';
import { get, itSchedules, readiness, Scheduler } from './schedulers.ts';

const TICK = `
runbook: tick
dsl: 1
leaves: {position: open, because: the case is about something else}
schedule: {every: 1s, misfire: {within: 20s, then: run_once}}
steps:
  - id: acct
    read_account: {}
  - assert: acct.account_equity > 0
`;
/** Long enough to be met half-way. */
const SLOW = `
runbook: slow
dsl: 1
leaves: {position: open, because: the case is about something else}
schedule: {every: 2s, misfire: {within: 30s, then: run_once}, overlap: skip}
steps:
  - wait: 4s
  - id: acct
    read_account: {}
`;
const ASKED = `
runbook: asked
dsl: 1
leaves: {position: open, because: the case is about something else}
inputs: {patience: {type: duration, default: 2s}}
steps:
  - wait: inputs.patience
  - id: acct
    read_account: {}
outputs: {equity: acct.account_equity}
`;
/** Places an order far from the market, under a switch. */
const RESTING = `
runbook: resting
dsl: 1
leaves: {position: open, because: the case is about something else}
schedule: {every: 1s, misfire: {within: 20s, then: run_once}, overlap: skip}
deadman: {market: BTC-USD, timeout: 20s, on_exit: disarm}
steps:
  - id: entry
    place: {type: limit, market: BTC-USD, side: long, size: 0.001, price: 20000, tif: post_only}
    undo: cancel
  - wait: 1h
`;

/** Places an order, and waits to be asked to stop. */
const KEPT = `
runbook: kept
dsl: 1
leaves: {position: open, because: the case is about something else}
inputs: {side: {type: side}, price: {type: price}}
steps:
  - id: entry
    place: {type: limit, market: BTC-USD, side: "${'$'}{inputs.side}", size: 0.001, price: inputs.price, tif: post_only}
    undo: cancel
  - wait: 1h
`;

const it = itSchedules
  /** A suspended scheduler, and a run that is submitted to it. */
  .extend('submitToSuspended', ({ at, schedule }) => async () => {
    at.write('tick.yaml', TICK.replace('every: 1s', 'every: 4s'));
    at.write('asked.yaml', ASKED);
    const scheduler = schedule('tick.yaml');
    await scheduler.sees('run_ended');
    // Between two runs.
    await scheduler.rests();
    await scheduler.suspend(at.path);
    return { scheduler, run: at.start(['run', 'asked.yaml', '--profile', 'profile.yaml', '--json']) };
  });

describe.concurrent('runbook schedule', () => {
  it('starts what is due, reports its health, reloads its files, and stops cleanly', async ({
    venue,
    at,
    schedule,
    json,
  }) => {
    at.write('outside', `${venue.url}/_sim/books`);
    at.write('profile.yaml', `${profileFor(venue.url)}\nheartbeat: {url: {file: outside}}`);
    at.write('tick.yaml', TICK);
    const scheduler = schedule('tick.yaml');
    const url = await scheduler.url();
    await scheduler.sees('run_ended', 2);
    expect(await get(`${url}/healthz`)).toEqual({ status: 200, text: '{"healthy":true,"reasons":[]}\n' });
    expect(await readiness(url)).toEqual({
      status: 200,
      ready: true,
      reasons: [],
      accounts: { main: { served: 'here', ready: true, reasons: [], needs_a_person: [] } },
    });
    expect((await get(`${url}/elsewhere`)).status).toBe(404);
    const metrics = (await get(`${url}/metrics`)).text;
    const figure = (name: string) => Number(new RegExp(`^perp_runbook_${name} (\\S+)$`, 'm').exec(metrics)?.[1]);
    const main = '\\{account="main"\\}';
    expect(figure('runs_ended_total\\{account="main",runbook="tick",outcome="succeeded"\\}')).toBeGreaterThanOrEqual(2);
    expect(
      figure('occurrences_total\\{account="main",runbook="tick",verdict="started",why=""\\}'),
    ).toBeGreaterThanOrEqual(2);
    expect(figure('heartbeats_total\\{account="main",delivered="true"\\}')).toBeGreaterThan(0);
    expect(figure(`lease_epoch${main}`)).toBe(1);
    expect(figure(`tokens_limit${main}`)).toBe(1200);
    expect(figure(`tokens_used${main}`)).toBeGreaterThan(0);

    at.write('tick.yaml', TICK.replace('read_account', 'reed_account'));
    const [refused] = await scheduler.sees('reload_refused');
    expect(refused?.msg).toContain('tick.yaml is invalid');
    const before = scheduler.events('run_ended').length;
    await scheduler.sees('run_ended', before + 2);

    at.write('tick.yaml', TICK.replace('every: 1s', 'every: 1500ms'));
    await scheduler.sees('reloaded', 2);
    const started = scheduler.events('occurrence_started').length;
    const later = await scheduler.sees('occurrence_started', started + 2);
    expect(new Set(later.slice(started).map(({ slot }) => slot))).toEqual(new Set(['tick/every 1s500ms']));

    const { exit, out } = await scheduler.stop('SIGTERM');
    expect(exit).toBe(143);
    expect(out).toMatch(/^scheduling 1 slot of 1 runbook for the account main; http/);
    expect(scheduler.log().at(-1)?.event).toBe('stopped');
    expect(scheduler.events('run_ended').filter(({ outcome }) => outcome !== 'succeeded').length).toBeLessThanOrEqual(
      1,
    );

    // Each occurrence has one verdict, and each started one a run.
    const { document } = await json('audit', 'list');
    const runs = (document['runs'] as { run: string; trigger: string }[]).map(({ run }) => run);
    const scheduleStore = await openSqliteScheduleStore(join(at.path, '.runbook', 'runbook.db'));
    const rows = await scheduleStore.occurrences(`${venue.url} main`);
    await scheduleStore.close();
    const begun = rows.filter(({ verdict }) => verdict === 'started');
    expect(begun.length).toBeGreaterThanOrEqual(4);
    expect(begun.map(({ run }) => run).sort()).toEqual([...runs].sort());
    expect(new Set(rows.map(({ slot, nominalMs }) => `${slot} ${nominalMs}`)).size).toBe(rows.length);
    expect((await json('audit', 'verify')).document).toMatchObject({ ok: true });
  });

  it('says that a clock which was ahead has decided up to a time to come, and is not ready', async ({
    venue,
    at,
    schedule,
  }) => {
    at.write('tick.yaml', TICK);
    const first = schedule('tick.yaml');
    await first.sees('run_ended');
    await first.stop('SIGTERM');
    const scheduleStore = await openSqliteScheduleStore(join(at.path, '.runbook', 'runbook.db'));
    const nominalMs = Math.ceil(Date.now() / 1000) * 1000 + 86_400_000;
    const row = { slot: 'tick/every 1s', nominalMs, verdict: 'missed', why: 'late', decidedAt: nominalMs } as const;
    await scheduleStore.record(`${venue.url} main`, 1, [row]);
    await scheduleStore.close();
    const second = schedule('tick.yaml');
    const [told] = await second.sees('decided_ahead');
    expect(told?.msg).toContain(new Date(nominalMs).toISOString());
    expect(await readiness(await second.url())).toMatchObject({ status: 503, ready: false });
    expect(second.events('occurrence_started')).toEqual([]);
    at.write('tick.yaml', TICK.replace('every: 1s', 'every: 1s, from: 2026-01-01T00:00:00Z'));
    await second.sees('run_ended');
    expect(second.events('decided_ahead')).toHaveLength(1);
    await second.stop('SIGTERM');
  });

  it('the next process resumes the run of a killed one, and starts nothing twice', async ({ at, schedule, json }) => {
    at.write('slow.yaml', SLOW);
    const first = schedule('slow.yaml');
    const [begun] = await first.sees('run_begun');
    await first.stop('SIGKILL');
    const second = schedule('slow.yaml');
    const [resumed] = await second.sees('run_resumed');
    expect(resumed?.run).toBe(begun?.run);
    const ended = await second.sees('run_ended');
    expect(ended[0]).toMatchObject({ run: begun?.run, outcome: 'succeeded' });
    await second.stop('SIGINT');
    expect(second.started.child.exitCode).toBe(130);
    const { document } = await json('audit', 'verify');
    expect((document['runs'] as { ok: boolean }[]).filter(({ ok }) => !ok)).toEqual([]);
  });

  it('settles running runs and leaves the account as declared', async ({ simulator, at, schedule }) => {
    at.write('resting.yaml', RESTING);
    const scheduler = schedule('resting.yaml');
    await until(() => simulator.books().deadman.armed.length === 1);
    await until(() => simulator.books().orders.some(({ status }) => status === 'open'));
    const { exit } = await scheduler.stop('SIGTERM');
    expect(exit).toBe(143);
    const [end] = scheduler.events('run_ended');
    expect(end?.msg).toContain('interrupted by SIGTERM');
    expect(simulator.books().deadman.armed).toEqual([]);
    expect(simulator.books().orders.map(({ status }) => status)).toEqual(['canceled']);
    expect(scheduler.events('run_begun')).toHaveLength(1);
  });

  it('executes runs of `runbook run`, which waits and reports as usual', { tags: ['long'] }, async ({
    at,
    schedule,
    json,
  }) => {
    at.write('tick.yaml', TICK);
    at.write('asked.yaml', ASKED);
    const scheduler = schedule('tick.yaml');
    await scheduler.url();
    const { exit, document, err } = await json('run', 'asked.yaml', '--profile', 'profile.yaml');
    expect({ exit, outcome: document['outcome'], outputs: document['outputs'] }).toEqual({
      exit: 0,
      outcome: 'succeeded',
      outputs: { equity: '18234.1' },
    });
    expect(err).toContain('submitted to it as');
    expect(scheduler.events('run_begun').filter(({ run }) => run === document['run'])).toHaveLength(1);

    const recorded = await at.run(['run', 'asked.yaml', '--profile', 'profile.yaml', '--record', 'x.yaml']);
    expect(recorded.exit).toBe(3);
    expect(recorded.err).toContain('a run with --record cannot be submitted to it');

    // A closed terminal (SIGHUP) leaves no run behind either.
    for (const [signal, code, begun] of [
      ['SIGINT', 130, 2],
      ['SIGHUP', 143, 3],
    ] as const) {
      const patient = at.start(['run', 'asked.yaml', '--profile', 'profile.yaml', '--input', 'patience=1h', '--json']);
      await until(() => scheduler.events('run_begun').filter(({ runbook }) => runbook === 'asked').length === begun);
      patient.child.kill(signal);
      const interrupted = await patient.ended;
      expect(interrupted.exit).toBe(code);
      expect(JSON.parse(interrupted.out)).toMatchObject({ outcome: 'failed', error: { kind: 'cancelled' } });
    }
    await scheduler.stop('SIGTERM');
  });

  it('does not answer, and the command that submitted a run ends in its time all the same', async ({
    venue,
    at,
    schedule,
  }) => {
    at.write('tick.yaml', TICK.replace('every: 1s', 'every: 1h'));
    at.write('asked.yaml', ASKED);
    at.write('profile.yaml', `${profileFor(venue.url)}\nshutdown: {within: 1s}\n`);
    const scheduler = schedule('tick.yaml');
    await scheduler.url();
    const patient = at.start(['run', 'asked.yaml', '--profile', 'profile.yaml', '--input', 'patience=1h', '--json']);
    const [begun] = await scheduler.sees('run_begun');
    await scheduler.suspend(at.path);
    patient.child.kill('SIGTERM');
    const ended = await patient.ended;
    expect([ended.exit, JSON.parse(ended.out)]).toMatchObject([
      143,
      { error: { kind: 'interrupted' }, run: begun?.run },
    ]);
    scheduler.started.child.kill('SIGCONT');
    await scheduler.stop('SIGTERM');
  });

  it('asks people, and reads their answer from another terminal', async ({ at, schedule }) => {
    at.write('tick.yaml', TICK);
    at.write(
      'asking.yaml',
      'runbook: asking\ndsl: 1\nleaves: {position: open, because: the case is about something else}\nsteps:\n  - id: go\n    approve: {ask: "Go on?", by: [risk], within: 1m, on_timeout: reject}\n  - read_account: {}\n',
    );
    const scheduler = schedule('tick.yaml');
    await scheduler.url();
    const asking = at.start(['run', 'asking.yaml', '--profile', 'profile.yaml', '--json']);
    const [asked] = await scheduler.sees('approval_asked');
    expect(asked?.msg).toContain('Go on?');
    expect((await at.run(['approve', String(asked?.run), 'go', '--by', 'ada'])).exit).toBe(0);
    expect((await asking.ended).exit).toBe(0);
    await scheduler.stop('SIGTERM');
  });

  it('runs of one account know each other’s orders: none trades with another', async ({ simulator, at, schedule }) => {
    at.write('tick.yaml', TICK);
    at.write('kept.yaml', KEPT);
    const scheduler = schedule('tick.yaml');
    await scheduler.url();
    const words = (side: string, price: string) => [
      'run',
      'kept.yaml',
      '--profile',
      'profile.yaml',
      '--input',
      `side=${side}`,
      '--input',
      `price=${price}`,
      '--json',
    ];
    const bid = at.start(words('long', '20000'));
    await until(() => simulator.books().orders.some(({ status }) => status === 'open'));
    const crossing = await at.run(words('short', '19999'));
    expect(crossing.exit).toBe(1);
    expect(JSON.parse(crossing.out)).toMatchObject({
      outcome: 'failed',
      error: { kind: 'denied', message: expect.stringContaining('SELF_MATCH') },
    });
    expect(simulator.books().orders).toHaveLength(1);
    await scheduler.stop('SIGTERM');
    expect((await bid.ended).exit).toBe(1);
    expect(simulator.books().orders.map(({ status }) => status)).toEqual(['canceled']);
  });

  it('a run submitted to a scheduler that dies before it accepts it is executed by the command itself', async ({
    submitToSuspended,
  }) => {
    const { scheduler, run } = await submitToSuspended();
    let err = '';
    run.child.stderr?.on('data', (text: string) => {
      err += text;
    });
    await until(() => err.includes('submitted to it as'));
    await scheduler.stop('SIGKILL');
    const { exit, out } = await run.ended;
    expect(exit).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ outcome: 'succeeded', outputs: { equity: '18234.1' } });
    expect(err).not.toContain(JSON.parse(out).run);
  });

  it('a run whose scheduler dies between accepting and beginning it is refused by the next one, and its command ends', {
    tags: ['long'],
  }, async ({ venue, at, schedule, json, submitToSuspended }) => {
    const { scheduler, run } = await submitToSuspended();
    const scheduleStore = await openSqliteScheduleStore(join(at.path, '.runbook', 'runbook.db'));
    const account = `${venue.url} main`;
    try {
      await until(async () => (await scheduleStore.posted(account)).length > 0);
      const [posted] = (await scheduleStore.posted(account)) as [SubmissionRequest];
      expect(await scheduleStore.answer(posted.run, { state: 'taken' })).toBe(true);
      await scheduler.stop('SIGKILL');
      const next = schedule('tick.yaml');
      await next.sees('run_ended');
      const { exit, out } = await run.ended;
      expect({ exit, error: JSON.parse(out).error }).toEqual({
        exit: 1,
        error: {
          kind: 'lost',
          message: expect.stringContaining('nothing was sent'),
        },
      });
      const { document } = await json('run', 'asked.yaml', '--profile', 'profile.yaml');
      expect(document['outcome']).toBe('succeeded');
      expect(await scheduleStore.submission(String(document['run']))).toEqual({ state: 'begun' });
      await next.stop('SIGTERM');
    } finally {
      await scheduleStore.close();
    }
  });

  it('a run submitted before all processes died is not begun by a much later scheduler', { tags: ['long'] }, async ({
    venue,
    at,
    schedule,
    submitToSuspended,
  }) => {
    const { scheduler, run } = await submitToSuspended();
    const scheduleStore = await openSqliteScheduleStore(join(at.path, '.runbook', 'runbook.db'));
    const account = `${venue.url} main`;
    try {
      await until(async () => (await scheduleStore.posted(account)).length > 0);
      const [posted] = (await scheduleStore.posted(account)) as [SubmissionRequest];
      run.child.kill('SIGKILL');
      await scheduler.stop('SIGKILL');
      await scheduleStore.answer(posted.run, { state: 'withdrawn' });
      await scheduleStore.post({ ...posted, run: `${posted.run}0`, at: posted.at - 300_000 });
      const next = schedule('tick.yaml');
      await next.sees('run_ended', 2);
      expect(await scheduleStore.submission(`${posted.run}0`)).toMatchObject({ state: 'refused', kind: 'lost' });
      expect(next.events('run_begun').map(({ runbook }) => runbook)).not.toContain('asked');
      await next.stop('SIGTERM');
    } finally {
      await scheduleStore.close();
    }
  });

  it('a second one is refused, and one on standby takes over', async ({ at, schedule }) => {
    at.write('tick.yaml', TICK);
    const first = schedule('tick.yaml');
    await first.sees('run_ended');
    const refused = await at.run(['schedule', 'tick.yaml', '--profile', 'profile.yaml', '--port', '0']);
    expect(refused.exit).toBe(3);
    expect(refused.err).toContain('held by another process (scheduler, process');
    const second = schedule('tick.yaml', '--standby');
    await second.sees('standing_by');
    await first.stop('SIGKILL');
    await second.sees('run_ended');
    expect((await second.sees('started'))[0]).toMatchObject({ epoch: 2 });
    await second.stop('SIGTERM');
  });

  it('one on standby outlasts a database that is locked for longer than it waits', { tags: ['long'] }, async ({
    at,
    schedule,
  }) => {
    at.write('tick.yaml', TICK);
    const first = schedule('tick.yaml');
    await first.sees('run_ended');
    const second = schedule('tick.yaml', '--standby');
    await second.sees('standing_by');
    await first.stop('SIGKILL');
    let held: Awaited<ReturnType<typeof holdFile>>;
    await until(async () => {
      held = await holdFile(join(at.path, '.runbook', 'runbook.db'));
      return held !== undefined;
    });
    await second.sees('store_failed');
    held?.release();
    await second.sees('run_ended');
    expect((await second.stop('SIGTERM')).exit).toBe(143);
  });

  it('one suspended for longer than its lease is replaced, and sends nothing when it wakes up', {
    tags: ['long'],
  }, async ({ simulator, at, schedule }) => {
    at.write('resting.yaml', RESTING);
    const first = schedule('resting.yaml');
    await until(() => simulator.books().orders.some(({ status }) => status === 'open'));
    const second = schedule('resting.yaml', '--standby');
    await second.sees('standing_by');
    await first.suspend(at.path);
    const [resumed] = await second.sees('run_resumed');
    first.started.child.kill('SIGCONT');
    const { exit } = await first.started.ended;
    expect(exit).toBe(3);
    expect(first.log().at(-1)).toMatchObject({ event: 'lease_lost', account: 'main' });
    expect(resumed?.run).toBe(first.events('run_begun')[0]?.run);
    const store = await openSqliteStore(join(at.path, '.runbook', 'runbook.db'));
    const readEpochs = async () => (await store.read(String(resumed?.run))).map((stored) => readEntry(stored).epoch);
    // Asked to end before it acts for the run, it would leave the run for the next.
    await until(async () => (await readEpochs()).includes(2));
    await second.stop('SIGTERM');
    const epochs = await readEpochs();
    await store.close();
    // The first one wrote nothing after the second began, and it sends nothing that it has not written.
    expect(new Set(epochs)).toEqual(new Set([1, 2]));
    expect(epochs).toEqual([...epochs].sort());
    expect(simulator.books().orders.map(({ status }) => status)).toEqual(['canceled']);
    expect(simulator.books().deadman.armed).toEqual([]);
  });

  it('a halted run keeps its slot, even over a restart, until a person settles it', { tags: ['long'] }, async ({
    at,
    json,
  }) => {
    at.write('resting.yaml', RESTING.replace('deadman: {market: BTC-USD, timeout: 20s, on_exit: disarm}\n', ''));
    at.write('tick.yaml', TICK);
    // The venue says that it has the first order, and shows none: the run halts.
    const halting = new Simulator(
      {
        faults: [
          { on: 'POST /orders', when: { call: 1 }, do: 'error', status: 400, error: 'CLIENT_ORDER_ID_DUPLICATE' },
        ],
      },
      new SystemClock(),
      1,
    );
    const lossy = await startSimServer(halting, { port: 0 });
    at.write('lossy.yaml', profileFor(lossy.url));
    const words = ['schedule', 'resting.yaml', 'tick.yaml', '--profile', 'lossy.yaml', '--port', '0'];
    const first = new Scheduler(at.start(words));
    const url = await first.url();
    const [ended] = await until(() => first.events('run_ended').some(({ outcome }) => outcome === 'halted')).then(() =>
      first.events('run_ended').filter(({ outcome }) => outcome === 'halted'),
    );
    const run = String(ended?.run);
    expect(ended?.msg).toContain(`runbook cancel ${run} --by NAME`);
    await until(() => first.events('occurrence_skipped').some(({ slot }) => String(slot).startsWith('resting/')));
    expect(await readiness(url)).toMatchObject({ ready: true, accounts: { main: { needs_a_person: [{ run }] } } });
    expect((await get(`${url}/metrics`)).text).toContain('perp_runbook_runs_unresolved{account="main"} 1');
    await first.stop('SIGTERM');

    const second = new Scheduler(at.start(words));
    const [told] = await second.sees('run_halted');
    expect(told).toMatchObject({ run, account: 'main' });
    expect(second.events('run_begun').filter(({ runbook }) => runbook === 'resting')).toEqual([]);
    expect((await at.run(['cancel', run, '--by', 'ada'])).exit).toBe(0);
    await second.sees('run_settled');
    const store = await openSqliteStore(join(at.path, '.runbook', 'runbook.db'));
    const answer = readEntry((await store.read(run)).at(-1) as StoredEntry);
    await store.close();
    // Written by the scheduler, which holds the account, under its own epoch.
    expect([answer.type, answer.actor, answer.data]).toEqual([
      'operator.acted',
      'human:ada',
      { command: 'cancel', by: 'ada' },
    ]);
    expect((await at.run(['audit', 'summary', run])).out).toContain('cancel by ada');
    await until(() => second.events('run_begun').some(({ runbook }) => runbook === 'resting'));
    await second.stop('SIGTERM');
    const third = new Scheduler(at.start(words));
    await third.url();
    expect(third.events('run_halted')).toEqual([]);
    await third.stop('SIGTERM');
    expect((await json('audit', 'verify', run)).document).toMatchObject({ ok: true });
    await lossy.close();
  });

  it('serves several accounts in one process, each under a lease of its own', async ({ at, onTestFinished }) => {
    at.write('tick.yaml', TICK);
    // A simulated venue has one account.
    const second = await startSimServer(new Simulator({}, new SystemClock(), 2), { port: 0 });
    onTestFinished(() => second.close());
    at.write('other.yaml', profileFor(second.url).replace('account: main', 'account: other'));
    const words = ['schedule', 'tick.yaml', '--profile', 'profile.yaml', '--profile', 'other.yaml', '--port', '0'];
    const scheduler = new Scheduler(at.start(words));
    const url = await scheduler.url();
    await until(() => new Set(scheduler.events('run_ended').map(({ account }) => account)).size === 2);
    expect(await readiness(url)).toMatchObject({
      ready: true,
      accounts: { main: { served: 'here', ready: true }, other: { served: 'here', ready: true } },
    });
    const refused = await at.run(['schedule', 'tick.yaml', '--profile', 'other.yaml', '--port', '0']);
    expect(refused.exit).toBe(3);
    // Like closing the terminal.
    expect((await scheduler.stop('SIGHUP')).exit).toBe(143);
  });

  it('starts nothing under the kill switch, says why, and continues after the release', { tags: ['long'] }, async ({
    at,
    schedule,
  }) => {
    at.write('tick.yaml', TICK);
    const scheduler = schedule('tick.yaml');
    const url = await scheduler.url();
    await scheduler.sees('run_ended');
    expect((await at.run(['kill', '--profile', 'profile.yaml', '--by', 'ada', '--reason', 'drill'])).exit).toBe(0);
    await scheduler.sees('occurrence_skipped');
    expect(await readiness(url)).toMatchObject({ status: 503, ready: false, reasons: ['the kill switch is engaged'] });
    at.write('asked.yaml', ASKED);
    const submitted = await at.run(['run', 'asked.yaml', '--profile', 'profile.yaml']);
    expect(submitted.exit).toBe(1);
    expect(submitted.err).toContain('the kill switch is engaged by ada');
    expect((await at.run(['release', '--profile', 'profile.yaml', '--by', 'ada'])).exit).toBe(0);
    const ended = scheduler.events('run_ended').length;
    await scheduler.sees('run_ended', ended + 1);
    await scheduler.stop('SIGTERM');
  });

  it('refuses what could never run, before it takes a lease', async ({ venue, at }) => {
    at.write('asked.yaml', ASKED);
    at.write('broken.yaml', TICK.replace('every: 1s', 'every: 0s'));
    at.write('capable.yaml', TICK.replace('dsl: 1', 'dsl: 1\nneeds: [cancel_all]'));
    at.write('tick.yaml', TICK);
    at.write('shared.yaml', `${profileFor(venue.url)}\nstore: {postgres: {env: DATABASE_URL}}\n`);
    const run = (...words: string[]) => at.run(['schedule', ...words]);
    const cases: readonly (readonly [readonly string[], number, string])[] = [
      [['asked.yaml', '--profile', 'profile.yaml'], 2, 'has no schedule'],
      [['broken.yaml', '--profile', 'profile.yaml'], 1, 'duration-not-positive'],
      [['capable.yaml', '--profile', 'profile.yaml'], 2, 'needs cancel_all'],
      [['capable.yaml', 'broken.yaml', '--profile', 'profile.yaml'], 2, 'duration-not-positive'],
      [['nowhere', '--profile', 'profile.yaml'], 2, 'no such file'],
      [['asked.yaml'], 2, '--profile'],
      [['capable.yaml', '--profile', 'profile.yaml', '--port', '99999'], 2, '--port takes a port'],
      [
        ['tick.yaml', '--profile', 'profile.yaml', '--max-accounts', '1'],
        2,
        '--max-accounts is for accounts that workers share',
      ],
      [['tick.yaml', '--profile', 'profile.yaml', '--profile', 'profile.yaml'], 2, 'two profiles are for the account'],
      [['tick.yaml', '--profile', 'profile.yaml', '--profile', 'shared.yaml'], 2, 'need separate processes'],
    ];
    for (const [words, exit, text] of cases) {
      const ended = await run(...words);
      expect({ words, exit: ended.exit }).toEqual({ words, exit });
      expect(ended.err).toContain(text);
    }
  });
});

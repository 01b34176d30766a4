/**
 * Several workers on one PostgreSQL, as processes: which one serves which account, and a worker that dies at any
 * point of a run, is suspended, or loses its database. Real time, real signals; `npm run soak` does it at random for an hour.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ActingContext } from '../../src/app/process.ts';
import type { AccountService, AccountServices, ServedAccount } from '../../src/app/schedule/account-service.ts';
import type { ServiceEnd, StopCause } from '../../src/app/schedule/standby.ts';
import { Worker } from '../../src/app/schedule/worker.ts';
import { SystemClock } from '../../src/base/clock.ts';
import { type SimServer, startSimServer } from '../../src/gateway/simulator/server.ts';
import { Simulator } from '../../src/gateway/simulator/simulator.ts';
import type { EntryType } from '../../src/journal/entry.ts';
import { readLines } from '../../src/journal/reading.ts';
import { openPostgresScheduleStore } from '../../src/journal/schedule/postgres.ts';
import type { ScheduleStore } from '../../src/journal/schedule/store.ts';
import type { JournalStore } from '../../src/journal/store.ts';
import { openPostgresStore } from '../../src/journal/stores/postgres.ts';
import { SIMULATED_PROFILE } from '../../src/venue/profile/profile.ts';
import { POSTGRES_PASSWORD, postgresOfFile } from '../postgres.ts';
import { type Background, background, profileFor, until } from './background.ts';
import { get, readiness, Scheduler } from './schedulers.ts';

const TICK = `
runbook: tick
dsl: 1
schedule: {every: 1s, misfire: {within: 60s, then: run_once}}
steps:
  - read_account: {}
`;
/** Writes every kind of entry: an open order, an amendment, a cancel. */
const ORDER = `
runbook: order
dsl: 1
leaves: {position: open, because: the case is about something else}
schedule: {every: 3s, misfire: {within: 10m, then: run_once}, overlap: skip}
steps:
  - id: entry
    place: {type: limit, market: BTC-USD, side: long, size: 0.001, price: 20000, tif: post_only, on_ambiguous: resend}
  - amend: {order: entry, price: 20001}
    catch: [{on: [rejected, not_found], then: continue}]
  - cancel: entry
`;
const RESTING = `
runbook: resting
dsl: 1
leaves: {position: open, because: the case is about something else}
schedule: {every: 1s, misfire: {within: 60s, then: run_once}, overlap: skip}
steps:
  - id: entry
    place: {type: limit, market: BTC-USD, side: long, size: 0.001, price: 20000, tif: post_only}
    undo: cancel
  - wait: 1h
`;

/**
 * Points at which workers die: with an entry in flight, its commit held in the database until the worker is dead, or with the
 * entry durable. Every point of a call, in virtual time: test/simulation/seeds.test.ts.
 */
const POINTS = [
  ['run.started', 'on its way'],
  ['call.intended', 'there'],
  ['call.attempted', 'on its way'],
  ['call.attempted', 'there'],
  ['call.settled', 'on its way'],
  ['order.moved', 'there'],
  ['step.ended', 'on its way'],
  ['run.ended', 'there'],
] as const satisfies readonly (readonly [EntryType, 'on its way' | 'there'])[];

const server = postgresOfFile();
/** Of the account main, and of the account other: a simulated venue has one account. */
let simulator: Simulator;
let venue: SimServer;
let otherSimulator: Simulator;
let otherVenue: SimServer;
let at: Background;
let url: string;
let journal: JournalStore;
let scheduleStore: ScheduleStore;

describe('workers that share accounts', { tags: ['postgres'] }, () => {
  const workers: Scheduler[] = [];

  beforeEach(async () => {
    at = background();
    simulator = new Simulator({ tokens: { limit: 100_000 } }, new SystemClock(), 1);
    venue = await startSimServer(simulator, { port: 0 });
    otherSimulator = new Simulator({ tokens: { limit: 100_000 } }, new SystemClock(), 2);
    otherVenue = await startSimServer(otherSimulator, { port: 0 });
    url = await server().database();
    at.write('database', url);
    for (const account of ['main', 'other']) at.write(`${account}.yaml`, profileOf(account));
    const access = { url, name: 'the database' };
    journal = await openPostgresStore(access);
    scheduleStore = await openPostgresScheduleStore(access);
  });
  afterEach(async () => {
    for (const worker of workers.splice(0)) await worker.stop('SIGKILL');
    await journal.close();
    await scheduleStore.close();
    await venue.close();
    await otherVenue.close();
  });

  function profileOf(account: string): string {
    return [
      profileFor(venueOf(account).url).replace('account: main', `account: ${account}`),
      'rate_limit: {tokens: 100000, window: 60s}',
      'store: {postgres: {file: database}}\n',
    ].join('\n');
  }

  function worker(runbooks: readonly string[], accounts: readonly string[], ...more: readonly string[]): Scheduler {
    const profiles = accounts.flatMap((account) => ['--profile', `${account}.yaml`]);
    const started = new Scheduler(at.start(['schedule', ...runbooks, ...profiles, '--port', '0', ...more]));
    workers.push(started);
    return started;
  }

  const venueOf = (account: string) => (account === 'main' ? venue : otherVenue);
  const key = (account: string) => `${venueOf(account).url} ${account}`;

  /** Each occurrence once, each run once and ended, each order of the venue in one run's journal. */
  async function accounted(account: string): Promise<void> {
    const rows = await scheduleStore.occurrences(key(account));
    expect(new Set(rows.map(({ slot, nominalMs }) => `${slot} ${nominalMs}`)).size).toBe(rows.length);
    const started = rows.flatMap(({ verdict, run }) => (verdict === 'started' && run !== undefined ? [run] : []));
    const runs = await journal.runs({ account });
    expect(runs.map(({ run }) => run).sort()).toEqual([...started].sort());
    expect(runs.filter(({ outcome }) => outcome === undefined)).toEqual([]);
    expect(rows.filter(({ began }) => began === 'lost')).toEqual([]);
    const intended: string[] = [];
    for (const { run } of runs) {
      const entries = [...readLines(await journal.read(run))];
      for (const entry of entries)
        if (entry.type === 'call.intended' && entry.data.intent !== undefined)
          intended.push(entry.data.intent.clientOrderId);
      const epochs = entries.map(({ epoch }) => epoch);
      expect(epochs).toEqual([...epochs].sort((a, b) => a - b));
    }
    const { orders } = (account === 'main' ? simulator : otherSimulator).books();
    const booked = orders.map(({ client_order_id: id }) => id);
    expect(new Set(booked).size).toBe(booked.length);
    expect(booked.filter((id) => !intended.includes(id))).toEqual([]);
    expect(orders.filter(({ terminal }) => !terminal)).toEqual([]);
  }

  it('spread them by their limits, release them at once, and show who serves which', async () => {
    at.write('tick.yaml', TICK);
    const one = worker(['tick.yaml'], ['main', 'other'], '--max-accounts', '1');
    const [first] = await one.sees('started');
    const two = worker(['tick.yaml'], ['main', 'other'], '--max-accounts', '1');
    const [second] = await two.sees('started');
    expect([first?.account, second?.account].sort()).toEqual(['main', 'other']);
    const where = String(first?.account);
    const elsewhere = String(second?.account);
    const answers = await readiness(await one.url('joined'));
    expect(answers).toMatchObject({ status: 200, ready: true, reasons: [] });
    expect(answers.accounts[where]).toMatchObject({ served: 'here', ready: true });
    expect(answers.accounts[elsewhere]).toMatchObject({ served: 'elsewhere', ready: false });
    const metrics = (await get(`${await one.url('joined')}/metrics`)).text;
    expect(metrics).toContain(`perp_runbook_account_served{account="${where}"} 1`);
    expect(metrics).not.toContain(`perp_runbook_lease_epoch{account="${elsewhere}"}`);

    const three = worker(['tick.yaml'], ['main', 'other'], '--max-accounts', '1');
    await three.sees('queue_joined');
    const asked = Date.now();
    expect((await one.stop('SIGTERM')).exit).toBe(143);
    await three.sees('started');
    expect(three.events('started')[0]).toMatchObject({ account: where, epoch: 2 });
    // Neither a lock nor a lease had to expire.
    expect(Date.now() - asked).toBeLessThan(4_000);
    for (const each of [two, three]) expect((await each.stop('SIGTERM')).exit).toBe(143);
    for (const account of ['main', 'other']) await accounted(account);
    const everything = [one, two, three].flatMap((each) => each.log().map((line) => JSON.stringify(line))).join('\n');
    expect(everything).not.toContain(POSTGRES_PASSWORD);
  });

  it('take over from one that dies at any point of a run: nothing twice, nothing lost', async () => {
    at.write('order.yaml', ORDER);
    let [serving, spare] = [worker(['order.yaml'], ['main']), worker(['order.yaml'], ['main'])];
    await until(() => [serving, spare].some((each) => each.events('started').length > 0));
    if (spare.events('started').length > 0) [serving, spare] = [spare, serving];
    for (const [type, where] of POINTS) {
      await trap(type, where === 'on its way');
      // The previous run may have to look up its order first.
      await until(() => caught);
      await serving.stop('SIGKILL');
      await spring();
      await spare.sees('started');
      serving = spare;
      spare = worker(['order.yaml'], ['main']);
    }
    await serving.sees('run_ended', 2);
    for (const each of [serving, spare]) expect((await each.stop('SIGTERM')).exit).toBe(143);
    await accounted('main');
  });

  let caught = false;
  let stopListening: () => Promise<void> = async () => {};

  /** Resolves at the next commit of an entry of this type: while the commit is held for a second (`held`), or once it is durable. */
  async function trap(type: string, held: boolean): Promise<void> {
    const { default: pg } = await import('pg');
    const listener = new pg.Client({ connectionString: url });
    await listener.connect();
    listener.on('error', () => {});
    caught = false;
    if (held) {
      // Held by an advisory lock of this connection; pg_locks shows that the commit waits for it.
      await listener.query('SELECT pg_advisory_lock(4711)');
      await server().query(
        `CREATE OR REPLACE FUNCTION trap() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          SET LOCAL lock_timeout TO 0; PERFORM pg_advisory_xact_lock(4711); RETURN NULL; END $$;
        CREATE CONSTRAINT TRIGGER trap AFTER INSERT ON runbook.entries DEFERRABLE INITIALLY DEFERRED
          FOR EACH ROW WHEN (NEW.type = '${type}') EXECUTE FUNCTION trap()`,
        url,
      );
      void (async () => {
        while (!caught) {
          const waiting = await listener.query('SELECT 1 FROM pg_locks WHERE objid = 4711 AND NOT granted');
          caught = waiting.rows.length > 0;
        }
      })().catch(() => {});
    } else {
      listener.on('notification', () => {
        caught = true;
      });
      await listener.query('LISTEN trapped');
      await server().query(
        `CREATE OR REPLACE FUNCTION trap() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          PERFORM pg_notify('trapped', ''); RETURN NULL; END $$;
        CREATE TRIGGER trap AFTER INSERT ON runbook.entries
          FOR EACH ROW WHEN (NEW.type = '${type}') EXECUTE FUNCTION trap()`,
        url,
      );
    }
    stopListening = () => listener.end();
  }

  async function spring(): Promise<void> {
    await stopListening();
    await server().query('DROP TRIGGER IF EXISTS trap ON runbook.entries', url);
  }

  it('replace one suspended for longer than its lease; awake, it sends nothing and ends', async () => {
    at.write('resting.yaml', RESTING);
    const one = worker(['resting.yaml'], ['main']);
    await until(() => simulator.books().orders.some(({ status }) => status === 'open'));
    const two = worker(['resting.yaml'], ['main']);
    await two.sees('queue_joined');
    one.started.child.kill('SIGSTOP');
    const [resumed] = await two.sees('run_resumed');
    expect(resumed).toMatchObject({ account: 'main', run: one.events('run_begun')[0]?.run });
    one.started.child.kill('SIGCONT');
    expect((await one.started.ended).exit).toBe(3);
    expect(one.log().at(-1)).toMatchObject({ event: 'lease_lost' });
    expect((await two.stop('SIGTERM')).exit).toBe(143);
    expect(simulator.books().orders.map(({ status }) => status)).toEqual(['canceled']);
    await accounted('main');
  });

  it('keep their accounts while the database is restarted, and continue', async () => {
    at.write('tick.yaml', TICK);
    const one = worker(['tick.yaml'], ['main']);
    await one.sees('run_ended', 2);
    for (const how of ['fast', 'crash'] as const) {
      await server().restart(how);
      const ended = one.events('run_ended').length;
      await one.sees('run_ended', ended + 2);
    }
    expect(one.started.child.exitCode).toBeNull();
    // The worker may have lost its queue lock meanwhile: the lease decides.
    expect(one.events('lease_lost')).toEqual([]);
    expect((await one.stop('SIGTERM')).exit).toBe(143);
    await accounted('main');
  });

  it('end after an internal error in one service, and release the other accounts cleanly before', async () => {
    const answers: string[] = [];
    const never = new Promise<never>(() => {});
    const served: Readonly<Record<string, () => Promise<ServiceEnd>>> = {
      main: async () => {
        await until(() => answers.includes('other is served'));
        throw new TypeError('a mistake');
      },
      other: () => {
        answers.push('other is served');
        return new Promise((resolve) => {
          stop = (cause) => {
            answers.push(`other is stopped: ${cause.by}`);
            resolve({ kind: 'stopped', ...cause });
          };
        });
      },
    };
    let stop: (cause: StopCause) => void = () => {};
    const services = {
      plans: ['main', 'other'].map((name) => ({
        name,
        profile: { ...SIMULATED_PROFILE, account: name, store: { postgres: { env: 'DATABASE_URL' } } },
      })),
      log: { redactWith: () => {}, write: () => {} },
      open: ({ name }: ServedAccount, during: (service: AccountService) => Promise<ServiceEnd>) =>
        during({ serve: () => served[name]?.(), stop: (cause: StopCause) => stop(cause) } as unknown as AccountService),
    } as unknown as AccountServices;
    const environment = { variable: (name: string) => (name === 'DATABASE_URL' ? url : undefined) };
    const endProcess = (exit: number): never => expect.unreachable(`ended with ${exit}`);
    const group = new Worker(services, 2, { environment, endProcess } as unknown as ActingContext);
    await expect(group.serve(never)).rejects.toThrow('a mistake');
    expect(answers).toEqual(['other is served', 'other is stopped: an internal error']);
  });

  it('continue a submitted run while the database is away, and so does the submitting process', async () => {
    at.write('tick.yaml', TICK);
    at.write('asked.yaml', 'runbook: asked\ndsl: 1\nsteps:\n  - wait: 12s\n  - read_account: {}\n');
    const one = worker(['tick.yaml'], ['main']);
    await one.sees('run_ended');
    const run = at.start(['run', 'asked.yaml', '--profile', 'main.yaml', '--json']);
    await until(() => one.events('run_begun').some(({ runbook }) => runbook === 'asked'));
    await server().stop('crash');
    await one.sees('kill_unread');
    await server().start();
    const { exit, out, err } = await run.ended;
    expect({ exit, outcome: JSON.parse(out).outcome }, err).toEqual({ exit: 0, outcome: 'succeeded' });
    await one.stop('SIGTERM');
    // Occurrences meanwhile have a verdict, none of them because the kill switch could not be read.
    expect((await scheduleStore.occurrences(key('main'))).filter(({ why }) => why === 'kill')).toEqual([]);
  });

  it('create the queue again when it was dropped, and find each other by it again', async () => {
    at.write('tick.yaml', TICK);
    const one = worker(['tick.yaml'], ['main']);
    await one.sees('run_ended');
    await server().query('DROP SCHEMA perp_runbook_queue CASCADE', url);
    await one.sees('queue_failed');
    await one.sees('queue_joined', 2);
    const two = worker(['tick.yaml'], ['main']);
    await two.sees('queue_joined');
    await one.stop('SIGTERM');
    // Through the queue: without it an account is tried after half a minute at the earliest.
    await two.sees('started', 1, 25_000);
    expect(one.events('lease_lost')).toEqual([]);
    await two.stop('SIGTERM');
    await accounted('main');
  });

  it('serve without the queue, and find an unserved account without it', async () => {
    at.write('tick.yaml', TICK);
    const one = worker(['tick.yaml'], ['main']);
    await one.sees('run_ended');
    await server().query('DROP SCHEMA perp_runbook_queue CASCADE', url);
    await one.sees('queue_failed');
    const ended = one.events('run_ended').length;
    await one.sees('run_ended', ended + 3);
    expect(await readiness(await one.url('joined'))).toMatchObject({ ready: true });
    // The queue cannot be created again either: another table is in its place.
    await server().query('CREATE SCHEMA perp_runbook_queue CREATE TABLE job (nothing integer)', url);
    const two = worker(['tick.yaml'], ['main']);
    await two.sees('queue_failed');
    await one.stop('SIGKILL');
    await two.sees('started');
    expect(two.events('queue_joined')).toEqual([]);
    await two.stop('SIGTERM');
    await accounted('main');
  });
});

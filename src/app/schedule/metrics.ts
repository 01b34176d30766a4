/**
 * What the scheduler counts, as Prometheus reads it (prom-client, loaded by the scheduler alone). Labels are names of
 * accounts and runbooks, and closed sets of words.
 */

import type { SchedulerEvent } from '../../engine/schedule/scheduler.ts';
import type { Entry } from '../../journal/entry.ts';
import type { JournalStore } from '../../journal/store.ts';
import type { Account } from '../account/account.ts';

/** What can be read off an account at the moment somebody asks. */
export interface Gauges {
  /** Undefined while the process has not opened the account. */
  readonly account: Pick<Account, 'budget'> | undefined;
  /** Of the lease; undefined while the process does not act for the account. */
  readonly epoch: number | undefined;
  readonly running: () => number;
  readonly waiting: () => number;
  readonly ready: () => boolean;
  /** Seconds since the last look at the clock; undefined before the first. */
  readonly lookAge: () => number | undefined;
  readonly killed: () => boolean;
  /** Runs that wait for a person: halted, or not to be taken up. */
  readonly unresolved: () => number;
}

export interface SchedulerMetrics {
  /** The figures of one account. */
  of(account: string): AccountMetrics;
  stalled(seconds: number): void;
  /** The text of /metrics, and its media type. */
  page(): Promise<{ readonly type: string; readonly text: string }>;
}

export interface AccountMetrics {
  took(event: SchedulerEvent): void;
  entry(entry: Entry): void;
  reloaded(ok: boolean): void;
  /** The store, with the time of each append measured. */
  timed(store: JournalStore): JournalStore;
}

const PREFIX = 'perp_runbook_';
/** Alarms that say an order moved as the venue document does not allow. */
const ILLEGAL = new Set(['Contradiction', 'UnknownStatus', 'DuplicateOrder', 'Overfill', 'LateOrder']);
const DEADMAN_STATES = ['off', 'armed', 'assumed_fired'] as const;

/** `gauges`: by account. */
export async function createMetrics(gauges: () => ReadonlyMap<string, Gauges>): Promise<SchedulerMetrics> {
  // Of a module in the older system, a bundle gives the default alone.
  const {
    default: { Counter, Gauge, Histogram, Registry, collectDefaultMetrics },
  } = await import('prom-client');
  const registers = [new Registry()];
  const [register] = registers as [InstanceType<typeof Registry>];
  collectDefaultMetrics({ register });
  const counter = <L extends string>(name: string, help: string, labels: readonly L[] = []) =>
    new Counter({ name: `${PREFIX}${name}`, help, labelNames: ['account', ...labels], registers });
  const read = (name: string, help: string, value: (from: Gauges) => number | undefined) =>
    new Gauge({
      name: `${PREFIX}${name}`,
      help,
      labelNames: ['account'],
      registers,
      collect() {
        // What was said of a seat that has been given up is not true any more.
        this.reset();
        for (const [account, from] of gauges()) {
          const found = value(from);
          if (found !== undefined) this.set({ account }, found);
        }
      },
    });

  const occurrences = counter('occurrences_total', 'Occurrences of schedules by verdict.', [
    'runbook',
    'verdict',
    'why',
  ]);
  const begun = counter('runs_begun_total', 'Runs that were begun.', ['runbook']);
  const ended = counter('runs_ended_total', 'Runs that ended, by outcome.', ['runbook', 'outcome']);
  const lateness = new Histogram({
    name: `${PREFIX}start_lateness_seconds`,
    help: 'How long after its time an occurrence was started.',
    labelNames: ['account'],
    buckets: [0.01, 0.05, 0.1, 0.5, 1, 5, 30, 60, 600, 3600],
    registers,
  });
  const journal = new Histogram({
    name: `${PREFIX}journal_append_seconds`,
    help: 'How long the journal took to make entries durable.',
    labelNames: ['account'],
    buckets: [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 5],
    registers,
  });
  const illegal = counter('order_illegal_total', 'Orders that moved as the venue document does not allow.', ['alarm']);
  const attempts = counter('requests_total', 'Requests to the venue, by endpoint and outcome.', [
    'endpoint',
    'outcome',
  ]);
  const reloads = counter('reloads_total', 'Times the files were read again, by result.', ['result']);
  const ofProcess = (name: string, help: string) => new Counter({ name: `${PREFIX}${name}`, help, registers });
  const stalls = ofProcess('loop_stalls_total', 'Times the event loop stood still for seconds.');
  const stalled = ofProcess('loop_stalled_seconds_total', 'Seconds the event loop stood still.');
  const jumps = counter('clock_jumps_total', 'Times the wall clock jumped.', ['direction']);
  const deadman = new Gauge({
    name: `${PREFIX}deadman_state`,
    help: 'The state of the deadman switch: 1 for the one it was last known to be in.',
    labelNames: ['account', 'state'],
    registers,
  });
  read('runs_running', 'Runs under way.', ({ running }) => running());
  read('runs_waiting', 'Occurrences and runs handed over that wait for another run.', ({ waiting }) => waiting());
  read('ready', '1 while what falls due would be started.', ({ ready }) => (ready() ? 1 : 0));
  read('kill_switch_engaged', '1 while the kill switch is engaged.', ({ killed }) => (killed() ? 1 : 0));
  read('runs_unresolved', 'Runs that wait for a person: halted, or not to be taken up.', ({ unresolved }) =>
    unresolved(),
  );
  read('seat_held', '1 while this process acts for the account.', ({ epoch }) => (epoch === undefined ? 0 : 1));
  read('lease_epoch', 'Epoch of the lease on the account.', ({ epoch }) => epoch);
  read('last_look_age_seconds', 'Seconds since the schedules were last looked at.', ({ lookAge }) => lookAge());
  read('tokens_used', 'Tokens held of the venue limit.', ({ account }) => account?.budget.report().used);
  read('tokens_limit', 'Tokens per window that the venue grants.', ({ account }) => account?.budget.report().limit);
  read(
    'tokens_foreign',
    'Tokens that others on the address are believed to use.',
    ({ account }) => account?.budget.report().foreign,
  );
  read('requests_waiting', 'Requests that wait for tokens.', ({ account }) => account?.budget.report().waiting);

  const ofAccount = (account: string): AccountMetrics => {
    const endpoints = new Map<string, string>();
    const showDeadman = (event: 'armed' | 'renewed' | 'disarmed' | 'assumed_fired') => {
      const now = event === 'disarmed' ? 'off' : event === 'assumed_fired' ? 'assumed_fired' : 'armed';
      for (const state of DEADMAN_STATES) deadman.set({ account, state }, state === now ? 1 : 0);
    };
    showDeadman('disarmed');
    return {
      took(event) {
        switch (event.type) {
          case 'decided': {
            const { runbook, decision } = event;
            if (decision.type === 'start') {
              occurrences.inc({ account, runbook, verdict: 'started', why: '' });
              lateness.observe({ account }, decision.latenessMs / 1000);
            } else if (decision.type === 'skip')
              occurrences.inc({ account, runbook, verdict: 'skipped', why: decision.why });
            else if (decision.type === 'missed')
              occurrences.inc({ account, runbook, verdict: 'missed', why: decision.why });
            return;
          }
          case 'begun':
            begun.inc({ account, runbook: event.runbook });
            return;
          case 'ended': {
            const { runbook, ending } = event;
            ended.inc({ account, runbook, outcome: ending.kind === 'ended' ? ending.outcome : ending.kind });
            return;
          }
          case 'jumped':
            jumps.inc({ account, direction: event.ms > 0 ? 'forward' : 'back' });
            return;
          case 'lost':
            ended.inc({ account, runbook: '', outcome: 'lost' });
            return;
          case 'settled':
          case 'unrecorded':
          case 'overtaken':
            return;
          default:
            event satisfies never;
        }
      },
      entry(entry) {
        const id = 'call' in entry.data ? `${entry.run} ${String(entry.data.call)}` : '';
        if (entry.type === 'order.alarmed' && ILLEGAL.has(entry.data.alarm))
          illegal.inc({ account, alarm: entry.data.alarm });
        else if (entry.type === 'deadman.moved') showDeadman(entry.data.event);
        else if (entry.type === 'call.intended')
          endpoints.set(id, entry.data.endpoint.startsWith('request ') ? 'declared' : entry.data.endpoint);
        else if (entry.type === 'call.settled') {
          attempts.inc({ account, endpoint: endpoints.get(id) ?? 'other', outcome: entry.data.kind });
          endpoints.delete(id);
        }
      },
      reloaded: (ok) => reloads.inc({ account, result: ok ? 'taken' : 'refused' }),
      timed: (store) => ({
        append: async (entries, options) => {
          const stop = journal.startTimer({ account });
          try {
            await store.append(entries, options);
          } finally {
            stop();
          }
        },
        read: (run, range) => store.read(run, range),
        runs: (filter) => store.runs(filter),
        run: (run) => store.run(run),
        remove: (run, head) => store.remove(run, head),
        close: () => store.close(),
      }),
    };
  };
  return {
    of: ofAccount,
    stalled(seconds) {
      stalls.inc();
      stalled.inc(seconds);
    },
    page: async () => ({ type: register.contentType, text: await register.metrics() }),
  };
}

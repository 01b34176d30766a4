/** What the scheduler counts, as Prometheus reads it (prom-client, loaded by the scheduler alone). Labels are names of runbooks and closed sets of words. */

import type { DaemonEvent } from '../engine/daemon.ts';
import type { Entry } from '../journal/entry.ts';
import type { JournalStore } from '../journal/store.ts';
import type { Account } from './account.ts';

/** What can be read off at the moment somebody asks. */
export interface Gauges {
  readonly account: Pick<Account, 'budget'>;
  readonly epoch: number;
  readonly running: () => number;
  readonly waiting: () => number;
  readonly ready: () => boolean;
  /** Seconds since the last look at the clock; undefined before the first. */
  readonly lookAge: () => number | undefined;
  readonly killed: () => boolean;
}

export interface DaemonMetrics {
  took(event: DaemonEvent): void;
  entry(entry: Entry): void;
  reloaded(ok: boolean): void;
  stalled(seconds: number): void;
  /** The store, with the time of each append measured. */
  timed(store: JournalStore): JournalStore;
  /** The text of /metrics, and its media type. */
  page(): Promise<{ readonly type: string; readonly text: string }>;
}

const PREFIX = 'perp_runbook_';
/** Alarms that say an order moved as the venue document does not allow. */
const ILLEGAL = new Set(['Contradiction', 'StrangeStatus', 'DuplicateOrder', 'Overfill', 'Resurrected']);
const DEADMAN_STATES = ['off', 'armed', 'assumed_fired'] as const;

export async function daemonMetrics(gauges: () => Gauges | undefined): Promise<DaemonMetrics> {
  // Of a module in the older system, a bundle gives the default alone.
  const {
    default: { Counter, Gauge, Histogram, Registry, collectDefaultMetrics },
  } = await import('prom-client');
  const registers = [new Registry()];
  const [register] = registers as [InstanceType<typeof Registry>];
  collectDefaultMetrics({ register });
  const counter = <L extends string>(name: string, help: string, labelNames: readonly L[] = []) =>
    new Counter({ name: `${PREFIX}${name}`, help, labelNames, registers });
  const read = (name: string, help: string, value: (from: Gauges) => number | undefined) =>
    new Gauge({
      name: `${PREFIX}${name}`,
      help,
      registers,
      collect() {
        const from = gauges();
        const found = from === undefined ? undefined : value(from);
        if (found !== undefined) this.set(found);
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
    buckets: [0.01, 0.05, 0.1, 0.5, 1, 5, 30, 60, 600, 3600],
    registers,
  });
  const journal = new Histogram({
    name: `${PREFIX}journal_append_seconds`,
    help: 'How long the journal took to make entries durable.',
    buckets: [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 5],
    registers,
  });
  const illegal = counter('order_illegal_total', 'Orders that moved as the venue document does not allow.', ['alarm']);
  const attempts = counter('requests_total', 'Requests to the venue, by endpoint and outcome.', [
    'endpoint',
    'outcome',
  ]);
  const reloads = counter('reloads_total', 'Times the files were read again, by result.', ['result']);
  const stalls = counter('loop_stalls_total', 'Times the event loop stood still for seconds.');
  const stalled = counter('loop_stalled_seconds_total', 'Seconds the event loop stood still.');
  const jumps = counter('clock_jumps_total', 'Times the wall clock jumped.', ['direction']);
  const deadman = new Gauge({
    name: `${PREFIX}deadman_state`,
    help: 'The state of the deadman switch: 1 for the one it was last known to be in.',
    labelNames: ['state'],
    registers,
  });
  read('runs_running', 'Runs under way.', ({ running }) => running());
  read('runs_waiting', 'Occurrences and runs handed over that wait for another run.', ({ waiting }) => waiting());
  read('ready', '1 while what falls due would be started.', ({ ready }) => (ready() ? 1 : 0));
  read('kill_switch_engaged', '1 while the kill switch is engaged.', ({ killed }) => (killed() ? 1 : 0));
  read('lease_epoch', 'Epoch of the lease on the account.', ({ epoch }) => epoch);
  read('last_look_age_seconds', 'Seconds since the schedules were last looked at.', ({ lookAge }) => lookAge());
  read('tokens_used', 'Tokens held of the venue limit.', ({ account }) => account.budget.report().used);
  read('tokens_limit', 'Tokens per window that the venue grants.', ({ account }) => account.budget.report().limit);
  read(
    'tokens_foreign',
    'Tokens that others on the address are believed to use.',
    ({ account }) => account.budget.report().foreign,
  );
  read('requests_waiting', 'Requests that wait for tokens.', ({ account }) => account.budget.report().waiting);

  const endpoints = new Map<string, string>();
  const metrics: DaemonMetrics = {
    took(event) {
      switch (event.type) {
        case 'decided': {
          const { runbook, decision } = event;
          if (decision.type === 'start') {
            occurrences.inc({ runbook, verdict: 'started', why: '' });
            lateness.observe(decision.latenessMs / 1000);
          } else if (decision.type === 'skip') occurrences.inc({ runbook, verdict: 'skipped', why: decision.why });
          else if (decision.type === 'missed') occurrences.inc({ runbook, verdict: 'missed', why: decision.why });
          return;
        }
        case 'begun':
          begun.inc({ runbook: event.runbook });
          return;
        case 'ended': {
          const { ending } = event;
          ended.inc({ runbook: event.runbook, outcome: ending.kind === 'ended' ? ending.outcome : ending.kind });
          return;
        }
        case 'jumped':
          jumps.inc({ direction: event.ms > 0 ? 'forward' : 'back' });
          return;
        case 'lost':
          ended.inc({ runbook: '', outcome: 'lost' });
          return;
        case 'unrecorded':
        case 'overtaken':
          return;
        default:
          event satisfies never;
      }
    },
    entry(entry) {
      const id = 'call' in entry.data ? `${entry.run} ${String(entry.data.call)}` : '';
      if (entry.type === 'order.alarmed' && ILLEGAL.has(entry.data.alarm)) illegal.inc({ alarm: entry.data.alarm });
      else if (entry.type === 'deadman.moved') showDeadman(entry.data.event);
      else if (entry.type === 'call.intended')
        endpoints.set(id, entry.data.endpoint.startsWith('request ') ? 'declared' : entry.data.endpoint);
      else if (entry.type === 'call.settled') {
        attempts.inc({ endpoint: endpoints.get(id) ?? 'other', outcome: entry.data.kind });
        endpoints.delete(id);
      }
    },
    reloaded: (ok) => reloads.inc({ result: ok ? 'taken' : 'refused' }),
    stalled(seconds) {
      stalls.inc();
      stalled.inc(seconds);
    },
    timed: (store) => ({
      append: async (entries, options) => {
        const stop = journal.startTimer();
        try {
          await store.append(entries, options);
        } finally {
          stop();
        }
      },
      read: (run, range) => store.read(run, range),
      runs: (filter) => store.runs(filter),
      run: (run) => store.run(run),
      close: () => store.close(),
    }),
    page: async () => ({ type: register.contentType, text: await register.metrics() }),
  };
  function showDeadman(event: 'armed' | 'renewed' | 'disarmed' | 'assumed_fired'): void {
    const now = event === 'disarmed' ? 'off' : event === 'assumed_fired' ? 'assumed_fired' : 'armed';
    for (const state of DEADMAN_STATES) deadman.set({ state }, state === now ? 1 : 0);
  }
  showDeadman('disarmed');
  return metrics;
}

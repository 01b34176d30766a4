/**
 * The scheduler's metrics in Prometheus format (prom-client, loaded by the scheduler alone). Label values are names of accounts
 * and runbooks, and words of closed sets.
 */

import type { SchedulerEvent } from '../../engine/schedule/scheduler.ts';
import type { Entry } from '../../journal/entry.ts';
import type { JournalStore } from '../../journal/store.ts';
import type { Account } from '../account/account.ts';

/** Values read from an account at each scrape. */
export interface Gauges {
  /** Undefined while the process has not opened the account. */
  readonly account: Pick<Account, 'budget'> | undefined;
  /** Epoch of the lease; undefined while the process does not act for the account. */
  readonly epoch: number | undefined;
  readonly running: () => number;
  readonly waiting: () => number;
  readonly ready: () => boolean;
  /** Seconds since the scheduler last checked the clock; undefined before the first check. */
  readonly checkAge: () => number | undefined;
  readonly killed: () => boolean;
  /** Seconds by which this machine's clock is certainly ahead of the venue's or the store's; undefined before either was read. */
  readonly clockAhead: () => number | undefined;
  /** Runs that wait for a person: halted, or impossible to resume. */
  readonly unresolved: () => number;
}

export interface SchedulerMetrics {
  /** The metrics of one account. */
  forAccount(account: string): AccountMetrics;
  countStall(seconds: number): void;
  /** The text of /metrics, and its media type. */
  renderPage(): Promise<{ readonly type: string; readonly text: string }>;
}

export interface AccountMetrics {
  countEvent(event: SchedulerEvent): void;
  countEntry(entry: Entry): void;
  countReload(ok: boolean): void;
  /** An alarm; the notices of steps are entries. */
  countNotice(arrived: boolean): void;
  countHeartbeat(arrived: boolean): void;
  /** Wraps the store to measure the time of each append. */
  measureStore(store: JournalStore): JournalStore;
}

const PREFIX = 'perp_runbook_';
/** Alarms of illegal order transitions by the venue document. */
const ILLEGAL = new Set(['Contradiction', 'UnknownStatus', 'DuplicateOrder', 'Overfill', 'LateOrder']);
const DEADMAN_STATES = ['off', 'armed', 'assumed_fired'] as const;

/** `gauges`: by account. */
export async function createMetrics(gauges: () => ReadonlyMap<string, Gauges>): Promise<SchedulerMetrics> {
  // A bundle gives only the default export of a CommonJS module.
  const {
    default: { Counter, Gauge, Histogram, Registry, collectDefaultMetrics },
  } = await import('prom-client');
  const registers = [new Registry()];
  const [register] = registers as [InstanceType<typeof Registry>];
  collectDefaultMetrics({ register });
  const makeCounter = <L extends string>(name: string, help: string, labels: readonly L[] = []) =>
    new Counter({ name: `${PREFIX}${name}`, help, labelNames: ['account', ...labels], registers });
  const addGauge = (name: string, help: string, value: (from: Gauges) => number | undefined) =>
    new Gauge({
      name: `${PREFIX}${name}`,
      help,
      labelNames: ['account'],
      registers,
      collect() {
        // The last values of an account that was released are not true any more.
        this.reset();
        for (const [account, from] of gauges()) {
          const found = value(from);
          if (found !== undefined) this.set({ account }, found);
        }
      },
    });

  const occurrences = makeCounter('occurrences_total', 'Occurrences of schedules by verdict.', [
    'runbook',
    'verdict',
    'why',
  ]);
  const begun = makeCounter('runs_begun_total', 'Runs that began.', ['runbook']);
  const ended = makeCounter('runs_ended_total', 'Runs that ended, by outcome.', ['runbook', 'outcome']);
  const lateness = new Histogram({
    name: `${PREFIX}start_lateness_seconds`,
    help: 'Delay between the scheduled time and the start of an occurrence.',
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
  const illegal = makeCounter('order_illegal_total', 'Order transitions that the venue document does not allow.', [
    'alarm',
  ]);
  const attempts = makeCounter('requests_total', 'Requests to the venue, by endpoint and outcome.', [
    'endpoint',
    'outcome',
  ]);
  const notices = makeCounter('notices_total', 'Notices and alarms, by whether they arrived.', ['delivered']);
  const heartbeats = makeCounter('heartbeats_total', 'Heartbeats, by whether they arrived.', ['delivered']);
  const reloads = makeCounter('reloads_total', 'Reloads of the files, by result.', ['result']);
  const makeProcessCounter = (name: string, help: string) => new Counter({ name: `${PREFIX}${name}`, help, registers });
  const stalls = makeProcessCounter('loop_stalls_total', 'Times the event loop was blocked for seconds.');
  const stalled = makeProcessCounter('loop_stalled_seconds_total', 'Seconds the event loop was blocked.');
  const jumps = makeCounter('clock_jumps_total', 'Times the wall clock jumped.', ['direction']);
  const deadman = new Gauge({
    name: `${PREFIX}deadman_state`,
    help: 'State of the deadman switch: 1 for the last known state.',
    labelNames: ['account', 'state'],
    registers,
  });
  addGauge('runs_running', 'Running runs.', ({ running }) => running());
  addGauge('runs_waiting', 'Occurrences and submitted runs that wait for another run.', ({ waiting }) => waiting());
  addGauge('ready', '1 while what falls due would be started.', ({ ready }) => (ready() ? 1 : 0));
  addGauge('kill_switch_engaged', '1 while the kill switch is engaged, as last read.', ({ killed }) =>
    killed() ? 1 : 0,
  );
  addGauge(
    'clock_ahead_seconds',
    "Seconds by which this machine's clock is ahead of the venue's or the store's, 0 where they may agree.",
    ({ clockAhead }) => clockAhead(),
  );
  addGauge('runs_unresolved', 'Runs that wait for a person: halted, or impossible to resume.', ({ unresolved }) =>
    unresolved(),
  );
  addGauge('account_served', '1 while this process acts for the account.', ({ epoch }) =>
    epoch === undefined ? 0 : 1,
  );
  addGauge('lease_epoch', 'Epoch of the lease on the account.', ({ epoch }) => epoch);
  addGauge('last_look_age_seconds', 'Seconds since the schedules were last checked.', ({ checkAge: lookAge }) =>
    lookAge(),
  );
  addGauge('tokens_used', 'Tokens of the rate limit in use.', ({ account }) => account?.budget.report().used);
  addGauge('tokens_limit', 'Tokens per window that the venue grants.', ({ account }) => account?.budget.report().limit);
  addGauge(
    'tokens_foreign',
    'Estimated tokens used by others on the address.',
    ({ account }) => account?.budget.report().foreign,
  );
  addGauge('requests_waiting', 'Requests that wait for tokens.', ({ account }) => account?.budget.report().waiting);

  const makeAccountMetrics = (account: string): AccountMetrics => {
    const endpoints = new Map<string, string>();
    const showDeadman = (event: 'armed' | 'renewed' | 'disarmed' | 'assumed_fired') => {
      const now = event === 'disarmed' ? 'off' : event === 'assumed_fired' ? 'assumed_fired' : 'armed';
      for (const state of DEADMAN_STATES) deadman.set({ account, state }, state === now ? 1 : 0);
    };
    showDeadman('disarmed');
    return {
      countEvent(event) {
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
      countEntry(entry) {
        const id = 'call' in entry.data ? `${entry.run} ${String(entry.data.call)}` : '';
        if (entry.type === 'order.alarmed' && ILLEGAL.has(entry.data.alarm))
          illegal.inc({ account, alarm: entry.data.alarm });
        else if (entry.type === 'notification.settled')
          notices.inc({ account, delivered: String(entry.data.delivered) });
        else if (entry.type === 'deadman.moved') showDeadman(entry.data.event);
        else if (entry.type === 'call.intended')
          endpoints.set(id, entry.data.endpoint.startsWith('request ') ? 'declared' : entry.data.endpoint);
        else if (entry.type === 'call.settled') {
          attempts.inc({ account, endpoint: endpoints.get(id) ?? 'other', outcome: entry.data.kind });
          endpoints.delete(id);
        }
      },
      countNotice: (arrived) => notices.inc({ account, delivered: String(arrived) }),
      countHeartbeat: (arrived) => heartbeats.inc({ account, delivered: String(arrived) }),
      countReload: (ok) => reloads.inc({ account, result: ok ? 'taken' : 'refused' }),
      measureStore: (store) => ({
        heads: (of) => store.heads(of),
        lastAct: (of, upTo) => store.lastAct(of, upTo),
        accountRows: (key) => store.accountRows(key),
        changeAccountRows: (key, change) => store.changeAccountRows(key, change),
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
        runsStamp: () => store.runsStamp(),
        run: (run) => store.run(run),
        last: (run) => store.last(run),
        remove: (run, head) => store.remove(run, head),
        close: () => store.close(),
      }),
    };
  };
  return {
    forAccount: makeAccountMetrics,
    countStall(seconds) {
      stalls.inc();
      stalled.inc(seconds);
    },
    renderPage: async () => ({ type: register.contentType, text: await register.metrics() }),
  };
}

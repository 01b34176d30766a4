/**
 * `runbook schedule`: the scheduler as a process. Which accounts it serves, what it answers on the loopback address, and what
 * signals do to it. How one account is served lies in seat.ts. Accounts whose store is SQLite are served here or nowhere;
 * those whose store is PostgreSQL are shared with the other workers on it (seat-group.ts).
 */
import { SystemClock } from '../../base/clock.ts';
import { printable } from '../../base/printable.ts';
import type { Profile } from '../../venue/profile/profile.ts';
import { accountKey } from '../account/account.ts';
import type { Invocation } from '../context.ts';
import { EXIT, type ExitCode, UserError } from '../errors.ts';
import { readProfileFile } from '../files/profile.ts';
import { Seat, type SeatCounts, type SeatEnd, type SeatPlan, type Seats, type StopCause } from './account-service.ts';
import { type EndpointServer, type Health, serveEndpoints } from './endpoints.ts';
import { DaemonLog } from './log.ts';
import { type DaemonMetrics, daemonMetrics } from './metrics.ts';
import { type PlannedSlot, TimetableFiles } from './timetable.ts';
import { Watchdog } from './watchdog.ts';

export interface ScheduleOptions {
  readonly profile: readonly string[];
  readonly port: string | undefined;
  /** Waits for the accounts that other processes hold. */
  readonly standby: boolean;
  /** How many accounts at a time, of a store that workers share. */
  readonly seats: string | undefined;
}

const DEFAULT_PORT = 9464;
const STALL_MS = 2_000;

export async function runSchedules(
  paths: readonly string[],
  options: ScheduleOptions,
  invocation: Invocation,
): Promise<ExitCode> {
  const { terminal } = invocation;
  if (options.profile.length === 0)
    throw new UserError('schedule acts for an account: name its profile with --profile FILE');
  const port = portOption(options.port);
  const profiles = options.profile.map((path) => readProfileFile(path, terminal));
  const shared = profiles.filter(({ store }) => store !== undefined && 'postgres' in store);
  if (shared.length > 0 && shared.length < profiles.length)
    throw new UserError(
      'accounts that workers share (store: postgres) and accounts of this machine (store: sqlite) are served by processes of their own',
    );
  const seats = seatsOption(options.seats, profiles.length);
  if (shared.length === 0 && options.seats !== undefined)
    throw new UserError('--seats is for accounts that workers share: profiles with store: {postgres: …}');
  const plans = plansFor(paths, profiles, invocation);
  const log = await DaemonLog.to(process.stderr);
  terminal.redactWith((text) => log.redact(text));
  const scheduler = new Scheduler({ plans, port, log, invocation });
  return scheduler.serve(shared.length === 0 ? { kind: 'own', standby: options.standby } : { kind: 'shared', seats });
}

/** The accounts and what is to be run on each; throws a UserError for what could never run. */
function plansFor(paths: readonly string[], profiles: readonly Profile[], { terminal }: Invocation): SeatPlan[] {
  const plans = profiles.map((profile) => {
    const twins = profiles.filter((other) => other.account === profile.account);
    if (twins.some((other) => other !== profile && accountKey(other) === accountKey(profile)))
      throw new UserError(`two profiles are of the account ${accountKey(profile)}: an account has one`);
    const name = twins.length > 1 ? accountKey(profile) : profile.account;
    return { profile, name, files: new TimetableFiles(paths, profile) };
  });
  for (const [index, { files }] of plans.entries()) {
    // The files are the same for all: what is to be said of them is said once.
    const { slots, problems } = files.read(index === 0 ? terminal : { diagnostics: () => {} });
    const [problem] = problems;
    if (problem !== undefined)
      throw new UserError(problems.map(({ message }) => message).join('\n'), problem.exit, 'invalid');
    if (slots.length === 0)
      throw new UserError(`nothing in ${paths.map((path) => printable(path, 100)).join(', ')} has a schedule`);
  }
  return plans;
}

export interface SchedulerParts {
  readonly plans: readonly SeatPlan[];
  readonly port: number;
  readonly log: DaemonLog;
  readonly invocation: Invocation;
}

type Serving =
  | { readonly kind: 'own'; readonly standby: boolean }
  | { readonly kind: 'shared'; readonly seats: number };

class Scheduler implements Seats {
  readonly plans: readonly SeatPlan[];
  readonly log: DaemonLog;
  private readonly parts: SchedulerParts;
  private readonly sitting = new Map<string, Seat>();
  private metrics!: DaemonMetrics;
  private endpoints!: EndpointServer;
  private readonly counts = new Map<string, SeatCounts>();
  private stopCause: StopCause | undefined;
  private askStop: (cause: StopCause) => void = () => {};
  private readonly stopAsked: Promise<StopCause>;
  private obstacle: () => string | undefined = () => undefined;

  constructor(parts: SchedulerParts) {
    this.parts = parts;
    this.plans = parts.plans;
    this.log = parts.log;
    this.stopAsked = new Promise((resolve) => {
      this.askStop = (cause) => {
        this.stopCause ??= cause;
        resolve(this.stopCause);
      };
    });
  }

  async serve(serving: Serving): Promise<ExitCode> {
    const { port, invocation } = this.parts;
    const clock = new SystemClock();
    this.metrics = await daemonMetrics(
      () => new Map([...this.sitting].map(([name, seat]) => [name, seat.gauges()] as const)),
    );
    this.endpoints = await serveEndpoints({ health: () => this.health(), metrics: () => this.metrics.page() }, port);
    const watchdog = new Watchdog({ clock, stallMs: STALL_MS, stalled: (ms) => this.stalled(ms) });
    const onInterrupt = () => this.askStop({ by: 'SIGINT', exit: EXIT.interrupted });
    const onTerminate = (signal: NodeJS.Signals) => this.askStop({ by: signal, exit: EXIT.terminated });
    process.on('SIGINT', onInterrupt);
    process.on('SIGTERM', onTerminate);
    // A terminal that was closed. Files are read again by themselves, so there is nothing to reload.
    process.on('SIGHUP', onTerminate);
    try {
      const { by, exit } = await (serving.kind === 'own'
        ? this.serveOwn(serving.standby)
        : this.serveShared(serving.seats));
      invocation.terminal.answer(this.answer(by), () => '');
      return exit;
    } finally {
      process.off('SIGINT', onInterrupt);
      process.off('SIGTERM', onTerminate);
      process.off('SIGHUP', onTerminate);
      await watchdog.stop();
      await this.endpoints.close();
    }
  }

  async sit(plan: SeatPlan, during: (seat: Seat) => Promise<SeatEnd>): Promise<SeatEnd> {
    const { log, invocation } = this.parts;
    const { name } = plan;
    const seat = new Seat({
      ...plan,
      log: log.of(name),
      metrics: this.metrics.of(name),
      invocation,
      begun: (slots, epoch) => this.announce(name, slots, epoch),
    });
    this.sitting.set(name, seat);
    try {
      return await during(seat);
    } finally {
      this.sitting.delete(name);
      this.counts.set(name, sum(this.counts.get(name), seat.counts()));
    }
  }

  /** Every account at once, for as long as the process lasts; what keeps one from being served ends all, in order. */
  private async serveOwn(standby: boolean): Promise<StopCause> {
    void this.stopAsked.then((cause) => {
      for (const seat of this.sitting.values()) seat.stop(cause);
    });
    const serve = async (plan: SeatPlan) => {
      try {
        const end = await this.sit(plan, (seat) => {
          if (this.stopCause !== undefined) seat.stop(this.stopCause);
          return seat.serve(standby ? 'endless' : 'none');
        });
        if (end.kind === 'stopped') this.askStop({ by: end.by, exit: end.exit });
      } catch (error) {
        this.askStop({ by: `the account ${plan.name}, which can not be served`, exit: EXIT.failed });
        throw error;
      }
    };
    const ends = await Promise.allSettled(this.plans.map(serve));
    const failure = ends.find((end) => end.status === 'rejected');
    if (failure !== undefined) throw failure.reason;
    return this.stopAsked;
  }

  /** Accounts that are shared with the other workers on their store. */
  private async serveShared(seats: number): Promise<StopCause> {
    const { SeatGroup } = await import('./worker.ts');
    const { invocation } = this.parts;
    const group = new SeatGroup(this, seats, invocation);
    this.obstacle = () => group.obstacle();
    const accounts = this.plans.map(({ name }) => name).join(', ');
    const { url } = this.endpoints;
    this.log.tell('info', 'joined', `shares the accounts ${accounts} with other workers`, { seats, url });
    invocation.terminal.print(
      `shares the accounts ${accounts}, ${seats} at a time; ${url}/healthz, /readyz and /metrics; end it with Ctrl-C`,
    );
    return group.serve(this.stopAsked);
  }

  private announce(name: string, slots: readonly PlannedSlot[], epoch: number): void {
    const { url } = this.endpoints;
    const runbooks = new Set(slots.map(({ runbook }) => runbook)).size;
    const what = `${slots.length} slots of ${runbooks} runbooks for the account ${name}`;
    this.log.of(name).tell('info', 'started', `scheduling ${what}`, { epoch, slots: slots.length, url });
    this.parts.invocation.terminal.print(
      `scheduling ${what}; ${url}/healthz, /readyz and /metrics; end it with Ctrl-C`,
    );
  }

  private stalled(ms: number): void {
    this.metrics.stalled(ms / 1000);
    for (const seat of this.sitting.values()) seat.stalled(ms);
  }

  /** Of one account as it has always been; of several, by account. */
  private answer(stopped: string): object {
    const none: SeatCounts = { occurrences: {}, runs: {} };
    const [only, ...others] = this.plans;
    if (only !== undefined && others.length === 0)
      return { account: only.profile.account, stopped, ...(this.counts.get(only.name) ?? none) };
    const accounts = this.plans.map(({ name }) => [name, this.counts.get(name) ?? none] as const);
    return { stopped, accounts: Object.fromEntries(accounts) };
  }

  private health(): Health {
    const several = this.plans.length > 1;
    const said = (name: string, reasons: readonly string[]) =>
      several ? reasons.map((reason) => `${name}: ${reason}`) : reasons;
    const seats = [...this.sitting];
    const group = this.obstacle();
    return {
      ailments: seats.flatMap(([name, seat]) => said(name, seat.ailments())),
      obstacles: [
        ...(group === undefined ? [] : [group]),
        ...seats.flatMap(([name, seat]) => said(name, seat.obstacles())),
      ],
      accounts: Object.fromEntries(
        this.plans.map(({ name }) => [
          name,
          this.sitting.get(name)?.health() ?? { seat: 'elsewhere', ready: false, reasons: [], needs_a_person: [] },
        ]),
      ),
    };
  }
}

function sum(before: SeatCounts | undefined, more: SeatCounts): SeatCounts {
  if (before === undefined) return more;
  const added = (a: Readonly<Record<string, number>>, b: Readonly<Record<string, number>>) =>
    Object.fromEntries(
      [...new Set([...Object.keys(a), ...Object.keys(b)])].map((key) => [key, (a[key] ?? 0) + (b[key] ?? 0)]),
    );
  return { occurrences: added(before.occurrences, more.occurrences), runs: added(before.runs, more.runs) };
}

function portOption(text: string | undefined): number {
  if (text === undefined) return DEFAULT_PORT;
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (!(port >= 0 && port <= 65_535))
    throw new UserError(`--port takes a port from 0 to 65535, found ${printable(text, 60)}`);
  return port;
}

function seatsOption(text: string | undefined, accounts: number): number {
  if (text === undefined) return accounts;
  const seats = /^\d{1,4}$/.test(text) ? Number(text) : Number.NaN;
  if (!(seats >= 1)) throw new UserError(`--seats takes a number from 1, found ${printable(text, 60)}`);
  return Math.min(seats, accounts);
}

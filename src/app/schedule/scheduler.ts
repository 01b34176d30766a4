/**
 * The scheduler of a process: which accounts it serves, what it answers on the loopback address, and what signals do to it. How
 * one account is served lies in account-service.ts. Accounts whose store is SQLite are served here or nowhere; those whose store
 * is PostgreSQL are shared with the other workers on it (worker.ts).
 */
import { SystemClock } from '../../base/clock.ts';
import { formatCount } from '../../base/format.ts';
import { printable } from '../../base/printable.ts';
import type { Profile } from '../../venue/profile/profile.ts';
import { accountKey } from '../account/account.ts';
import { EXIT, type ExitCode, UserError } from '../errors.ts';
import { type ActingContext, exitOf } from '../process.ts';
import { SILENT, type Voice } from '../voice.ts';
import {
  AccountService,
  type AccountServices,
  type ServedAccount,
  type ServiceCounts,
  type ServiceEnd,
  type StopCause,
} from './account-service.ts';
import { type EndpointServer, type Health, serveEndpoints } from './endpoints.ts';
import type { SchedulerLog } from './log.ts';
import { createMetrics, type SchedulerMetrics } from './metrics.ts';
import { type PlannedSlot, TimetableFiles } from './timetable.ts';
import { Watchdog } from './watchdog.ts';

const STALL_MS = 2_000;

/** The accounts and what is to be run on each; throws a UserError for what could never run. */
export function seatPlans(
  paths: readonly string[],
  profiles: readonly Profile[],
  voice: Pick<Voice, 'diagnostics'>,
): readonly ServedAccount[] {
  const plans = profiles.map((profile) => {
    const twins = profiles.filter((other) => other.account === profile.account);
    if (twins.some((other) => other !== profile && accountKey(other) === accountKey(profile)))
      throw new UserError(`two profiles are of the account ${accountKey(profile)}: an account has one`);
    const name = twins.length > 1 ? accountKey(profile) : profile.account;
    return { profile, name, files: new TimetableFiles(paths, profile) };
  });
  for (const [index, { files }] of plans.entries()) {
    // The files are the same for all: what is to be said of them is said once.
    const { slots, problems } = files.read(index === 0 ? voice : SILENT);
    const [problem] = problems;
    if (problem !== undefined)
      throw new UserError(problems.map(({ message }) => message).join('\n'), problem.exit, 'invalid');
    if (slots.length === 0)
      throw new UserError(`nothing in ${paths.map((path) => printable(path, 100)).join(', ')} has a schedule`);
  }
  return plans;
}

export interface SchedulerProcessParts {
  readonly plans: readonly ServedAccount[];
  readonly port: number;
  readonly log: SchedulerLog;
  readonly context: Omit<ActingContext, 'voice'>;
  /** Told what it serves once it does, and the address of what it answers. */
  readonly announce: (what: string, url: string) => void;
}

export type Serving =
  | { readonly kind: 'own'; readonly standby: boolean }
  | { readonly kind: 'shared'; readonly seats: number };

/** How the scheduler ended: its exit code, and what it did. */
export interface SchedulerEnd {
  readonly exit: ExitCode;
  readonly document: object;
}

export class SchedulerProcess implements AccountServices {
  readonly plans: readonly ServedAccount[];
  readonly log: SchedulerLog;
  private readonly parts: SchedulerProcessParts;
  private readonly sitting = new Map<string, AccountService>();
  private metrics!: SchedulerMetrics;
  private endpoints!: EndpointServer;
  private readonly counts = new Map<string, ServiceCounts>();
  private stopCause: StopCause | undefined;
  private askStop: (cause: StopCause) => void = () => {};
  private readonly stopAsked: Promise<StopCause>;
  private obstacle: () => string | undefined = () => undefined;

  constructor(parts: SchedulerProcessParts) {
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

  /** Serves until a signal comes, or what keeps an account from being served. */
  async serve(serving: Serving): Promise<SchedulerEnd> {
    const { port, context } = this.parts;
    const clock = new SystemClock();
    this.metrics = await createMetrics(
      () => new Map([...this.sitting].map(([name, seat]) => [name, seat.gauges()] as const)),
    );
    this.endpoints = await serveEndpoints({ health: () => this.health(), metrics: () => this.metrics.page() }, port);
    const watchdog = new Watchdog({ clock, stallMs: STALL_MS, stalled: (ms) => this.stalled(ms) });
    // SIGHUP too: files are read again by themselves, so there is nothing to reload.
    const off = context.interrupts.on((signal) => this.askStop({ by: signal, exit: exitOf(signal) }));
    try {
      const { by, exit } = await (serving.kind === 'own'
        ? this.serveOwn(serving.standby)
        : this.serveShared(serving.seats));
      return { exit, document: this.document(by) };
    } finally {
      off();
      await watchdog.stop();
      await this.endpoints.close();
    }
  }

  async sit(plan: ServedAccount, during: (seat: AccountService) => Promise<ServiceEnd>): Promise<ServiceEnd> {
    const { log, context } = this.parts;
    const { name } = plan;
    const seat = new AccountService({
      ...plan,
      log: log.of(name),
      metrics: this.metrics.of(name),
      context,
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
    const serve = async (plan: ServedAccount) => {
      try {
        const end = await this.sit(plan, (seat) => {
          if (this.stopCause !== undefined) seat.stop(this.stopCause);
          return seat.serve(standby ? 'endless' : 'none');
        });
        if (end.kind === 'stopped') this.askStop({ by: end.by, exit: end.exit });
      } catch (error) {
        this.askStop({ by: `the account ${plan.name}, which cannot be served`, exit: EXIT.failed });
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
    const { Worker } = await import('./worker.ts');
    const { context, announce } = this.parts;
    const group = new Worker(this, seats, context);
    this.obstacle = () => group.obstacle();
    const accounts = this.plans.map(({ name }) => name).join(', ');
    const { url } = this.endpoints;
    this.log.tell('info', 'joined', `shares the accounts ${accounts} with other workers`, { seats, url });
    announce(`shares the accounts ${accounts}, ${seats} at a time`, url);
    return group.serve(this.stopAsked);
  }

  private announce(name: string, slots: readonly PlannedSlot[], epoch: number): void {
    const { url } = this.endpoints;
    const runbooks = new Set(slots.map(({ runbook }) => runbook)).size;
    const what = `${formatCount(slots.length, 'slot')} of ${formatCount(runbooks, 'runbook')} for the account ${name}`;
    this.log.of(name).tell('info', 'started', `scheduling ${what}`, { epoch, slots: slots.length, url });
    this.parts.announce(`scheduling ${what}`, url);
  }

  private stalled(ms: number): void {
    this.metrics.stalled(ms / 1000);
    for (const seat of this.sitting.values()) seat.stalled(ms);
  }

  /** Of one account as it has always been; of several, by account. */
  private document(stopped: string): object {
    const none: ServiceCounts = { occurrences: {}, runs: {} };
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

function sum(before: ServiceCounts | undefined, more: ServiceCounts): ServiceCounts {
  if (before === undefined) return more;
  const added = (a: Readonly<Record<string, number>>, b: Readonly<Record<string, number>>) =>
    Object.fromEntries(
      [...new Set([...Object.keys(a), ...Object.keys(b)])].map((key) => [key, (a[key] ?? 0) + (b[key] ?? 0)]),
    );
  return { occurrences: added(before.occurrences, more.occurrences), runs: added(before.runs, more.runs) };
}

/**
 * Runs the scheduler's process: its accounts, its health and metrics on the loopback address, and its reaction to signals.
 * account-service.ts serves one account. Accounts with a SQLite store are served by this process alone; those with a PostgreSQL
 * store are shared with other workers (worker.ts).
 */
import { SystemClock } from '../../base/clock.ts';
import { writeDuration } from '../../base/duration.ts';
import { formatCount } from '../../base/format.ts';
import { makePrintable } from '../../base/printable.ts';
import { createSignal } from '../../engine/waiting.ts';
import type { Profile } from '../../venue/profile/profile.ts';
import { makeAccountKey } from '../account/account.ts';
import { EXIT, type ExitCode, UserError } from '../errors.ts';
import { type ActingContext, exitAfter, type Signal } from '../process.ts';
import { ShutdownDeadline } from '../shutdown.ts';
import { SILENT, type Voice } from '../voice.ts';
import { AccountService, type AccountServices, type ServedAccount, type ServiceCounts } from './account-service.ts';
import { type EndpointServer, type Health, serveEndpoints } from './endpoints.ts';
import type { SchedulerLog } from './log.ts';
import { createMetrics, type SchedulerMetrics } from './metrics.ts';
import { type PlannedSlot, TimetableFiles } from './runs/timetable.ts';
import type { ServiceEnd, StopCause } from './standby.ts';
import { Watchdog } from './watchdog.ts';

const STALL_MS = 2_000;

/** The accounts and their timetables; throws a UserError for runbooks that could never run. */
export function planServices(
  paths: readonly string[],
  profiles: readonly Profile[],
  voice: Pick<Voice, 'diagnostics'>,
): readonly ServedAccount[] {
  const plans = profiles.map((profile) => {
    const twins = profiles.filter((other) => other.account === profile.account);
    if (twins.some((other) => other !== profile && makeAccountKey(other) === makeAccountKey(profile)))
      throw new UserError(`two profiles are for the account ${makeAccountKey(profile)}: an account has one`);
    const name = twins.length > 1 ? makeAccountKey(profile) : profile.account;
    return { profile, name, files: new TimetableFiles(paths, profile) };
  });
  for (const [index, { files }] of plans.entries()) {
    // The files are the same for all accounts: their diagnostics are shown once.
    const { slots, problems } = files.read(index === 0 ? voice : SILENT);
    const [problem] = problems;
    if (problem !== undefined)
      throw new UserError(problems.map(({ message }) => message).join('\n'), problem.exit, 'invalid');
    if (slots.length === 0)
      throw new UserError(`nothing in ${paths.map((path) => makePrintable(path, 100)).join(', ')} has a schedule`);
  }
  return plans;
}

export interface SchedulerProcessParts {
  readonly plans: readonly ServedAccount[];
  readonly port: number;
  readonly log: SchedulerLog;
  readonly context: Omit<ActingContext, 'voice'>;
  /** Called with what it serves, once it does, and the address of its endpoints. */
  readonly announce: (what: string, url: string) => void;
}

export type Serving =
  | { readonly kind: 'own'; readonly standby: boolean }
  | { readonly kind: 'shared'; readonly maxAccounts: number };

/** Result of the scheduler: its exit code and its JSON document. */
export interface SchedulerEnd {
  readonly exit: ExitCode;
  readonly document: object;
}

export class SchedulerProcess implements AccountServices {
  readonly plans: readonly ServedAccount[];
  readonly log: SchedulerLog;
  private readonly parts: SchedulerProcessParts;
  private readonly services = new Map<string, AccountService>();
  private metrics!: SchedulerMetrics;
  private endpoints!: EndpointServer;
  private readonly counts = new Map<string, ServiceCounts>();
  private stopCause: StopCause | undefined;
  private readonly stopAsked = createSignal<StopCause>();
  private findObstacle: () => string | undefined = () => undefined;

  constructor(parts: SchedulerProcessParts) {
    this.parts = parts;
    this.plans = parts.plans;
    this.log = parts.log;
  }

  /** Serves until a signal, or until an account cannot be served. */
  async serve(serving: Serving): Promise<SchedulerEnd> {
    const { port, context } = this.parts;
    const clock = new SystemClock();
    this.metrics = await createMetrics(
      () => new Map([...this.services].map(([name, service]) => [name, service.makeGauges()] as const)),
    );
    this.endpoints = await serveEndpoints(
      { readHealth: () => this.readHealth(), readMetrics: () => this.metrics.renderPage() },
      port,
    );
    const watchdog = new Watchdog({ clock, stallMs: STALL_MS, onStall: (ms) => this.reportStall(ms) });
    // SIGHUP too: changed files are reloaded without it.
    // The account that needs the longest to end: they end together.
    const shutdown = new ShutdownDeadline(
      clock,
      Math.max(...this.plans.map(({ profile }) => profile.shutdownWithinMs)),
    );
    const off = context.interrupts.on((signal) => {
      shutdown.begin(() => this.leave(signal, shutdown.withinMs));
      this.askStop({ by: signal, exit: exitAfter(signal) });
    });
    try {
      const { by, exit } = await (serving.kind === 'own'
        ? this.serveOwn(serving.standby)
        : this.serveShared(serving.maxAccounts));
      return { exit, document: this.makeDocument(by) };
    } finally {
      off();
      await watchdog.stop();
      await this.endpoints.close();
      shutdown.end();
    }
  }

  /** Ends the process although its accounts are not settled: the next one that serves them resumes their runs. */
  private leave(signal: Signal, withinMs: number): never {
    const runs = [...this.services.values()].flatMap((service) => service.reportUnsettled());
    const left = runs.length === 0 ? '' : `; not settled: ${runs.join(', ')}`;
    const message = `${signal}: the accounts could not be released within ${writeDuration(withinMs)} (shutdown.within)${left}. The next process that serves them resumes their runs, and so does \`runbook resume\``;
    const exit = exitAfter(signal);
    this.log.write('fatal', 'shutdown_overdue', message);
    return this.parts.context.endProcess(exit, new UserError(message, exit, 'interrupted', { runs }));
  }

  async open(plan: ServedAccount, during: (service: AccountService) => Promise<ServiceEnd>): Promise<ServiceEnd> {
    const { log, context } = this.parts;
    const { name } = plan;
    const service = new AccountService({
      ...plan,
      log: log.forAccount(name),
      metrics: this.metrics.forAccount(name),
      context,
      onBegin: (slots, epoch) => this.announce(name, slots, epoch),
    });
    this.services.set(name, service);
    try {
      return await during(service);
    } finally {
      this.services.delete(name);
      this.counts.set(name, addCounts(this.counts.get(name), service.getCounts()));
    }
  }

  /** The first cause counts. */
  private askStop(cause: StopCause): void {
    this.stopCause ??= cause;
    this.stopAsked.resolve(this.stopCause);
  }

  /** Serves every account until the process ends; if one cannot be served, all are shut down cleanly. */
  private async serveOwn(standby: boolean): Promise<StopCause> {
    void this.stopAsked.promise.then((cause) => {
      for (const service of this.services.values()) service.stop(cause);
    });
    const serve = async (plan: ServedAccount) => {
      try {
        const end = await this.open(plan, (service) => {
          if (this.stopCause !== undefined) service.stop(this.stopCause);
          return service.serve(standby ? 'endless' : 'none');
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
    return this.stopAsked.promise;
  }

  /** Serves accounts that are shared with the other workers on their store. */
  private async serveShared(maxAccounts: number): Promise<StopCause> {
    const { Worker } = await import('./worker.ts');
    const { context, announce } = this.parts;
    const worker = new Worker(this, maxAccounts, context);
    this.findObstacle = () => worker.findObstacle();
    const accounts = this.plans.map(({ name }) => name).join(', ');
    const { url } = this.endpoints;
    this.log.write('info', 'joined', `shares the accounts ${accounts} with other workers`, { maxAccounts, url });
    announce(`shares the accounts ${accounts}, ${maxAccounts} at a time`, url);
    return worker.serve(this.stopAsked.promise);
  }

  private announce(name: string, slots: readonly PlannedSlot[], epoch: number): void {
    const { url } = this.endpoints;
    const runbooks = new Set(slots.map(({ runbook }) => runbook)).size;
    const what = `${formatCount(slots.length, 'slot')} of ${formatCount(runbooks, 'runbook')} for the account ${name}`;
    this.log.forAccount(name).write('info', 'started', `scheduling ${what}`, { epoch, slots: slots.length, url });
    this.parts.announce(`scheduling ${what}`, url);
  }

  private reportStall(ms: number): void {
    this.metrics.countStall(ms / 1000);
    for (const service of this.services.values()) service.reportStall(ms);
  }

  /** The document of a single account names it; of several, it is a map by account. */
  private makeDocument(stopped: string): object {
    const none: ServiceCounts = { occurrences: {}, runs: {} };
    const [only, ...others] = this.plans;
    if (only !== undefined && others.length === 0)
      return { account: only.profile.account, stopped, ...(this.counts.get(only.name) ?? none) };
    const accounts = this.plans.map(({ name }) => [name, this.counts.get(name) ?? none] as const);
    return { stopped, accounts: Object.fromEntries(accounts) };
  }

  private readHealth(): Health {
    const several = this.plans.length > 1;
    const said = (name: string, reasons: readonly string[]) =>
      several ? reasons.map((reason) => `${name}: ${reason}`) : reasons;
    const services = [...this.services];
    const obstacle = this.findObstacle();
    return {
      healthProblems: services.flatMap(([name, service]) => said(name, service.findHealthProblems())),
      obstacles: [
        ...(obstacle === undefined ? [] : [obstacle]),
        ...services.flatMap(([name, service]) => said(name, service.findObstacles())),
      ],
      accounts: Object.fromEntries(
        this.plans.map(({ name }) => [
          name,
          this.services.get(name)?.readHealth() ?? {
            served: 'elsewhere',
            ready: false,
            reasons: [],
            needs_a_person: [],
          },
        ]),
      ),
    };
  }
}

function addCounts(before: ServiceCounts | undefined, more: ServiceCounts): ServiceCounts {
  if (before === undefined) return more;
  const added = (a: Readonly<Record<string, number>>, b: Readonly<Record<string, number>>) =>
    Object.fromEntries(
      [...new Set([...Object.keys(a), ...Object.keys(b)])].map((key) => [key, (a[key] ?? 0) + (b[key] ?? 0)]),
    );
  return { occurrences: added(before.occurrences, more.occurrences), runs: added(before.runs, more.runs) };
}

/**
 * `runbook schedule`: the scheduler as a process. Holds the account, takes up what a process before it left unfinished, starts
 * what falls due, takes runs that are handed to it, reads its files again when they change, and stops in order. What is due
 * and what is done about it is decided in engine/daemon.ts.
 */
import type { Timer } from '../base/clock.ts';
import { printable } from '../base/printable.ts';
import { Daemon, type DaemonEvent } from '../engine/daemon.ts';
import { openSqliteAgenda } from '../journal/agenda-sqlite.ts';
import type { Entry } from '../journal/entry.ts';
import { type LeaseKeeper, takeLease } from '../journal/lease.ts';
import { StoreError } from '../journal/store.ts';
import type { Profile } from '../venue/profile.ts';
import { type Account, openAccount } from './account.ts';
import { reportCrash } from './crash.ts';
import { type EndpointServer, serveEndpoints } from './daemon-endpoints.ts';
import { DaemonEvents } from './daemon-events.ts';
import { DaemonLog } from './daemon-log.ts';
import { type DaemonMetrics, daemonMetrics } from './daemon-metrics.ts';
import { DaemonRuns } from './daemon-runs.ts';
import { EXIT, type ExitCode, Refusal } from './exit.ts';
import { schedulerHolder } from './holders.ts';
import { readProfileFile } from './profile-file.ts';
import { rememberStore } from './store-list.ts';
import { type PlannedSlot, TimetableFiles } from './timetable.ts';
import type { Invocation } from './verb.ts';
import { Watchdog } from './watchdog.ts';

export interface ScheduleOptions {
  readonly profile: string | undefined;
  readonly port: string | undefined;
  /** Waits for the account where another process holds it. */
  readonly standby: boolean;
}

const DEFAULT_PORT = 9464;
/** How often runs that were handed over and the kill switch are looked at, ms. */
const TICK_MS = 500;
/** How often the files are looked at, in ticks. */
const FILES_EVERY = 2;
const STANDBY_LOOK_MS = 1_000;
/** The loop looks at least every 30 s: three looks missed are no accident. */
const HEALTHY_LOOK_MS = 90_000;
const STALL_MS = 2_000;

export async function runSchedules(
  paths: readonly string[],
  options: ScheduleOptions,
  invocation: Invocation,
): Promise<ExitCode> {
  const { terminal } = invocation;
  if (options.profile === undefined)
    throw new Refusal('schedule acts for an account: name its profile with --profile FILE');
  const port = portOption(options.port);
  const profile = readProfileFile(options.profile, terminal);
  const files = new TimetableFiles(paths, profile);
  const { slots, problems } = files.read(terminal);
  const [problem] = problems;
  if (problem !== undefined)
    throw new Refusal(problems.map(({ message }) => message).join('\n'), problem.exit, 'invalid');
  if (slots.length === 0)
    throw new Refusal(`nothing in ${paths.map((path) => printable(path, 100)).join(', ')} has a schedule`);
  const log = await DaemonLog.to(process.stderr);
  const account = await openAccount(profile, { ...invocation, terminal: log.voice() });
  log.redactWith((text) => account.redactor.redact(text));
  terminal.redactWith((text) => account.redactor.redact(text));
  try {
    return await new Service({ profile, account, files, slots, port, log, options, invocation }).serve();
  } finally {
    await account.close();
  }
}

interface ServiceParts {
  readonly profile: Profile;
  readonly account: Account;
  readonly files: TimetableFiles;
  readonly slots: readonly PlannedSlot[];
  readonly port: number;
  readonly log: DaemonLog;
  readonly options: ScheduleOptions;
  readonly invocation: Invocation;
}

interface StopCause {
  readonly by: string;
  readonly exit: ExitCode;
}

class Service {
  private readonly parts: ServiceParts;
  private slots: readonly PlannedSlot[];
  private metrics!: DaemonMetrics;
  private events!: DaemonEvents;
  private daemon: Daemon | undefined;
  private lease: LeaseKeeper | undefined;
  private killed = false;
  private storeProblem: string | undefined;
  private stopCause: StopCause | undefined;
  private askStop: (cause: StopCause) => void = () => {};
  private readonly stopAsked: Promise<StopCause>;
  private ticker: Timer | undefined;
  private ticks = 0;
  private signature: string;
  private settling: string | undefined;

  constructor(parts: ServiceParts) {
    this.parts = parts;
    this.slots = parts.slots;
    this.signature = parts.files.signature();
    this.stopAsked = new Promise((resolve) => {
      this.askStop = (cause) => {
        this.stopCause ??= cause;
        resolve(this.stopCause);
      };
    });
  }

  async serve(): Promise<ExitCode> {
    const { account, log, port } = this.parts;
    this.metrics = await daemonMetrics(() => this.gauges());
    this.events = new DaemonEvents(log, this.metrics, account);
    const endpoints = await serveEndpoints(
      { ailments: () => this.ailments(), obstacles: () => this.obstacles(), metrics: () => this.metrics.page() },
      port,
    );
    const watchdog = new Watchdog({
      clock: account.clock,
      stallMs: STALL_MS,
      stalled: (ms) => this.events.stalled(ms),
    });
    const onInterrupt = () => this.signalled('SIGINT', EXIT.interrupted);
    const onTerminate = () => this.signalled('SIGTERM', EXIT.terminated);
    process.on('SIGINT', onInterrupt);
    process.on('SIGTERM', onTerminate);
    try {
      this.lease = await this.hold();
      return this.lease === undefined ? (await this.stopAsked).exit : await this.schedule(this.lease, endpoints);
    } finally {
      process.off('SIGINT', onInterrupt);
      process.off('SIGTERM', onTerminate);
      this.ticker?.cancel();
      await this.lease?.release();
      await watchdog.stop();
      await endpoints.close();
    }
  }

  private async schedule(lease: LeaseKeeper, endpoints: EndpointServer): Promise<ExitCode> {
    const { account, log, invocation } = this.parts;
    rememberStore(invocation.state, account.storeFile);
    const agenda = await openSqliteAgenda(account.storeFile);
    const host = {
      account: { ...account, store: this.metrics.timed(account.store) },
      lease,
      voice: log.voice(),
      gates: new Set<never>(),
      observe: (entry: Entry) => this.events.entry(entry),
    };
    const crashed = (error: unknown) => reportCrash(error, ['schedule'], invocation.state, invocation.environment);
    const journalFailed = (message: string) => {
      log.tell('fatal', 'journal_failed', message);
      this.askStop({ by: 'the scheduler, whose journal can not be written', exit: EXIT.halted });
    };
    const runs = new DaemonRuns({ host, agenda, slots: () => this.slots, crashed, journalFailed });
    const daemon = new Daemon({
      account: account.key,
      epoch: lease.epoch,
      clock: account.clock,
      agenda,
      launcher: runs,
      killed: () => this.lookAtKillSwitch(),
      tell: (event) => this.took(event),
    });
    try {
      await this.lookAtKillSwitch();
      const { taken, stuck } = await runs.takeUpAll(daemon);
      this.events.takenUp(taken, stuck);
      this.daemon = daemon;
      await daemon.begin(this.slots);
      this.announce(endpoints);
      this.tick(runs, daemon);
      const { by, exit } = await this.stopAsked;
      log.tell('info', 'stopping', `stopping: ${by}`, { running: daemon.running().length });
      this.ticker?.cancel();
      await daemon.stop({ command: 'interrupt', by });
      log.tell('info', 'stopped', 'stopped in order', {});
      const counts = this.events.counts();
      invocation.terminal.answer({ account: account.profile.account, stopped: by, ...counts }, () => '');
      return exit;
    } catch (error) {
      if (error instanceof StoreError) throw new Refusal(printable(error.message), EXIT.halted, 'journal');
      throw error;
    } finally {
      await agenda.close();
    }
  }

  /** Takes the account; undefined when asked to stop while standing by. Lost later, the process ends at once. */
  private async hold(): Promise<LeaseKeeper | undefined> {
    const { account, log, options } = this.parts;
    const { clock, shared, key } = account;
    const holder = schedulerHolder(process.pid);
    const onLost = () => this.overtaken('another process holds the account by now: this one stood still for too long');
    for (let told = false; this.stopCause === undefined; ) {
      const lease = await takeLease({ leases: shared.leases, account: key, holder, clock, metronome: clock, onLost });
      if (lease.kind === 'held') return lease;
      const held = `the account ${account.profile.account} is held by another process (${printable(lease.heldBy, 200)})`;
      if (!options.standby)
        throw new Refusal(`${held}; nothing was started. --standby waits for it`, EXIT.held, 'held');
      if (!told) log.tell('info', 'standing_by', `${held}: standing by`);
      told = true;
      await new Promise<void>((resolve) => void clock.after(STANDBY_LOOK_MS, resolve));
    }
    return undefined;
  }

  private announce({ url }: EndpointServer): void {
    const { account, log, invocation } = this.parts;
    const runbooks = new Set(this.slots.map(({ runbook }) => runbook)).size;
    const what = `${this.slots.length} slots of ${runbooks} runbooks for the account ${account.profile.account}`;
    log.tell('info', 'started', `scheduling ${what}`, { epoch: this.lease?.epoch, slots: this.slots.length, url });
    invocation.terminal.print(`scheduling ${what}; ${url}/healthz, /readyz and /metrics; end it with Ctrl-C`);
  }

  // What is looked at again and again.

  private tick(runs: DaemonRuns, daemon: Daemon): void {
    void this.look(runs, daemon).then(() => {
      if (this.stopCause === undefined)
        this.ticker = this.parts.account.clock.after(TICK_MS, () => this.tick(runs, daemon));
    });
  }

  private async look(runs: DaemonRuns, daemon: Daemon): Promise<void> {
    this.ticks += 1;
    try {
      await this.lookAtKillSwitch();
      await runs.takeGuests(daemon);
      if (this.ticks % FILES_EVERY === 0) await this.lookAtFiles(daemon);
      this.storeProblem = undefined;
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      if (this.storeProblem === undefined) this.parts.log.tell('error', 'store_failed', printable(error.message));
      this.storeProblem = error.message;
    }
  }

  private async lookAtKillSwitch(): Promise<boolean> {
    const { shared, key } = this.parts.account;
    const order = await shared.killSwitch.engaged(key);
    if ((order !== undefined) !== this.killed) this.events.killSwitch(order);
    this.killed = order !== undefined;
    return this.killed;
  }

  /** A change counts when it has stood still for one look: editors write in pieces. */
  private async lookAtFiles(daemon: Daemon): Promise<void> {
    const { files, log } = this.parts;
    const seen = files.signature();
    const still = seen === this.settling;
    this.settling = seen;
    if (seen === this.signature || !still) return;
    const { slots, problems } = files.read(log.voice());
    await daemon.retime(slots);
    this.slots = slots;
    // Only now: what the store refused is tried again at the next look.
    this.signature = seen;
    this.events.reloaded(slots.length, problems);
  }

  private signalled(signal: 'SIGINT' | 'SIGTERM', exit: ExitCode): void {
    this.askStop({ by: signal, exit });
  }

  private took(event: DaemonEvent): void {
    this.events.took(event);
    if (event.type === 'overtaken') this.overtaken(event.message);
  }

  /** Whoever acts for the account by now has its runs as well: nothing that this process would still do may count. */
  private overtaken(message: string): never {
    this.parts.log.tell('fatal', 'overtaken', printable(message));
    process.exit(EXIT.held);
  }

  // What is told on the loopback address.

  private ailments(): readonly string[] {
    const age = this.lookAge();
    return age !== undefined && age > HEALTHY_LOOK_MS / 1000
      ? [`the schedules were last looked at ${Math.round(age)} s ago`]
      : [];
  }

  private obstacles(): readonly string[] {
    const { account } = this.parts;
    const reasons: string[] = [];
    if (this.stopCause !== undefined) reasons.push('stopping');
    if (this.lease === undefined) reasons.push('another process holds the account');
    else if (!this.lease.mayAct()) reasons.push('the lease could not be renewed in time');
    else if (this.daemon?.lastLook() === undefined) reasons.push('taking up unfinished runs');
    if (this.killed) reasons.push('the kill switch is engaged');
    if (account.session.failing) reasons.push('the session can not be renewed');
    if (this.storeProblem !== undefined) reasons.push('the store can not be read');
    return reasons;
  }

  private lookAge(): number | undefined {
    const last = this.daemon?.lastLook();
    return last === undefined ? undefined : (this.parts.account.clock.monotonic() - last) / 1000;
  }

  private gauges() {
    return {
      account: this.parts.account,
      epoch: this.lease?.epoch ?? 0,
      running: () => this.daemon?.running().length ?? 0,
      waiting: () => this.daemon?.waiting() ?? 0,
      ready: () => this.ailments().length === 0 && this.obstacles().length === 0,
      lookAge: () => this.lookAge(),
      killed: () => this.killed,
    };
  }
}

function portOption(text: string | undefined): number {
  if (text === undefined) return DEFAULT_PORT;
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (!(port >= 0 && port <= 65_535))
    throw new Refusal(`--port takes a port from 0 to 65535, found ${printable(text, 60)}`);
  return port;
}

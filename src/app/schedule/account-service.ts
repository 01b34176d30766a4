/**
 * Serves one account for the scheduler: opens it, waits for its lease (standby.ts), resumes unfinished runs, starts what is due and
 * what was submitted, and settles when asked to stop. Decisions are made in engine/schedule/decide.ts, the loop is in
 * engine/schedule/scheduler.ts; scheduler.ts and worker.ts decide which process tries for which account.
 *
 * Only the lease with its epoch keeps two processes apart. Losing it while serving ends the whole process, whatever other
 * accounts it serves: a run holds timers, sockets and promises at any depth, and nothing in a process can prove that none of
 * them continues. A process that was suspended for longer than a lease has lost its other accounts as well; their runs resume
 * from their journals.
 */

import { SystemClock, type Timer } from '../../base/clock.ts';
import { formatWholeSeconds } from '../../base/format.ts';
import { makePrintable } from '../../base/printable.ts';
import { type DecidedAhead, Scheduler, type SchedulerEvent } from '../../engine/schedule/scheduler.ts';
import { createSignal } from '../../engine/waiting.ts';
import { askHeartbeat } from '../../gateway/live/webhook.ts';
import type { Entry } from '../../journal/entry.ts';
import {
  PRUNED_AT_ONCE,
  type ScheduleStore,
  SUBMISSIONS_KEPT_MS,
  VERDICTS_KEPT_MS,
} from '../../journal/schedule/store.ts';
import { StoreError } from '../../journal/store.ts';
import { placesOrders } from '../../runbook/steps/risk.ts';
import type { Profile } from '../../venue/profile/profile.ts';
import { type Account, openAccount } from '../account/account.ts';
import { chainKills } from '../account/acts.ts';
import { findContradiction } from '../account/anchoring.ts';
import type { ActingAccount } from '../account/identity.ts';
import { nameLedger, openLedger } from '../account/ledger.ts';
import { reportCrash } from '../crash-report.ts';
import { EXIT, UserError } from '../errors.ts';
import type { ActingContext } from '../process.ts';
import { LateOrders } from '../reconciliation/late-orders.ts';
import { findVenueContradiction, VenueComparison } from '../reconciliation/venue-comparison.ts';
import type { LiveHost } from '../run/live-assembly.ts';
import { describeInterrupted } from '../run/unsettled.ts';
import { rememberStore } from '../stores/known-stores.ts';
import { ClockWatch } from './clock-watch.ts';
import type { AccountHealth } from './endpoints.ts';
import { SchedulerEvents } from './events.ts';
import { Heartbeat } from './heartbeat.ts';
import type { SchedulerLog } from './log.ts';
import type { AccountMetrics, Gauges } from './metrics.ts';
import { ScheduledRuns } from './runs/runs.ts';
import type { PlannedSlot, TimetableFiles } from './runs/timetable.ts';
import { CONTRADICTED, type ServiceEnd, Standby, type StopCause, type WaitPolicy } from './standby.ts';

/** An account that this process may serve. */
export interface ServedAccount {
  readonly profile: Profile;
  /** Name of the account in logs, metrics and answers. */
  readonly name: string;
  readonly files: TimetableFiles;
}

/** Opens services for accounts; implemented by the process, used by the worker. */
export interface AccountServices {
  readonly plans: readonly ServedAccount[];
  readonly log: SchedulerLog;
  /** Creates the service of an account, and includes it in health and metrics while `during` runs. */
  open(plan: ServedAccount, during: (service: AccountService) => Promise<ServiceEnd>): Promise<ServiceEnd>;
}

/** What a service needs of the process; messages go to its log. */
export type ServiceContext = Pick<ActingContext, 'environment' | 'state' | 'endProcess'>;

export interface AccountServiceParts extends ServedAccount {
  /** Of this account. */
  readonly log: SchedulerLog;
  readonly metrics: AccountMetrics;
  readonly context: ServiceContext;
  /** Called once it starts what is due. */
  readonly onBegin: (slots: readonly PlannedSlot[], epoch: number) => void;
}

/** What goes on while no lease is held. */
interface ServiceParts {
  readonly events: SchedulerEvents;
  readonly clocks: ClockWatch;
  readonly standby: Standby;
}

/** The open parts of an account while it is served. */
interface OpenParts {
  readonly account: Account;
  readonly runs: ScheduledRuns;
  readonly scheduler: Scheduler;
  readonly scheduleStore: ScheduleStore;
  readonly heartbeat: Heartbeat | undefined;
}

/** Numbers of occurrences by verdict, and of runs by outcome. */
export type ServiceCounts = ReturnType<SchedulerEvents['getCounts']>;

/** Interval for submitted runs, people's answers and the kill switch, ms. */
const TICK_MS = 500;
/** Interval for the files, in ticks. */
const FILES_EVERY = 2;
/** Interval for deleting old verdicts, in ticks: once an hour, and at the first tick. */
const PRUNE_EVERY = 7_200;
/** The loop runs at least every 30 s: three missed rounds count as unhealthy. */
const HEALTHY_CHECK_MS = 90_000;

export class AccountService {
  private readonly parts: AccountServiceParts;
  private slots: readonly PlannedSlot[] = [];
  private account: Account | undefined;
  private events: SchedulerEvents | undefined;
  private scheduler: Scheduler | undefined;
  private runs: ScheduledRuns | undefined;
  private standby: Standby | undefined;
  /** As last read. */
  private killed = false;
  private killUnread = false;
  /** What was engaged or released is not known to be in the journal of the account. */
  private unchained = false;
  private clocks: ClockWatch | undefined;
  /** Slots that wait for a time to come, as last looked at. */
  private decidedAhead: readonly DecidedAhead[] = [];
  private storeProblem: string | undefined;
  private stopCause: StopCause | undefined;
  private readonly stopAsked = createSignal<StopCause>();
  private ticker: Timer | undefined;
  private ticks = 0;
  private moreToPrune = false;
  private signature = '';
  private settling: string | undefined;

  constructor(parts: AccountServiceParts) {
    this.parts = parts;
  }

  /**
   * Serves the account until it is asked to stop. Throws a UserError when the account cannot be opened, when another process
   * holds it longer than `policy`, and when its store fails before anything was started.
   */
  async serve(policy: WaitPolicy): Promise<ServiceEnd> {
    const { profile, name, log, metrics, context } = this.parts;
    let scheduleStore: ScheduleStore | undefined;
    const account = await openAccount(profile, { ...context, voice: log.asVoice() });
    this.account = account;
    log.redactWith(name, (text) => account.redactor.redact(text));
    try {
      this.events = new SchedulerEvents(log, metrics, account);
      const clocks = new ClockWatch(account, this.events);
      this.clocks = clocks;
      account.watchStorePlace((message) => {
        log.write('fatal', 'store_replaced', message);
        context.endProcess(EXIT.halted);
      });
      const standby = new Standby({
        account,
        policy,
        log,
        events: this.events,
        stopAsked: this.stopAsked.promise,
        getStopCause: () => this.stopCause,
        onLost: () =>
          this.endAfterLoss(
            'lost the lease on the account: this process was suspended too long and another one took over',
          ),
        noteStore: (problem) => this.noteStore(problem, 'tried again every second'),
      });
      this.standby = standby;
      // Opened before the lease is taken: who has the lease should not have to wait for a lock.
      scheduleStore = await account.openScheduleStore();
      for (;;) {
        const held = await standby.takeLease();
        if (held.kind !== 'held') return held;
        try {
          return {
            kind: 'stopped',
            ...(await this.runSchedule(account, held, scheduleStore, { events: this.events, clocks, standby })),
          };
        } catch (error) {
          await standby.standBack(error, this.ticks > 0);
        }
      }
    } finally {
      this.ticker?.cancel();
      await this.clocks?.settled();
      await this.standby?.release();
      await scheduleStore?.close();
      await account.close();
    }
  }

  /** Asks it to settle its runs and to release the account. The first cause counts. */
  stop(cause: StopCause): void {
    this.stopCause ??= cause;
    this.stopAsked.resolve(this.stopCause);
  }

  getCounts(): ServiceCounts {
    return this.events?.getCounts() ?? { occurrences: {}, runs: {} };
  }

  reportStall(ms: number): void {
    this.events?.reportStall(ms);
  }

  /** Logs what the runs under way leave, before the process ends without waiting for them; returns their names. */
  reportUnsettled(): readonly string[] {
    const { log } = this.parts;
    return (this.runs?.listUnderWay() ?? []).map((live) => {
      const { run } = live;
      for (const line of describeInterrupted(live, new SystemClock().now()))
        log.write('error', 'left_unsettled', line, { run });
      return run;
    });
  }

  private async runSchedule(
    account: Account,
    { lease, accountId }: ActingAccount,
    scheduleStore: ScheduleStore,
    { events, clocks, standby }: ServiceParts,
  ): Promise<StopCause> {
    const { files, log, metrics, context, onBegin: begun } = this.parts;
    rememberStore(context.state, account.place);
    const crashed = (error: unknown) => reportCrash(error, ['schedule'], context.state, context.environment);
    const voice = log.asVoice();
    const host = {
      account: { ...account, store: metrics.measureStore(account.store) },
      lease,
      accountId,
      voice,
      gates: new Set<never>(),
      lateOrders: new LateOrders(account.store, account.profile.account),
      ledger: await openLedger(nameLedger(account)),
      comparison: new VenueComparison(account),
      observe: (entry: Entry) => events.reportEntry(entry),
      onCrash: (error: unknown) => voice.complain(crashed(error)),
    };
    const journalFailed = (message: string) => {
      const then = 'no run sends anything more, and the next process that serves the account resumes the runs';
      log.write('fatal', 'journal_failed', `${makePrintable(message, 500)}: ${then}`);
      this.stop({ by: 'the scheduler, whose journal cannot be written', exit: EXIT.halted });
    };
    const runs = new ScheduledRuns({
      host,
      scheduleStore,
      clockAgrees: () => clocks.check(),
      slots: () => this.slots,
      reportCrash: crashed,
      onJournalFailed: journalFailed,
    });
    this.runs = runs;
    const scheduler = new Scheduler({
      account: account.key,
      epoch: lease.epoch,
      clock: account.clock,
      scheduleStore,
      launcher: runs,
      killed: () => this.checkKillSwitch(account),
      clockAgrees: () => clocks.check(),
      tell: (event) => this.handleEvent(event),
    });
    try {
      this.unchained = await chainKills(account, log.asVoice());
      await this.checkKillSwitch(account);
      this.signature = files.computeSignature();
      this.slots = files.readInForce(log.asVoice()).slots;
      await refuseContradicted(host, this.slots);
      standby.contradiction = undefined;
      events.reportResumed(await runs.resumeAll(scheduler));
      await runs.submitted.settleAccepted();
      this.scheduler = scheduler;
      // Runs that were resumed go on meanwhile.
      await clocks.waitUntilRight(() => this.stopCause !== undefined);
      if (this.stopCause === undefined) {
        await scheduler.begin(this.slots);
        begun(this.slots, lease.epoch);
        this.tick({ account, runs, scheduler, scheduleStore, heartbeat: buildHeartbeat(account, events) });
      }
      const cause = await this.stopAsked.promise;
      log.write('info', 'stopping', `stopping: ${cause.by}`, { running: scheduler.running().length });
      this.ticker?.cancel();
      await scheduler.stop({ command: 'interrupt', by: cause.by });
      log.write('info', 'stopped', 'stopped cleanly', {});
      return cause;
    } catch (error) {
      // Runs that were resumed already must not continue without the account.
      await scheduler.stop({ command: 'interrupt', by: 'the scheduler, which cannot begin' });
      this.scheduler = undefined;
      throw error;
    }
  }

  /** Logs the first of several failures in a row; without one, the store answers. */
  private noteStore(problem: StoreError | undefined, then = ''): void {
    if (problem !== undefined && this.storeProblem === undefined)
      this.parts.log.write('error', 'store_failed', `${makePrintable(problem.message)}; ${then}`);
    this.storeProblem = problem?.message;
  }

  // Repeated checks.

  private tick(served: OpenParts): void {
    void this.check(served).then(() => {
      if (this.stopCause === undefined) this.ticker = served.account.clock.after(TICK_MS, () => this.tick(served));
    });
  }

  private async check({ account, runs, scheduler, scheduleStore, heartbeat }: OpenParts): Promise<void> {
    this.ticks += 1;
    try {
      await this.checkKillSwitch(account);
      if (this.unchained) this.unchained = await chainKills(account, this.parts.log.asVoice());
      this.clocks?.readAtTick(this.ticks);
      await runs.submitted.take(scheduler);
      await runs.settleAnswered(scheduler);
      if (this.ticks % FILES_EVERY === 0) await this.checkFiles(scheduler);
      this.checkDecidedAhead(scheduler);
      if (this.moreToPrune || this.ticks % PRUNE_EVERY === 1) this.moreToPrune = await prune(scheduleStore, account);
      this.noteStore(undefined);
      // Behind all that needs the store: while that does not answer, nothing would be started.
      if (this.findHealthProblems().length === 0 && this.standby?.lease?.mayAct() === true) heartbeat?.askIfDue();
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      this.noteStore(error, 'tried again twice a second');
    }
  }

  private async checkKillSwitch({ shared, key }: Account): Promise<boolean | undefined> {
    const order = await shared.killSwitch.engaged(key);
    const unread = order?.unread === true;
    // A switch that is read again after it could not be was neither engaged nor released meanwhile.
    if (unread !== this.killUnread) this.events?.reportKillReading(order);
    this.killUnread = unread;
    if (unread) return undefined;
    const killed = order !== undefined;
    if (killed !== this.killed) {
      this.events?.reportKillSwitch(order);
      this.unchained = true;
    }
    this.killed = killed;
    return killed;
  }

  /** A change counts once it is the same in two checks: editors write in pieces. */
  private async checkFiles(scheduler: Scheduler): Promise<void> {
    const { files, log } = this.parts;
    const seen = files.computeSignature();
    const still = seen === this.settling;
    this.settling = seen;
    // A slot that is new counts as known from now on: by a clock that is right.
    if (seen === this.signature || !still || this.clocks?.isWrong === true) return;
    const { slots, problems } = files.read(log.asVoice());
    await scheduler.retime(slots);
    this.slots = slots;
    // Only now: if the store fails, the next check tries again.
    this.signature = seen;
    this.events?.reportReload(slots.length, problems);
  }

  private checkDecidedAhead(scheduler: Scheduler): void {
    const before = this.decidedAhead.length;
    // A clock that is behind is reported as such.
    this.decidedAhead = this.clocks?.isWrong === true ? [] : scheduler.listDecidedAhead();
    if (before === 0 && this.decidedAhead.length > 0) this.events?.reportDecidedAhead(this.decidedAhead);
  }

  private handleEvent(event: SchedulerEvent): void {
    this.events?.reportEvent(event);
    if (event.type === 'overtaken') this.endAfterLoss(event.message);
  }

  /** The new holder of the account has its runs as well: nothing this process would still do may count. */
  private endAfterLoss(message: string): never {
    this.parts.log.write('fatal', 'lease_lost', makePrintable(message));
    this.parts.context.endProcess(EXIT.held);
  }

  // Health and metrics.

  findHealthProblems(): readonly string[] {
    const age = this.getCheckAge();
    return age !== undefined && age > HEALTHY_CHECK_MS / 1000
      ? [`the schedules were last checked ${formatWholeSeconds(age * 1000)} ago`]
      : [];
  }

  findObstacles(): readonly string[] {
    const reasons: string[] = [];
    if (this.stopCause !== undefined) reasons.push('stopping');
    if (this.standby?.contradiction !== undefined)
      reasons.push('the journal is contradicted, and a person has to look');
    else if (this.standby?.lease === undefined) reasons.push('another process holds the account');
    else if (!this.standby.lease.mayAct()) reasons.push('the lease could not be renewed in time');
    else if (this.scheduler?.lastLook() === undefined) reasons.push('resuming unfinished runs');
    if (this.killed) reasons.push('the kill switch is engaged');
    if (this.clocks?.isWrong === true) reasons.push("this machine's clock differs from the venue's or the store's");
    if (this.decidedAhead.length > 0)
      reasons.push('a schedule was decided up to a time to come, by a clock that was ahead');
    if (this.killUnread) reasons.push('the kill switch cannot be read');
    if (this.account?.session.failing === true) reasons.push('the session cannot be renewed');
    if (this.storeProblem !== undefined) reasons.push('the store cannot be read');
    return reasons;
  }

  readHealth(): AccountHealth {
    const reasons = [...this.findHealthProblems(), ...this.findObstacles()];
    return {
      served: this.standby?.lease === undefined ? 'elsewhere' : 'here',
      ready: reasons.length === 0,
      reasons,
      needs_a_person: this.listUnresolved().map(({ run, why }) => ({ run, why: makePrintable(why, 500) })),
    };
  }

  makeGauges(): Gauges {
    return {
      account: this.account,
      epoch: this.standby?.lease?.epoch,
      running: () => this.scheduler?.running().length ?? 0,
      waiting: () => this.scheduler?.waiting() ?? 0,
      ready: () => this.findHealthProblems().length === 0 && this.findObstacles().length === 0,
      checkAge: () => this.getCheckAge(),
      killed: () => this.killed,
      clockAhead: () => this.clocks?.aheadSeconds,
      unresolved: () => this.listUnresolved().length,
    };
  }

  private listUnresolved() {
    return this.scheduler?.unresolved() ?? [];
  }

  private getCheckAge(): number | undefined {
    const last = this.scheduler?.lastLook();
    return last === undefined || this.account === undefined
      ? undefined
      : (this.account.clock.monotonic() - last) / 1000;
  }
}

/**
 * Before anything is resumed or started: no run of the account may add anything, and a person has to look. Where the venue does not
 * answer, each run asks again.
 */
async function refuseContradicted(
  { account, comparison }: Pick<LiveHost, 'account' | 'comparison'>,
  slots: readonly PlannedSlot[],
): Promise<void> {
  let contradiction = await findContradiction(account);
  if (
    contradiction === undefined &&
    slots.some(({ loaded, declaration: { paper } }) => !paper && placesOrders(loaded.runbook))
  ) {
    const byVenue = await findVenueContradiction(comparison);
    if (byVenue?.isSure) contradiction = byVenue.text;
  }
  if (contradiction !== undefined)
    throw new UserError(
      `${contradiction}; nothing was sent. \`runbook resume\` cancels what an unfinished run has open`,
      EXIT.held,
      CONTRADICTED,
    );
}

function buildHeartbeat({ profile, secrets, clock }: Account, events: SchedulerEvents): Heartbeat | undefined {
  const address = secrets.heartbeat;
  if (profile.heartbeat === undefined || address === undefined) return undefined;
  return new Heartbeat({
    everyMs: profile.heartbeat.everyMs,
    clock,
    ask: () => askHeartbeat(address),
    report: (problem) => events.reportHeartbeat(problem),
  });
}

/** Deletes one portion, because it blocks the event loop; true when there may be more. */
async function prune(scheduleStore: ScheduleStore, { key, clock }: Account): Promise<boolean> {
  const now = clock.now();
  const pruned = [
    await scheduleStore.prune(key, now - VERDICTS_KEPT_MS),
    await scheduleStore.pruneSubmissions(key, now - SUBMISSIONS_KEPT_MS),
  ];
  return pruned.includes(PRUNED_AT_ONCE);
}

/**
 * One account as the scheduler serves it: opens it, takes its lease, takes up what a process before left unfinished, runs what
 * is due and what is handed over, and settles when asked to stop. What is decided lies in engine/agenda.ts, the loop in
 * engine/daemon.ts; which process tries for which account is decided elsewhere (daemon.ts, seat-group.ts).
 *
 * The lease with its epoch is what keeps two processes apart, whoever was told to try. A seat that is lost under way ends the
 * whole process, whatever other accounts it serves: a run holds timers, sockets and promises at any depth, and nothing in a
 * process can prove that none of them goes on. Whoever has stood still for longer than a lease has lost the others as well;
 * they are taken up from their journals.
 */
import type { Timer } from '../../base/clock.ts';
import { formatWholeSeconds } from '../../base/format.ts';
import { printable } from '../../base/printable.ts';
import { Scheduler, type SchedulerEvent } from '../../engine/schedule/scheduler.ts';
import type { Entry } from '../../journal/entry.ts';
import {
  PRUNED_AT_ONCE,
  type ScheduleStore,
  SUBMISSIONS_KEPT_MS,
  VERDICTS_KEPT_MS,
} from '../../journal/schedule/store.ts';
import { type HeldLease, takeLease } from '../../journal/shared/lease.ts';
import { StoreError } from '../../journal/store.ts';
import type { Profile } from '../../venue/profile/profile.ts';
import { type Account, openAccount } from '../account/account.ts';
import { schedulerHolder } from '../account/lease-holders.ts';
import { reportCrash } from '../crash-report.ts';
import { EXIT, type ExitCode, UserError } from '../errors.ts';
import type { ActingContext } from '../process.ts';
import { LateOrders } from '../run/late-orders.ts';
import { rememberStore } from '../stores/known-stores.ts';
import type { AccountHealth } from './endpoints.ts';
import { SchedulerEvents } from './events.ts';
import type { SchedulerLog } from './log.ts';
import type { AccountMetrics, Gauges } from './metrics.ts';
import { ScheduledRuns } from './runs.ts';
import type { PlannedSlot, TimetableFiles } from './timetable.ts';

/** An account that this process may serve. */
export interface ServedAccount {
  readonly profile: Profile;
  /** How the account is called in logs, figures and answers. */
  readonly name: string;
  readonly files: TimetableFiles;
}

/** Seats of this process: opened, tried for and served by whoever decides about them. */
export interface AccountServices {
  readonly plans: readonly ServedAccount[];
  readonly log: SchedulerLog;
  /** A new one for an account, seen by those who ask how it stands for as long as `during` takes. */
  sit(plan: ServedAccount, during: (seat: AccountService) => Promise<ServiceEnd>): Promise<ServiceEnd>;
}

/** What a seat is given beside its parts; it speaks through its log. */
export type SeatContext = Pick<ActingContext, 'environment' | 'state' | 'endProcess'>;

export interface AccountServiceParts extends ServedAccount {
  /** Of this account. */
  readonly log: SchedulerLog;
  readonly metrics: AccountMetrics;
  readonly context: SeatContext;
  /** Told once it runs what is due. */
  readonly begun: (slots: readonly PlannedSlot[], epoch: number) => void;
}

/** What to do while another process holds the account: give up at once, wait for as long as it takes, or for so long. */
export type Patience = 'none' | 'endless' | { readonly ms: number };

export interface StopCause {
  readonly by: string;
  readonly exit: ExitCode;
}

export type ServiceEnd =
  | ({ readonly kind: 'stopped' } & StopCause)
  /** Another process holds the account, and renews its lease. */
  | { readonly kind: 'taken'; readonly heldBy: string };

/** What there is of an account while it is served. */
interface Served {
  readonly account: Account;
  readonly runs: ScheduledRuns;
  readonly scheduler: Scheduler;
  readonly scheduleStore: ScheduleStore;
}

/** How many occurrences had which verdict, and how many runs which end. */
export type ServiceCounts = ReturnType<SchedulerEvents['counts']>;

/** How often runs that were handed over, answers of people and the kill switch are looked at, ms. */
const TICK_MS = 500;
/** How often the files are looked at, in ticks. */
const FILES_EVERY = 2;
/** How often verdicts that have been kept long enough are forgotten, in ticks: every hour, and at the first one. */
const PRUNE_EVERY = 7_200;
const STANDBY_LOOK_MS = 1_000;
/** The loop looks at least every 30 s: three looks missed are no accident. */
const HEALTHY_LOOK_MS = 90_000;

export class AccountService {
  private readonly parts: AccountServiceParts;
  private slots: readonly PlannedSlot[] = [];
  private account: Account | undefined;
  private events: SchedulerEvents | undefined;
  private scheduler: Scheduler | undefined;
  private lease: HeldLease | undefined;
  /** Undefined while it cannot be read. */
  private killed: boolean | undefined = false;
  private storeProblem: string | undefined;
  private stopCause: StopCause | undefined;
  private askStop: (cause: StopCause) => void = () => {};
  private readonly stopAsked: Promise<StopCause>;
  private ticker: Timer | undefined;
  private ticks = 0;
  private moreToPrune = false;
  private signature = '';
  private settling: string | undefined;

  constructor(parts: AccountServiceParts) {
    this.parts = parts;
    this.stopAsked = new Promise((resolve) => {
      this.askStop = (cause) => {
        this.stopCause ??= cause;
        resolve(this.stopCause);
      };
    });
  }

  /**
   * Serves the account until it is asked to stop. Throws a UserError when the account cannot be opened, when another process
   * holds it and that is not to be waited for, and when its store fails before anything was begun.
   */
  async serve(patience: Patience): Promise<ServiceEnd> {
    const { profile, name, log, metrics, context } = this.parts;
    const account = await openAccount(profile, { ...context, voice: log.voice() });
    this.account = account;
    log.redactWith(name, (text) => account.redactor.redact(text));
    try {
      this.events = new SchedulerEvents(log, metrics, account);
      const held = await this.hold(account, patience);
      if (held.kind !== 'held') return held;
      this.lease = held;
      return { kind: 'stopped', ...(await this.schedule(account, held, this.events)) };
    } finally {
      this.ticker?.cancel();
      await this.lease?.release().catch(ignoreStore);
      await account.close();
    }
  }

  /** Asks it to settle its runs and to give the account back. */
  stop(cause: StopCause): void {
    this.askStop(cause);
  }

  counts(): ServiceCounts {
    return this.events?.counts() ?? { occurrences: {}, runs: {} };
  }

  stalled(ms: number): void {
    this.events?.stalled(ms);
  }

  private async schedule(account: Account, lease: HeldLease, events: SchedulerEvents): Promise<StopCause> {
    const { files, log, metrics, context, begun } = this.parts;
    rememberStore(context.state, account.place);
    const scheduleStore = await account.openAgenda();
    const host = {
      account: { ...account, store: metrics.timed(account.store) },
      lease,
      voice: log.voice(),
      gates: new Set<never>(),
      lateOrders: new LateOrders(account.store, account.profile.account),
      observe: (entry: Entry) => events.entry(entry),
    };
    const crashed = (error: unknown) => reportCrash(error, ['schedule'], context.state, context.environment);
    const journalFailed = (message: string) => {
      const then = 'nothing is sent under it any more, and whoever serves the account next takes its runs up';
      log.tell('fatal', 'journal_failed', `${printable(message, 500)}: ${then}`);
      this.askStop({ by: 'the scheduler, whose journal cannot be written', exit: EXIT.halted });
    };
    const runs = new ScheduledRuns({ host, scheduleStore, slots: () => this.slots, crashed, journalFailed });
    const scheduler = new Scheduler({
      account: account.key,
      epoch: lease.epoch,
      clock: account.clock,
      scheduleStore,
      launcher: runs,
      killed: () => this.lookAtKillSwitch(account),
      tell: (event) => this.took(event),
    });
    try {
      await this.lookAtKillSwitch(account);
      this.signature = files.signature();
      this.slots = files.inForce(log.voice()).slots;
      events.takenUp(await runs.takeUpAll(scheduler));
      await runs.settleTaken();
      this.scheduler = scheduler;
      await scheduler.begin(this.slots);
      begun(this.slots, lease.epoch);
      this.tick({ account, runs, scheduler, scheduleStore });
      const cause = await this.stopAsked;
      log.tell('info', 'stopping', `stopping: ${cause.by}`, { running: scheduler.running().length });
      this.ticker?.cancel();
      await scheduler.stop({ command: 'interrupt', by: cause.by });
      log.tell('info', 'stopped', 'stopped in order', {});
      return cause;
    } catch (error) {
      // What was taken up already must not go on without its account.
      await scheduler.stop({ command: 'interrupt', by: 'the scheduler, which cannot begin' });
      if (error instanceof StoreError) throw new UserError(printable(error.message), EXIT.halted, 'journal');
      throw error;
    } finally {
      await scheduleStore.close();
    }
  }

  /** Takes the account, or says why not. Lost later, the process ends at once. */
  private async hold(account: Account, patience: Patience): Promise<HeldLease | ServiceEnd> {
    const { clock, shared, key, profile } = account;
    const holder = schedulerHolder(process.pid);
    const onLost = () => this.overtaken('another process holds the account by now: this one stood still for too long');
    const since = clock.monotonic();
    for (let told = false; this.stopCause === undefined; ) {
      const lease = await takeLease({ leases: shared.leases, account: key, holder, clock, metronome: clock, onLost });
      if (lease.kind === 'held') return lease;
      const held = `the account ${profile.account} is held by another process (${printable(lease.heldBy, 200)})`;
      if (patience === 'none')
        throw new UserError(`${held}; nothing was started. --standby waits for it`, EXIT.held, 'held');
      if (patience !== 'endless' && clock.monotonic() - since > patience.ms)
        return { kind: 'taken', heldBy: lease.heldBy };
      if (!told) this.parts.log.tell('info', 'standing_by', `${held}: standing by`);
      told = true;
      await new Promise<void>((resolve) => void clock.after(STANDBY_LOOK_MS, resolve));
    }
    return { kind: 'stopped', ...this.stopCause };
  }

  // What is looked at again and again.

  private tick(served: Served): void {
    void this.look(served).then(() => {
      if (this.stopCause === undefined) this.ticker = served.account.clock.after(TICK_MS, () => this.tick(served));
    });
  }

  private async look({ account, runs, scheduler, scheduleStore }: Served): Promise<void> {
    this.ticks += 1;
    try {
      await this.lookAtKillSwitch(account);
      await runs.takeGuests(scheduler);
      await runs.hearAnswers(scheduler);
      if (this.ticks % FILES_EVERY === 0) await this.lookAtFiles(scheduler);
      if (this.moreToPrune || this.ticks % PRUNE_EVERY === 1) this.moreToPrune = await prune(scheduleStore, account);
      this.storeProblem = undefined;
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      if (this.storeProblem === undefined)
        this.parts.log.tell('error', 'store_failed', `${printable(error.message)}; it is asked again twice a second`);
      this.storeProblem = error.message;
    }
  }

  private async lookAtKillSwitch({ shared, key }: Account): Promise<boolean | undefined> {
    const order = await shared.killSwitch.engaged(key);
    const killed = order?.unread === true ? undefined : order !== undefined;
    if (killed !== this.killed) this.events?.killSwitch(order);
    this.killed = killed;
    return killed;
  }

  /** A change counts when it has stood still for one look: editors write in pieces. */
  private async lookAtFiles(scheduler: Scheduler): Promise<void> {
    const { files, log } = this.parts;
    const seen = files.signature();
    const still = seen === this.settling;
    this.settling = seen;
    if (seen === this.signature || !still) return;
    const { slots, problems } = files.read(log.voice());
    await scheduler.retime(slots);
    this.slots = slots;
    // Only now: what the store refused is tried again at the next look.
    this.signature = seen;
    this.events?.reloaded(slots.length, problems);
  }

  private took(event: SchedulerEvent): void {
    this.events?.took(event);
    if (event.type === 'overtaken') this.overtaken(event.message);
  }

  /** Whoever acts for the account by now has its runs as well: nothing that this process would still do may count. */
  private overtaken(message: string): never {
    this.parts.log.tell('fatal', 'overtaken', printable(message));
    this.parts.context.endProcess(EXIT.held);
  }

  // What is told on the loopback address.

  ailments(): readonly string[] {
    const age = this.lookAge();
    return age !== undefined && age > HEALTHY_LOOK_MS / 1000
      ? [`the schedules were last looked at ${formatWholeSeconds(age * 1000)} ago`]
      : [];
  }

  obstacles(): readonly string[] {
    const reasons: string[] = [];
    if (this.stopCause !== undefined) reasons.push('stopping');
    if (this.lease === undefined) reasons.push('another process holds the account');
    else if (!this.lease.mayAct()) reasons.push('the lease could not be renewed in time');
    else if (this.scheduler?.lastLook() === undefined) reasons.push('taking up unfinished runs');
    if (this.killed) reasons.push('the kill switch is engaged');
    if (this.killed === undefined) reasons.push('the kill switch cannot be read');
    if (this.account?.session.failing === true) reasons.push('the session cannot be renewed');
    if (this.storeProblem !== undefined) reasons.push('the store cannot be read');
    return reasons;
  }

  health(): AccountHealth {
    const reasons = [...this.ailments(), ...this.obstacles()];
    return {
      seat: this.lease === undefined ? 'elsewhere' : 'here',
      ready: reasons.length === 0,
      reasons,
      needs_a_person: this.unresolved().map(({ run, why }) => ({ run, why: printable(why, 500) })),
    };
  }

  gauges(): Gauges {
    return {
      account: this.account,
      epoch: this.lease?.epoch,
      running: () => this.scheduler?.running().length ?? 0,
      waiting: () => this.scheduler?.waiting() ?? 0,
      ready: () => this.ailments().length === 0 && this.obstacles().length === 0,
      lookAge: () => this.lookAge(),
      killed: () => this.killed !== false,
      unresolved: () => this.unresolved().length,
    };
  }

  private unresolved() {
    return this.scheduler?.unresolved() ?? [];
  }

  private lookAge(): number | undefined {
    const last = this.scheduler?.lastLook();
    return last === undefined || this.account === undefined
      ? undefined
      : (this.account.clock.monotonic() - last) / 1000;
  }
}

/** One portion, for the event loop stands still meanwhile; true when there may be more. */
async function prune(scheduleStore: ScheduleStore, { key, clock }: Account): Promise<boolean> {
  const now = clock.now();
  const pruned = [
    await scheduleStore.prune(key, now - VERDICTS_KEPT_MS),
    await scheduleStore.pruneSubmissions(key, now - SUBMISSIONS_KEPT_MS),
  ];
  return pruned.includes(PRUNED_AT_ONCE);
}

/** The store that fails while a lease is given back: it runs out by itself. */
function ignoreStore(error: unknown): void {
  if (!(error instanceof StoreError)) throw error;
}

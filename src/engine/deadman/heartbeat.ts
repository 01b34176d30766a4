/**
 * Keeps the venue's deadman switch by the model of venue/deadman.ts: armed before the first order, renewed only while the
 * run makes progress, read back at intervals, disarmed as declared. A heartbeat that does not depend on progress would keep
 * orders alive for a program that hangs, and so would one that counts as progress itself: those are the mistakes to avoid.
 */
import type { Clock } from '../../base/clock.ts';
import type { RunMode } from '../../journal/entry.ts';
import type { SettledCall } from '../../journal/orders.ts';
import type { PassedRounds } from '../../journal/rounds/passed-rounds.ts';
import { type EndpointName, getEndpoint, isEndpointName } from '../../venue/catalogue.ts';
import {
  allowsOrders,
  chooseDeadmanReadPauseMs,
  chooseKeepAliveMs,
  combineRequirements,
  createDeadman,
  type DeadmanEvent,
  type DeadmanRequirement,
  type DeadmanState,
  describeShortTimeout,
  findArmedUntil,
  limitDeadmanAnswerMs,
  limitHoldUp,
  needsDelete,
  SHORTEST_LIVE_TIMEOUT_MS,
  SWITCH_TRIES,
  stepDeadman,
} from '../../venue/deadman.ts';
import type { CallOutcome, VenuePort, WriteLimits } from '../../venue/port.ts';
import type { DeadmanRecord } from '../../venue/records.ts';
import { toFailure } from '../failure.ts';
import { Cancellation, Halt, StepFailure } from '../interruption.ts';
import type { RunJournal } from '../ports.ts';
import { evaluate, type Frame, type RunbookGlobals, StepScope } from '../scope.ts';
import { sleepUntil } from '../waiting.ts';
import { computeReadAnswerMs, HeartbeatTimer } from './heartbeat-timer.ts';
import { foldPassedHeartbeats } from './passed-heartbeats.ts';
import { Progress } from './progress.ts';
import { StoreAbsence } from './store-absence.ts';

const FIRST_RETRY_MS = 250;
/** Least pause between two readings while one of them is awaited, ms. */
const STRAY_READ_MS = 1_000;
/** A heartbeat whose answer is no longer awaited may arrive up to this long after it was sent, ms (budget.md, In-transit limit). */
const IN_TRANSIT_MS = 10_000;

interface HeartbeatParts {
  readonly mode: RunMode;
  readonly venue: VenuePort;
  readonly log: RunJournal;
  readonly clock: Clock;
  readonly callId: (path: string) => string;
  /** The number of the last call of a path that was not executed here. */
  readonly numberCalls: (path: string, last: number) => void;
  /** Reads every working order of the run; required before a new order once the switch may have fired. */
  readonly readAll: (step: string) => Promise<void>;
  /** The run's scope: its waits are interrupted when the switch has fired. */
  readonly whole: Cancellation;
}

interface Lease extends DeadmanRequirement {
  /** The step of its own runbook after which it ends; a step of the same name in a called runbook is another. */
  readonly releaseAfter: { readonly id: string; readonly globals: RunbookGlobals } | undefined;
}

/** Prefix of the ids of heartbeat calls; the calls of steps have their paths. */
const OWN = 'deadman';

export class Heartbeat {
  private readonly parts: HeartbeatParts;
  private state: DeadmanState = createDeadman();
  private readonly leases = new Map<string, Lease>();
  private onExit: 'disarm' | 'leave_armed' = 'disarm';
  private readonly progress: Progress;
  private readonly timer: HeartbeatTimer;
  private lastHeartbeat: Promise<unknown> = Promise.resolve();
  private reading: Promise<unknown> = Promise.resolve();
  /** What a step writes about the switch by itself. */
  private stepWrite: Promise<unknown> | undefined;
  /** Until when a heartbeat that was given up may still arrive (epoch ms). */
  private strayUntil = 0;
  private readonly absence: StoreAbsence;
  /** Unexpected facts about the switch in the venue's answers, until they are journaled. */
  private surprises: string[] = [];

  constructor(parts: HeartbeatParts) {
    this.parts = parts;
    this.progress = new Progress(parts.clock);
    this.absence = new StoreAbsence(parts.clock, this.progress);
    this.timer = new HeartbeatTimer(parts.clock, this.progress, (at) => this.wake(at));
    // Any qualifying request renews the switch, so every settled call is observed.
    parts.log.tracker.onSettled((call) => this.observeCall(call));
    parts.log.tracker.onWaiting(({ call, until }) => this.markWaiting(call, until));
  }

  /** Begins the `deadman` block of a runbook; `leave` ends it. While several are in force the shortest timeout applies. */
  async enter(frame: Frame, now: number, id: string): Promise<{ leave(): Promise<void> }> {
    const { deadman } = frame.globals.runbook;
    if (deadman === undefined) return { leave: async () => {} };
    const scope = new StepScope(frame, now);
    const { releaseAfter, onExit } = deadman;
    const timeoutMs = evaluate(deadman.timeout, scope, id).ms;
    this.requireLong(timeoutMs, id);
    const lease: Lease = {
      id,
      market: evaluate(deadman.market, scope, id),
      timeoutMs,
      keepAliveMs:
        deadman.keepAlive === undefined ? chooseKeepAliveMs(timeoutMs) : evaluate(deadman.keepAlive, scope, id).ms,
      releaseAfter: releaseAfter === undefined ? undefined : { id: releaseAfter, globals: frame.globals },
    };
    // A called runbook leaves its own block when it ends; what the run leaves behind is for the outermost to say.
    if (this.leases.size === 0) this.onExit = onExit;
    this.leases.set(id, lease);
    this.apply({ type: 'LEASE_ENTERED', at: this.parts.clock.now(), lease });
    return {
      leave: () => this.leave(id, { because: 'the runbook that asked for it has ended', disarms: onExit === 'disarm' }),
    };
  }

  /** Throws StepFailure where a live run would arm the switch for so short a time, ms, as only the run may know. */
  requireLong(timeoutMs: number, step: string): void {
    if (this.parts.mode === 'live' && timeoutMs < SHORTEST_LIVE_TIMEOUT_MS)
      throw new StepFailure('assertion', `${describeShortTimeout(timeoutMs)}; it is not armed`, step);
  }

  /**
   * Arms the switch before the first order. Throws StepFailure when that was refused or got no answer: no order was placed, and
   * a switch that may be armed all the same is disarmed at the run's end. Throws Halt when the switch may have fired and the
   * orders cannot be read.
   */
  async beforeOrder(step: string): Promise<void> {
    // While the switch is certainly armed an order does not wait for a heartbeat under way, which may hang.
    if (allowsOrders(this.state, this.parts.clock.now())) return;
    // Branches may come here together: one that finds another arming waits for it, then checks again.
    for (let seen: Promise<unknown> | undefined; seen !== this.lastHeartbeat; ) {
      seen = this.lastHeartbeat;
      await seen;
    }
    if (allowsOrders(this.state, this.parts.clock.now())) return;
    const arming = this.armAfresh(step);
    // A waiting branch checks the switch again; how the other branch's step ended does not matter to it.
    this.lastHeartbeat = arming.catch(() => {});
    await arming;
  }

  /** Marks the begin of a step's attempt, which is progress. `until` is the end of its timeout (epoch ms). */
  beginAttempt(path: string, until: number | undefined): { end(): void } {
    this.progress.record();
    if (until !== undefined) this.progress.extendUntil(path, until);
    this.schedule();
    return {
      end: () => {
        this.progress.end(path);
        this.schedule();
      },
    };
  }

  /** Marks that a step waits on purpose until then (epoch ms): a wait of an hour is no hang. */
  markWaiting(path: string, until: number): void {
    this.progress.extendUntil(path, until);
    this.schedule();
  }

  /** Marks that the store does not answer: what waits for it waits on purpose, for as long as it is asked again. */
  markSuspended(): void {
    this.absence.begin();
    this.schedule();
  }

  /** Marks that the run goes on: its store answers again, or another process continues what the previous one began. */
  markResumed(): void {
    this.absence.end();
    this.schedule();
  }

  /** The run has ended: nothing waits for its store any more, and no timer of that keeps the process. */
  markEnded(): void {
    this.absence.end();
  }

  /**
   * Waits, while heartbeats go on, until the store can take what disarms the switch: behind the last heartbeat an armed switch would
   * cancel the stops that the run leaves. Without a store the request would wait for it, and no heartbeat follows it.
   */
  private awaitStore(): Promise<void> {
    return this.absence.wait(() => !this.isOff());
  }

  /** Marks that another process continues the run after an unknown time without any. */
  markUnseen(): void {
    this.apply({ type: 'UNSEEN', at: this.parts.clock.now() });
  }

  /** Disarms the switch where `release_after` names the step of `frame` that has succeeded: its orders must outlive a crash. */
  async releaseAfterStep(id: string | undefined, { globals }: Frame): Promise<void> {
    if (id === undefined) return;
    for (const { id: lease, releaseAfter } of [...this.leases.values()])
      if (releaseAfter?.id === id && releaseAfter.globals === globals)
        await this.leave(lease, { because: `released after ${id}`, disarms: true });
  }

  /**
   * Lets a step write about the switch while no heartbeat is under way: one that arrived behind its DELETE would arm the switch again,
   * and the run would take it for disarmed. A heartbeat that falls due meanwhile waits for it, so one that cannot leave in time is
   * put off until `cancel` ends its step.
   */
  async writeAlone<E extends EndpointName>(
    cancel: Cancellation,
    write: (limits: WriteLimits) => Promise<CallOutcome<E>>,
  ): Promise<CallOutcome<E>> {
    for (;;) {
      if (this.absence.isUnderWay) await this.awaitStore();
      for (let seen: unknown; seen !== this.lastHeartbeat || this.stepWrite !== undefined; ) {
        await this.stepWrite;
        seen = this.lastHeartbeat;
        await seen;
      }
      // Under a block, as long as a heartbeat at most: the next one must not be late.
      const answerMs = this.firesAt === undefined ? undefined : limitDeadmanAnswerMs(this.state.timeoutMs);
      const writing = write({ answerMs, deadlineAt: this.limitHoldUp() });
      const over = () => {
        this.stepWrite = undefined;
        this.schedule();
      };
      this.stepWrite = writing.then(over, over);
      const outcome = await writing;
      if (!isLate(outcome)) return outcome;
      await this.letRenew(cancel);
    }
  }

  /** Until when a request may leave that holds up the heartbeats (epoch ms); undefined where it may wait for any time. */
  private limitHoldUp(): number | undefined {
    const now = this.parts.clock.now();
    return now > this.progress.countsUntil(this.state.timeoutMs) ? undefined : limitHoldUp(this.state, now);
  }

  /** Lets heartbeats go on for a while behind a write that could not leave in time; gives when that was over. */
  private async letRenew(cancel: Cancellation): Promise<number> {
    const { clock } = this.parts;
    const until = clock.now() + this.state.keepAliveMs;
    await sleepUntil(clock, until, cancel);
    return until;
  }

  /** Takes in a step's reading of the switch. One that is off although it was armed here has fired or was disarmed from outside. */
  observeReading(market: string, sentAt: number, record: DeadmanRecord | null): void {
    if (market === this.state.market) this.apply({ type: 'READ', at: this.parts.clock.now(), sentAt, record });
  }

  /**
   * Takes in the heartbeats of a span of time that is not played, which `move` ends. False where it does not, or where they do not
   * follow from the present state.
   */
  passOver(heartbeats: PassedRounds['heartbeats'], move: () => boolean): boolean {
    const passed = foldPassedHeartbeats(this.state, heartbeats);
    if (passed === undefined) return false;
    this.timer.clear();
    if (!move()) return false;
    const { state, readAt } = passed;
    this.state = state;
    if (heartbeats.entries.length > 0) this.parts.numberCalls(OWN, heartbeats.number);
    if (readAt !== undefined) this.timer.setReadDue(readAt + chooseDeadmanReadPauseMs(state.timeoutMs));
    this.progress.record();
    this.schedule();
    return true;
  }

  /** Leaves the switch as `on_exit` declares when the run ends cleanly, and reads it back. */
  async exit(): Promise<void> {
    const disarms = this.onExit === 'disarm';
    do {
      if (disarms && this.absence.isUnderWay) await this.awaitStore();
      await this.stop();
    } while (disarms && (await this.disarm('the run has ended')) !== undefined);
  }

  /** Whether `exit` is going to disarm the switch; one that a step armed by itself is left as it is. */
  get disarmsAtExit(): boolean {
    return this.onExit === 'disarm' && this.state.market !== undefined && !this.isOff();
  }

  /** When the switch fires unless something renews it, epoch ms; undefined where it is not armed. */
  get firesAt(): number | undefined {
    return findArmedUntil(this.state);
  }

  /** Stops the heartbeats of a halted run: the switch stays armed, so it cancels the orders unless a person acts first. */
  async abandon(): Promise<void> {
    await this.stop();
  }

  /** Takes in a settled call: it may have renewed the switch, armed or disarmed it for a step, or shown progress. */
  private observeCall({ call, endpoint: name, params, kind, sentAt, at }: SettledCall): void {
    // Heartbeats are no progress, and neither is a call that failed.
    const own = call.startsWith(`${OWN}#`);
    this.progress.drop(call);
    if (!own && kind === 'confirmed') this.progress.record();
    const market = String(params['market_id']);
    const mayHaveActed = kind === 'confirmed' || kind === 'unresolved';
    if (!own && mayHaveActed && name === 'POST /cancel_all_after')
      this.apply({ type: 'STEP_ARMED', at, market, timeoutMs: Number(params['timeout']) });
    else if (!own && mayHaveActed && name === 'DELETE /cancel_all_after')
      this.apply({ type: 'STEP_DISARMED', at, market });
    else if (
      !own &&
      kind === 'confirmed' &&
      sentAt !== undefined &&
      isEndpointName(name) &&
      getEndpoint(name).qualifies
    )
      this.apply({ type: 'QUALIFYING_ANSWERED', at, sentAt });
    else this.schedule();
  }

  /** Ends a requirement; without another one the switch is disarmed, unless the author has promised that it stays armed. */
  private async leave(id: string, { because, disarms }: { because: string; disarms: boolean }): Promise<void> {
    const { clock } = this.parts;
    const lease = this.leases.get(id);
    for (let at: number | undefined = clock.now(); at !== undefined; ) {
      if (disarms && this.absence.isUnderWay && this.leases.size === 1) {
        await this.awaitStore();
        at = clock.now();
      }
      if (lease === undefined || !this.leases.delete(id)) return;
      this.apply({ type: 'LEASE_LEFT', at, id });
      if (this.leases.size > 0 || !disarms) return;
      at = await this.disarm(because, lease);
    }
  }

  /** Arms the switch. Where it may have fired, every order is read first: the switch may have cancelled them. */
  private async armAfresh(step: string): Promise<void> {
    if (this.state.status === 'assumed_fired') {
      await this.parts.readAll(step);
      this.apply({ type: 'RECONCILED', at: this.parts.clock.now() });
      if (allowsOrders(this.state, this.parts.clock.now())) return;
    }
    await this.arm(step);
  }

  private async arm(step: string): Promise<void> {
    const { clock } = this.parts;
    this.timer.start();
    for (let tries = 1; ; tries += 1) {
      // Where an earlier request may have armed it, the switch may fire while this one waits for a store, as a heartbeat does not.
      const outcome = await this.post(step, this.state.status === 'unknown' ? 'keep-alive' : 'arm');
      if (allowsOrders(this.state, clock.now())) {
        this.journalMove('armed');
        this.timer.setReadDue(clock.now() + chooseDeadmanReadPauseMs(this.state.timeoutMs));
        this.schedule();
        return;
      }
      if (tries >= SWITCH_TRIES || isFinal(outcome)) throw toArmingFailure(outcome, step);
      // Where it may be armed, each try renews it: at least as often as a heartbeat would.
      const { keepAliveMs = Number.POSITIVE_INFINITY } = combineRequirements(this.state) ?? {};
      const pauseMs = Math.min(keepAliveMs, FIRST_RETRY_MS * 2 ** (tries - 1));
      await sleepUntil(clock, clock.now() + pauseMs, new Cancellation());
    }
  }

  private async post(step: string, purpose: 'arm' | 'keep-alive'): Promise<CallOutcome<'POST /cancel_all_after'>> {
    const { venue, clock, callId } = this.parts;
    const lease = combineRequirements(this.state);
    if (lease === undefined) throw new Error('engine: a heartbeat without a deadman requirement');
    const { market, timeoutMs, keepAliveMs } = lease;
    const answerMs = limitDeadmanAnswerMs(timeoutMs);
    const askedAt = clock.now();
    this.apply({ type: 'ARM_SENT', at: askedAt, market, timeoutMs });
    const outcome = await venue.call({
      id: callId(OWN),
      step: step === '' ? 'deadman' : step,
      endpoint: 'POST /cancel_all_after',
      params: { market_id: market, timeout: timeoutMs },
      // Arming queues with the order that waits for it; renewing a switch that guards orders goes first.
      class: purpose === 'arm' ? 'enter' : 'protect',
      purpose,
      answerMs,
      repeatsMs: keepAliveMs,
    });
    const at = clock.now();
    const sentAt = outcome.sentAt ?? askedAt;
    if (outcome.kind === 'confirmed') this.apply({ type: 'ARM_ANSWERED', at, sentAt, timeoutMs, echo: outcome.result });
    else this.apply({ type: 'ARM_FAILED', at, sentAt, certain: outcome.kind !== 'unresolved' });
    // One that a process left behind when it ended may be on its way as well.
    if (outcome.kind === 'unresolved' && (outcome.sentAt === undefined || at - sentAt >= answerMs))
      this.strayUntil = Math.max(this.strayUntil, sentAt + IN_TRANSIT_MS);
    return outcome;
  }

  /**
   * Waits for heartbeats under way, sends DELETE, and accepts it only when a GET sent later finds no switch. Where the DELETE could not
   * leave before the next heartbeat these went on meanwhile, and `lease` is in force again: gives when (epoch ms).
   */
  private async disarm(because: string, lease?: Lease): Promise<number | undefined> {
    const { venue, clock, callId } = this.parts;
    await this.stop();
    const { market } = this.state;
    if (market === undefined || this.isOff()) return undefined;
    this.apply({ type: 'DISARM_BEGUN', at: clock.now() });
    const common = {
      step: 'deadman',
      class: 'protect' as const,
      params: { market_id: market },
      answerMs: limitDeadmanAnswerMs(this.state.timeoutMs),
    };
    for (let tries = 1; ; ) {
      // It may have fired meanwhile; a reading has still to show it off.
      if (this.state.status === 'assumed_fired') this.apply({ type: 'DISARM_BEGUN', at: clock.now() });
      if (needsDelete(this.state)) {
        const deadlineAt = this.limitHoldUp();
        this.apply({ type: 'DELETE_SENT', at: clock.now() });
        const deleted = await venue.call({
          ...common,
          id: callId(OWN),
          endpoint: 'DELETE /cancel_all_after',
          purpose: 'disarm',
          ...(deadlineAt === undefined ? {} : { deadlineAt }),
        });
        if (isLate(deleted)) return this.putOff(lease);
        if (deleted.kind === 'denied')
          throw new Halt('denied', `the deadman switch stays armed: ${deleted.message}`, 'deadman');
        if (deleted.kind === 'confirmed') this.apply({ type: 'DELETE_ANSWERED', at: clock.now() });
      }
      // A heartbeat that was given up may arrive after the DELETE: only a later read shows the switch off. It is read meanwhile as
      // well, often enough that a switch which it has armed is disarmed before it fires.
      if (clock.now() < this.strayUntil) {
        const soon = clock.now() + Math.max(STRAY_READ_MS, Math.floor(this.state.timeoutMs / 2));
        await sleepUntil(clock, Math.min(this.strayUntil, soon), new Cancellation());
      }
      const askedAt = clock.now();
      const read = await venue.call({
        ...common,
        id: callId(OWN),
        endpoint: 'GET /cancel_all_after',
        purpose: 'verify',
      });
      const isTooSoon = askedAt < this.strayUntil;
      if (read.kind === 'confirmed' && isTooSoon && read.result?.status !== 'active') continue;
      if (read.kind === 'confirmed')
        this.apply({ type: 'READ', at: clock.now(), sentAt: read.sentAt ?? askedAt, record: read.result });
      if (this.isOff()) {
        this.parts.log.append('deadman.moved', { event: 'disarmed', market, because }, 'deadman');
        return undefined;
      }
      if (tries >= SWITCH_TRIES)
        throw new Halt(
          'unknown_outcome',
          'the deadman switch may still be armed: no reading showed it off; read it back at the venue',
          'deadman',
        );
      // One pause between two requests: a replay knows no instant at which nothing was journaled.
      const isDeletedAgain = this.state.status === 'assumed_fired' || needsDelete(this.state);
      if (isDeletedAgain || clock.now() >= this.strayUntil)
        await sleepUntil(clock, clock.now() + FIRST_RETRY_MS * 2 ** (tries - 1), new Cancellation());
      tries += 1;
    }
  }

  /**
   * Takes a disarming back for a while; gives the end of that. The planned one: nothing is journaled then, and a replay comes there only
   * with the next entry.
   */
  private async putOff(lease: Lease | undefined): Promise<number> {
    const at = this.parts.clock.now();
    if (lease !== undefined) {
      this.leases.set(lease.id, lease);
      this.apply({ type: 'LEASE_ENTERED', at, lease });
    }
    this.timer.start();
    this.apply({ type: 'DISARM_PUT_OFF', at });
    return this.letRenew(new Cancellation());
  }

  /** Applies an event to the model, and acts on its conclusions. */
  private apply(event: DeadmanEvent): void {
    const before = this.state.status;
    const { state, alarms } = stepDeadman(this.state, event);
    this.state = state;
    this.surprises.push(...alarms.filter(({ alarm }) => alarm !== 'assumed_fired').map(({ because }) => because));
    if (state.status === 'assumed_fired' && before !== 'assumed_fired') {
      const because = alarms.find(({ alarm }) => alarm === 'assumed_fired')?.because ?? '';
      this.timer.stop();
      this.parts.log.append(
        'deadman.moved',
        { event: 'assumed_fired', market: state.market ?? '', because },
        'deadman',
      );
      this.parts.whole.interrupt('deadman', `the deadman switch is assumed to have fired: ${because}`);
      return;
    }
    this.schedule();
  }

  private isOff(): boolean {
    return this.state.status === 'off';
  }

  /** Stops the heartbeats and waits for calls under way. */
  private async stop(): Promise<void> {
    this.timer.stop();
    await this.lastHeartbeat;
    await this.reading;
    await this.stepWrite;
  }

  private schedule(): void {
    this.timer.schedule(this.state);
  }

  /**
   * A timer that was set for an instant before the switch expires finds nothing expired, however late it runs: a process that
   * stood still runs it late where a replay ran it in time, and both must find that at the same place among the timers.
   */
  private wake(at: number): void {
    const due = this.timer.findDue(at, this.state);
    // It follows when the write is over.
    if (due === 'heartbeat' && this.stepWrite !== undefined) return;
    if (due !== undefined || at > (this.firesAt ?? at)) this.apply({ type: 'TIME', at: this.parts.clock.now() });
    if (this.state.status === 'assumed_fired') return;
    if (due === 'heartbeat') this.lastHeartbeat = this.renew();
    else if (due === 'reading') this.reading = this.readBack();
    else this.schedule();
  }

  /** Reads the switch back: another client may have disarmed it, or it has fired although every heartbeat was answered. */
  private async readBack(): Promise<void> {
    const { venue, clock, callId } = this.parts;
    const { market, timeoutMs } = this.state;
    if (market === undefined) return;
    this.timer.setReadDue(undefined);
    const askedAt = clock.now();
    const answerMs = computeReadAnswerMs(this.state);
    const read = await venue.call({
      id: callId(OWN),
      step: OWN,
      endpoint: 'GET /cancel_all_after',
      params: { market_id: market },
      class: 'protect',
      purpose: 'verify',
      answerMs,
      // It may wait for tokens no longer than for its answer: no heartbeat may queue behind it.
      deadlineAt: askedAt + answerMs,
      repeatsMs: chooseDeadmanReadPauseMs(timeoutMs),
    });
    const at = clock.now();
    this.timer.setReadDue(at + (read.kind === 'confirmed' ? chooseDeadmanReadPauseMs(timeoutMs) : timeoutMs));
    if (read.kind === 'confirmed')
      this.apply({ type: 'READ', at, sentAt: read.sentAt ?? askedAt, record: read.result });
    else this.schedule();
  }

  private async renew(): Promise<void> {
    const outcome = await this.post('deadman', 'keep-alive');
    if (outcome.kind === 'confirmed' && this.state.status === 'armed') this.journalMove('renewed');
  }

  private journalMove(event: 'armed' | 'renewed'): void {
    const { market = '', timeoutMs } = this.state;
    const because = [...new Set(this.surprises.splice(0))].join('; ');
    this.parts.log.append(
      'deadman.moved',
      { event, market, timeoutMs, ...(because === '' ? {} : { because }) },
      'deadman',
    );
  }
}

/** Whether a write about the switch could not leave before the next heartbeat. */
function isLate<E extends EndpointName>(outcome: CallOutcome<E>): boolean {
  return outcome.kind === 'denied' && outcome.code === 'DEADLINE';
}

/** Whether a retry would be answered the same: denied here, or refused by the venue definitely. */
function isFinal(outcome: CallOutcome<'POST /cancel_all_after'>): boolean {
  if (outcome.kind === 'rejected') return outcome.failure === 'rejected' && outcome.definite;
  return outcome.kind === 'denied';
}

/** The error of an order that was not sent because the switch could not be armed: a failure, never an unknown outcome. */
function toArmingFailure(outcome: CallOutcome<'POST /cancel_all_after'>, step: string): StepFailure | Halt {
  const describe = (why: string) => `the deadman switch could not be armed (${why}); no order was sent`;
  if (outcome.kind === 'confirmed')
    return new StepFailure('rejected', describe('the answer of the venue does not show it active'), step);
  return toFailure({ ...outcome, message: describe(outcome.message) }, step);
}

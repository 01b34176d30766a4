/**
 * Keeps the venue's deadman switch by the model of venue/deadman.ts: armed before the first order, renewed only while the
 * run makes progress, read back now and then, disarmed as declared. A beat from a free-running timer would keep orders alive
 * for a program that hangs, and a beat that counts as progress is one: those are the mistakes to avoid here.
 */
import type { Clock } from '../../base/clock.ts';
import type { SettledCall } from '../../journal/orders.ts';
import { endpoint, isEndpointName } from '../../venue/catalogue.ts';
import {
  type DeadmanEvent,
  type DeadmanRequirement,
  type DeadmanState,
  deadmanAllowsOrders,
  deadmanAnswerMs,
  deadmanReadEveryMs,
  defaultKeepAliveMs,
  needsDelete,
  newDeadman,
  stepDeadman,
  wantedDeadman,
} from '../../venue/deadman.ts';
import type { CallOutcome, VenuePort } from '../../venue/port.ts';
import type { DeadmanRecord } from '../../venue/records.ts';
import { failureOfOutcome } from '../failure.ts';
import { Cancellation, Halt, StepFailure } from '../interruption.ts';
import type { RunJournal } from '../ports.ts';
import { type Frame, type RunbookGlobals, StepScope } from '../scope.ts';
import { sleepUntil } from '../waiting.ts';
import { HeartbeatTimer, readAnswerMs } from './heartbeat-timer.ts';
import { Progress } from './progress.ts';

/** Tries to arm, and tries to disarm with each verified by a GET. */
const TRIES = 6;
const FIRST_RETRY_MS = 250;
/** A beat whose answer is not waited for any more may arrive until so long after it was sent (budget.md, In-transit limit). */
const IN_TRANSIT_MS = 10_000;

interface KeeperParts {
  readonly venue: VenuePort;
  readonly log: RunJournal;
  readonly clock: Clock;
  readonly callId: (path: string) => string;
  /** Reads every working order of the run: what must come before a new one once the switch may have fired. */
  readonly readAll: (step: string) => Promise<void>;
  /** The run's scope: whoever waits in it is interrupted when the switch has fired. */
  readonly whole: Cancellation;
}

interface Lease extends DeadmanRequirement {
  /** The step of its own runbook behind which it ends: one of the same name in a runbook that is called is another. */
  readonly releaseAfter: { readonly id: string; readonly globals: RunbookGlobals } | undefined;
  readonly onExit: 'disarm' | 'leave_armed';
}

/** What the keeper's own calls are named after: those of steps are named after their paths. */
const OWN = 'deadman';

export class Heartbeat {
  private readonly parts: KeeperParts;
  private state: DeadmanState = newDeadman();
  private readonly leases = new Map<string, Lease>();
  private onExit: 'disarm' | 'leave_armed' = 'disarm';
  private readonly progress: Progress;
  private readonly heartbeat: HeartbeatTimer;
  private beats: Promise<unknown> = Promise.resolve();
  private reading: Promise<unknown> = Promise.resolve();
  /** Until when a beat that was given up may still arrive. */
  private strayUntil = 0;
  /** What the venue's answers said of the switch that nobody here asked for, until it is written down. */
  private surprises: string[] = [];

  constructor(parts: KeeperParts) {
    this.parts = parts;
    this.progress = new Progress(parts.clock);
    this.heartbeat = new HeartbeatTimer(parts.clock, this.progress, (at) => this.woke(at));
    // Whoever sends a qualifying request has renewed the switch: the keeper listens on the road itself.
    parts.log.tracker.onSettled((call) => this.heard(call));
  }

  /** A runbook with a `deadman` block begins; gives its end. While several are in force the shortest timeout wins. */
  async enter(frame: Frame, now: number, id: string): Promise<{ leave(): Promise<void> }> {
    const { deadman } = frame.globals.runbook;
    if (deadman === undefined) return { leave: async () => {} };
    const scope = new StepScope(frame, now);
    const { releaseAfter } = deadman;
    const timeoutMs = deadman.timeout.evaluate(scope).ms;
    const lease: Lease = {
      id,
      market: deadman.market.evaluate(scope),
      timeoutMs,
      keepAliveMs: deadman.keepAlive?.evaluate(scope).ms ?? defaultKeepAliveMs(timeoutMs),
      releaseAfter: releaseAfter === undefined ? undefined : { id: releaseAfter, globals: frame.globals },
      onExit: deadman.onExit,
    };
    this.onExit = deadman.onExit;
    this.leases.set(id, lease);
    this.take({ type: 'LEASE_ENTERED', at: this.parts.clock.now(), lease });
    return { leave: () => this.leave(id, 'the runbook that asked for it has ended') };
  }

  /**
   * Arms the switch before the first order. Throws StepFailure when that was refused or got no answer: nothing was placed, and
   * a switch that may stand all the same is disarmed at the run's end. Throws Halt when what a fired one left can not be read.
   */
  async beforeOrder(step: string): Promise<void> {
    // A beat under way, which may hang, holds up nobody while the switch certainly stands.
    if (deadmanAllowsOrders(this.state, this.parts.clock.now())) return;
    // Branches come here together: whoever finds somebody arming waits for that, and looks again.
    for (let seen: Promise<unknown> | undefined; seen !== this.beats; ) {
      seen = this.beats;
      await seen;
    }
    if (deadmanAllowsOrders(this.state, this.parts.clock.now())) return;
    const arming = this.armAfresh(step);
    // Whoever waits for this looks at the switch again, and not at how another branch's step ended.
    this.beats = arming.catch(() => {});
    await arming;
  }

  /** A step begins an attempt: something is going on. */
  began(path: string, until: number | undefined): { end(): void } {
    this.progress.made();
    if (until !== undefined) this.progress.goesOnUntil(path, until);
    this.schedule();
    return {
      end: () => {
        this.progress.ended(path);
        this.schedule();
      },
    };
  }

  /** A step waits on purpose until then (epoch ms): an hour's wait is not an hour's hang. */
  waitsUntil(path: string, until: number): void {
    this.progress.goesOnUntil(path, until);
    this.schedule();
  }

  /** Another process goes on with the run: what the one before it began is under way again. */
  takenUp(): void {
    this.progress.made();
  }

  /** Another process goes on with the run, and nobody can tell for how long none was there. */
  unseen(): void {
    this.take({ type: 'UNSEEN', at: this.parts.clock.now() });
  }

  /** A step of `frame` has succeeded: with `release_after` its orders must from now on not be cancelled with the rest. */
  async stepSucceeded(id: string | undefined, { globals }: Frame): Promise<void> {
    if (id === undefined) return;
    for (const { id: lease, releaseAfter } of [...this.leases.values()])
      if (releaseAfter?.id === id && releaseAfter.globals === globals) await this.leave(lease, `released after ${id}`);
  }

  /** A step has read the switch: one that is off although it was armed here has fired, or somebody took it away. */
  observed(market: string, sentAt: number, record: DeadmanRecord | null): void {
    if (market === this.state.market) this.take({ type: 'READ', at: this.parts.clock.now(), sentAt, record });
  }

  /** The run has ended in order: the switch is left as `on_exit` says, and read back. */
  async exit(): Promise<void> {
    await this.stopped();
    if (this.onExit === 'disarm') await this.disarm('the run has ended');
  }

  /** The run has halted: the switch stays armed and is not renewed, so that it takes the orders if nobody else does. */
  async abandon(): Promise<void> {
    await this.stopped();
  }

  /** What the road says of a call: what renewed the switch, what a step did to it, and what shows that the run goes on. */
  private heard({ call, endpoint: name, params, kind, sentAt, at }: SettledCall): void {
    // The keeper's own calls prove that the keeper is there, and a call that failed that nothing came of it.
    const own = call.startsWith(`${OWN}#`);
    if (!own && kind === 'confirmed') this.progress.made();
    const market = String(params['market_id']);
    const mayStand = kind === 'confirmed' || kind === 'unresolved';
    if (!own && mayStand && name === 'POST /cancel_all_after')
      this.take({ type: 'STEP_ARMED', at, market, timeoutMs: Number(params['timeout']) });
    else if (!own && mayStand && name === 'DELETE /cancel_all_after') this.take({ type: 'STEP_DISARMED', at, market });
    else if (!own && kind === 'confirmed' && sentAt !== undefined && isEndpointName(name) && endpoint(name).qualifies)
      this.take({ type: 'QUALIFYING_ANSWERED', at, sentAt });
    else this.schedule();
  }

  private async leave(id: string, because: string): Promise<void> {
    const lease = this.leases.get(id);
    if (lease === undefined) return;
    this.leases.delete(id);
    this.take({ type: 'LEASE_LEFT', at: this.parts.clock.now(), id });
    if (this.leases.size === 0 && (lease.onExit === 'disarm' || lease.releaseAfter !== undefined))
      await this.disarm(because);
  }

  /** Arms; a switch that may have fired first has every order read, for it may have taken them. */
  private async armAfresh(step: string): Promise<void> {
    if (this.state.status === 'assumed_fired') {
      await this.parts.readAll(step);
      this.take({ type: 'RECONCILED', at: this.parts.clock.now() });
      if (deadmanAllowsOrders(this.state, this.parts.clock.now())) return;
    }
    await this.arm(step);
  }

  private async arm(step: string): Promise<void> {
    const { clock } = this.parts;
    this.heartbeat.start();
    for (let tries = 1; ; tries += 1) {
      const outcome = await this.post(step, 'arm');
      if (deadmanAllowsOrders(this.state, clock.now())) {
        this.wrote('armed');
        this.heartbeat.readAfter(clock.now() + deadmanReadEveryMs(this.state.timeoutMs));
        this.schedule();
        return;
      }
      if (tries >= TRIES || isFinal(outcome)) throw notArmed(outcome, step);
      await sleepUntil(clock, clock.now() + FIRST_RETRY_MS * 2 ** (tries - 1), new Cancellation());
    }
  }

  private async post(step: string, purpose: 'arm' | 'keep-alive'): Promise<CallOutcome<'POST /cancel_all_after'>> {
    const { venue, clock, callId } = this.parts;
    const lease = wantedDeadman(this.state);
    if (lease === undefined) throw new Error('engine: a deadman beat without a lease');
    const { market, timeoutMs, keepAliveMs } = lease;
    const answerMs = deadmanAnswerMs(timeoutMs);
    const askedAt = clock.now();
    this.take({ type: 'ARM_SENT', at: askedAt, market, timeoutMs });
    const outcome = await venue.call({
      id: callId(OWN),
      step: step === '' ? 'deadman' : step,
      endpoint: 'POST /cancel_all_after',
      params: { market_id: market, timeout: timeoutMs },
      // What arms it stands in line with the order that waits for it; a switch that guards orders waits for nobody.
      class: purpose === 'arm' ? 'enter' : 'protect',
      purpose,
      answerMs,
      repeatsMs: keepAliveMs,
    });
    const at = clock.now();
    const sentAt = outcome.sentAt ?? askedAt;
    if (outcome.kind === 'confirmed') this.take({ type: 'ARM_ANSWERED', at, sentAt, timeoutMs, echo: outcome.result });
    else this.take({ type: 'ARM_FAILED', at, sentAt, certain: outcome.kind !== 'unresolved' });
    if (outcome.kind === 'unresolved' && at - sentAt >= answerMs)
      this.strayUntil = Math.max(this.strayUntil, sentAt + IN_TRANSIT_MS);
    return outcome;
  }

  /** Drains beats, sends DELETE, and believes it only when a GET that was sent later finds nothing. */
  private async disarm(because: string): Promise<void> {
    const { venue, clock, callId } = this.parts;
    await this.stopped();
    const { market } = this.state;
    if (market === undefined || this.isOff()) return;
    this.take({ type: 'DISARM_BEGUN', at: clock.now() });
    const common = {
      step: 'deadman',
      class: 'protect' as const,
      params: { market_id: market },
      answerMs: deadmanAnswerMs(this.state.timeoutMs),
    };
    for (let tries = 1; ; tries += 1) {
      // It may have fired meanwhile: whether it is off is still to be seen.
      if (this.state.status === 'assumed_fired') this.take({ type: 'DISARM_BEGUN', at: clock.now() });
      if (needsDelete(this.state)) {
        this.take({ type: 'DELETE_SENT', at: clock.now() });
        const deleted = await venue.call({
          ...common,
          id: callId(OWN),
          endpoint: 'DELETE /cancel_all_after',
          purpose: 'disarm',
        });
        if (deleted.kind === 'denied')
          throw new Halt('denied', `the deadman switch stays armed: ${deleted.message}`, 'deadman');
        if (deleted.kind === 'confirmed') this.take({ type: 'DELETE_ANSWERED', at: clock.now() });
      }
      // A beat that was given up may arrive behind the DELETE: only a read after that is believed.
      if (clock.now() < this.strayUntil) await sleepUntil(clock, this.strayUntil, new Cancellation());
      const askedAt = clock.now();
      const read = await venue.call({
        ...common,
        id: callId(OWN),
        endpoint: 'GET /cancel_all_after',
        purpose: 'verify',
      });
      if (read.kind === 'confirmed')
        this.take({ type: 'READ', at: clock.now(), sentAt: read.sentAt ?? askedAt, record: read.result });
      if (this.isOff()) {
        this.parts.log.append('deadman.moved', { event: 'disarmed', market, because }, 'deadman');
        return;
      }
      if (tries >= TRIES)
        throw new Halt(
          'unknown_outcome',
          'the deadman switch could not be seen to be disarmed; read it back at the venue',
          'deadman',
        );
      await sleepUntil(clock, clock.now() + FIRST_RETRY_MS * 2 ** (tries - 1), new Cancellation());
    }
  }

  /** Folds an event into the model, and acts on what it concludes. */
  private take(event: DeadmanEvent): void {
    const before = this.state.status;
    const { state, alarms } = stepDeadman(this.state, event);
    this.state = state;
    this.surprises.push(...alarms.filter(({ alarm }) => alarm !== 'assumed_fired').map(({ because }) => because));
    if (state.status === 'assumed_fired' && before !== 'assumed_fired') {
      const because = alarms.find(({ alarm }) => alarm === 'assumed_fired')?.because ?? '';
      this.heartbeat.stop();
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

  /** No beat is sent any more, and what is under way is answered for. */
  private async stopped(): Promise<void> {
    this.heartbeat.stop();
    await this.beats;
    await this.reading;
  }

  private schedule(): void {
    this.heartbeat.schedule(this.state);
  }

  private woke(at: number): void {
    this.take({ type: 'TIME', at: this.parts.clock.now() });
    const due = this.heartbeat.dueBy(at, this.state);
    if (due === 'beat') this.beats = this.beat();
    else if (due === 'reading') this.reading = this.readBack();
    else this.schedule();
  }

  /** Finds out whether the switch stands: somebody else may have taken it away, or it has fired although all was answered. */
  private async readBack(): Promise<void> {
    const { venue, clock, callId } = this.parts;
    const { market, timeoutMs } = this.state;
    if (market === undefined) return;
    this.heartbeat.readAfter(undefined);
    const askedAt = clock.now();
    const answerMs = readAnswerMs(this.state);
    const read = await venue.call({
      id: callId(OWN),
      step: OWN,
      endpoint: 'GET /cancel_all_after',
      params: { market_id: market },
      class: 'protect',
      purpose: 'verify',
      answerMs,
      // It may wait for tokens as long as for its answer: a beat must not stand in line behind it.
      deadlineAt: askedAt + answerMs,
      repeatsMs: deadmanReadEveryMs(timeoutMs),
    });
    const at = clock.now();
    this.heartbeat.readAfter(at + (read.kind === 'confirmed' ? deadmanReadEveryMs(timeoutMs) : timeoutMs));
    if (read.kind === 'confirmed') this.take({ type: 'READ', at, sentAt: read.sentAt ?? askedAt, record: read.result });
    else this.schedule();
  }

  private async beat(): Promise<void> {
    const outcome = await this.post('deadman', 'keep-alive');
    if (outcome.kind === 'confirmed' && this.state.status === 'armed') this.wrote('renewed');
  }

  private wrote(event: 'armed' | 'renewed'): void {
    const { market = '', timeoutMs } = this.state;
    const because = [...new Set(this.surprises.splice(0))].join('; ');
    this.parts.log.append(
      'deadman.moved',
      { event, market, timeoutMs, ...(because === '' ? {} : { because }) },
      'deadman',
    );
  }
}

/** Whether asking again can only be answered the same: refused here, or by the venue in words that are known to be definite. */
function isFinal(outcome: CallOutcome<'POST /cancel_all_after'>): boolean {
  if (outcome.kind === 'rejected') return outcome.failure === 'rejected' && outcome.definite;
  return outcome.kind === 'denied';
}

/** The order behind the switch was never sent, whatever became of the switch: a failure, and no unknown outcome. */
function notArmed(outcome: CallOutcome<'POST /cancel_all_after'>, step: string): StepFailure | Halt {
  const because = (why: string) => `the deadman switch could not be armed (${why}); no order was sent`;
  if (outcome.kind === 'confirmed')
    return new StepFailure('rejected', because('the venue does not say that it is active'), step);
  return failureOfOutcome({ ...outcome, message: because(outcome.message) }, step);
}

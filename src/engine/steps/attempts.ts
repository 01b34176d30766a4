/**
 * Executes the attempts of one step: condition, feeds, work within its timeout, catch clauses, each with its journal entry. The
 * step machine decides what follows an attempt.
 */

import { Decimal, toWholeNumber } from '../../base/decimal.ts';
import { formatSpan } from '../../base/format.ts';
import type { DataOf, DraftOf, ErrorFact, StepOutcome } from '../../journal/entry.ts';
import {
  CATCH_RETRIES,
  type CatchClause,
  type CheckedStep,
  type ErrorKind,
  listExceptions,
} from '../../runbook/checked.ts';
import { getStepRow, isVenueStep, type VenueStep } from '../../runbook/steps/steps.ts';
import { toJson, type Value } from '../../runbook/values.ts';
import { drawChance } from '../../venue/order/identity.ts';
import { Abandoned, Cancellation, FailedBefore, Halt, StepFailure, Stop, toInterruption } from '../interruption.ts';
import { startStepActor } from '../machines.ts';
import { type Frame, StepScope } from '../scope.ts';
import { sleepUntil } from '../waiting.ts';
import { runControl } from './control.ts';
import { makeAttemptPath, mayRetry, StepExecution, type StepPlace } from './execution.ts';
import { runVenueStep } from './verbs.ts';
import type { Walker } from './walker.ts';

export class StepAttempts implements StepPlace {
  readonly walker: Walker;
  readonly step: CheckedStep;
  readonly path: string;
  readonly frame: Frame;
  private remembered: Map<string, unknown> | undefined;
  private readonly cancel: Cancellation;
  private readonly machine = startStepActor();
  private hasEnded = false;
  /** Number of the attempt under way, from 1. */
  private attempt = 0;
  /** The switch fired before the attempt that is next: it fails by that at once, so that the step's clauses take it. */
  private fired: Abandoned | undefined;
  /** What the steps of `undo` see of the step, once they are registered. */
  private undone: { readonly value: Value } | undefined;

  constructor(walker: Walker, step: CheckedStep, frame: Frame, cancel: Cancellation) {
    this.walker = walker;
    this.step = step;
    this.path = frame.pathOf(step.path);
    this.frame = frame;
    this.cancel = cancel;
  }

  get memory(): Map<string, unknown> {
    this.remembered ??= new Map();
    return this.remembered;
  }

  /**
   * Runs the step until it has succeeded, is skipped, or has failed in a way that its `catch` continues from. Throws only what
   * ends a walk (interruption.ts): anything else becomes an InternalFailure of the innermost step.
   */
  run(): Promise<void> {
    return this.attemptAll().catch((error: unknown) => {
      const failure = toInterruption(error, this.path);
      const { cause } = failure;
      if (cause instanceof FailedBefore && cause.step === this.path && !this.hasEnded) this.recordEnd('failed', {});
      throw failure;
    });
  }

  private async attemptAll(): Promise<void> {
    const { step, frame, machine } = this;
    let catchRetries = 0;
    let begun = step.if === undefined;
    for (;;) {
      this.attempt += 1;
      const wanted = begun || (await this.isWanted());
      if (wanted === false) {
        machine.decide('SKIP');
        if (step.id !== undefined) frame.set(step.id, undefined);
        this.recordEnd('skipped', { attempts: 0 });
        return;
      }
      begun = wanted === true;
      const failure = wanted === true ? await this.execute() : wanted;
      if (failure === undefined) return;
      if (failure.kind === 'timeout' && step.onTimeout !== undefined) {
        machine.decide('TIMED_OUT');
        await this.handle(step.onTimeout, failure);
        await this.completeHandled(failure);
        machine.decide('OK');
        this.recordEnd('succeeded', { error: failure.fact });
        return;
      }
      if (mayRetry(step, failure, this.attempt)) {
        await this.backOff(failure);
        continue;
      }
      const clause = await this.findClauseOrEnd(failure);
      if (clause === undefined) {
        machine.decide('FAIL');
        this.recordEnd('failed', { error: failure.fact });
        throw failure;
      }
      machine.decide('CATCH');
      // A clause that takes another failure of the step does its work anew: its orders are others than those of the time before.
      const isAgain = catchRetries > 0;
      const at = { staticPath: step.path, path: makeAttemptPath(this.path, this.attempt) };
      await this.handle(clause.do, failure, isAgain ? at : undefined);
      if (clause.then === 'retry' && catchRetries < CATCH_RETRIES) {
        catchRetries += 1;
        await this.backOff(failure);
        continue;
      }
      if (clause.then === 'continue') {
        await this.completeHandled(failure);
        machine.decide('OK');
        if (step.id !== undefined && frame.find(step.id) === undefined) frame.set(step.id, undefined);
        this.recordEnd('failed', { error: failure.fact });
        return;
      }
      machine.decide('FAIL');
      this.recordEnd('failed', { error: failure.fact });
      if (clause.then === 'stop') throw new Stop('stopped', failure.message);
      throw failure;
    }
  }

  /**
   * Whether the step's `if` holds. A condition that cannot be evaluated fails the step: its `retry` and `catch` apply. Feeds that only
   * its arguments read are left alone: a step that is not wanted must not fail for one of them.
   */
  private async isWanted(): Promise<boolean | StepFailure> {
    const { step, path, frame } = this;
    const { wall, feeds, log } = this.walker.run;
    if (step.if === undefined) return true;
    const now = wall.now();
    try {
      await feeds.ensure(step.ifFeeds, frame.globals.runbook.feeds, new StepScope(frame, wall.now()), path);
      return this.walker.decideCondition('if', step.if, new StepScope(frame, wall.now()), path);
    } catch (error) {
      if (!(error instanceof StepFailure)) throw error;
      log.append('step.started', this.describeStart(now), path);
      return error;
    }
  }

  private describeStart(now: number): DataOf<'step.started'> {
    const { attempt } = this;
    const { verb, id } = this.step;
    return id === undefined ? { verb, attempt, now } : { verb, id, attempt, now };
  }

  /** Makes one attempt. Returns a failure that the runbook may catch, throws any other error. */
  private async execute(): Promise<StepFailure | undefined> {
    const { step, path, frame, machine } = this;
    const { clock, wall, log, heartbeat, feeds } = this.walker.run;
    const startedAt = clock.now();
    const now = wall.now();
    machine.decide('BEGIN');
    log.append('step.started', this.describeStart(now), path);
    const own = new Cancellation(this.cancel, { catchesHalt: catchesHalt(step) });
    const execution = new StepExecution(this, this.attempt, new StepScope(frame, now), own);
    let progress: { end(): void } | undefined;
    let timer: { cancel(): void } | undefined;
    try {
      const { fired } = this;
      this.fired = undefined;
      if (fired !== undefined) throw fired;
      const timeout = execution.evaluateGiven(step.timeout);
      if (timeout !== undefined) {
        timer = clock.at(startedAt + timeout.ms, () =>
          own.cancel('timeout', `${step.verb} took longer than ${formatSpan(timeout.ms)}`),
        );
      }
      progress = heartbeat.beginAttempt(execution.path, timeout === undefined ? undefined : startedAt + timeout.ms);
      if (timeout !== undefined) execution.windowMs = Math.min(execution.windowMs, timeout.ms);
      if (getStepRow(step.verb).readsFeeds !== true)
        await feeds.ensure(step.feeds, frame.globals.runbook.feeds, execution.scope, path);
      const given = isVenueStep(step)
        ? await runVenueStep(execution as StepExecution<VenueStep>)
        : await runControl(execution);
      // A read that was answered too late has timed out. A write has not: its effect exists.
      if (getStepRow(step.verb).retry === 'read') own.check();
      timer?.cancel();
      const lacking = await this.completeTouched(execution);
      if (lacking !== undefined) throw lacking;
      const value = execution.valueBehind?.() ?? given;
      if (step.id !== undefined) frame.set(step.id, value);
      this.registerUndo(value);
      await heartbeat.releaseAfterStep(step.id, frame);
      this.recordEnd('succeeded', step.id === undefined ? {} : { value });
      // An earlier attempt may still be asking, and orders are asked about by the steps that placed them.
      if (this.attempt === 1 && getStepRow(step.verb).retry === 'read') this.walker.run.releaseCalls(path);
      machine.decide('OK');
      return undefined;
    } catch (error) {
      timer?.cancel();
      const caught = toCatchable(error, own, path) ?? toCaughtDoubt(step, error);
      let thrown = error;
      try {
        const failure = await this.completeFailed(execution, caught);
        if (failure !== undefined) return failure.step === execution.path ? failure.withStep(path) : failure;
      } catch (interruption) {
        // The block around it ended while the fills of a failed step were read. The switch ends none: the step's clauses take it.
        if (isFired(interruption)) return new StepFailure('deadman_fired', interruption.message, path);
        thrown = interruption;
      }
      if (thrown instanceof Halt) this.cancel.halt(thrown.message);
      this.recordEndBy(thrown, toErrorFact(thrown, path));
      throw thrown;
    } finally {
      timer?.cancel();
      progress?.end();
      own.close();
    }
  }

  /**
   * Reads the orders that the attempt touched until they are complete. Gives the failure where they are not in time. One that
   * handles a failure reads once and succeeds without their fills: the way out of a position must not wait for them.
   */
  private completeTouched(execution: StepExecution): Promise<StepFailure | undefined> | undefined {
    return execution.touched.size === 0 ? undefined : this.completeAll(execution);
  }

  private completeAll(execution: StepExecution): Promise<StepFailure | undefined> {
    const { windowMs, path } = execution;
    const touched = [...execution.touched];
    // Of an attempt that fails because of this it is not done again.
    execution.touched.clear();
    const isWayOut = this.frame.isHandler && WAYS_OUT.has(this.step.verb);
    const { orderManager } = this.walker.run;
    const request = { step: path, windowMs: isWayOut ? 0 : windowMs, cancel: this.cancel };
    return orderManager.complete(touched, request).then(() => {
      const lacking = isWayOut ? undefined : touched.find(({ incomplete }) => incomplete !== undefined)?.incomplete;
      return lacking === undefined ? undefined : new StepFailure('transport', lacking, this.path);
    });
  }

  /** As above for an attempt that failed: a timeout stays one, another failure is of the fills that do not come. */
  private async completeFailed(
    execution: StepExecution,
    failure: StepFailure | undefined,
  ): Promise<StepFailure | undefined> {
    if (failure === undefined) {
      for (const handle of execution.touched) handle.touch();
      return undefined;
    }
    const lacking = await this.completeTouched(execution);
    return lacking === undefined || failure.kind === 'timeout' || failure.kind === 'unknown_outcome'
      ? failure
      : lacking;
  }

  /** The steps after a handled failure read complete orders again, as far as the venue shows them in time. */
  private async completeHandled({ fact }: StepFailure): Promise<void> {
    const { orderManager, setup } = this.walker.run;
    if (this.frame.isHandler) return;
    try {
      await orderManager.completeHandled({ step: this.path, windowMs: setup.fillsWindowMs, cancel: this.cancel });
    } catch (error) {
      this.recordEndBy(error, fact);
      throw error;
    }
  }

  /** They see the names of their block as they are at the time of undoing, and the step's own value, also where it failed. */
  registerUndo(value: Value): void {
    const { walker, frame, step } = this;
    const { undo, id } = step;
    if (!Array.isArray(undo)) return;
    const isRegistered = this.undone !== undefined;
    this.undone = { value };
    if (isRegistered) return;
    walker.run.undos.push((cancel) => {
      const inner = frame.lastWord();
      if (id !== undefined) inner.set(id, this.undone?.value);
      return walker.cleanUp(undo as readonly CheckedStep[], inner, cancel);
    });
  }

  /** Runs the steps of a catch or on_timeout; an error that they throw ends this step too. */
  private async handle(
    steps: readonly CheckedStep[],
    failure: StepFailure,
    at?: { staticPath: string; path: string },
  ): Promise<void> {
    const { walker, frame } = this;
    const inner = frame.handler(failure.fact, at);
    try {
      await walker.block(steps, inner, this.cancel);
    } catch (error) {
      this.recordEndBy(error, failure.fact);
      throw error;
    }
  }

  /** The clause that takes the failure. A condition of `catch` that cannot be evaluated fails the step. */
  private async findClauseOrEnd(failure: StepFailure): Promise<CatchClause | undefined> {
    try {
      return this.findClause(failure);
    } catch (error) {
      this.machine.decide('FAIL');
      this.recordEnd('failed', { error: error instanceof StepFailure ? error.fact : failure.fact });
      throw error;
    }
  }

  private findClause(failure: StepFailure): CatchClause | undefined {
    const { walker, frame, path } = this;
    for (const clause of this.step.catch) {
      if (!isCaughtBy(clause, failure.kind)) continue;
      if (clause.if === undefined) return clause;
      const scope = new StepScope(frame.handler(failure.fact), walker.run.wall.now());
      if (walker.decideCondition('catch', clause.if, scope, path)) return clause;
    }
    return undefined;
  }

  private async backOff(failure: StepFailure): Promise<void> {
    const { step, path, attempt, machine } = this;
    const { setup, clock, log, heartbeat } = this.walker.run;
    machine.decide('RETRY');
    const delay = computeBackOffMs(step, attempt, failure, drawChance(setup.seed, `${path}~${attempt}`));
    const retryAt = clock.now() + delay;
    log.append('step.retried', { verb: step.verb, attempt, error: failure.fact, retryAt }, path);
    heartbeat.markWaiting(path, retryAt);
    try {
      await sleepUntil(clock, retryAt, this.cancel);
    } catch (error) {
      if (!isFired(error)) throw error;
      this.fired = error;
    }
  }

  /** Records that `error` ends the step. A halt remains one whatever goes wrong here: a run that fails would hide an unknown order. */
  private recordEndBy(error: unknown, fact: ErrorFact | undefined): void {
    const halts = isHalt(error);
    try {
      this.machine.decide(halts ? 'HALT' : 'FAIL');
      this.recordEnd(halts ? 'halted' : error instanceof Stop ? 'succeeded' : 'failed', { error: fact });
    } catch (mistake) {
      if (!halts) throw mistake;
      this.walker.run.onCrash?.(mistake);
    }
  }

  private recordEnd(
    outcome: StepOutcome,
    { attempts = this.attempt, error, value }: { attempts?: number; error?: ErrorFact | undefined; value?: Value },
  ): void {
    const { step, path } = this;
    const { log } = this.walker.run;
    const { verb, id } = step;
    const ended: DraftOf<'step.ended'> =
      id === undefined ? { verb, outcome, attempts } : { verb, id, outcome, attempts };
    if (error !== undefined) ended.error = error;
    if (value !== undefined) ended.value = toJson(value);
    log.append('step.ended', ended, path);
    this.hasEnded = true;
  }
}

/** Steps that end orders, or close what is held. */
const WAYS_OUT: ReadonlySet<CheckedStep['verb']> = new Set(['cancel', 'cancel_all', 'close']);

function isHalt(error: unknown): boolean {
  return error instanceof Halt || (error instanceof Abandoned && error.reason.why === 'halt');
}

function isFired(error: unknown): error is Abandoned {
  return error instanceof Abandoned && error.reason.why === 'deadman';
}

/** The error as one that a runbook may catch; undefined for errors that no catch takes. */
function toCatchable(error: unknown, own: Cancellation, path: string): StepFailure | undefined {
  if (error instanceof StepFailure) return error;
  if (error instanceof Abandoned) {
    if (own.timedOut) return new StepFailure('timeout', error.reason.message, path);
    if (isFired(error)) return new StepFailure('deadman_fired', error.message, path);
  }
  return undefined;
}

/** An unknown outcome halts the run, unless the step's own `catch` names `unknown_outcome`: then its author handles it. */
function toCaughtDoubt(step: CheckedStep, error: unknown): StepFailure | undefined {
  if (!(error instanceof Halt) || error.fact.kind !== 'unknown_outcome') return undefined;
  return catchesHalt(step) ? new StepFailure('unknown_outcome', error.fact.message, error.fact.step ?? '') : undefined;
}

function catchesHalt({ catch: clauses }: CheckedStep): boolean {
  return clauses.some(({ on }) => on !== 'any' && on.includes('unknown_outcome'));
}

function toErrorFact(error: unknown, step: string): ErrorFact | undefined {
  if (error instanceof Halt) return error.fact;
  if (error instanceof Abandoned && !isHalt(error)) {
    return { kind: error.reason.why === 'timeout' ? 'timeout' : 'cancelled', message: error.reason.message, step };
  }
  return undefined;
}

function isCaughtBy(clause: CatchClause, kind: ErrorKind): boolean {
  return clause.on === 'any' ? !listExceptions(clause.then).includes(kind) : clause.on.includes(kind);
}

/** The pause before a retry, ms: exponential from `first`, capped, half of it jittered; at least what the venue asked for. */
function computeBackOffMs(step: CheckedStep, attempt: number, failure: StepFailure, draw: number): number {
  const retry = step.retry;
  const first = new Decimal(retry?.first.ms ?? 250);
  const most = retry?.maxDelay.ms ?? 8000;
  const grown = first.times((retry?.factor ?? new Decimal(2)).pow(attempt - 1));
  const full = toWholeNumber(Decimal.min(most, grown).floor());
  const delay = retry?.jitter === false ? full : full / 2 + (full / 2) * draw;
  return Math.ceil(Math.max(delay, failure.retryAfterMs ?? 0));
}

/**
 * Walks a checked runbook. Blocks are data and are walked here; what a step's attempts lead to is decided by the step
 * machine; what a verb does is in verbs.ts (venue) and control.ts (control flow). A step is: its condition, its feeds,
 * its attempts within its time, then what was caught, and one entry for each of these in the journal.
 */
import { Decimal, wholeNumber } from '../../base/decimal.ts';
import type { ErrorFact } from '../../journal/entry.ts';
import type { CatchClause, CheckedStep, ErrorKind } from '../../runbook/checked.ts';
import { stepRow } from '../../runbook/steps.ts';
import { EvaluationFailure, type Expr, type Value, valueJson } from '../../runbook/values.ts';
import { chance } from '../../venue/order/identity.ts';
import type { RunContext } from '../context.ts';
import { Abandoned, Cancellation, Halt, StepFailure, Stop } from '../interruption.ts';
import { type StepActor, startStepActor } from '../machines.ts';
import { type Frame, StepScope } from '../scope.ts';
import { Pace, sleepUntil } from '../waiting.ts';
import { runControl } from './control.ts';
import { isVenueVerb, runVenueVerb } from './verbs.ts';
import type { StepRun, Walker } from './walker.ts';

/** More `then: retry` than this from one catch is a loop nobody bounded. */
const CATCH_RETRIES = 10;

export class Interpreter implements Walker {
  readonly run: RunContext;
  readonly pace: Pace;

  constructor(run: RunContext) {
    this.run = run;
    this.pace = new Pace(run.clock);
  }

  /** Runs steps in order. A step's name is visible to the steps after it. */
  async block(steps: readonly CheckedStep[], frame: Frame, cancel: Cancellation): Promise<void> {
    for (const step of steps) {
      cancel.check();
      await this.step(step, frame, cancel);
    }
  }

  async step(step: CheckedStep, frame: Frame, cancel: Cancellation): Promise<void> {
    const path = frame.pathOf(step.path);
    await this.attempts(step, path, frame, cancel, startStepActor());
    if (step.id !== undefined && step.id === this.run.setup.until)
      throw new Stop('until', `stopped after ${step.id}, as asked`);
  }

  /** Evaluates with the failure in words a runbook can catch. */
  evaluate<T extends Value>(expr: Expr<T>, scope: StepScope, path: string): T {
    try {
      return expr.evaluate(scope);
    } catch (error) {
      if (error instanceof EvaluationFailure)
        throw new StepFailure('assertion', `${expr.text}: ${error.message}`, path);
      throw error;
    }
  }

  /** Evaluates a condition and writes down what it was decided from. */
  decideCondition(what: string, expr: Expr<boolean>, scope: StepScope, path: string): boolean {
    const value = this.evaluate(expr, scope, path);
    const inputs = Object.fromEntries(
      expr.reads.filter((root) => root !== 'feeds').map((root) => [root, readJson(root, scope)]),
    );
    this.run.log.append('step.decided', { what, expression: expr.text, inputs, value }, path);
    return value;
  }

  /** Whether the step's `if` holds. A condition that can not be told fails the step, and its `retry` and `catch` answer for it. */
  private async wanted(step: CheckedStep, frame: Frame, path: string, attempt: number): Promise<boolean | StepFailure> {
    if (step.if === undefined) return true;
    const now = this.run.wall.now();
    try {
      await this.run.feeds.ensure(
        step.feeds,
        frame.roots.runbook.feeds,
        new StepScope(frame, this.run.wall.now()),
        path,
      );
      return this.decideCondition('if', step.if, new StepScope(frame, this.run.wall.now()), path);
    } catch (error) {
      if (!(error instanceof StepFailure)) throw error;
      this.run.log.append('step.started', { verb: step.verb, ...named(step), attempt, now }, path);
      return error;
    }
  }

  private async attempts(
    step: CheckedStep,
    path: string,
    frame: Frame,
    cancel: Cancellation,
    actor: StepActor,
  ): Promise<void> {
    const memory = new Map<string, unknown>();
    let catchRetries = 0;
    let begun = step.if === undefined;
    for (let attempt = 1; ; attempt += 1) {
      const wanted = begun || (await this.wanted(step, frame, path, attempt));
      if (wanted === false) {
        actor.decide('SKIP');
        if (step.id !== undefined) frame.set(step.id, undefined);
        this.end(step, path, 'skipped', 0);
        return;
      }
      begun = wanted === true;
      const failure = wanted === true ? await this.attempt(step, path, frame, cancel, attempt, memory, actor) : wanted;
      if (failure === undefined) return;
      if (failure.kind === 'timeout' && step.onTimeout !== undefined) {
        actor.decide('TIMED_OUT');
        await this.handled(step.onTimeout, `${path}/on_timeout`, step, frame, failure, cancel, actor, attempt, path);
        actor.decide('OK');
        this.end(step, path, 'succeeded', attempt, failure.fact);
        return;
      }
      if (mayRetry(step, failure, attempt)) {
        await this.backOff(step, path, attempt, failure, cancel, actor);
        continue;
      }
      const clause = await this.clauseFor(step, failure, frame, path);
      if (clause === undefined) {
        actor.decide('FAIL');
        this.end(step, path, 'failed', attempt, failure.fact);
        throw failure;
      }
      actor.decide('CATCH');
      await this.handled(clause.do, `${path}/catch`, step, frame, failure, cancel, actor, attempt, path);
      if (clause.then === 'retry' && catchRetries < CATCH_RETRIES) {
        catchRetries += 1;
        await this.backOff(step, path, attempt, failure, cancel, actor);
        continue;
      }
      if (clause.then === 'continue') {
        actor.decide('OK');
        if (step.id !== undefined && frame.find(step.id) === undefined) frame.set(step.id, undefined);
        this.end(step, path, 'failed', attempt, failure.fact);
        return;
      }
      actor.decide('FAIL');
      this.end(step, path, 'failed', attempt, failure.fact);
      if (clause.then === 'stop') throw new Stop('stopped', failure.message);
      throw failure;
    }
  }

  /** One attempt; gives the failure a runbook may catch, throws what it may not. */
  private async attempt(
    step: CheckedStep,
    path: string,
    frame: Frame,
    cancel: Cancellation,
    attempt: number,
    memory: Map<string, unknown>,
    actor: StepActor,
  ): Promise<StepFailure | undefined> {
    const { clock, wall, log, keeper } = this.run;
    const startedAt = clock.now();
    const now = wall.now();
    actor.decide('BEGIN');
    log.append('step.started', { verb: step.verb, ...named(step), attempt, now }, path);
    const own = new Cancellation(cancel);
    let progress: { end(): void } | undefined;
    let timer: { cancel(): void } | undefined;
    try {
      const scope = new StepScope(frame, now);
      const timeout = step.timeout === undefined ? undefined : this.evaluate(step.timeout, scope, path);
      if (timeout !== undefined) {
        timer = clock.at(startedAt + timeout.ms, () =>
          own.cancel('timeout', `${step.verb} took longer than ${timeout.ms} ms`),
        );
      }
      progress = keeper.began(pathOfAttempt(path, attempt), timeout === undefined ? undefined : startedAt + timeout.ms);
      await this.run.feeds.ensure(step.feeds, frame.roots.runbook.feeds, scope, path);
      const at: StepRun = {
        step,
        path: pathOfAttempt(path, attempt),
        attempt,
        scope,
        frame,
        cancel: own,
        memory,
      };
      const value = isVenueVerb(at) ? await runVenueVerb(this, at) : await runControl(this, at);
      // A read that was answered too late is no read in time. A write is another matter: what it did is done.
      if (stepRow(step.verb).retry === 'read') own.check();
      if (step.id !== undefined) frame.set(step.id, value);
      this.undoLater(step, path, frame);
      await keeper.stepSucceeded(step.id, frame);
      actor.decide('OK');
      this.end(step, path, 'succeeded', attempt, undefined, step.id === undefined ? undefined : value);
      return undefined;
    } catch (error) {
      const failure = failureOf(error, own, path) ?? doubtCaught(step, error);
      if (failure !== undefined) return failure.step === pathOfAttempt(path, attempt) ? failure.at(path) : failure;
      if (error instanceof Halt || (error instanceof Abandoned && error.reason.why === 'halt')) {
        actor.decide('HALT');
        this.end(step, path, 'halted', attempt, error instanceof Halt ? error.fact : undefined);
      } else {
        actor.decide('FAIL');
        this.end(step, path, error instanceof Stop ? 'succeeded' : 'failed', attempt, factOf(error, path));
      }
      throw error;
    } finally {
      timer?.cancel();
      progress?.end();
      own.close();
    }
  }

  /** Steps of `undo` see the names of the block they stand in, as they are when it comes to undoing. */
  private undoLater(step: CheckedStep, path: string, frame: Frame): void {
    const { undo } = step;
    if (!Array.isArray(undo)) return;
    this.run.undos.push({
      path: `${path}/undo`,
      run: (cancel) => this.block(undo as readonly CheckedStep[], frame.inner(), cancel),
    });
  }

  /** Runs the steps of a catch or on_timeout; what they throw ends this step too. */
  private async handled(
    steps: readonly CheckedStep[],
    at: string,
    step: CheckedStep,
    frame: Frame,
    failure: StepFailure,
    cancel: Cancellation,
    actor: StepActor,
    attempt: number,
    path: string,
  ): Promise<void> {
    const inner = frame.inner({ staticPath: frame.staticPath, path: frame.path }, failure.fact);
    try {
      await this.block(steps, inner, cancel);
    } catch (error) {
      const halted = error instanceof Halt || (error instanceof Abandoned && error.reason.why === 'halt');
      actor.decide(halted ? 'HALT' : 'FAIL');
      const outcome = halted ? 'halted' : error instanceof Stop ? 'succeeded' : 'failed';
      this.end(step, path, outcome, attempt, failure.fact);
      if (!(error instanceof Error)) throw new Error(`engine: ${at} threw no error`);
      throw error;
    }
  }

  private async clauseFor(
    step: CheckedStep,
    failure: StepFailure,
    frame: Frame,
    path: string,
  ): Promise<CatchClause | undefined> {
    for (const clause of step.catch) {
      if (!catches(clause, failure.kind)) continue;
      if (clause.if === undefined) return clause;
      const scope = new StepScope(frame.inner(undefined, failure.fact), this.run.wall.now());
      if (this.decideCondition('catch', clause.if, scope, path)) return clause;
    }
    return undefined;
  }

  private async backOff(
    step: CheckedStep,
    path: string,
    attempt: number,
    failure: StepFailure,
    cancel: Cancellation,
    actor: StepActor,
  ): Promise<void> {
    actor.decide('RETRY');
    const delay = backOffMs(step, attempt, failure, chance(this.run.setup.seed, `${path}~${attempt}`));
    const retryAt = this.run.clock.now() + delay;
    this.run.log.append('step.retried', { verb: step.verb, attempt, error: failure.fact, retryAt }, path);
    this.run.keeper.waitsUntil(path, retryAt);
    await sleepUntil(this.run.clock, retryAt, cancel);
  }

  private end(
    step: CheckedStep,
    path: string,
    outcome: 'succeeded' | 'failed' | 'skipped' | 'halted',
    attempts: number,
    error?: ErrorFact,
    value?: Value,
  ): void {
    this.run.log.append(
      'step.ended',
      {
        verb: step.verb,
        ...named(step),
        outcome,
        attempts,
        ...(error === undefined ? {} : { error }),
        ...(value === undefined ? {} : { value: valueJson(value) }),
      },
      path,
    );
  }
}

/** What the calls of an attempt are named after; a step that failed is named without it. */
function pathOfAttempt(path: string, attempt: number): string {
  return attempt === 1 ? path : `${path}~${attempt}`;
}

function named(step: CheckedStep): { id?: string } {
  return step.id === undefined ? {} : { id: step.id };
}

/** A root's value for the journal; what can not be read is not shown rather than stopping the step. */
function readJson(root: string, scope: StepScope): ReturnType<typeof valueJson> {
  const [head = root, field] = root.split('.');
  try {
    const value = scope.get(head);
    if (field === undefined) return valueJson(value);
    return valueJson((value as Record<string, Value> | undefined)?.[field]);
  } catch {
    return null;
  }
}

/** What a runbook may catch of an error; undefined for what passes through every catch. */
function failureOf(error: unknown, own: Cancellation, path: string): StepFailure | undefined {
  if (error instanceof StepFailure) return error;
  if (error instanceof Abandoned) {
    if (own.timedOut) return new StepFailure('timeout', error.reason.message, path);
    if (error.reason.why === 'deadman') return new StepFailure('deadman_fired', error.reason.message, path);
  }
  return undefined;
}

/** An outcome that is not known halts the run, unless the step's own `catch` names it: then its author takes it on. */
function doubtCaught(step: CheckedStep, error: unknown): StepFailure | undefined {
  if (!(error instanceof Halt) || error.fact.kind !== 'unknown_outcome') return undefined;
  const named = step.catch.some(({ on }) => on !== 'any' && on.includes('unknown_outcome'));
  return named ? new StepFailure('unknown_outcome', error.fact.message, error.fact.step ?? '') : undefined;
}

function factOf(error: unknown, step: string): ErrorFact | undefined {
  if (error instanceof Abandoned) {
    return { kind: error.reason.why === 'timeout' ? 'timeout' : 'cancelled', message: error.reason.message, step };
  }
  return undefined;
}

function mayRetry(step: CheckedStep, failure: StepFailure, attempt: number): boolean {
  return step.retry !== undefined && attempt <= step.retry.max && step.retry.on.includes(failure.kind);
}

/**
 * `any` does not take two kinds: an outcome that is not known (it halts), and, with `continue`, a denial: a limit must not
 * be stepped over by a catch that was written for something else (language.md, decision 11).
 */
function catches(clause: CatchClause, kind: ErrorKind): boolean {
  if (clause.on !== 'any') return clause.on.includes(kind);
  if (kind === 'unknown_outcome') return false;
  return !(kind === 'denied' && clause.then === 'continue');
}

/** Exponential from `first`, capped, with half of it jittered; never before what the venue asked for. */
function backOffMs(step: CheckedStep, attempt: number, failure: StepFailure, draw: number): number {
  const retry = step.retry;
  const first = new Decimal(retry?.first.ms ?? 250);
  const most = retry?.maxDelay.ms ?? 8000;
  const grown = first.times((retry?.factor ?? new Decimal(2)).pow(attempt - 1));
  const full = wholeNumber(Decimal.min(most, grown).floor());
  const delay = retry?.jitter === false ? full : full / 2 + (full / 2) * draw;
  return Math.ceil(Math.max(delay, failure.retryAfterMs ?? 0));
}

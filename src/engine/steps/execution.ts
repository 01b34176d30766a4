/**
 * Holds one attempt of one step: the step, its place in the run, the names that its expressions see, and the scope of its waits.
 * Every function that executes a step takes this one object.
 */
import { type Decimal, toWholeNumber } from '../../base/decimal.ts';
import type { CheckedStep } from '../../runbook/checked.ts';
import { requireBoundedValue } from '../../runbook/functions/evaluation.ts';
import { EvaluationFailure, type Expr, type Value } from '../../runbook/values.ts';
import type { RunContext } from '../context.ts';
import { type Cancellation, StepFailure } from '../interruption.ts';
import type { OrderHandle } from '../readings/handles.ts';
import { evaluate, type Frame, type StepScope } from '../scope.ts';
import type { Walker } from './walker.ts';

/** A step at its place in the run, shared by all its attempts. */
export interface StepPlace<S extends CheckedStep = CheckedStep> {
  readonly walker: Walker;
  readonly step: S;
  /** Path with iterations. */
  readonly path: string;
  /** The block that the step is in. */
  readonly frame: Frame;
  /** Kept from one attempt to the next: orders placed so far, by role. */
  readonly memory: Map<string, unknown>;
  /** Registers the steps of `undo`, once for all attempts: what the step did exists, though it may still fail. */
  registerUndo(value: Value): void;
}

export class StepExecution<S extends CheckedStep = CheckedStep> implements StepPlace<S> {
  readonly walker: Walker;
  readonly step: S;
  /** Path with iterations, and `~n` for attempts after the first. */
  readonly path: string;
  readonly frame: Frame;
  readonly attempt: number;
  readonly scope: StepScope;
  /** Cancelled when the step's own timeout is over, or with the block around it. */
  readonly cancel: Cancellation;
  /** The orders that the step hands out: they are read until they are complete, and updated, when its own work has ended. */
  readonly touched = new Set<OrderHandle>();
  /** What the step gives, made when its orders are complete, in place of what its function returned: figures of their fills. */
  valueBehind: (() => Value) | undefined;
  /** How long they are read at most, ms: `fills.window`, or the step's own time if that is shorter. */
  windowMs: number;
  private readonly place: StepPlace<S>;

  constructor(place: StepPlace<S>, attempt: number, scope: StepScope, cancel: Cancellation) {
    this.place = place;
    this.walker = place.walker;
    this.step = place.step;
    this.path = makeAttemptPath(place.path, attempt);
    this.frame = place.frame;
    this.attempt = attempt;
    this.scope = scope;
    this.cancel = cancel;
    this.windowMs = place.walker.run.setup.fillsWindowMs;
  }

  get memory(): Map<string, unknown> {
    return this.place.memory;
  }

  registerUndo(value: Value): void {
    this.place.registerUndo(value);
  }

  get run(): RunContext {
    return this.walker.run;
  }

  get args(): S['args'] {
    return this.step.args;
  }

  /** Evaluates an expression; a fault is a StepFailure `assertion`, which a runbook can catch. */
  evaluate<T extends Value>(expr: Expr<T>, scope = this.scope): T {
    return evaluate(expr, scope, this.path);
  }

  /** Evaluates a count; one that no program can count to is a StepFailure `assertion`. */
  evaluateCount(expr: Expr<Decimal>): number {
    const value = this.evaluate(expr);
    if (value.abs().lte(Number.MAX_SAFE_INTEGER)) return toWholeNumber(value);
    throw new StepFailure('assertion', `${expr.text}: ${value.toFixed()} is too large a count`, this.path);
  }

  /** A value that several evaluations made, held to the bounds of one; one beyond them is a StepFailure `assertion`. */
  requireBounded(value: Value, what: string): void {
    try {
      requireBoundedValue(value, what);
    } catch (error) {
      if (error instanceof EvaluationFailure)
        throw new StepFailure('assertion', `${what}: ${error.message}`, this.path);
      throw error;
    }
  }

  /** Evaluates an argument that may be left out. */
  evaluateGiven<T extends Value>(expr: Expr<T> | undefined): T | undefined {
    return expr === undefined ? undefined : this.evaluate(expr);
  }

  /** Evaluates a condition and journals the values it was decided from. */
  decide(what: string, condition: Expr<boolean>, scope = this.scope): boolean {
    return this.walker.decideCondition(what, condition, scope, this.path);
  }

  /** Runs steps inside this one. */
  block(steps: readonly CheckedStep[], frame: Frame): Promise<void> {
    return this.walker.block(steps, frame, this.cancel);
  }
}

/** The path from which the calls of an attempt get their ids. Errors name a step by its path alone. */
export function makeAttemptPath(path: string, attempt: number): string {
  return attempt === 1 ? path : `${path}~${attempt}`;
}

/** Whether an attempt that failed is followed by another one. */
export function mayRetry({ retry }: CheckedStep, { kind }: StepFailure, attempt: number): boolean {
  return retry !== undefined && attempt <= retry.max && retry.on.includes(kind);
}

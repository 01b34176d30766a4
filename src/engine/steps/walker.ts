/**
 * A step while it runs, and what the verbs may ask of the one who walks the runbook. Between the interpreter, which knows
 * every verb, and the verbs, which know no interpreter.
 */
import type { CheckedStep } from '../../runbook/checked.ts';
import type { Expr, Value } from '../../runbook/values.ts';
import type { RunContext } from '../context.ts';
import type { Cancellation } from '../interruption.ts';
import type { Frame, StepScope } from '../scope.ts';
import type { Pace } from '../waiting.ts';

/** Where a step is, what it sees, and how long it may go on. */
export interface StepRun<S extends CheckedStep = CheckedStep> {
  readonly step: S;
  /** Path with iterations, and `~n` for attempts after the first. */
  readonly path: string;
  readonly attempt: number;
  readonly scope: StepScope;
  readonly frame: Frame;
  readonly cancel: Cancellation;
  /** Kept from one attempt of this step to the next: orders placed so far, by role. */
  readonly memory: Map<string, unknown>;
}

export interface Walker {
  readonly run: RunContext;
  /** Of all loops of the run together. */
  readonly pace: Pace;
  /** Runs steps in order. */
  block(steps: readonly CheckedStep[], frame: Frame, cancel: Cancellation): Promise<void>;
  step(step: CheckedStep, frame: Frame, cancel: Cancellation): Promise<void>;
  /** Evaluates with the failure in words a runbook can catch. */
  evaluate<T extends Value>(expr: Expr<T>, scope: StepScope, path: string): T;
  /** Evaluates a condition and writes down what it was decided from. */
  decideCondition(what: string, expr: Expr<boolean>, scope: StepScope, path: string): boolean;
}

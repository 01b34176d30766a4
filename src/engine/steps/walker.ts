/** The interface of the interpreter towards the steps, so that steps and interpreter do not import each other. */
import type { CheckedStep } from '../../runbook/checked.ts';
import type { Expr } from '../../runbook/values.ts';
import type { RunContext } from '../context.ts';
import type { Cancellation } from '../interruption.ts';
import type { Frame, StepScope } from '../scope.ts';
import type { Pace } from '../waiting.ts';

export interface Walker {
  readonly run: RunContext;
  /** Shared by all loops of the run. */
  readonly pace: Pace;
  /** Runs steps in sequence. */
  block(steps: readonly CheckedStep[], frame: Frame, cancel: Cancellation): Promise<void>;
  /** Runs the steps of an `undo`, an `on_error` or a `finally`. */
  cleanUp(steps: readonly CheckedStep[], frame: Frame, cancel: Cancellation): Promise<void>;
  step(step: CheckedStep, frame: Frame, cancel: Cancellation): Promise<void>;
  /** Evaluates a condition and journals the values it was decided from. */
  decideCondition(what: string, expr: Expr<boolean>, scope: StepScope, path: string): boolean;
}

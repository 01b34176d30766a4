/**
 * Walks the blocks of a checked runbook. The attempts of a step are in attempts.ts; the steps themselves are in verbs.ts (venue)
 * and control.ts (control flow).
 */

import type { CheckedStep } from '../../runbook/checked.ts';
import { type Expr, toJson, type Value } from '../../runbook/values.ts';
import type { RunContext } from '../context.ts';
import { Cancellation, Halt, Stop } from '../interruption.ts';
import { referToOrders } from '../readings/handles.ts';
import { evaluate, type Frame, type StepScope } from '../scope.ts';
import { Pace } from '../waiting.ts';
import { StepAttempts } from './attempts.ts';
import type { Walker } from './walker.ts';

export class Interpreter implements Walker {
  readonly run: RunContext;
  readonly pace: Pace;

  constructor(run: RunContext) {
    this.run = run;
    this.pace = new Pace(run.clock);
  }

  /** Runs steps in sequence. A step's name is visible to the steps after it. */
  async block(steps: readonly CheckedStep[], frame: Frame, cancel: Cancellation): Promise<void> {
    for (const step of steps) {
      cancel.check();
      await this.step(step, frame, cancel);
    }
  }

  /**
   * Runs steps that clean up. After one whose outcome is unknown the rest still run as far as they reduce, and then the run
   * halts: an order that does not end must not keep a position open.
   */
  async cleanUp(steps: readonly CheckedStep[], frame: Frame, cancel: Cancellation): Promise<void> {
    let halt: Halt | undefined;
    for (const step of steps) {
      // A scope for each: a halt of one cancels its own.
      const scope = halt === undefined ? cancel : new Cancellation(undefined, { onlyReduces: true });
      try {
        await this.block([step], frame, scope);
      } catch (error) {
        if (!(error instanceof Halt)) throw halt ?? error;
        halt ??= error;
      }
    }
    if (halt !== undefined) throw halt;
  }

  step(step: CheckedStep, frame: Frame, cancel: Cancellation): Promise<void> {
    return new StepAttempts(this, step, frame, cancel).run().then(() => {
      if (step.id !== undefined && step.id === this.run.setup.until)
        throw new Stop('until', `stopped after ${step.id}, as asked by --until`);
    });
  }

  /** Evaluates a condition and journals the values it was decided from. */
  decideCondition(what: string, expr: Expr<boolean>, scope: StepScope, path: string): boolean {
    const value = evaluate(expr, scope, path);
    const inputs: Record<string, ReturnType<typeof toJson>> = {};
    for (const root of expr.reads) if (root !== 'feeds') inputs[root] = readJson(root, scope);
    this.run.log.append('step.decided', { what, expression: expr.text, inputs, value }, path);
    return value;
  }
}

/** A name's value for the journal; null where it cannot be read, which must not fail the step. */
function readJson(root: string, scope: StepScope): ReturnType<typeof toJson> {
  const dot = root.indexOf('.');
  try {
    if (dot === -1) return toJson(referToOrders(scope.get(root)));
    const record = scope.get(root.slice(0, dot)) as Record<string, Value> | undefined;
    return toJson(record?.[root.slice(dot + 1)]);
  } catch {
    return null;
  }
}

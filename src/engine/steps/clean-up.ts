/** Executes the steps of an `undo`, an `on_error` or a `finally`, of a run and of a runbook that it calls. */
import type { CheckedStep } from '../../runbook/checked.ts';
import { Cancellation, Halt } from '../interruption.ts';
import type { Frame } from '../scope.ts';
import type { Walker } from './walker.ts';

/**
 * Runs steps that clean up. After one whose outcome is unknown the rest still run as far as they reduce, and then the run
 * halts: an order that does not end must not keep a position open. Throws what ended them (interruption.ts).
 */
export async function runCleanUp(
  walker: Walker,
  steps: readonly CheckedStep[],
  frame: Frame,
  cancel: Cancellation,
): Promise<void> {
  let halt: Halt | undefined;
  for (const step of steps) {
    // A scope for each: a halt of one cancels its own.
    const scope = halt === undefined ? cancel : new Cancellation(undefined, { onlyReduces: true });
    try {
      await walker.block([step], frame, scope);
    } catch (error) {
      if (!(error instanceof Halt)) throw halt ?? error;
      halt ??= error;
    }
  }
  if (halt !== undefined) throw halt;
}

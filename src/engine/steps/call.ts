/**
 * Executes `call`: another runbook inside this run. It has names of its own, and limits that can only tighten those of its
 * caller; its failures and its deadman switch are those of the run.
 */
import type { StepOf } from '../../runbook/checked.ts';
import type { Value } from '../../runbook/values.ts';
import { startGlobals } from '../globals.ts';
import { Cancellation, InternalFailure, runEach, StepFailure } from '../interruption.ts';
import { readAllUnseen, requireKept } from '../leaves.ts';
import { Frame, StepScope } from '../scope.ts';
import type { StepExecution } from './execution.ts';

export async function callRunbook(execution: StepExecution<StepOf<'call'>>): Promise<Value> {
  const { run, path } = execution;
  const { runbook: name, with: given } = execution.args;
  const { isHandler, isLastWord, globals: outer } = execution.frame;
  const { limits, runbook: caller } = outer;
  const callee = caller.calls[name];
  if (callee === undefined) throw new Error(`engine: runbook ${name} was not checked with its caller`);
  const inputs: Record<string, Value> = Object.create(null);
  for (const input of callee.inputs) {
    const expr = given[input.name];
    inputs[input.name] = expr === undefined ? input.default : execution.evaluate(expr);
  }
  const globals = await startGlobals(run, callee, inputs, { path, limits });
  const place = { staticPath: '', path: `${path}/` };
  const frame = new Frame(globals, place, undefined, isHandler ? { isLastWord } : undefined);
  const lease = await run.heartbeat.enter(frame, run.wall.now(), path);
  const hold = async () => {
    const prefix = `${path}/`;
    if (callee.leaves.position !== 'open')
      await readAllUnseen(run, callee, { prefix, step: path, cancel: execution.cancel });
    requireKept(run, { runbook: callee, prefix }, path);
  };
  const walk = async () => {
    try {
      await execution.block(callee.steps, frame);
      // A stop that has ended meanwhile is seen now, while its `on_error` can still close: the end of the run may be hours away.
      await hold();
    } catch (error) {
      // In the time of the call: where that is over it does not begin. Beside a branch that has won, a `close` would close its position.
      if (error instanceof StepFailure || error instanceof InternalFailure)
        await execution.walker
          .cleanUp(callee.onError, frame.handler(error.fact), execution.cancel)
          .catch((later: unknown) => {
            // As a run does: its caller handles what went wrong first, of which it cannot learn otherwise.
            throw later instanceof StepFailure ? error : later;
          });
      throw error;
    }
  };
  // The callee's `finally` runs however its steps ended, and its switch is left however that ended.
  const cleanUp = () => {
    const scope = new Cancellation(undefined, { onlyReduces: execution.cancel.onlyReduces });
    return execution.walker.cleanUp(callee.finally, frame.handler(), scope);
  };
  await runEach(
    async () => {
      await runEach(walk, cleanUp);
      // What its `finally` did counts too.
      if (callee.finally.length > 0) await hold();
    },
    () => lease.leave(),
  );
  const scope = new StepScope(frame, run.wall.now());
  return Object.fromEntries(callee.outputs.map(({ name, value }) => [name, execution.evaluate(value, scope)]));
}

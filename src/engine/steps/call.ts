/**
 * `call`: another runbook inside this run. It has its own names and its own limits, which can only be tighter; its
 * failures and its deadman switch are those of the run.
 */
import type { StepOf } from '../../runbook/checked.ts';
import type { Value } from '../../runbook/values.ts';
import { Cancellation, StepFailure } from '../interruption.ts';
import { startRoots } from '../roots.ts';
import { Frame, StepScope } from '../scope.ts';
import type { StepRun, Walker } from './walker.ts';

export async function callRunbook(walker: Walker, at: StepRun<StepOf<'call'>>): Promise<Value> {
  const { runbook: name, with: given } = at.step.args;
  const callee = at.frame.roots.runbook.calls[name];
  if (callee === undefined) throw new Error(`engine: runbook ${name} was not checked with its caller`);
  const inputs: Record<string, Value> = Object.create(null);
  for (const input of callee.inputs) {
    const expr = given[input.name];
    inputs[input.name] = expr === undefined ? input.default : walker.evaluate(expr, at.scope, at.path);
  }
  const { limits } = at.frame.roots;
  const roots = await startRoots(walker.run, callee, inputs, { path: at.path, limits });
  const frame = new Frame(roots, { staticPath: '', path: `${at.path}/` });
  const lease = await walker.run.keeper.enter(frame, walker.run.wall.now(), at.path);
  try {
    await walker.block(callee.steps, frame, at.cancel);
  } catch (error) {
    if (error instanceof StepFailure) await walker.block(callee.onError, frame.inner(undefined, error.fact), at.cancel);
    throw error;
  } finally {
    // What a callee promises at its end is kept however it ended.
    await walker.block(callee.finally, frame.inner(), new Cancellation());
    await lease.leave();
  }
  const scope = new StepScope(frame, walker.run.wall.now());
  return Object.fromEntries(
    callee.outputs.map((output) => [output.name, walker.evaluate(output.value, scope, at.path)]),
  );
}

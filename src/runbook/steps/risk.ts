/**
 * Decides which steps can add risk, and which place orders: a step that adds risk a step may not occur in `finally` and `undo`, and an `on_error` that holds one is left
 * out when a run halts (docs/language.md, How a run ends).
 */
import type { CheckedRunbook, CheckedStep } from '../checked.ts';
import { bindCalls, getStepRow } from './steps.ts';
import { walkSteps } from './walk.ts';

/** Whether one of the steps can add risk, in the blocks inside them and in the runbooks that they call too. */
export function addsRisk(runbook: CheckedRunbook, steps = listBlocks(runbook)): boolean {
  const { limits, calls } = runbook;
  const isReducing = limits?.mode !== undefined && limits.mode !== 'active';
  return [...walkSteps(steps)].some((step) => {
    if (step.verb === 'call') {
      const callee = calls[step.args.runbook];
      return callee !== undefined && addsRisk(callee);
    }
    const passes = step.verb === 'place' && (isReducing || step.allow === 'reduce');
    return getStepRow(step.verb).risk === 'increases' && !passes;
  });
}

/** Whether one of the steps places an order, in the blocks inside them and in the runbooks that they call too. */
export function placesOrders(runbook: CheckedRunbook): boolean {
  return [...walkSteps(listBlocks(runbook))].some((step) => {
    if (step.verb === 'call') {
      const callee = runbook.calls[step.args.runbook];
      return callee !== undefined && placesOrders(callee);
    }
    return bindCalls(step, 'calls').some(({ draft }) => draft !== undefined);
  });
}

function listBlocks({ steps, onError, finally: last }: CheckedRunbook): readonly CheckedStep[] {
  return [...steps, ...onError, ...last];
}

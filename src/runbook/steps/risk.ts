/**
 * Decides which steps can add risk, which place orders, and which read the account. A step that adds risk may not be in `finally` or
 * `undo`, and an `on_error` that holds one is left out when a run halts (docs/language.md, How a run ends).
 */
import { ACCOUNT_POSITION } from '../../venue/port.ts';
import type { CheckedRunbook } from '../checked.ts';
import { bindCalls, getStepRow } from './steps.ts';
import { listAllSteps, listRunbooks, listSteps, walkSteps } from './walk.ts';

/** Whether one of the steps can add risk, in the blocks inside them and in the runbooks that they call too. */
export function addsRisk(runbook: CheckedRunbook, steps = listAllSteps(runbook)): boolean {
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
  return listSteps(runbook).some((step) => bindCalls(step, 'calls').some(({ draft }) => draft !== undefined));
}

/** Whether an expression reads what the account holds, in the runbooks that it calls too. */
export function readsAccount(runbook: CheckedRunbook): boolean {
  const read = listSteps(runbook).flatMap(({ feeds, ifFeeds }) => [...feeds, ...ifFeeds]);
  const values = listRunbooks(runbook).flatMap((each) => [
    ...each.let.map(({ value }) => value),
    ...each.vars.map(({ init }) => init),
  ]);
  return read.includes(ACCOUNT_POSITION) || values.some(({ reads }) => reads.includes(`feeds.${ACCOUNT_POSITION}`));
}

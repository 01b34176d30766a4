/** Decides which steps can add risk, and so may not occur in `finally` and `undo`. */
import type { CheckedRunbook } from '../checked.ts';
import { getStepRow } from '../steps/steps.ts';
import { walkSteps } from '../steps/walk.ts';

/** Whether a runbook holds a step that can add risk, or calls one that does. */
export function addsRisk(runbook: CheckedRunbook): boolean {
  const reducing = runbook.limits?.mode !== undefined && runbook.limits.mode !== 'active';
  return [...walkSteps([...runbook.steps, ...runbook.onError, ...runbook.finally])].some((step) => {
    if (step.verb === 'call') {
      const callee = runbook.calls[step.args.runbook];
      return callee !== undefined && addsRisk(callee);
    }
    return (
      getStepRow(step.verb).risk === 'increases' && !(step.verb === 'place' && (reducing || step.allow === 'reduce'))
    );
  });
}

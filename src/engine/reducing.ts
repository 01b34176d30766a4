/** Decides whether steps run after a halt: only those that add no risk do (docs/language.md, How a run ends). */
import type { CheckedStep } from '../runbook/checked.ts';
import { getStepRow } from '../runbook/steps/steps.ts';
import { walkSteps } from '../runbook/steps/walk.ts';

/** Whether no step adds risk, in the blocks inside them neither. A called runbook may, so it counts as one that does. */
export function areReducing(steps: readonly CheckedStep[]): boolean {
  return [...walkSteps(steps)].every(
    (step) => step.verb !== 'call' && (getStepRow(step.verb).risk !== 'increases' || step.allow === 'reduce'),
  );
}

/** Decides whether steps run after a halt: only those that add no risk do (docs/language.md, How a run ends). */
import type { CheckedStep } from '../runbook/checked.ts';

/** Whether no step adds risk. */
export function areReducing(steps: readonly CheckedStep[]): boolean {
  return steps.every(
    (step) => !['place', 'amend', 'set_leverage', 'call'].includes(step.verb) || step.allow === 'reduce',
  );
}

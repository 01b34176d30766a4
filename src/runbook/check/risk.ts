/** Decides which steps can add risk, and so may not occur in `finally` and `undo`; walks the steps of a checked runbook. */
import type { CheckedRunbook, CheckedStep } from '../checked.ts';
import { getStepRow } from '../steps/steps.ts';

/** The blocks of a step's own steps, without those of its modifiers. */
export function listInnerBlocks(step: CheckedStep): readonly (readonly CheckedStep[])[] {
  switch (step.verb) {
    case 'for_each':
    case 'repeat':
      return [step.args.do];
    case 'parallel':
      return step.args.kind === 'each' ? [step.args.do] : step.args.branches.map((branch) => branch.do);
    case 'switch':
      return [...step.args.cases.map((each) => each.do), ...(step.args.else === undefined ? [] : [step.args.else])];
    case 'wait_for':
      return step.args.kind === 'read' ? [[step.args.read]] : [];
    default:
      return [];
  }
}

/** The blocks of a step's modifiers, which run after a failure. */
function listExceptionalBlocks(step: CheckedStep): readonly (readonly CheckedStep[])[] {
  return [
    ...step.catch.map((clause) => clause.do),
    ...(step.onTimeout === undefined ? [] : [step.onTimeout]),
    ...(typeof step.undo === 'object' ? [step.undo] : []),
  ];
}

/** Yields every step of a list and of the blocks inside it, in reading order. */
export function* walkSteps(steps: readonly CheckedStep[]): Generator<CheckedStep> {
  for (const step of steps) {
    yield step;
    for (const block of [...listInnerBlocks(step), ...listExceptionalBlocks(step)]) yield* walkSteps(block);
  }
}

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

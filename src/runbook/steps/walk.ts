/** Walks the steps of a checked runbook, with those of the blocks inside them. */
import type { CheckedRunbook, CheckedStep } from '../checked.ts';

/** The steps of a runbook's own blocks, without those inside them. */
export function listAllSteps({
  steps,
  onError,
  finally: last,
}: Pick<CheckedRunbook, 'steps' | 'onError' | 'finally'>): readonly CheckedStep[] {
  return [...steps, ...onError, ...last];
}

/** The blocks of a step's own steps, without those of its modifiers. */
export function listInnerBlocks(step: CheckedStep): readonly (readonly CheckedStep[])[] {
  switch (step.verb) {
    case 'for_each':
    case 'repeat':
      return [step.args.do];
    case 'parallel':
      return step.args.kind === 'each' ? [step.args.do] : step.args.branches.map((branch) => branch.do);
    case 'if':
    case 'switch':
      return [...step.args.cases.map((each) => each.do), ...(step.args.else === undefined ? [] : [step.args.else])];
    case 'wait_for':
      return step.args.kind === 'read' ? [[step.args.read]] : [];
    default:
      return [];
  }
}

/** The ids of a block that are visible after it: those of its steps, and of the blocks in them that share their names. */
export function listVisibleIds(steps: readonly CheckedStep[]): readonly string[] {
  return steps.flatMap((step) => {
    const isShared =
      step.verb === 'if' ||
      step.verb === 'switch' ||
      step.verb === 'wait_for' ||
      (step.verb === 'parallel' && step.args.kind === 'branches');
    const inner = isShared ? listInnerBlocks(step).flatMap(listVisibleIds) : [];
    return step.id === undefined ? inner : [...inner, step.id];
  });
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

/** A runbook with those that it calls, at any depth. */
export function listRunbooks(runbook: CheckedRunbook): readonly CheckedRunbook[] {
  return [runbook, ...Object.values(runbook.calls).flatMap(listRunbooks)];
}

/** Every step of a runbook and of those that it calls. */
export function listSteps(runbook: CheckedRunbook): readonly CheckedStep[] {
  return listRunbooks(runbook).flatMap((each) => [...walkSteps(listAllSteps(each))]);
}

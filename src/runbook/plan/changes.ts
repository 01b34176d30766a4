/** The variables that steps change: while these steps may be under way, or may have run, the values are not known. */
import type { CheckedRunbook, CheckedStep } from '../checked.ts';
import { walkSteps } from '../steps/walk.ts';
import type { PlanScope } from './scope.ts';

/** Variables that these steps change are not known while they may be under way. */
export function forgetChanged(steps: readonly CheckedStep[], scope: PlanScope): void {
  for (const step of walkSteps(steps))
    if (step.verb === 'set') for (const { name, value } of step.args.names) scope.assign(name, value, false);
}

export function listChanged(steps: readonly CheckedStep[]): ReadonlySet<string> {
  return new Set(
    [...walkSteps(steps)].flatMap((step) => (step.verb === 'set' ? step.args.names.map(({ name }) => name) : [])),
  );
}

export function listAllSteps({ steps, onError, finally: last }: CheckedRunbook): readonly CheckedStep[] {
  return [...steps, ...onError, ...last];
}

/** As `forgetChanged`, for the handlers of a step: those that lead to another attempt, or to the steps after it. */
export function forgetHandled(step: CheckedStep, when: 'before' | 'after', scope: PlanScope): void {
  for (const { then, do: steps } of step.catch)
    if (then === (when === 'before' ? 'retry' : 'continue')) forgetChanged(steps, scope);
  if (when === 'after') forgetChanged(step.onTimeout ?? [], scope);
}

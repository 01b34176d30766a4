/** Says what a step about orders waits for: what its author wrote, else the default of its kind or of its order. */
import type { AwaitTarget, StepOf } from '../checked.ts';

/** What a step waits for where its author says nothing; an order that never rests is awaited to its end. */
export const AWAITED = { place: 'live', protect: 'live', cancel: 'terminal' } as const satisfies Partial<
  Record<string, AwaitTarget>
>;

/** Whether an order never rests: market, immediate-or-cancel and fill-or-kill. A stop rests until it triggers. */
export function endsAtOnce({ type, tif }: StepOf<'place'>['args']): boolean {
  return type === 'market' || (type === 'limit' && (tif === 'immediate_or_cancel' || tif === 'fill_or_kill'));
}

/** What the step waits for. */
export function findAwaited(step: StepOf<'place' | 'protect' | 'cancel'>): AwaitTarget {
  if (step.await !== undefined) return step.await;
  return step.verb === 'place' && endsAtOnce(step.args) ? 'terminal' : AWAITED[step.verb];
}

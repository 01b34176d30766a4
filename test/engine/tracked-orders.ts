/** Orders of a run as its tracker gives them, in states of one's choice; nothing here asserts. */
import type { TrackedOrder } from '../../src/journal/orders.ts';
import type { OrderState } from '../../src/venue/order/states.ts';
import type { OrderTerms } from '../../src/venue/port.ts';
import { terms as sampleTerms } from '../venue/order-samples.ts';

export const START = Date.UTC(2026, 0, 5, 8);

export function orderOf(state: OrderState, intent: OrderTerms = sampleTerms(), context: object = {}): TrackedOrder {
  const exposed = { intent, filled: '0', recordFilled: '0', fills: new Map(), size: intent.size, ...context };
  return {
    intent,
    step: 'steps/o',
    createdAt: START,
    snapshot: { state, context: exposed },
  } as unknown as TrackedOrder;
}
export const setState = (order: TrackedOrder, state: OrderState) => Object.assign(order.snapshot, { state });
/** What work fails with, by class and kind; undefined where it does not fail. */
export const failureOf = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error) => ({ name: error.constructor.name, kind: error.fact?.kind }),
  );

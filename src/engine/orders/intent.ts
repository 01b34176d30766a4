/** Builds the intent of an order from a step's terms. */
import type { OrderTerms } from '../../venue/port.ts';
import type { Terms } from './parts.ts';

export function makeIntent(terms: Terms, id: string): OrderTerms {
  const { tag: _tag, ...rest } = terms;
  return { clientOrderId: id, ...rest };
}

/** Whether an intent that was never sent has these terms, so that it can be sent for them. */
export function hasSameTerms(intent: OrderTerms, terms: Terms): boolean {
  return (
    intent.market === terms.market &&
    intent.side === terms.side &&
    intent.type === terms.type &&
    intent.size === terms.size &&
    intent.price === terms.price &&
    intent.trigger === terms.trigger &&
    intent.timeInForce === terms.timeInForce
  );
}

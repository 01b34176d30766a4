/** Builds the intent of an order from a step's terms. */
import type { OrderTerms } from '../../venue/port.ts';
import type { Terms } from './parts.ts';

export function makeIntent(terms: Terms, id: string): OrderTerms {
  const { tag: _tag, ...rest } = terms;
  return { clientOrderId: id, ...rest };
}

/** Whether an intent has these terms, so that its order can be sent for them, or is the order that was wanted. */
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

/** Terms in a few words: `limit long 0.01 at 50000`. */
export function describeTerms({ type, side, size, price, trigger }: Terms): string {
  const at = [price === undefined ? '' : ` at ${price}`, trigger === undefined ? '' : ` triggered at ${trigger}`];
  return `${type} ${side} ${size}${at.join('')}`;
}

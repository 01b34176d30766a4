/** Builds the intent of an order from a step's terms, and the parameters of its POST from the intent. */
import type { Params } from '../../venue/catalogue.ts';
import type { OrderTerms } from '../../venue/port.ts';
import type { Terms } from './parts.ts';

export function makeIntent(terms: Terms, id: string): OrderTerms {
  const { tag: _tag, ...rest } = terms;
  return { clientOrderId: id, ...rest };
}

export function makeParams(intent: OrderTerms): Params<'POST /orders'> {
  return {
    market_id: intent.market,
    side: intent.side,
    size: intent.size,
    type: intent.type,
    price: intent.price,
    trigger_price: intent.trigger,
    client_order_id: intent.clientOrderId,
    time_in_force: intent.timeInForce,
  };
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

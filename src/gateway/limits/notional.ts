/**
 * Sums the notional of a run's orders, in quote currency. Each order counts once, with the largest of its notional as
 * placed, as asked by each amend, as in force, and the cost of its fills. Folded from the journal.
 */
import { Decimal, type DecimalString, decimal, formatDecimal } from '../../base/decimal.ts';
import type { DataOf } from '../../journal/entry.ts';
import type { TrackedOrder } from '../../journal/orders.ts';
import { getAction } from '../../venue/catalogue.ts';
import { measuredPrice, type WriteTerms } from '../../venue/limits/check.ts';
import { isPositionStop } from '../../venue/order/context.ts';
import { getExposure } from '../../venue/order/life.ts';
import { countsAsSent } from '../../venue/order/states.ts';

/** Order types whose record shows the price in force. */
const PRICED: ReadonlySet<string> = new Set(['limit', 'stop_limit']);

/** Terms with which an order was sent. */
interface Sent {
  readonly size: DecimalString;
  /** Price at which it was measured then; undefined when none was known. */
  readonly price: DecimalString | undefined;
}

interface Tracked {
  readonly intent: WriteTerms;
  /** Terms by call, without calls that the venue certainly refused. */
  readonly sent: Map<string, Sent>;
  /** Terms of the latest request. */
  asked: Pick<WriteTerms, 'size' | 'price'>;
}

export class SentNotional {
  private readonly orders = new Map<string, Tracked>();

  /** Takes in an attempt of POST or PUT /orders; `last` is the last price seen in its market. */
  addAttempt(call: DataOf<'call.intended'>, last: DecimalString | undefined): void {
    const { reference, intent, clientOrderId = intent?.clientOrderId } = call;
    if (clientOrderId === undefined) return;
    const known = this.orders.get(clientOrderId);
    const action = getAction(call.endpoint);
    if (action === 'place' && intent !== undefined) {
      const tracked = known ?? { intent, sent: new Map<string, Sent>(), asked: intent };
      tracked.asked = intent;
      tracked.sent.set(call.call, { size: intent.size, price: measuredPrice(intent, { reference, last }) });
      this.orders.set(clientOrderId, tracked);
    } else if (action === 'amend' && known !== undefined) {
      const resting = known.asked.price;
      const params = call.params as { readonly price?: unknown; readonly size?: unknown };
      const price = params.price === undefined ? resting : String(params.price);
      const size = params.size === undefined ? known.asked.size : String(params.size);
      known.asked = { size, price };
      const terms = { ...known.intent, price, timeInForce: undefined };
      known.sent.set(call.call, { size, price: measuredPrice(terms, { reference, last, resting }) });
    }
  }

  /** Takes out an amend that was certainly refused, because its terms were never in force. A refused order shows by its state. */
  removeRefused(call: DataOf<'call.intended'>): void {
    if (getAction(call.endpoint) !== 'amend' || call.clientOrderId === undefined) return;
    const known = this.orders.get(call.clientOrderId);
    known?.sent.delete(call.call);
  }

  /** Gives market and latest price of a short limit order; undefined for any other. */
  findRestingShort(clientOrderId: string): { readonly market: string; readonly price: DecimalString } | undefined {
    const { intent, asked } = this.orders.get(clientOrderId) ?? {};
    if (intent?.side !== 'short' || intent.type !== 'limit' || asked?.price === undefined) return undefined;
    return { market: intent.market, price: asked.price };
  }

  /** Gives the largest fraction of the position (at most 1) that a position stop was ever asked for. */
  maxFraction({ intent }: TrackedOrder): DecimalString {
    const sizes = [...(this.orders.get(intent.clientOrderId)?.sent.values() ?? [])].map(({ size }) => decimal(size));
    return formatDecimal(Decimal.min(1, Decimal.max(decimal(intent.size), ...sizes)));
  }

  /** Measures an order, in quote currency; undefined when no price is known. `last` is the market's latest price. */
  measure({ intent, snapshot }: TrackedOrder, last: DecimalString | undefined): Decimal | undefined {
    if (isPositionStop(intent)) return new Decimal(0);
    const { context, state } = snapshot;
    const { filled } = getExposure(snapshot);
    const nothing = !countsAsSent(state);
    if (nothing && filled === '0') return new Decimal(0);
    let most = new Decimal(0);
    for (const fill of context.fills.values()) most = most.plus(decimal(fill.size).times(decimal(fill.price)));
    for (const { size, price = last } of this.orders.get(intent.clientOrderId)?.sent.values() ?? []) {
      if (price === undefined) return undefined;
      most = Decimal.max(most, decimal(nothing ? filled : size).times(decimal(price)));
    }
    // The price that the venue shows for a market or stop_market order means nothing.
    const inForce = !nothing && PRICED.has(intent.type) ? context.price : undefined;
    return inForce === undefined ? most : Decimal.max(most, decimal(context.size).times(decimal(inForce)));
  }

  /** Sums a run's orders, in quote currency; undefined when one of them cannot be measured. */
  sum(orders: readonly TrackedOrder[], last: (market: string) => DecimalString | undefined): DecimalString | undefined {
    let sum = new Decimal(0);
    for (const order of orders) {
      const each = this.measure(order, last(order.intent.market));
      if (each === undefined) return undefined;
      sum = sum.plus(each);
    }
    return formatDecimal(sum);
  }
}

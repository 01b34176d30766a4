/**
 * What the orders of a run come to in quote currency, each once and at the most that it was ever sent or stood for: as it was
 * placed, as each amend asked for it, as it stands, and what its fills cost. Folded from the journal, in order.
 */
import { Decimal, type DecimalString, decimal, decimalText } from '../../base/decimal.ts';
import type { DataOf } from '../../journal/entry.ts';
import type { TrackedOrder } from '../../journal/orders.ts';
import { measuredPrice, type WriteTerms } from '../../venue/limits/check.ts';
import { isPositionStop } from '../../venue/order/context.ts';
import { exposureOf } from '../../venue/order/life.ts';
import { countsAsSent } from '../../venue/order/states.ts';

/** Types whose record shows the price that is in force. */
const PRICED: ReadonlySet<string> = new Set(['limit', 'stop_limit']);

/** Terms under which an order left. */
interface Sent {
  readonly size: DecimalString;
  /** As it was measured then; undefined where nothing could tell. */
  readonly price: DecimalString | undefined;
}

interface Tracked {
  readonly intent: WriteTerms;
  /** Requests by call, those aside that the venue certainly refused. */
  readonly sent: Map<string, Sent>;
  /** Terms last asked for. */
  asked: Pick<WriteTerms, 'size' | 'price'>;
}

export class SentNotional {
  private readonly orders = new Map<string, Tracked>();

  /** A POST or PUT /orders leaves; `last` is what was last seen in its market. */
  attempted(call: DataOf<'call.intended'>, last: DecimalString | undefined): void {
    const { reference, intent, clientOrderId = intent?.clientOrderId } = call;
    if (clientOrderId === undefined) return;
    const known = this.orders.get(clientOrderId);
    if (call.endpoint === 'POST /orders' && intent !== undefined) {
      const tracked = known ?? { intent, sent: new Map<string, Sent>(), asked: intent };
      tracked.asked = intent;
      tracked.sent.set(call.call, { size: intent.size, price: measuredPrice(intent, { reference, last }) });
      this.orders.set(clientOrderId, tracked);
    } else if (call.endpoint === 'PUT /orders' && known !== undefined) {
      const resting = known.asked.price;
      const params = call.params as { readonly price?: unknown; readonly size?: unknown };
      const price = params.price === undefined ? resting : String(params.price);
      const size = params.size === undefined ? known.asked.size : String(params.size);
      known.asked = { size, price };
      const terms = { ...known.intent, price, timeInForce: undefined };
      known.sent.set(call.call, { size, price: measuredPrice(terms, { reference, last, resting }) });
    }
  }

  /** An amend was certainly not taken: its terms never were in force. A refused order is known by its state. */
  refused(call: DataOf<'call.intended'>): void {
    if (call.endpoint !== 'PUT /orders' || call.clientOrderId === undefined) return;
    const known = this.orders.get(call.clientOrderId);
    known?.sent.delete(call.call);
  }

  /** Market and price last asked of a short limit order; undefined for any other. */
  restingShort(clientOrderId: string): { readonly market: string; readonly price: DecimalString } | undefined {
    const { intent, asked } = this.orders.get(clientOrderId) ?? {};
    if (intent?.side !== 'short' || intent.type !== 'limit' || asked?.price === undefined) return undefined;
    return { market: intent.market, price: asked.price };
  }

  /** Of a position stop: the largest fraction it was ever asked to be, but not more than the position. */
  mostAsked({ intent }: TrackedOrder): DecimalString {
    const sizes = [...(this.orders.get(intent.clientOrderId)?.sent.values() ?? [])].map(({ size }) => decimal(size));
    return decimalText(Decimal.min(1, Decimal.max(decimal(intent.size), ...sizes)));
  }

  /** What an order counts for; undefined where it has no price to measure with. `last` as of now. */
  of({ intent, snapshot }: TrackedOrder, last: DecimalString | undefined): Decimal | undefined {
    if (isPositionStop(intent)) return new Decimal(0);
    const { context, state } = snapshot;
    const { filled } = exposureOf(snapshot);
    const nothing = !countsAsSent(state);
    if (nothing && filled === '0') return new Decimal(0);
    let most = new Decimal(0);
    for (const fill of context.fills.values()) most = most.plus(decimal(fill.size).times(decimal(fill.price)));
    for (const { size, price = last } of this.orders.get(intent.clientOrderId)?.sent.values() ?? []) {
      if (price === undefined) return undefined;
      most = Decimal.max(most, decimal(nothing ? filled : size).times(decimal(price)));
    }
    // The venue may show what it likes for the price of a market or stop_market order.
    const inForce = !nothing && PRICED.has(intent.type) ? context.price : undefined;
    return inForce === undefined ? most : Decimal.max(most, decimal(context.size).times(decimal(inForce)));
  }

  /** The sum over a run's orders; undefined where one of them can not be measured. */
  sum(orders: readonly TrackedOrder[], last: (market: string) => DecimalString | undefined): DecimalString | undefined {
    let sum = new Decimal(0);
    for (const order of orders) {
      const each = this.of(order, last(order.intent.market));
      if (each === undefined) return undefined;
      sum = sum.plus(each);
    }
    return decimalText(sum);
  }
}

/**
 * Sums the notional of a run's orders, in quote currency. Each order counts once, with the largest of its notional as
 * placed, as asked by each amend, as in force, and the cost of its fills. Folded from the journal.
 */
import { Decimal, type DecimalString, decimal, formatDecimal } from '../../base/decimal.ts';
import type { DataOf } from '../../journal/entry.ts';
import type { TrackedOrder } from '../../journal/orders.ts';
import { getAction } from '../../venue/catalogue.ts';
import { type Measure, measurePrice, type WriteTerms } from '../../venue/limits/check.ts';
import { isPositionStop, showsPrice } from '../../venue/order/context.ts';
import { getExposure } from '../../venue/order/life.ts';
import { countsAsSent } from '../../venue/order/states.ts';

/** Prices of a market when an order is measured: a recent reading of the price feed, and the last price seen. */
export interface MarketPrices {
  readonly market?: DecimalString | undefined;
  readonly last?: DecimalString | undefined;
}

/** A notional in quote currency; `atLeast`: an order in it is measured by its own price, and may have brought more. */
export interface SummedNotional {
  readonly value: Decimal;
  readonly atLeast: boolean;
}

/** Terms with which an order was sent. */
interface Sent {
  readonly size: DecimalString;
  /** How it was measured then; undefined when no price was known. */
  readonly measure: Measure | undefined;
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

  /** Takes in an attempt of POST or PUT /orders, with the prices of its market. */
  addAttempt(call: DataOf<'call.intended'>, prices: MarketPrices): void {
    const { reference, intent, clientOrderId = intent?.clientOrderId } = call;
    if (clientOrderId === undefined) return;
    const known = this.orders.get(clientOrderId);
    const action = getAction(call.endpoint);
    if (action === 'place' && intent !== undefined) {
      const tracked = known ?? { intent, sent: new Map<string, Sent>(), asked: intent };
      tracked.asked = intent;
      tracked.sent.set(call.call, { size: intent.size, measure: measurePrice(intent, { ...prices, reference }) });
      this.orders.set(clientOrderId, tracked);
    } else if (action === 'amend' && known !== undefined) {
      const resting = known.asked.price;
      const params = call.params as { readonly price?: unknown; readonly size?: unknown };
      const price = params.price === undefined ? resting : String(params.price);
      const size = params.size === undefined ? known.asked.size : String(params.size);
      known.asked = { size, price };
      const terms = { ...known.intent, price, timeInForce: undefined };
      known.sent.set(call.call, { size, measure: measurePrice(terms, { ...prices, reference, resting }) });
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

  /** Measures an order; undefined when no price is known. `last`: the market's latest price. */
  measure({ intent, snapshot }: TrackedOrder, last: DecimalString | undefined): SummedNotional | undefined {
    const { context, state } = snapshot;
    const { filled } = getExposure(snapshot);
    const nothing = !countsAsSent(state);
    if (isPositionStop(intent) || (nothing && filled === '0')) return { value: new Decimal(0), atLeast: false };
    let most = new Decimal(0);
    let atLeast = false;
    for (const fill of context.fills.values()) most = most.plus(decimal(fill.size).times(decimal(fill.price)));
    for (const { size, measure } of this.orders.get(intent.clientOrderId)?.sent.values() ?? []) {
      const price = measure?.atLeast === true ? pickHigher(measure.price, last) : (measure?.price ?? last);
      if (price === undefined) return undefined;
      atLeast ||= measure?.atLeast === true && last === undefined;
      most = Decimal.max(most, decimal(nothing ? filled : size).times(decimal(price)));
    }
    const inForce = !nothing && showsPrice(intent) ? context.price : undefined;
    if (inForce !== undefined) most = Decimal.max(most, decimal(context.size).times(decimal(inForce)));
    return { value: most, atLeast };
  }

  /** Whether what `measure` gives for an order depends on the market's latest price. */
  followsLast(clientOrderId: string): boolean {
    const sent = this.orders.get(clientOrderId)?.sent.values() ?? [];
    return [...sent].some(({ measure }) => measure === undefined || measure.atLeast);
  }
}

function pickHigher(a: DecimalString, b: DecimalString | undefined): DecimalString {
  return b !== undefined && decimal(b).gt(decimal(a)) ? b : a;
}

/**
 * Sums the notional of a run's orders, in quote currency. Each order counts once, with the largest of its notional as
 * placed, as asked by each amend, as in force, and the cost of its fills; on each day with what that added. Folded from the journal.
 */
import { Decimal, type DecimalString, decimal, formatDecimal } from '../../base/decimal.ts';
import type { DataOf } from '../../journal/entry.ts';
import type { TrackedOrder } from '../../journal/orders.ts';
import { getAction } from '../../venue/catalogue.ts';
import { type Measure, measurePrice, type WriteTerms } from '../../venue/limits/check.ts';
import { isPositionStop, showsPrice } from '../../venue/order/context.ts';
import { getExposure } from '../../venue/order/life.ts';
import { countsAsSent } from '../../venue/order/states.ts';
import { sortTraded } from '../../venue/position/position-book.ts';

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

/** What the requests and fills of a UTC day, counted from 1970, added; undefined where no price was known. */
export type NotionalByDay = readonly (readonly [day: number, SummedNotional | undefined])[];

const ZERO = new Decimal(0);
const NOTHING: SummedNotional = { value: ZERO, atLeast: false };
const DAY_MS = 86_400_000;

/** Terms with which an order was sent. */
interface Sent {
  readonly day: number;
  readonly size: DecimalString;
  /** How it was measured then; undefined when no price was known. */
  readonly measure: Measure | undefined;
}

/** A notional that an order may count with; undefined where no price was known. */
interface Figure {
  readonly day: number;
  readonly value: Decimal | undefined;
  readonly atLeast: boolean;
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

  /** Takes in an attempt of POST or PUT /orders at `at`, epoch ms, with the prices of its market. */
  addAttempt(call: DataOf<'call.intended'>, at: number, prices: MarketPrices): void {
    const day = findDay(at);
    const { reference, intent, clientOrderId = intent?.clientOrderId } = call;
    if (clientOrderId === undefined) return;
    const known = this.orders.get(clientOrderId);
    const action = getAction(call.endpoint);
    if (action === 'place' && intent !== undefined) {
      const tracked = known ?? { intent, sent: new Map<string, Sent>(), asked: intent };
      tracked.asked = intent;
      tracked.sent.set(call.call, { day, size: intent.size, measure: measurePrice(intent, { ...prices, reference }) });
      this.orders.set(clientOrderId, tracked);
    } else if (action === 'amend' && known !== undefined) {
      const resting = known.asked.price;
      const params = call.params as { readonly price?: unknown; readonly size?: unknown };
      const price = params.price === undefined ? resting : String(params.price);
      const size = params.size === undefined ? known.asked.size : String(params.size);
      known.asked = { size, price };
      const terms = { ...known.intent, price, timeInForce: undefined };
      known.sent.set(call.call, { day, size, measure: measurePrice(terms, { ...prices, reference, resting }) });
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

  /**
   * Measures an order by day: an order that stays open is amended, and may fill more, on days after the one that placed it. `last`: the
   * market's latest price.
   */
  measure(order: TrackedOrder, last: DecimalString | undefined): NotionalByDay {
    const days: [number, SummedNotional | undefined][] = [];
    let most = ZERO;
    for (const { day, value, atLeast } of this.listFigures(order, last)) {
      const newest = days.at(-1);
      const known = newest?.[0] === day ? newest : ([day, NOTHING] as [number, SummedNotional | undefined]);
      if (known !== newest) days.push(known);
      const grown = value === undefined ? undefined : Decimal.max(most, value);
      known[1] =
        grown === undefined || known[1] === undefined
          ? undefined
          : { value: known[1].value.plus(grown).minus(most), atLeast: known[1].atLeast || atLeast };
      most = grown ?? most;
    }
    return days;
  }

  /** Each figure that an order may count with, and from which day on, the earliest day first. */
  private listFigures(order: TrackedOrder, last: DecimalString | undefined): readonly Figure[] {
    const { intent, createdAt } = order;
    const { context, state } = order.snapshot;
    const { filled } = getExposure(order.snapshot);
    const nothing = !countsAsSent(state);
    if (isPositionStop(intent) || (nothing && filled === '0')) return [];
    const figures: Figure[] = [];
    for (const { day, size, measure } of this.orders.get(intent.clientOrderId)?.sent.values() ?? []) {
      const price = measure?.atLeast === true ? pickHigher(measure.price, last) : (measure?.price ?? last);
      const value = price === undefined ? undefined : decimal(nothing ? filled : size).times(decimal(price));
      figures.push({ day, value, atLeast: measure?.atLeast === true && last === undefined });
    }
    const [first, newest] = [figures[0]?.day ?? findDay(createdAt), figures.at(-1)?.day ?? findDay(createdAt)];
    if (!nothing && showsPrice(intent) && context.price !== undefined)
      figures.push({ day: newest, value: decimal(context.size).times(decimal(context.price)), atLeast: false });
    let cost = ZERO;
    for (const fill of sortTraded(context.fills.values())) {
      cost = cost.plus(decimal(fill.size).times(decimal(fill.price)));
      // By the venue's clock, which may be behind ours.
      figures.push({ day: Math.max(first, findDay(fill.timestamp / 1000)), value: cost, atLeast: false });
    }
    return figures.sort((a, b) => a.day - b.day);
  }

  /** Whether what `measure` gives for an order depends on the market's latest price. */
  followsLast(clientOrderId: string): boolean {
    const sent = this.orders.get(clientOrderId)?.sent.values() ?? [];
    return [...sent].some(({ measure }) => measure === undefined || measure.atLeast);
  }
}

/** The notional of all days; undefined when no price is known. */
export function addUpDays(days: NotionalByDay): SummedNotional | undefined {
  let sum = NOTHING;
  for (const [, day] of days) {
    if (day === undefined) return undefined;
    sum = { value: sum.value.plus(day.value), atLeast: sum.atLeast || day.atLeast };
  }
  return sum;
}

export function findDay(at: number): number {
  return Math.floor(at / DAY_MS);
}

function pickHigher(a: DecimalString, b: DecimalString | undefined): DecimalString {
  return b !== undefined && decimal(b).gt(decimal(a)) ? b : a;
}

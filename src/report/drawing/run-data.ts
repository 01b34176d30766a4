/** Collects what the picture of a run shows, by market: prices, orders with their life, fills, position and net over time. */
import { Decimal, type DecimalString, decimal } from '../../base/decimal.ts';
import type { Entry } from '../../journal/entry.ts';
import { isFraction } from '../../venue/limits/case.ts';
import { isGone } from '../../venue/order/states.ts';
import { computeUnrealized, FLAT, type Position } from '../../venue/position/position.ts';
import type { BookedTrade } from '../../venue/position/position-book.ts';
import type { Side } from '../../venue/records.ts';
import { type FollowedOrder, OrderFold } from '../folds/orders.ts';
import { PriceReadingFold } from '../folds/prices.ts';
import { formatStepName } from '../format.ts';

export interface PricePoint {
  /** Epoch ms. */
  readonly at: number;
  readonly price: Decimal;
}

export interface DrawnOrder {
  readonly side: Side;
  readonly from: number;
  readonly until: number;
  readonly price?: Decimal;
  readonly trigger?: Decimal;
  readonly label: string;
}

export interface DrawnFill {
  readonly at: number;
  readonly side: Side;
  readonly price: Decimal;
  readonly size: DecimalString;
}

/** Position and net at a time. */
export interface MoneyPoint {
  readonly at: number;
  readonly size: Decimal;
  readonly net: Decimal;
}

export interface MarketData {
  readonly market: string;
  readonly prices: readonly PricePoint[];
  readonly orders: readonly DrawnOrder[];
  readonly fills: readonly DrawnFill[];
  readonly money: readonly MoneyPoint[];
}

/** Prices kept of a market; beyond, every second one is dropped, repeatedly. */
const MOST_PRICES = 20_000;

/** Folds the entries of a run, and takes the prices that its market had meanwhile, where they are known. */
export class RunDataFold {
  private readonly orders = new OrderFold();
  private readonly readings = new PriceReadingFold();
  private readonly prices = new Map<string, PricePoint[]>();
  private startedAt = 0;
  private lastAt = 0;

  apply(entry: Entry): void {
    if (entry.type === 'run.started') this.startedAt = entry.data.startedAt;
    this.lastAt = entry.at;
    this.orders.apply(entry);
    this.readings.apply(entry);
  }

  addPrices(market: string, points: readonly PricePoint[]): void {
    const known = this.prices.get(market) ?? [];
    for (const point of points) known.push(point);
    this.prices.set(market, known.length > MOST_PRICES ? known.filter((_point, index) => index % 2 === 0) : known);
  }

  /** The markets in which the run placed orders, else those of which there are prices. */
  collect(): readonly MarketData[] {
    const orders = this.orders.followed();
    const ordered = [...new Set(orders.map(({ order }) => order.intent.market))];
    const markets = ordered.length > 0 ? ordered : [...this.prices.keys()].slice(0, 1);
    return markets.map((market) => {
      const own = orders.filter(({ order }) => order.intent.market === market);
      const trades = this.orders.tracker.positions.trades(market);
      const prices = this.prices.get(market) ?? this.listReadings(market, own);
      return {
        market,
        prices,
        orders: own.map((followed) => this.draw(followed)),
        fills: trades.map(({ fill }) => ({
          at: toMs(fill.timestamp),
          side: fill.side,
          price: decimal(fill.price),
          size: fill.size,
        })),
        money: followMoney(prices, trades, this.startedAt, this.lastAt),
      };
    });
  }

  private draw({ order: { intent, snapshot, createdAt, step }, history }: FollowedOrder): DrawnOrder {
    const end = history.find(({ to }) => isGone(to))?.at ?? this.lastAt;
    const { price } = snapshot.context;
    const of = isFraction(intent.type) ? ' of the position' : '';
    return {
      side: intent.side,
      from: createdAt,
      until: end,
      ...(price === undefined || intent.type === 'market' ? {} : { price: decimal(price) }),
      ...(intent.trigger === undefined ? {} : { trigger: decimal(intent.trigger) }),
      label: `${formatStepName(step, undefined)}: ${intent.type} ${intent.side} ${intent.size}${of}`,
    };
  }

  /** Without the market's own prices, those that the run read. */
  private listReadings(market: string, orders: readonly FollowedOrder[]): readonly PricePoint[] {
    const known = orders.flatMap(
      ({
        order: {
          snapshot: { context },
        },
      }) => (context.price === undefined ? [] : [{ market, price: context.price }]),
    );
    const [series] = this.readings.listReadings(known).filter((each) => each.market === market);
    return (series?.at ?? []).map((at, index) => ({
      at: this.startedAt + at,
      price: decimal(series?.price[index] ?? '0'),
    }));
  }
}

/** Net is realised and unrealised, less fees, at the newest price. */
function followMoney(
  prices: readonly PricePoint[],
  trades: readonly BookedTrade[],
  from: number,
  until: number,
): readonly MoneyPoint[] {
  const moments = [
    ...prices.map(({ at, price }) => ({ at, price, after: undefined })),
    ...trades.map(({ fill, after }) => ({ at: toMs(fill.timestamp), price: decimal(fill.price), after })),
  ].sort((a, b) => a.at - b.at);
  let position: Position = FLAT;
  let last = new Decimal(0);
  const points: MoneyPoint[] = [{ at: from, size: position.size, net: new Decimal(0) }];
  const add = (at: number) =>
    points.push({
      at,
      size: position.size,
      net: position.realized.plus(computeUnrealized(position, last)).minus(position.fees),
    });
  for (const { at, price, after } of moments) {
    if (after !== undefined) position = after;
    last = price;
    add(at);
  }
  add(until);
  return points;
}

function toMs(us: number): number {
  return Math.floor(us / 1000);
}

/**
 * Folds the money of a run by market: its position, realised and unrealised PnL, fees, slippage, largest exposure and drawdown
 * (docs/audit.md, The JSON of a run). It counts the run's own fills alone; the tracker's `PositionBook` adds them up.
 */
import { Decimal, type DecimalString, decimal, formatDecimal, parseDecimal } from '../../base/decimal.ts';
import type { DataOf, Entry } from '../../journal/entry.ts';
import type { OrderTracker, TrackedOrder } from '../../journal/orders.ts';
import { computeUnrealized, formatRounded, getAverageEntry, type Position } from '../../venue/position/position.ts';
import type { BookedTrade } from '../../venue/position/position-book.ts';
import { isPriceNear } from './market-price.ts';

/** Decimals of quote currency, but for `position`. */
export interface MarketMoney {
  /** Net size of the run's fills, base currency, long positive. */
  readonly position: DecimalString;
  /** By average cost; absent without a position. */
  readonly averageEntry?: DecimalString;
  /** By average cost, without fees. */
  readonly realized: DecimalString;
  /** Of the position, at the last price that the run saw; absent where it saw none. */
  readonly unrealized?: DecimalString;
  /** Negative where rebates exceed the fees. */
  readonly fees: DecimalString;
  /** Realised and unrealised, less fees. */
  readonly net: DecimalString;
  /**
   * (Fill − price when it was decided) × size, positive where the fill was worse. A stop or take-profit is measured from its
   * trigger. Absent where the run did not see a price before an order that filled.
   */
  readonly slippage?: DecimalString;
  /** The largest size × price, long or short, at the prices then. */
  readonly maxExposure: DecimalString;
  /** How long the run held a position, ms. */
  readonly timeInMarketMs: number;
  /** The largest fall of realised and unrealised, less fees, from its highest until then. */
  readonly maxDrawdown: DecimalString;
}

export type RunMoney = Readonly<Record<string, MarketMoney>>;

interface Reading {
  readonly key: string | undefined;
  readonly price: DecimalString;
}

/** What only the way to the result shows; prices and fills count in the order of the journal. */
interface Path {
  peak: Decimal;
  drawdown: Decimal;
  exposure: Decimal;
}

const ZERO = new Decimal(0);

export class MoneyFold {
  /** The newest reading of each feed, the newest last. */
  private readonly readings = new Map<string, Reading>();
  private readonly paths = new Map<string, Path>();
  /** The trades that are part of their market's path, each with the position after it. */
  private readonly seen = new WeakSet<BookedTrade>();
  /** The prices from which an order is measured, the best first; by client order id. */
  private readonly decided = new Map<string, readonly DecimalString[]>();
  private readonly markets = new Set<string>();
  private lastAt = 0;

  /** Applies an entry that `tracker` has applied. */
  apply(entry: Entry, tracker: OrderTracker): void {
    this.lastAt = entry.at;
    if (entry.type === 'call.intended') this.noteIntent(entry.data);
    else if (entry.type === 'feed.read') this.noteReading(entry.data, tracker);
    else if (entry.type === 'call.settled') this.followTrades(tracker);
  }

  /** The newest reading that is a price of the market; undefined where the run saw none. */
  findLastPrice(market: string, tracker: OrderTracker): DecimalString | undefined {
    const price = this.findPrice(market, tracker.positions.trades(market).at(-1));
    return price === undefined ? undefined : formatDecimal(price);
  }

  /** By market, of every market in which the run intended an order. */
  collect(tracker: OrderTracker): RunMoney {
    const orders = tracker.orders();
    const rows = [...this.markets].map((market) => {
      const here = orders.filter(({ intent }) => intent.market === market);
      return [market, this.sumMarket(market, here, tracker)] as const;
    });
    return Object.fromEntries(rows);
  }

  private sumMarket(market: string, orders: readonly TrackedOrder[], tracker: OrderTracker): MarketMoney {
    const position = tracker.positions.position(market);
    const last = this.findPrice(market, tracker.positions.trades(market).at(-1));
    const averageEntry = getAverageEntry(position);
    const realized = formatRounded(position.realized);
    const unrealized = last === undefined ? undefined : formatRounded(computeUnrealized(position, last));
    const slippage = this.sumSlippage(orders);
    const path = this.paths.get(market);
    return {
      position: formatDecimal(position.size),
      ...(averageEntry === undefined ? {} : { averageEntry }),
      realized,
      ...(unrealized === undefined ? {} : { unrealized }),
      fees: formatDecimal(position.fees),
      net: formatDecimal(
        decimal(realized)
          .plus(decimal(unrealized ?? '0'))
          .minus(position.fees),
      ),
      ...(slippage === undefined ? {} : { slippage }),
      maxExposure: formatDecimal(path?.exposure ?? ZERO),
      timeInMarketMs: measureHeld(tracker.positions.trades(market), this.lastAt),
      maxDrawdown: formatRounded(path?.drawdown ?? ZERO),
    };
  }

  private noteIntent({ intent, reference }: DataOf<'call.intended'>): void {
    if (intent === undefined || this.decided.has(intent.clientOrderId)) return;
    this.markets.add(intent.market);
    const own = intent.trigger ?? reference;
    const prices = own === undefined ? this.listReadings(intent.market) : [own];
    this.decided.set(intent.clientOrderId, prices);
  }

  private noteReading({ name, key, value }: DataOf<'feed.read'>, tracker: OrderTracker): void {
    if (value === undefined || parseDecimal(value) === undefined) return;
    const id = JSON.stringify([name, key]);
    this.readings.delete(id);
    this.readings.set(id, { key, price: value });
    for (const market of key === undefined ? this.markets : [key]) {
      const last = tracker.positions.trades(market).at(-1);
      const path = this.paths.get(market);
      if (last === undefined || path === undefined || last.after.size.isZero()) continue;
      if ((key ?? this.findOnlyMarket()) !== market || !isPriceNear(decimal(value), decimal(last.fill.price))) continue;
      notePoint(path, last.after, decimal(value));
    }
  }

  private followTrades(tracker: OrderTracker): void {
    for (const market of tracker.positions.markets()) {
      const trades = tracker.positions.trades(market);
      const path = this.paths.get(market) ?? { peak: ZERO, drawdown: ZERO, exposure: ZERO };
      this.paths.set(market, path);
      // A fill that is read after others that traded behind it changes the position after each of these too.
      let first = trades.length;
      while (first > 0 && !this.seen.has(trades[first - 1] as BookedTrade)) first -= 1;
      for (const trade of trades.slice(first)) {
        this.seen.add(trade);
        notePoint(path, trade.after, decimal(trade.fill.price));
      }
    }
  }

  /** The newest reading that is a price of the market; undefined where there is none. */
  private findPrice(market: string, trade: BookedTrade | undefined): Decimal | undefined {
    const near = this.listReadings(market).map(decimal);
    return trade === undefined ? near[0] : near.find((price) => isPriceNear(price, decimal(trade.fill.price)));
  }

  /** Readings that may be prices of a market, the newest first. */
  private listReadings(market: string): readonly DecimalString[] {
    return [...this.readings.values()]
      .filter(({ key }) => (key ?? this.findOnlyMarket()) === market)
      .map(({ price }) => price)
      .reverse();
  }

  /** The market of feeds that name none. */
  private findOnlyMarket(): string | undefined {
    const [only, second] = this.markets;
    return second === undefined ? only : undefined;
  }

  private sumSlippage(orders: readonly TrackedOrder[]): DecimalString | undefined {
    let sum = ZERO;
    let isMeasured = false;
    for (const { intent, snapshot } of orders) {
      for (const fill of snapshot.context.fills.values()) {
        const price = decimal(fill.price);
        const decided = this.decided.get(intent.clientOrderId)?.map(decimal);
        const from = decided?.find((each) => isPriceNear(each, price));
        if (from === undefined) return undefined;
        const worse = fill.side === 'long' ? price.minus(from) : from.minus(price);
        sum = sum.plus(worse.times(decimal(fill.size)));
        isMeasured = true;
      }
    }
    return isMeasured ? formatDecimal(sum) : undefined;
  }
}

/** How long there was a position until a time, ms. Fills have the times of the venue. */
function measureHeld(trades: readonly BookedTrade[], until: number): number {
  let heldMs = 0;
  let since: number | undefined;
  for (const { fill, after } of trades) {
    const at = Math.floor(fill.timestamp / 1000);
    if (!after.size.isZero()) since ??= at;
    else if (since !== undefined) {
      heldMs += at - since;
      since = undefined;
    }
  }
  return heldMs + (since === undefined ? 0 : Math.max(0, until - since));
}

function notePoint(path: Path, position: Position, price: Decimal): void {
  const equity = position.realized.plus(computeUnrealized(position, price)).minus(position.fees);
  path.peak = Decimal.max(path.peak, equity);
  path.drawdown = Decimal.max(path.drawdown, path.peak.minus(equity));
  path.exposure = Decimal.max(path.exposure, position.size.times(price).abs());
}

/**
 * Folds the prices a run read, by market and feed; the page draws them behind the orders. A feed that is not a price of the
 * market (a rate, a volume) is recognised by comparing it with the prices of the run's orders, and left out. Prices stay texts.
 */
import { type DecimalString, parseDecimal } from '../../base/decimal.ts';
import type { Entry } from '../../journal/entry.ts';
import { isPriceNear } from '../results/market-price.ts';

export interface PriceReadings {
  readonly market: string;
  readonly feed: string;
  /** Columns of equal length: ms since the run began, the price, the entry. */
  readonly at: readonly number[];
  readonly price: readonly DecimalString[];
  readonly seq: readonly number[];
}

/** Readings kept of one feed; beyond this number every second one is dropped, repeatedly. */
const MOST_READINGS = 4000;

interface Series {
  readonly feed: string;
  readonly key: string | undefined;
  stride: number;
  count: number;
  rows: { readonly at: number; readonly price: DecimalString; readonly seq: number }[];
}

export class PriceReadingFold {
  private readonly series = new Map<string, Series>();
  private startedAt = 0;

  apply(entry: Entry): void {
    if (entry.type === 'run.started') this.startedAt = entry.data.startedAt;
    if (entry.type !== 'feed.read' || entry.data.value === undefined) return;
    if (parseDecimal(entry.data.value) === undefined) return;
    const { name, key, value, at } = entry.data;
    const id = `${name} ${key ?? ''}`;
    const series = this.series.get(id) ?? { feed: name, key, stride: 1, count: 0, rows: [] };
    this.series.set(id, series);
    series.count += 1;
    if (series.count % series.stride !== 0) return;
    const when = (at ?? entry.at) - this.startedAt;
    const last = series.rows.at(-1);
    // The same reading, read again before it changed.
    if (last?.price === value && last.at === when) return;
    series.rows.push({ at: when, price: value, seq: entry.seq });
    if (series.rows.length <= MOST_READINGS) return;
    series.rows = series.rows.filter((_row, index) => index % 2 === 0);
    series.stride *= 2;
  }

  /** `orders`: market and price of each of the run's orders. */
  listReadings(
    orders: readonly { readonly market: string; readonly price: DecimalString }[],
  ): readonly PriceReadings[] {
    const markets = [...new Set(orders.map((order) => order.market))];
    const [onlyMarket] = markets.length === 1 ? markets : [];
    return [...this.series.values()].flatMap(({ feed, key, rows }) => {
      const market = key ?? onlyMarket;
      const known = orders.find((order) => order.market === market);
      const [first] = rows;
      if (market === undefined || first === undefined) return [];
      if (known !== undefined && !isPriceNear(parseDecimal(first.price), parseDecimal(known.price))) return [];
      const sorted = rows.toSorted((a, b) => a.at - b.at);
      return [
        {
          market,
          feed,
          at: sorted.map((row) => row.at),
          price: sorted.map((row) => row.price),
          seq: sorted.map((row) => row.seq),
        },
      ];
    });
  }
}

/** Reads public data of a market: the price feeds and the record of GET /markets. */
import { type DecimalString, formatDecimal } from '../../../base/decimal.ts';
import type { PricePath } from '../price/prices.ts';
import type { Market } from './matching.ts';

/** The value of each feed at a step, in ticks. `last` is the side toward which the price moved at that step. */
const FEEDS = {
  mid: (path: PricePath, step: number) => path.getQuote(step).mid,
  bid: (path: PricePath, step: number) => path.getQuote(step).bid,
  ask: (path: PricePath, step: number) => path.getQuote(step).ask,
  mark: (path: PricePath, step: number) => path.getQuote(step).mid,
  index: (path: PricePath, step: number) => path.getQuote(step).mid,
  last: (path: PricePath, step: number) =>
    path.getMid(step) >= path.getMid(Math.max(0, step - 1)) ? path.getQuote(step).ask : path.getQuote(step).bid,
} as const;
export type FeedName = keyof typeof FEEDS;

export function isFeedName(name: string): name is FeedName {
  return Object.hasOwn(FEEDS, name);
}

export function readFeedPrice(market: Market, name: FeedName, at: number): DecimalString {
  return formatDecimal(market.grid.toPrice(FEEDS[name](market.path, market.path.getStepAt(at))));
}

/** A record of GET /markets, in the simulator's own form: venue-api.md names market info and does not describe it. */
interface MarketRecord {
  readonly id: string;
  readonly fair_price: DecimalString;
  readonly index_price: DecimalString;
  readonly last_trade_price: DecimalString;
  readonly best_bid: DecimalString;
  readonly best_ask: DecimalString;
  readonly min_tick: DecimalString;
  readonly min_order: DecimalString;
}

export function buildMarketRecord(market: Market, at: number): MarketRecord {
  return {
    id: market.id,
    fair_price: readFeedPrice(market, 'mark', at),
    index_price: readFeedPrice(market, 'index', at),
    last_trade_price: readFeedPrice(market, 'last', at),
    best_bid: readFeedPrice(market, 'bid', at),
    best_ask: readFeedPrice(market, 'ask', at),
    min_tick: formatDecimal(market.grid.tick),
    min_order: formatDecimal(market.lot),
  };
}

/** What can be read of a market without an account: the names of feeds, and the record of GET /markets. */
import { type DecimalString, decimalText } from '../../../base/decimal.ts';
import type { Market } from './matching.ts';
import type { PricePath } from './prices.ts';

/** Where each feed stands at a step, in ticks. `last` is the side that the price moved to at its last step. */
const FEEDS = {
  mid: (path: PricePath, step: number) => path.quote(step).mid,
  bid: (path: PricePath, step: number) => path.quote(step).bid,
  ask: (path: PricePath, step: number) => path.quote(step).ask,
  mark: (path: PricePath, step: number) => path.quote(step).mid,
  index: (path: PricePath, step: number) => path.quote(step).mid,
  last: (path: PricePath, step: number) =>
    path.mid(step) >= path.mid(Math.max(0, step - 1)) ? path.quote(step).ask : path.quote(step).bid,
} as const;
type FeedName = keyof typeof FEEDS;

export function isFeedName(name: string): name is FeedName {
  return Object.hasOwn(FEEDS, name);
}

export function feedPrice(market: Market, name: FeedName, at: number): DecimalString {
  return decimalText(market.grid.price(FEEDS[name](market.path, market.path.stepAt(at))));
}

/** A record of GET /markets, which is this simulator's own: venue-api.md names market info and does not show it. */
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

export function marketRecord(market: Market, at: number): MarketRecord {
  return {
    id: market.id,
    fair_price: feedPrice(market, 'mark', at),
    index_price: feedPrice(market, 'index', at),
    last_trade_price: feedPrice(market, 'last', at),
    best_bid: feedPrice(market, 'bid', at),
    best_ask: feedPrice(market, 'ask', at),
    min_tick: decimalText(market.grid.tick),
    min_order: decimalText(market.lot),
  };
}

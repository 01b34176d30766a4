/**
 * Keeps the positions of many fills by market, up to date with each fill, whatever the order in which fills become known: they
 * count in the order in which they traded. A repeated fill counts once; a corrected one with the larger size, as in its order.
 */

import { findFirst } from '../../base/json.ts';
import { replacesFill } from '../order/fills.ts';
import { type FillRecord, makeRecord } from '../records.ts';
import { addTrade, FLAT, type Position, type StatedPosition, statePosition } from './position.ts';

/** A fill, and the position after it. */
export interface BookedTrade {
  readonly fill: FillRecord;
  /** The position that a person stated at that time, in place of a fill. */
  readonly stated?: StatedPosition;
  readonly after: Position;
}

interface MarketTrades {
  /** In the order in which they traded. */
  readonly trades: BookedTrade[];
  readonly byId: Map<string, FillRecord>;
  /** Each fill as it was booked, corrections included, in the order in which they became known. */
  readonly booked: FillRecord[];
}

export class PositionBook {
  private readonly byMarket = new Map<string, MarketTrades>();

  /** The position in a market; flat where nothing traded. */
  position(market: string): Position {
    return this.byMarket.get(market)?.trades.at(-1)?.after ?? FLAT;
  }

  /** The fills of a market in the order in which they traded. */
  trades(market: string): readonly BookedTrade[] {
    return this.byMarket.get(market)?.trades ?? [];
  }

  /** What `add` has taken in, corrections included, in the order in which it became known: who follows a book takes what is new. */
  booked(market: string): readonly FillRecord[] {
    return this.byMarket.get(market)?.booked ?? [];
  }

  markets(): readonly string[] {
    return [...this.byMarket.keys()];
  }

  /** Adds a fill; gives the index of the first trade whose position it changed, undefined where it changed nothing. */
  add(market: string, fill: FillRecord): number | undefined {
    const { trades, byId, booked } = this.findTrades(market);
    const before = byId.get(fill.id);
    if (!replacesFill(before, fill)) return undefined;
    booked.push(fill);
    byId.set(fill.id, fill);
    if (before !== undefined)
      trades.splice(
        trades.findIndex((trade) => trade.fill.id === fill.id),
        1,
      );
    let at = trades.length;
    while (at > 0 && tradedAfter(trades[at - 1] as BookedTrade, fill)) at -= 1;
    // A fill that is replaced may move: then everything is folded anew.
    const first = before === undefined ? at : 0;
    trades.splice(at, 0, { fill, after: FLAT });
    foldFrom(trades, first);
    return first;
  }

  /** Counts what a person states as the position at a time, epoch µs: fills before it count no more for the size. */
  state(market: string, at: number, stated: StatedPosition): void {
    const { trades } = this.findTrades(market);
    let index = trades.length;
    while (index > 0 && (trades[index - 1]?.fill.timestamp ?? 0) > at) index -= 1;
    trades.splice(index, 0, { fill: makeRecord('fill', { market_id: market, timestamp: at }), stated, after: FLAT });
    foldFrom(trades, index);
  }

  private findTrades(market: string): MarketTrades {
    const known = this.byMarket.get(market) ?? { trades: [], byId: new Map<string, FillRecord>(), booked: [] };
    this.byMarket.set(market, known);
    return known;
  }

  /** The position in a market as it was at a time, epoch µs, by the fills that traded before it. */
  positionAt(market: string, at: number): Position {
    const trades = this.trades(market);
    const first = findFirst(trades.length, (index) => (trades[index]?.fill.timestamp ?? 0) >= at);
    return trades[first - 1]?.after ?? FLAT;
  }
}

/** In the order in which they traded. */
export function sortTraded<F extends Traded>(fills: Iterable<F>): readonly F[] {
  return [...fills].sort(compareTraded);
}

type Traded = Pick<FillRecord, 'timestamp' | 'id'>;

/**
 * The venue counts its fills up: an order that takes from several others has fills of one instant, and lists of the venue have these
 * in either order.
 */
export function compareTraded(a: Traded, b: Traded): number {
  if (a.timestamp !== b.timestamp) return a.timestamp - b.timestamp;
  const [one, other] = [a, b].map(({ id }) => /[1-9]\d*$/.exec(id)?.[0] ?? '') as [string, string];
  return one.length - other.length || (one < other ? -1 : one > other ? 1 : 0);
}

/** What was stated has all until then. */
function tradedAfter({ fill, stated }: BookedTrade, other: FillRecord): boolean {
  return stated === undefined ? compareTraded(fill, other) > 0 : fill.timestamp >= other.timestamp;
}

function foldFrom(trades: BookedTrade[], first: number): void {
  let after = trades[first - 1]?.after ?? FLAT;
  for (let index = first; index < trades.length; index += 1) {
    const trade = trades[index] as BookedTrade;
    after = trade.stated === undefined ? addTrade(after, trade.fill) : statePosition(after, trade.stated);
    trades[index] = { ...trade, after };
  }
}

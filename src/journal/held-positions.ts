/**
 * Derives the position per market, as far as a run can know it: from its own orders, each with the larger of its fills as read
 * and as its records say, and from the account's fills where a list showed them. Single fills of others prove nothing, because
 * the position that they changed is unknown; a complete list that reaches back far enough does.
 */
import { Decimal, type DecimalString, decimal, formatDecimal } from '../base/decimal.ts';
import { type PositionFact, PROVING_LIST } from '../venue/limits/check.ts';
import type { OrderSnapshot } from '../venue/order/context.ts';
import { computeShortfall } from '../venue/order/fills.ts';
import { getExposure, isEndUnseen } from '../venue/order/life.ts';
import type { OrderTerms } from '../venue/port.ts';
import type { FillRecord } from '../venue/records.ts';
import type { DataOf } from './entry.ts';

/** Net size in base currency, long positive: the least and the most it may be. */
interface Range {
  readonly least: Decimal;
  readonly most: Decimal;
}
const FLAT: Range = { least: new Decimal(0), most: new Decimal(0) };

/** A list of fills without gaps, from `sinceUs` until it was read; of one market, or of all. */
interface WholeList {
  /** Epoch µs; 0 for the whole history. */
  readonly sinceUs: number;
  /** Epoch ms when its first page was requested. */
  readonly readAt: number;
}

interface OwnOrder {
  readonly intent: OrderTerms;
  readonly snapshot: OrderSnapshot;
}

/** The run's own orders; an `OrderTracker` has them. */
interface OwnOrders {
  orders(): readonly OwnOrder[];
  byId(orderId: string): OwnOrder | undefined;
}

export class HeldPositions {
  private readonly fills = new Map<string, FillRecord>();
  private readonly lists = new Map<string, WholeList>();
  /** Lists of several pages that are being read: by their query, the next page. */
  private readonly inProgress = new Map<string, { readonly list: WholeList; readonly nextPage: number }>();

  /** Takes in a confirmed GET /fills or GET /fills/order; returns the new fills. */
  take(call: DataOf<'call.intended'>, records: readonly FillRecord[], readAt: number): readonly FillRecord[] {
    const added = records.filter(({ id }) => !this.fills.has(id));
    for (const fill of added) this.fills.set(fill.id, fill);
    if (call.params['order_id'] === undefined) this.trackList(call, records.length, readAt);
    return added;
  }

  /** Gives the facts of every market with an order of the run or a fill. */
  collectFacts(tracker: OwnOrders, now: number): Readonly<Record<string, PositionFact>> {
    const own = new Map<string, { range: Range; unread: string[] }>();
    for (const order of tracker.orders()) {
      const { market } = order.intent;
      const before = own.get(market) ?? { range: FLAT, unread: [] };
      own.set(market, addOrder(before, order));
    }
    const others = new Map<string, FillRecord[]>();
    for (const fill of this.fills.values()) {
      if (tracker.byId(fill.order_id) !== undefined) continue;
      const known = others.get(fill.market_id);
      if (known === undefined) others.set(fill.market_id, [fill]);
      else known.push(fill);
    }
    const facts: Record<string, PositionFact> = Object.create(null);
    for (const market of new Set([...own.keys(), ...others.keys()])) {
      const { range, unread } = own.get(market) ?? { range: FLAT, unread: [] };
      facts[market] = buildFact(range, unread, others.get(market) ?? [], this.findList(market, now));
    }
    return facts;
  }

  /**
   * The net size in a market that the account holds beside the run's own fills, long positive, where a whole list proves it;
   * undefined where none does.
   */
  findProvenHeld(market: string, isOwn: (orderId: string) => boolean, now: number): DecimalString | undefined {
    const list = this.findList(market, now);
    if (list === undefined) return undefined;
    let held = new Decimal(0);
    for (const { market_id, order_id, side, size, timestamp } of this.fills.values())
      if (market_id === market && timestamp >= list.sinceUs && !isOwn(order_id)) held = held.plus(toSigned(side, size));
    return formatDecimal(held);
  }

  private findList(market: string, now: number): WholeList | undefined {
    const found = [this.lists.get(market), this.lists.get('')].filter(
      (list) => list !== undefined && now - list.readAt <= PROVING_LIST.speaksForMs,
    ) as WholeList[];
    return found.sort((a, b) => a.sinceUs - b.sinceUs)[0];
  }

  /** Records a list once it is complete: one page that is not full, or consecutive pages that end with such a page. */
  private trackList({ params }: DataOf<'call.intended'>, rows: number, readAt: number): void {
    const { market_id, start_time, end_time, p_limit, p_page = 0, p_order } = params as FillsQuery;
    // Without `p_limit` the size of a full page is unknown; with `end_time` later fills are missing.
    if (p_limit === undefined || end_time !== undefined) return;
    const query = JSON.stringify([market_id ?? null, start_time ?? null, p_limit]);
    const known = p_page === 0 ? undefined : this.inProgress.get(query);
    this.inProgress.delete(query);
    if (p_page !== (known?.nextPage ?? 0)) return;
    const list = known?.list ?? { sinceUs: start_time ?? 0, readAt };
    if (rows >= p_limit) {
      // With the newest first, a fill between two pages would shift the rows of the next one.
      if (p_order === 'ASC') this.inProgress.set(query, { list, nextPage: p_page + 1 });
      return;
    }
    if (list.readAt - list.sinceUs / 1000 >= PROVING_LIST.reachesBackMs) this.lists.set(market_id ?? '', list);
  }
}

interface FillsQuery {
  readonly market_id?: string;
  readonly start_time?: number;
  readonly end_time?: number;
  readonly p_limit?: number;
  readonly p_page?: number;
  readonly p_order?: string;
}

/** Adds an order of the run: its fills, and what it may have filled unseen before it ended. */
function addOrder(
  { range, unread }: { range: Range; unread: string[] },
  { intent, snapshot }: OwnOrder,
): { range: Range; unread: string[] } {
  const { filled } = getExposure(snapshot);
  const done = filled === '0' ? range : shiftRange(range, toSigned(intent.side, filled));
  if (!isEndUnseen(snapshot)) return { range: done, unread };
  const { context } = snapshot;
  unread.push(context.venueId ?? intent.clientOrderId);
  // A position stop closes at most the whole position: it only moves the position towards zero.
  if (context.authorised === undefined) return { range: spanRanges(done, FLAT), unread };
  const rest = toSigned(intent.side, computeShortfall(context.authorised, filled));
  return { range: spanRanges(done, shiftRange(done, rest)), unread };
}

function buildFact(
  own: Range,
  unread: readonly string[],
  others: readonly FillRecord[],
  list: WholeList | undefined,
): PositionFact {
  const listed = list === undefined ? others : others.filter(({ timestamp }) => timestamp >= list.sinceUs);
  const withOthers = listed.reduce((range, { side, size }) => shiftRange(range, toSigned(side, size)), own);
  // Without a complete list both are possible: fills of others are neither ignored nor netted against our own.
  const possible = list === undefined ? spanRanges(own, withOthers) : withOthers;
  const proven = list === undefined ? own : withOthers;
  const certain = proven.least.isPositive() ? proven.least : proven.most.isNegative() ? proven.most : FLAT.least;
  return {
    least: formatDecimal(possible.least),
    most: formatDecimal(possible.most),
    certain: formatDecimal(certain),
    ...(unread.length === 0 ? {} : { unread }),
  };
}

function toSigned(side: string, size: string): Decimal {
  return side === 'long' ? decimal(size) : decimal(size).negated();
}
function shiftRange({ least, most }: Range, by: Decimal): Range {
  return { least: least.plus(by), most: most.plus(by) };
}
function spanRanges(a: Range, b: Range): Range {
  return { least: Decimal.min(a.least, b.least), most: Decimal.max(a.most, b.most) };
}

/**
 * What is held per market, as far as a run can know it: by its own orders, each counted with the larger of the fills that were
 * read and what its records say, and by the account's fills where a list showed them. Fills of others prove nothing by
 * themselves, for the position that they changed is not known; a whole list that reaches back far enough does.
 */
import { Decimal, decimal, decimalText } from '../../base/decimal.ts';
import type { DataOf } from '../../journal/entry.ts';
import type { OrderTracker, TrackedOrder } from '../../journal/orders.ts';
import { type PositionFact, PROVING_LIST } from '../../venue/limits/check.ts';
import { shortfall } from '../../venue/order/fills.ts';
import { exposureOf, isEndUnseen } from '../../venue/order/life.ts';
import type { FillRecord } from '../../venue/records.ts';

/** Net size, long positive: the furthest it may be to either side. */
interface Range {
  readonly least: Decimal;
  readonly most: Decimal;
}
const FLAT: Range = { least: new Decimal(0), most: new Decimal(0) };

/** A list of fills without a gap, from an instant on until it was read; of one market, or of all. */
interface WholeList {
  /** Epoch µs; 0 for the whole history. */
  readonly sinceUs: number;
  /** Epoch ms when its first page was asked for. */
  readonly readAt: number;
}

export class HeldPositions {
  private readonly fills = new Map<string, FillRecord>();
  private readonly lists = new Map<string, WholeList>();
  /** Lists of several pages that are being read: by their question, the next page that is due. */
  private readonly underWay = new Map<string, { readonly list: WholeList; readonly nextPage: number }>();

  /** Takes in a confirmed GET /fills or GET /fills/order; gives the fills that are new. */
  take(call: DataOf<'call.intended'>, records: readonly FillRecord[], readAt: number): readonly FillRecord[] {
    const added = records.filter(({ id }) => !this.fills.has(id));
    for (const fill of added) this.fills.set(fill.id, fill);
    if (call.endpoint === 'GET /fills') this.follow(call, records.length, readAt);
    return added;
  }

  /** The facts of every market in which the book or a fill shows anything. */
  facts(tracker: OrderTracker, now: number): Readonly<Record<string, PositionFact>> {
    const own = new Map<string, { range: Range; unread: string[] }>();
    for (const order of tracker.orders()) {
      const { market } = order.intent;
      const before = own.get(market) ?? { range: FLAT, unread: [] };
      own.set(market, withOrder(before, order));
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
      facts[market] = factOf(range, unread, others.get(market) ?? [], this.listOf(market, now));
    }
    return facts;
  }

  private listOf(market: string, now: number): WholeList | undefined {
    const found = [this.lists.get(market), this.lists.get('')].filter(
      (list) => list !== undefined && now - list.readAt <= PROVING_LIST.speaksForMs,
    ) as WholeList[];
    return found.sort((a, b) => a.sinceUs - b.sinceUs)[0];
  }

  /** Whether the answer completes a list: one page that was not full, or several read one after the other up to such a one. */
  private follow({ params }: DataOf<'call.intended'>, rows: number, readAt: number): void {
    const { market_id, start_time, end_time, p_limit, p_page = 0, p_order } = params as FillsQuestion;
    // How many rows a page has that does not ask for a number is not shown; nor is what happened after an end.
    if (p_limit === undefined || end_time !== undefined) return;
    const question = JSON.stringify([market_id ?? null, start_time ?? null, p_limit]);
    const known = p_page === 0 ? undefined : this.underWay.get(question);
    this.underWay.delete(question);
    if (p_page !== (known?.nextPage ?? 0)) return;
    const list = known?.list ?? { sinceUs: start_time ?? 0, readAt };
    if (rows >= p_limit) {
      // Newest first, a fill that comes meanwhile moves the rows of the next page.
      if (p_order === 'ASC') this.underWay.set(question, { list, nextPage: p_page + 1 });
      return;
    }
    if (list.readAt - list.sinceUs / 1000 >= PROVING_LIST.reachesBackMs) this.lists.set(market_id ?? '', list);
  }
}

interface FillsQuestion {
  readonly market_id?: string;
  readonly start_time?: number;
  readonly end_time?: number;
  readonly p_limit?: number;
  readonly p_page?: number;
  readonly p_order?: string;
}

/** What one of our orders did, and what it may have done unseen before it ended. */
function withOrder(
  { range, unread }: { range: Range; unread: string[] },
  { intent, snapshot }: TrackedOrder,
): { range: Range; unread: string[] } {
  const { filled } = exposureOf(snapshot);
  const done = filled === '0' ? range : shifted(range, signed(intent.side, filled));
  if (!isEndUnseen(snapshot)) return { range: done, unread };
  const { context } = snapshot;
  unread.push(context.venueId ?? intent.clientOrderId);
  // A position stop takes what there is and no more: it brings the position nearer to nothing.
  if (context.authorised === undefined) return { range: span(done, FLAT), unread };
  const rest = signed(intent.side, shortfall(context.authorised, filled));
  return { range: span(done, shifted(done, rest)), unread };
}

function factOf(
  own: Range,
  unread: readonly string[],
  others: readonly FillRecord[],
  list: WholeList | undefined,
): PositionFact {
  const listed = list === undefined ? others : others.filter(({ timestamp }) => timestamp >= list.sinceUs);
  const withOthers = listed.reduce((range, { side, size }) => shifted(range, signed(side, size)), own);
  // Without a list that proves, either may be so: what others did is neither left out nor set off against our own.
  const possible = list === undefined ? span(own, withOthers) : withOthers;
  const proven = list === undefined ? own : withOthers;
  const certain = proven.least.isPositive() ? proven.least : proven.most.isNegative() ? proven.most : FLAT.least;
  return {
    least: decimalText(possible.least),
    most: decimalText(possible.most),
    certain: decimalText(certain),
    ...(unread.length === 0 ? {} : { unread }),
  };
}

function signed(side: string, size: string): Decimal {
  return side === 'long' ? decimal(size) : decimal(size).negated();
}
function shifted({ least, most }: Range, by: Decimal): Range {
  return { least: least.plus(by), most: most.plus(by) };
}
function span(a: Range, b: Range): Range {
  return { least: Decimal.min(a.least, b.least), most: Decimal.max(a.most, b.most) };
}

/**
 * Derives the position per market, as far as a run can know it: from its own orders, each with the larger of its fills as read
 * and as its records say, and from the account's fills where a list showed them. Single fills of others prove nothing, because
 * the position that they changed is unknown; a complete list that reaches back far enough does.
 */
import { Decimal, type DecimalString, decimal, formatDecimal } from '../base/decimal.ts';
import { type PositionFact, PROVING_LIST } from '../venue/limits/check.ts';
import { replacesFill } from '../venue/order/fills.ts';
import type { FillRecord } from '../venue/records.ts';
import type { DataOf } from './entry.ts';

/** Net size in base currency, long positive: the least and the most it may be. */
interface Range {
  readonly least: Decimal;
  readonly most: Decimal;
}

/** What a run's orders filled in a market, with the orders that may have filled more, unseen, before they ended. */
export interface OwnFilled {
  readonly range: Range;
  readonly unread: readonly string[];
  /** What of it closed positions that were not the run's: with it the range is what the run holds. */
  readonly closedOfOthers?: Decimal;
  /** What position stops closed beyond what is known to be held, long positive. */
  readonly byStops?: Decimal;
}

/** A list of fills without gaps, from `sinceUs` until it was read; of one market, or of all. */
interface WholeList {
  /** Epoch µs; 0 for the whole history. */
  readonly sinceUs: number;
  /** Epoch ms when its first page was requested. */
  readonly readAt: number;
}

export class HeldPositions {
  private readonly known = new Set<string>();
  /** Fills that belonged to no order of the run when they were last asked about, by market. */
  private readonly others = new Map<string, Map<string, FillRecord>>();
  private readonly lists = new Map<string, WholeList>();
  /** Lists of several pages that are being read: by their query, the next page. */
  private readonly inProgress = new Map<string, { readonly list: WholeList; readonly nextPage: number }>();

  /** Takes in a confirmed GET /fills or GET /fills/order, read at `readAt`; returns the new fills. */
  take(
    call: DataOf<'call.intended'>,
    { result, unread = [] }: Pick<DataOf<'call.settled'>, 'result' | 'unread'>,
    readAt: number,
  ): readonly FillRecord[] {
    const records = result as unknown as readonly FillRecord[];
    const added: FillRecord[] = [];
    for (const fill of records) {
      const here = this.others.get(fill.market_id) ?? new Map<string, FillRecord>();
      const before = here.get(fill.id);
      // One that is known and not among these is the run's own.
      if (before === undefined ? this.known.has(fill.id) : !replacesFill(before, fill)) continue;
      if (before === undefined) added.push(fill);
      this.known.add(fill.id);
      this.others.set(fill.market_id, here.set(fill.id, fill));
    }
    // A list with a row that cannot be read lacks a fill, and proves no position.
    const rows = unread.length > 0 ? undefined : records.length;
    if (call.params['order_id'] === undefined) this.trackList(call, rows, readAt);
    return added;
  }

  /**
   * Gives the facts of every market with an order of the run or a fill. `own`: what its orders filled. `isCounted`: fills of
   * others that `own` has already.
   */
  collectFacts(
    own: ReadonlyMap<string, OwnFilled>,
    isOwn: (orderId: string) => boolean,
    now: number,
    isCounted: (fill: FillRecord) => boolean = () => false,
  ): Readonly<Record<string, PositionFact>> {
    const facts: Record<string, PositionFact> = Object.create(null);
    for (const market of new Set([...own.keys(), ...this.others.keys()])) {
      const others = this.listOthers(market, isOwn).filter((fill) => !isCounted(fill));
      const filled = own.get(market);
      if (filled === undefined && others.length === 0) continue;
      facts[market] = buildFact(filled ?? { range: FLAT, unread: [] }, others, this.findList(market, now));
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
    for (const { side, size, timestamp } of this.listOthers(market, isOwn))
      if (timestamp >= list.sinceUs) held = held.plus(signSize(side, size));
    return formatDecimal(held);
  }

  /** Fills of the market that are not the run's own; those that have become its own are dropped. */
  private listOthers(market: string, isOwn: (orderId: string) => boolean): readonly FillRecord[] {
    const here = this.others.get(market);
    if (here === undefined) return [];
    for (const [id, { order_id }] of here) if (isOwn(order_id)) here.delete(id);
    return [...here.values()];
  }

  private findList(market: string, now: number): WholeList | undefined {
    const found = [this.lists.get(market), this.lists.get('')].filter(
      (list) => list !== undefined && now - list.readAt <= PROVING_LIST.speaksForMs,
    ) as WholeList[];
    return found.sort((a, b) => a.sinceUs - b.sinceUs)[0];
  }

  /** Records a list once it is complete: one page that is not full, or consecutive pages that end with such a page. */
  private trackList({ params }: DataOf<'call.intended'>, rows: number | undefined, readAt: number): void {
    const { market_id, start_time, end_time, p_limit, p_page = 0, p_order } = params as FillsQuery;
    // Without `p_limit` the size of a full page is unknown; with `end_time` later fills are missing.
    if (p_limit === undefined || end_time !== undefined) return;
    const query = JSON.stringify([market_id ?? null, start_time ?? null, p_limit]);
    const known = p_page === 0 ? undefined : this.inProgress.get(query);
    this.inProgress.delete(query);
    if (rows === undefined || p_page !== (known?.nextPage ?? 0)) return;
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

function buildFact(
  { range: own, unread, closedOfOthers = ZERO, byStops = ZERO }: OwnFilled,
  others: readonly FillRecord[],
  list: WholeList | undefined,
): PositionFact {
  const listed = list === undefined ? others : others.filter(({ timestamp }) => timestamp >= list.sinceUs);
  const withOthers = listed.reduce((range, { side, size }) => shiftRange(range, signSize(side, size)), own);
  const held = shiftRange(own, closedOfOthers);
  // A position stop cannot open: where it closed more than was known, a list may lack what others held before.
  const unlisted = shiftRange(withOthers, byStops.negated());
  // Without a complete list both are possible: fills of others are neither ignored nor netted against our own.
  const possible = spanRange(list === undefined ? spanRange(own, held) : unlisted, withOthers);
  const certain =
    list === undefined ? nearestZero(held) : pickNearerZero(nearestZero(withOthers), nearestZero(unlisted));
  return {
    least: formatDecimal(possible.least),
    most: formatDecimal(possible.most),
    certain: formatDecimal(certain),
    ...(unread.length === 0 ? {} : { unread }),
  };
}

/** The part of a range that is certain. */
function nearestZero({ least, most }: Range): Decimal {
  return least.isPositive() ? least : most.isNegative() ? most : ZERO;
}

/** Of two positions the one nearer to zero; 0 where they are on different sides. */
export function pickNearerZero(one: Decimal, other: Decimal): Decimal {
  if (!one.times(other).gt(0)) return ZERO;
  return one.abs().lt(other.abs()) ? one : other;
}

const ZERO = new Decimal(0);
const FLAT: Range = { least: ZERO, most: ZERO };

export function flatRange(): Range {
  return FLAT;
}

/** A size with the sign of its side, long positive. */
export function signSize(side: string, size: string): Decimal {
  return side === 'long' ? decimal(size) : decimal(size).negated();
}
export function shiftRange({ least, most }: Range, by: Decimal): Range {
  return { least: least.plus(by), most: most.plus(by) };
}
export function spanRange(a: Range, b: Range): Range {
  return { least: Decimal.min(a.least, b.least), most: Decimal.max(a.most, b.most) };
}

/**
 * Adds up the account over all its runs: those that have ended, by their ledgers, and those that run in this process, by the facts
 * of their limits. The limits of the profile hold for these sums (docs/profile.md, Limits). It reads nothing and keeps nothing.
 */
import { Decimal, type DecimalString, decimal, formatDecimal } from '../../base/decimal.ts';
import { flatRange, type OwnFilled, shiftRange, signSize, spanRange } from '../../journal/held-positions.ts';
import type { WorkingOrder } from '../../venue/limits/check.ts';
import { computeShortfall, pickLarger } from '../../venue/order/fills.ts';
import type { OpenedPosition } from '../../venue/position/opened.ts';
import { type BookedTrade, PositionBook } from '../../venue/position/position-book.ts';
import type { FillRecord } from '../../venue/records.ts';
import type { Baseline, LedgerOrder, LedgerParts, RunLedger } from './ledger-rows.ts';

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
/** A time further ahead than this is of a clock that was wrong; those of machines differ by less. */
export const CLOCKS_DIFFER_MS = 5_000;
const ZERO = new Decimal(0);

/** A run of this process, as far as the sums need it. */
interface RunningRun {
  readonly orders: {
    readonly positions: PositionBook;
    byId(orderId: string): unknown;
    getOpened(market: string): Pick<OpenedPosition, 'listBeyond'>;
  };
  readonly own: { listFilled(): ReadonlyMap<string, OwnFilled> };
}

/** The open orders that runs left, as far as the ledger knows them. */
interface Left {
  readonly working: readonly WorkingOrder[];
  /** By market: what the orders' records show beyond the fills read, and what may have filled unseen. */
  readonly filled: ReadonlyMap<string, OwnFilled>;
  /** Orders whose records show more than the fills read, with their market, by id. */
  readonly unbooked: ReadonlyMap<string, string>;
  /** Orders of which fills are lacking, or may be, and until when they may have filled, epoch ms. */
  readonly lacking: readonly { readonly id: string; readonly at: number }[];
}

const NOTHING_KNOWN: LedgerParts = { runs: [], baselines: [], listed: [], gone: {} };

export class AccountLedger {
  readonly book = new PositionBook();
  /** When a person last lifted what had stopped the account, epoch ms: a daily loss counts from then on. */
  releasedAt = 0;
  private readonly missing: LedgerParts['unknown'];
  /** Whether the venue has listed every position since this was loaded. */
  private hasShown = false;
  /** Why the venue's list of positions does not prove what is held in a market; undefined where it does not contradict. */
  private findDoubt: (market: string) => string | undefined = () => undefined;
  /** The orders that the venue listed as open and no journal has; undefined where it was not asked since this was loaded. */
  private strays: readonly WorkingOrder[] | undefined;
  private readonly runs = new Map<string, RunLedger>();
  private readonly listedAt = new Map<string, number>();
  private readonly stated = new Map<string, number>();
  private readonly gone = new Map<string, number>();
  private readonly ended = new Map<string, DecimalString>();
  /** Size by the id of each fill that is booked. */
  private readonly booked = new Map<string, DecimalString>();
  private readonly ofOrder = new Map<string, Decimal>();
  /** Fills that only the venue's list has shown so far, by id: a run of this process may have the order, and read them later. */
  private readonly onlyListed = new Map<string, FillRecord>();
  /** How many of a running run's fills are booked, by market. */
  private readonly followed = new WeakMap<RunningRun, Map<string, number>>();
  private left: Left | undefined;

  constructor({ runs, baselines, listed, gone, ended, unknown }: LedgerParts = NOTHING_KNOWN) {
    this.missing = unknown;
    for (const run of runs) this.add(run);
    this.takeListed({ listed, gone, ...(ended === undefined ? {} : { ended }) });
    for (const baseline of baselines) this.state(baseline);
  }

  /** Counts what a person, or the venue's list of positions, says to be held: what was before counts no more for the size. */
  state({ market, at, size, price }: Omit<Baseline, 'by'>): void {
    this.left = undefined;
    this.book.state(market, at * 1000, { size, price });
    this.stated.set(market, Math.max(at, this.stated.get(market) ?? 0));
  }

  /**
   * The venue has listed the positions. `isWhole`: what a journal lacks is not unknown any more. `findDoubt`: why it proves nothing of a
   * market, undefined where it does.
   */
  noteShown(isWhole = true, findDoubt: (market: string) => string | undefined = () => undefined): void {
    this.hasShown ||= isWhole;
    this.findDoubt = findDoubt;
  }

  /** Takes the venue's open orders, where a journal cannot be read: those that no run has may be its own, and may fill. */
  takeOpen(open: readonly WorkingOrder[]): void {
    const known = new Set(this.listRuns().flatMap(({ orders }) => orders.flatMap(namesOf)));
    this.strays = open.filter((order) => !namesOf(order).some((name) => known.has(name)));
  }

  /** Why what is held in one of the markets may not be what the sums say at `now`, epoch ms; undefined where it is proven. */
  findUnknown(markets: readonly string[], now: number): string | undefined {
    for (const market of markets) {
      const doubt = this.findDoubt(market) ?? this.findStatedAhead(market, now);
      if (doubt !== undefined) return doubt;
    }
    const { missing, stated, hasShown } = this;
    if (missing === undefined) return undefined;
    const isStated = markets.every((market) => (stated.get(market) ?? 0) > missing.until);
    return hasShown || isStated ? this.findUnlisted() : missing.why;
  }

  /** Until that time the sums count no fill: each seems to be in what was stated. */
  private findStatedAhead(market: string, now: number): string | undefined {
    const at = this.stated.get(market) ?? 0;
    if (at <= now + CLOCKS_DIFFER_MS) return undefined;
    return `the position of ${market} was stated as of ${new Date(at).toISOString()}, by a clock that was ahead; state it again, and restart what serves the account`;
  }

  /** Why orders may be open that no sum has; undefined where there are none. */
  findUnlisted(): string | undefined {
    return this.strays === undefined ? this.missing?.why : undefined;
  }

  get unknown(): string | undefined {
    return this.hasShown ? this.findUnlisted() : this.missing?.why;
  }

  /** Counts a run that has ended, or counts it anew. */
  add(run: RunLedger): void {
    this.left = undefined;
    this.runs.set(run.run, run);
    if (this.strays !== undefined) this.takeOpen(this.strays);
    for (const fill of run.fills) this.bookFill(fill.market_id, fill);
  }

  /** Takes in what the venue's own lists showed; gives the fills that were not booked so. */
  takeListed({ listed, gone, ended = {} }: Pick<LedgerParts, 'listed' | 'gone' | 'ended'>): readonly FillRecord[] {
    this.left = undefined;
    for (const [clientOrderId, at] of Object.entries(gone)) this.gone.set(clientOrderId, at);
    for (const [clientOrderId, filled] of Object.entries(ended)) this.ended.set(clientOrderId, filled);
    return listed.flatMap(({ market, readAt, fills }) => {
      this.listedAt.set(market, joinReadings(readAt, this.listedAt.get(market)));
      return fills.filter((fill) => {
        if (!this.booked.has(fill.id)) this.onlyListed.set(fill.id, fill);
        return this.bookFill(market, fill);
      });
    });
  }

  /**
   * The orders left working that are over for good, by client order id: the venue listed them as open no more, and `lateMs` later its
   * fills, or what is held, with every fill that their records show. Until then a fill may come that only this knowledge has counted.
   */
  listOver(lateMs: number): ReadonlySet<string> {
    const over = new Set<string>();
    for (const { orders, lastAt } of this.runs.values())
      for (const { clientOrderId, orderId = '', market, filled, working } of orders) {
        const goneAt = this.findGoneAt(clientOrderId, lastAt);
        if (working === undefined || goneAt === undefined) continue;
        const isLater = (at = Number.NEGATIVE_INFINITY) => at >= goneAt + lateMs;
        const shown = pickLarger(filled, this.ended.get(clientOrderId) ?? '0');
        const isBooked = decimal(shown).lte(this.ofOrder.get(orderId) ?? ZERO);
        if (isLater(this.stated.get(market)) || (isLater(this.listedAt.get(market)) && isBooked))
          over.add(clientOrderId);
      }
    return over;
  }

  /** Counts these orders as ended with what is booked of them; gives the runs that left them. */
  end(over: ReadonlySet<string>): readonly RunLedger[] {
    const changed: RunLedger[] = [];
    for (const run of this.runs.values()) {
      if (!run.orders.some(({ clientOrderId, working }) => working !== undefined && over.has(clientOrderId))) continue;
      const orders = run.orders.map((order) => (over.has(order.clientOrderId) ? toEnded(order) : order));
      changed.push({ ...run, orders });
    }
    for (const run of changed) this.runs.set(run.run, run);
    for (const clientOrderId of over) {
      this.gone.delete(clientOrderId);
      this.ended.delete(clientOrderId);
    }
    this.left = undefined;
    return changed;
  }

  /**
   * Takes the venue's ids of orders that no answer gave one, by client order id; gives the runs that left them. A fill names its order by
   * that id alone: without it, it counts as another's, and what the order's record shows counts once more.
   */
  name(ids: ReadonlyMap<string, string>): readonly RunLedger[] {
    const changed: RunLedger[] = [];
    for (const run of this.runs.values()) {
      const orders = run.orders.map((order) => {
        const orderId = order.orderId === undefined ? ids.get(order.clientOrderId) : undefined;
        if (orderId === undefined) return order;
        const { working } = order;
        return { ...order, orderId, ...(working === undefined ? {} : { working: { ...working, orderId } }) };
      });
      if (orders.some((order, index) => order !== run.orders[index])) changed.push({ ...run, orders });
    }
    for (const run of changed) this.runs.set(run.run, run);
    this.left = undefined;
    return changed;
  }

  /** What is known of orders that a run left working, and that were not seen by it since. */
  listGone(): Required<Pick<LedgerParts, 'gone' | 'ended'>> {
    const left = this.listRuns().flatMap(({ orders, lastAt }) =>
      orders.flatMap(({ clientOrderId, working }) => {
        const at = working === undefined ? undefined : this.findGoneAt(clientOrderId, lastAt);
        return at === undefined ? [] : [{ clientOrderId, at, filled: this.ended.get(clientOrderId) }];
      }),
    );
    return {
      gone: Object.fromEntries(left.map(({ clientOrderId, at }) => [clientOrderId, at])),
      ended: Object.fromEntries(
        left.flatMap(({ clientOrderId, filled }) => (filled === undefined ? [] : [[clientOrderId, filled]])),
      ),
    };
  }

  /** Leaves out what a run left: it runs in this process again. Its fills stay booked. */
  take(run: string): void {
    this.left = undefined;
    this.runs.delete(run);
  }

  /** Whether every journal of the account could be read. */
  get isWhole(): boolean {
    return this.missing === undefined;
  }

  /** As of when a person, or the venue, stated what is held in a market, epoch ms. */
  findStatedAt(market: string): number | undefined {
    return this.stated.get(market);
  }

  /** Until when the venue's list of a market is booked, epoch ms; undefined where it never was asked for. */
  findListedAt(market: string): number | undefined {
    return this.listedAt.get(market);
  }

  /** Fills of orders that no run placed; those before what was stated are no part of the position. */
  listForeign(market: string): readonly FillRecord[] {
    const ours = new Set(
      this.listRuns().flatMap((run) => [
        ...run.fills.map((fill) => fill.order_id),
        ...run.orders.flatMap(({ orderId }) => orderId ?? []),
      ]),
    );
    const trades = this.book.trades(market);
    return trades
      .slice(trades.findLastIndex(({ stated }) => stated !== undefined) + 1)
      .filter(({ fill }) => !ours.has(fill.order_id))
      .map(({ fill }) => fill);
  }

  listRuns(): readonly RunLedger[] {
    return [...this.runs.values()];
  }

  /** Whether the venue's list, or a person, has shown that nothing else changed the position since the ledger began to know it. */
  isProven(market: string): boolean {
    return (
      this.hasShown || this.listedAt.has(market) || this.stated.has(market) || this.book.trades(market).length === 0
    );
  }

  hasBooked(fill: FillRecord): boolean {
    return this.booked.has(fill.id);
  }

  /** Books the fills that runs of this process have read since the last time. */
  follow(gates: Iterable<RunningRun>): void {
    for (const gate of gates) {
      const { positions } = gate.orders;
      const done = this.followed.get(gate) ?? new Map<string, number>();
      this.followed.set(gate, done);
      for (const market of positions.markets()) {
        const fills = positions.booked(market);
        for (const fill of fills.slice(done.get(market) ?? 0)) {
          this.onlyListed.delete(fill.id);
          this.bookFill(market, fill);
        }
        done.set(market, fills.length);
      }
    }
  }

  /** The price of the last fill in a market; undefined where nothing traded. */
  findLastPrice(market: string): string | undefined {
    return this.book.trades(market).findLast(({ stated }) => stated === undefined)?.fill.price;
  }

  /** The net size that the account may hold, by market, over the fills booked and what orders may have filled unseen. */
  listFilled(gates: readonly RunningRun[]): ReadonlyMap<string, OwnFilled> {
    this.follow(gates);
    const beside = [this.findLeft().filled, ...gates.map((gate) => this.listBeyondFills(gate))];
    const markets = new Set([...this.book.markets(), ...beside.flatMap((each) => [...each.keys()])]);
    return new Map(
      [...markets].map((market) => {
        const parts = beside.flatMap((each) => each.get(market) ?? []);
        const range = parts.reduce(
          (sum, part) => ({ least: sum.least.plus(part.range.least), most: sum.most.plus(part.range.most) }),
          shiftRange(flatRange(), this.book.position(market).size),
        );
        const byStops = this.sumUnexplained(market, gates);
        return [
          market,
          { range, unread: parts.flatMap(({ unread }) => unread), closedOfOthers: byStops.negated(), byStops },
        ];
      }),
    );
  }

  /**
   * What position stops of running runs closed beyond what is booked, long positive. A stop cannot open: where its fills lead to the
   * other side of zero, a position is not booked that it closed.
   */
  private sumUnexplained(market: string, gates: readonly RunningRun[]): Decimal {
    const stops = gates.flatMap(({ orders }) => orders.getOpened(market).listBeyond());
    if (stops.length === 0) return ZERO;
    const ids = new Set(stops.flatMap(({ order }) => [...order.snapshot.context.fills.keys()]));
    const trades = this.book.trades(market);
    return trades.reduce((sum, { fill, stated, after }, index) => {
      if (stated !== undefined) return ZERO;
      if (!ids.has(fill.id)) return sum;
      const before = trades[index - 1]?.after.size ?? ZERO;
      const by = signSize(fill.side, fill.size);
      if (before.times(by).gt(0)) return sum.plus(by);
      return before.times(after.size).gt(0) ? sum : sum.plus(after.size);
    }, ZERO);
  }

  /** Orders that runs left working, as far as the venue has not shown otherwise, and open ones that no journal has. */
  listLeft(isOwn: (order: WorkingOrder) => boolean = () => false): readonly WorkingOrder[] {
    return [...this.findLeft().working, ...(this.strays ?? []).filter((order) => !isOwn(order))];
  }

  /** Orders that have filled more than the fills booked of them, by id: the market of each. What they brought is in no sum. */
  listUnbooked(): ReadonlyMap<string, string> {
    return this.findLeft().unbooked;
  }

  /** POST and PUT /orders of runs that have ended, in the minute before. */
  countOrdersLastMinute(now: number): number {
    return this.listRuns().reduce(
      (sum, { orderTimes }) => sum + orderTimes.filter((at) => now - at < MINUTE_MS).length,
      0,
    );
  }

  /** Notional that runs which have ended sent on the UTC day of `now`; undefined where an order of theirs was not measured. */
  sumNotionalOfDay(now: number): Decimal | undefined {
    const day = new Date(now).toISOString().slice(0, 10);
    let sum = ZERO;
    for (const { days } of this.runs.values()) {
      const sent = Object.hasOwn(days, day) ? days[day] : undefined;
      if (sent === undefined) continue;
      if (sent.notional === undefined) return undefined;
      sum = sum.plus(decimal(sent.notional));
    }
    return sum;
  }

  /** Why runs may have sent more on the UTC day of `now` than the sum has; undefined where they have not. */
  findUnknownNotional(now: number): string | undefined {
    return this.missing !== undefined && this.missing.until >= findDay(now) ? this.missing.why : undefined;
  }

  /** Why the loss of the day may not be what its sum says; undefined where it is. */
  findUnknownPnl(now: number): string | undefined {
    const { missing, strays } = this;
    const countedSince = this.findCountedSince(now);
    const lacking = this.findLeft().lacking.find(({ at }) => at >= countedSince);
    if (lacking !== undefined) return `not every fill of ${lacking.id} has been read, so what it has lost is not known`;
    if (missing === undefined || strays === undefined) return missing?.why;
    // The venue has listed what was traded on the day.
    if (missing.since >= findDay(now)) return undefined;
    const market = this.book.markets().find((each) => this.mayHideLoss(each, countedSince, missing.until));
    return market === undefined
      ? undefined
      : `${missing.why}, and what ${market} realised today depends on it until \`runbook release\` begins a new count`;
  }

  /** Whether what was held in a market at a time is not known, where trades since then may have closed it. */
  private mayHideLoss(market: string, since: number, until: number): boolean {
    const trades = this.book.trades(market);
    const first = trades.findIndex(({ fill }) => fill.timestamp >= since * 1000);
    const later = first === -1 ? [] : trades.slice(first);
    if (later.every(({ stated }) => stated !== undefined)) return false;
    const isStated = ({ stated, fill }: BookedTrade) => stated !== undefined && fill.timestamp > until * 1000;
    if (trades.slice(0, first).some(isStated)) return false;
    const shown = later.flatMap(({ stated }, index) => {
      const before = trades[first + index - 1]?.after.size ?? ZERO;
      return stated === undefined ? [] : [before.eq(decimal(stated.size))];
    });
    return this.findDoubt(market) !== undefined || shown.includes(false) || !(this.hasShown || shown.length > 0);
  }

  private findCountedSince(now: number): number {
    // Nothing would count until a release of a clock that was ahead.
    return Math.max(findDay(now), this.releasedAt <= now + CLOCKS_DIFFER_MS ? this.releasedAt : 0);
  }

  /** Realised PnL less fees of the UTC day of `now`, quote currency; counted from the last release where that is later. */
  sumPnlOfDay(now: number): Decimal {
    const since = this.findCountedSince(now) * 1000;
    return this.book.markets().reduce((sum, market) => {
      const [before, after] = [this.book.positionAt(market, since), this.book.position(market)];
      const realized = after.realized.minus(before.realized);
      return sum.plus(realized).minus(after.fees.minus(before.fees));
    }, ZERO);
  }

  /** What the orders of a run show beyond the fills that are booked for them. */
  private listBeyondFills({ own, orders }: RunningRun): ReadonlyMap<string, OwnFilled> {
    const listed = [...this.onlyListed.values()].filter(({ order_id }) => orders.byId(order_id) !== undefined);
    const booked = (market: string) =>
      listed
        .filter(({ market_id }) => market_id === market)
        .reduce((sum, { side, size }) => sum.plus(signSize(side, size)), orders.positions.position(market).size);
    return new Map(
      [...own.listFilled()].map(([market, { range, unread }]) => [
        market,
        { range: shiftRange(range, booked(market).negated()), unread },
      ]),
    );
  }

  /** Whether it changed what was booked: it is new, or corrects one. */
  private bookFill(market: string, fill: FillRecord): boolean {
    if (this.book.add(market, fill) === undefined) return false;
    this.left = undefined;
    const before = this.ofOrder.get(fill.order_id) ?? ZERO;
    this.ofOrder.set(fill.order_id, before.plus(decimal(fill.size)).minus(decimal(this.booked.get(fill.id) ?? '0')));
    this.booked.set(fill.id, fill.size);
    return true;
  }

  /** When the venue did not list an order as open any more. What its run has seen of it since counts more. */
  private findGoneAt(clientOrderId: string, lastAt: number): number | undefined {
    const at = this.gone.get(clientOrderId);
    return at === undefined || at < lastAt ? undefined : at;
  }

  private findLeft(): Left {
    this.left ??= this.computeLeft();
    return this.left;
  }

  private computeLeft(): Left {
    const working: WorkingOrder[] = [];
    const filled = new Map<string, OwnFilled>();
    const unbooked = new Map<string, string>();
    const lacking: Left['lacking'][number][] = [];
    for (const { orders, lastAt } of this.runs.values()) {
      for (const order of orders) {
        const { market, side, clientOrderId, orderId } = order;
        const id = orderId ?? clientOrderId;
        // What was stated later covers everything before it, but not what an order fills that is still open.
        const isCovered = (this.stated.get(market) ?? 0) > lastAt;
        if (isCovered && order.working === undefined) continue;
        const booked = this.ofOrder.get(orderId ?? '') ?? ZERO;
        const goneAt = this.findGoneAt(clientOrderId, lastAt);
        const shown = goneAt === undefined || isCovered ? undefined : this.ended.get(clientOrderId);
        const beyond = isCovered ? ZERO : decimal(pickLarger(order.filled, shown ?? '0')).minus(booked);
        if (beyond.gt(0)) {
          unbooked.set(id, market);
          lacking.push({ id, at: Math.max(lastAt, goneAt ?? 0) });
        }
        const rest = shown === undefined ? computeRest(order, booked) : '0';
        const known = filled.get(market) ?? { range: flatRange(), unread: [] };
        let range = beyond.gt(0) ? shiftRange(known.range, signSize(side, formatDecimal(beyond))) : known.range;
        let { unread } = known;
        const endedAt = order.working === undefined ? lastAt : goneAt;
        if (order.working !== undefined && goneAt === undefined)
          working.push({ ...order.working, worstRemaining: order.closes ? '0' : rest });
        else if (endedAt !== undefined && !order.closes && (this.listedAt.get(market) ?? 0) < endedAt && rest !== '0') {
          range = spanRange(range, shiftRange(range, signSize(side, rest)));
          unread = [...unread, id];
          lacking.push({ id, at: endedAt });
        }
        filled.set(market, { range, unread });
      }
    }
    return { working, filled, unbooked, lacking };
  }
}

/**
 * Until when a list is whole that was read twice: until the later reading. One that seems much later was given its time by a clock that
 * was ahead; to list too much again is the lesser mistake.
 */
export function joinReadings(readAt: number, before = readAt): number {
  return before > readAt + CLOCKS_DIFFER_MS ? readAt : Math.max(readAt, before);
}

/** When the UTC day of a time began, epoch ms. */
function findDay(now: number): number {
  return Math.floor(now / DAY_MS) * DAY_MS;
}

function namesOf({ clientOrderId, orderId }: Pick<WorkingOrder, 'clientOrderId' | 'orderId'>): readonly string[] {
  return orderId === undefined ? [clientOrderId] : [clientOrderId, orderId];
}

/** Its names stay: the fills that the venue's list has shown of it are no others'. */
function toEnded({ working: _working, ...order }: LedgerOrder): LedgerOrder {
  return { ...order, open: '0' };
}

/** What of an order may still have filled, beyond the fills that are booked. */
function computeRest({ open, filled }: LedgerOrder, booked: Decimal): string {
  const seen = booked.minus(decimal(filled));
  return seen.gt(0) ? computeShortfall(open, formatDecimal(seen)) : open;
}

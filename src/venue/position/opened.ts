/**
 * Adds up what the orders of a run have opened, and what of it is left: their fills in the order in which they traded. A position stop
 * can only close, so what it filled beyond the run's own was held before; any other order closes what was proven when it was
 * decided: what its step allowed it to do proves nothing. Pure.
 */
import { Decimal, type DecimalString, decimal, formatDecimal } from '../../base/decimal.ts';
import { isPositionStop, type OrderSnapshot } from '../order/context.ts';
import { computeShortfall } from '../order/fills.ts';
import { getExposure } from '../order/life.ts';
import type { OrderTerms } from '../port.ts';
import type { Side } from '../records.ts';

/** An order of the run. A `TrackedOrder` of the journal is one. */
export interface OwnOrder {
  readonly intent: OrderTerms;
  readonly snapshot: OrderSnapshot;
  /** Epoch ms of its intent. */
  readonly createdAt: number;
  /**
   * The position of the account without this run's fills that was proven when the order was decided, base currency, long
   * positive; undefined where nothing proved it.
   */
  readonly provenHeld?: DecimalString | undefined;
}

const ZERO = new Decimal(0);

/** A change of the position by one of the run's orders. */
interface Trade {
  /** Epoch µs. */
  readonly at: number;
  readonly order: OwnOrder;
  readonly size: Decimal;
}

/** What trades add up to. Sizes in base currency. */
interface Sum {
  /** What is opened and not closed, long positive. */
  readonly net: Decimal;
  /** All trades, long positive. */
  readonly total: Decimal;
  /** The position of the others' fills, less what the orders closed of it, long positive. */
  readonly besideNet: Decimal;
  /** What was closed of the position of others, by its side. */
  readonly closed: Readonly<Record<Side, Decimal>>;
  /** What position stops closed beyond the run's own, long positive. */
  readonly byStops: Decimal;
  /** Of the last trade: what a position stop closed beyond the run's own and what was proven to be held. */
  readonly beyond: Decimal;
}
const NOTHING: Sum = {
  net: ZERO,
  total: ZERO,
  besideNet: ZERO,
  closed: { long: ZERO, short: ZERO },
  byStops: ZERO,
  beyond: ZERO,
};

/** What other orders of the run have traded: what orders close of that opens nothing. */
export interface Beside {
  /** Net size of what they traded before `trades`, base currency, long positive. */
  readonly net: Decimal;
  readonly trades: readonly Trade[];
}
export const NOTHING_BESIDE: Beside = { net: ZERO, trades: [] };

/** Net size that orders of one market have opened, long positive, with `pending` after their fills. */
export function computeOpened(
  orders: readonly OwnOrder[],
  pending: readonly Pick<Trade, 'order' | 'size'>[],
  beside: Beside,
): Decimal {
  const others = new Set(beside.trades);
  const trades = [...orders.flatMap(listTrades), ...beside.trades].sort((a, b) => a.at - b.at);
  const traded = trades.reduce((before, trade) => addTrade(before, trade, others.has(trade)), {
    ...NOTHING,
    besideNet: beside.net,
  });
  return pending.reduce((before, trade) => addTrade(before, trade, false), traded).net;
}

/** An order with its number among those of the run: trades of one instant follow each other as their orders do. */
type NumberedOrder = OwnOrder & { readonly place: number };

interface Counted {
  /** Epoch µs. */
  readonly at: number;
  readonly order: NumberedOrder;
  readonly size: DecimalString;
  /** What a position stop closed beyond what the run and, as far as it was proven, the account held. */
  beyond: Decimal | undefined;
  /** What it and the trades before it add up to; of the last trades and some others. */
  after: Sum | undefined;
}

/** How many of the last trades have their sums; of those before, each that is a multiple of it. */
const SUMS_KEPT = 64;

/**
 * What the orders of one market have opened, kept up with each change of an order: it costs what has changed, however many orders
 * came before. A fill that is read late is counted from the last sum before it.
 */
export class OpenedPosition {
  private readonly trades: Counted[] = [];
  private readonly beyond = new Map<OwnOrder, Decimal>();
  private readonly byOrder = new Map<OwnOrder, readonly Counted[]>();
  private ownTrades = 0;

  /** What is opened and not closed, long positive. */
  get net(): Decimal {
    return this.last.net;
  }
  /** What position stops closed beyond it, long positive: an order that sold it counts as negative. */
  get byStops(): Decimal {
    return this.last.byStops;
  }

  /** The position stops that closed more than the run and, as far as it was proven, the account held, and by how much. */
  listBeyond(): readonly { readonly order: OwnOrder; readonly size: Decimal }[] {
    return [...this.beyond].map(([order, size]) => ({ order, size }));
  }

  /** Whether an order that can open has filled: a run without one protects a position of others, and its stops close nothing else. */
  get hasOwn(): boolean {
    return this.ownTrades > 0;
  }

  /** What the other orders traded: until the first trade of these all together, from then on each. */
  listBeside(orders: readonly OwnOrder[]): Beside {
    const { trades } = this;
    const own = new Set(orders);
    const ownTrades = orders.flatMap((order) => this.byOrder.get(order) ?? []);
    const from = ownTrades.reduce((first, { at }) => Math.min(first, at), Number.POSITIVE_INFINITY);
    let index = trades.length;
    while (index > 0 && (trades[index - 1]?.at ?? 0) >= from) index -= 1;
    const since = trades.slice(index).filter(({ order }) => !own.has(order));
    return { net: this.sumUntil(index).total, trades: since.map((trade) => ({ ...trade, size: decimal(trade.size) })) };
  }

  /** Takes in an order as it is now. */
  update(order: NumberedOrder): void {
    const now = listTrades(order);
    const before = this.byOrder.get(order) ?? [];
    const isKept = (trade: Counted, index: number) =>
      now[index]?.at === trade.at && now[index]?.size.eq(trade.size) === true;
    const changed = before.findIndex((trade, index) => !isKept(trade, index));
    const kept = changed === -1 ? before.length : changed;
    if (kept === before.length && kept === now.length) return;
    let first = this.trades.length;
    for (const trade of before.slice(kept)) {
      const index = this.trades.lastIndexOf(trade);
      this.trades.splice(index, 1);
      first = Math.min(first, index);
    }
    const added = now
      .slice(kept)
      .map(({ at, size }): Counted => ({ at, order, size: formatDecimal(size), beyond: undefined, after: undefined }));
    for (const trade of added) {
      let index = this.trades.length;
      while (index > 0 && isBefore(trade, this.trades[index - 1])) index -= 1;
      this.trades.splice(index, 0, trade);
      first = Math.min(first, index);
    }
    const trades = [...before.slice(0, kept), ...added];
    this.byOrder.set(order, trades);
    if (!isPositionStop(order.intent)) this.ownTrades += trades.length - before.length;
    this.sumFrom(first, isPositionStop(order.intent) ? order : undefined);
  }

  /** Counts the trades from an index on; `changed`: a stop of which trades were taken out or added. */
  private sumFrom(first: number, changed: OwnOrder | undefined): void {
    const { trades } = this;
    const from = this.findSummed(first);
    let sum = trades[from - 1]?.after ?? NOTHING;
    const stops = new Set(changed === undefined ? [] : [changed]);
    for (const trade of trades.slice(from)) {
      sum = addTrade(sum, { order: trade.order, size: decimal(trade.size) }, false);
      trade.after = sum;
      trade.beyond = sum.beyond.isZero() ? undefined : sum.beyond;
      if (isPositionStop(trade.order.intent)) stops.add(trade.order);
    }
    const oldest = trades.length - SUMS_KEPT;
    for (let index = Math.max(0, from - SUMS_KEPT); index < oldest; index += 1) {
      const trade = trades[index];
      if (trade !== undefined && index % SUMS_KEPT !== 0) trade.after = undefined;
    }
    for (const stop of stops) this.sumBeyond(stop);
  }

  /** The sum of the trades before an index. */
  private sumUntil(index: number): Sum {
    const from = this.findSummed(index);
    return this.trades
      .slice(from, index)
      .reduce(
        (sum, { order, size }) => addTrade(sum, { order, size: decimal(size) }, false),
        this.trades[from - 1]?.after ?? NOTHING,
      );
  }

  /** The last index, at most this one, before which the sum is kept. */
  private findSummed(index: number): number {
    let from = index;
    while (from > 0 && this.trades[from - 1]?.after === undefined) from -= 1;
    return from;
  }

  private sumBeyond(stop: OwnOrder): void {
    const trades = this.byOrder.get(stop) ?? [];
    const size = trades.reduce((sum, { beyond }) => (beyond === undefined ? sum : sum.plus(beyond)), ZERO);
    if (size.isZero()) this.beyond.delete(stop);
    else this.beyond.set(stop, size);
  }

  private get last(): Sum {
    return this.trades.at(-1)?.after ?? NOTHING;
  }
}

function isBefore(one: Counted, other: Counted | undefined): boolean {
  return other !== undefined && (one.at < other.at || (one.at === other.at && one.order.place < other.order.place));
}

function addTrade(before: Sum, { order, size }: Pick<Trade, 'order' | 'size'>, isBeside: boolean): Sum {
  const { intent, provenHeld } = order;
  const { side } = intent;
  const other: Side = side === 'long' ? 'short' : 'long';
  const signed = (of: Decimal) => (side === 'long' ? of : of.negated());
  if (isBeside) return { ...before, besideNet: before.besideNet.plus(signed(size)) };
  let rest = size;
  const take = (most: Decimal): Decimal => {
    if (most.isZero() || rest.isZero()) return ZERO;
    const taken = most.lt(rest) ? most : rest;
    rest = rest.minus(taken);
    return taken;
  };
  const own = take(onSide(before.net, other));
  let { besideNet, closed, byStops } = before;
  // Each is zero for nearly every fill of a long run.
  if (!besideNet.isZero()) besideNet = besideNet.plus(signed(take(onSide(besideNet, other))));
  const shown = provenHeld === undefined ? ZERO : onSide(decimal(provenHeld), other).minus(closed[other]);
  const held = shown.isNegative() ? ZERO : shown;
  const isStop = isPositionStop(intent);
  const reduced = take(isStop ? rest : held);
  if (!reduced.isZero()) closed = { ...closed, [other]: closed[other].plus(reduced) };
  if (isStop && !reduced.isZero()) byStops = byStops.plus(signed(reduced));
  const beyond = isStop && reduced.gt(held) ? reduced.minus(held) : ZERO;
  const total = before.total.plus(signed(size));
  return { net: before.net.plus(signed(own.plus(rest))), total, besideNet, closed, byStops, beyond };
}

/**
 * The fills of an order by their times; what only a record shows comes after them. Of a position stop it counts when the record was read:
 * it closed what was there, also what orders opened that are younger than the stop.
 */
function listTrades(order: OwnOrder): readonly Trade[] {
  const { fills, filled, recordFilled, recordFilledAt } = order.snapshot.context;
  if (fills.size === 0 && filled === recordFilled) return [];
  const read = [...fills.values()].map(({ timestamp, size }) => ({ at: timestamp, order, size: decimal(size) }));
  const unread = decimal(computeShortfall(getExposure(order.snapshot).filled, filled));
  if (unread.isZero()) return read;
  const first = ((isPositionStop(order.intent) ? recordFilledAt : undefined) ?? order.createdAt) * 1000;
  return [...read, { at: read.reduce((last, { at }) => Math.max(last, at), first), order, size: unread }];
}

/** The part of a signed size that lies on a side, unsigned. */
export function onSide(size: Decimal, side: Side): Decimal {
  const signed = side === 'long' ? size : size.negated();
  return signed.isNegative() ? ZERO : signed;
}

/**
 * Adds up what the orders of a run have opened, and what of it is left: their fills in the order in which they traded. A position stop
 * can only close, so what it filled beyond the run's own was held before; any other order closes what was proven when it was
 * decided: what its step allowed it to do proves nothing. Pure.
 */
import { Decimal, type DecimalString, decimal } from '../../base/decimal.ts';
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
  /** The position of the others' fills, less what the orders closed of it, long positive. */
  readonly besideNet: Decimal;
  /** What was closed of the position of others, by its side. */
  readonly closed: Readonly<Record<Side, Decimal>>;
  /** What position stops closed beyond the run's own, long positive. */
  readonly byStops: Decimal;
  /** Of the last trade: what a position stop closed beyond the run's own and what was proven to be held. */
  readonly beyond: Decimal;
}
const NOTHING: Sum = { net: ZERO, besideNet: ZERO, closed: { long: ZERO, short: ZERO }, byStops: ZERO, beyond: ZERO };

/** Net size that orders of one market have opened, long positive, with `pending` after their fills. `others`: those beside them. */
export function computeOpened(
  orders: readonly OwnOrder[],
  pending: readonly Pick<Trade, 'order' | 'size'>[],
  others: readonly OwnOrder[],
): Decimal {
  const beside = new Set(others);
  const trades = [...orders, ...others].flatMap(listTrades).sort((a, b) => a.at - b.at);
  const sum = [...trades, ...pending].reduce(
    (before, trade) => addTrade(before, trade, beside.has(trade.order)),
    NOTHING,
  );
  return sum.net;
}

interface Counted extends Trade {
  /** Counts the orders: trades of one instant follow each other as their orders do. */
  readonly place: number;
  after: Sum;
}

/**
 * What the orders of one market have opened, kept up with each change of an order: it costs what has changed, however many orders
 * came before.
 */
export class OpenedPosition {
  private readonly trades: Counted[] = [];
  private readonly beyond = new Map<OwnOrder, Decimal>();
  private readonly byOrder = new Map<OwnOrder, { readonly place: number; trades: readonly Counted[] }>();

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
    return this.trades.some(({ order }) => !isPositionStop(order.intent));
  }

  /** Takes in an order as it is now; the first time in the order of the intents. */
  update(order: OwnOrder): void {
    const known = this.byOrder.get(order) ?? { place: this.byOrder.size, trades: [] };
    this.byOrder.set(order, known);
    const now = listTrades(order);
    const before = known.trades;
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
    const added = now.slice(kept).map((trade): Counted => ({ ...trade, place: known.place, after: NOTHING }));
    for (const trade of added) {
      let index = this.trades.length;
      while (index > 0 && isBefore(trade, this.trades[index - 1])) index -= 1;
      this.trades.splice(index, 0, trade);
      first = Math.min(first, index);
    }
    known.trades = [...before.slice(0, kept), ...added];
    let sum = this.trades[first - 1]?.after ?? NOTHING;
    const stops = new Set(isPositionStop(order.intent) ? [order] : []);
    for (const trade of this.trades.slice(first)) {
      sum = addTrade(sum, trade, false);
      trade.after = sum;
      if (isPositionStop(trade.order.intent)) stops.add(trade.order);
    }
    for (const stop of stops) this.sumBeyond(stop);
  }

  private sumBeyond(stop: OwnOrder): void {
    const trades = this.byOrder.get(stop)?.trades ?? [];
    const size = trades.reduce((sum, { after }) => sum.plus(after.beyond), ZERO);
    if (size.isZero()) this.beyond.delete(stop);
    else this.beyond.set(stop, size);
  }

  private get last(): Sum {
    return this.trades.at(-1)?.after ?? NOTHING;
  }
}

function isBefore(one: Counted, other: Counted | undefined): boolean {
  return other !== undefined && (one.at < other.at || (one.at === other.at && one.place < other.place));
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
  return { net: before.net.plus(signed(own.plus(rest))), besideNet, closed, byStops, beyond };
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

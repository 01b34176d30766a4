/**
 * Folds the fills of a run: what traded, at what price, for which fee. It has only fills of the run's orders, each once, as
 * the engine's order tracker booked them; other trades of the account, which a read may show too, are left out.
 */
import { Decimal, type DecimalString, decimal, formatDecimal } from '../../base/decimal.ts';
import { formatMicros } from '../../base/format.ts';
import type { TrackedOrder } from '../../journal/orders.ts';
import { computeAveragePrice, sumFills, sumNetSize } from '../../venue/order/fills.ts';
import { compareTraded } from '../../venue/position/position-book.ts';
import type { FillRecord, Side } from '../../venue/records.ts';

export interface FillRow {
  /** The venue's id of the fill. */
  readonly id: string;
  /** When it traded, by the venue's clock, ISO 8601; six digits if the venue has them. */
  readonly at: string;
  readonly clientOrderId: string;
  readonly orderId: string;
  /** The step that placed the order. */
  readonly step: string;
  readonly market: string;
  readonly side: Side;
  /** Quote currency. */
  readonly price: DecimalString;
  /** Base currency. */
  readonly size: DecimalString;
  /** Price × size, quote currency. */
  readonly value: DecimalString;
  /** Quote currency; negative is a rebate. */
  readonly fee: DecimalString;
  readonly maker: boolean;
  readonly liquidation: boolean;
}

/** The fills of one side of one market. */
interface FillTotal {
  readonly market: string;
  readonly side: Side;
  readonly fills: number;
  readonly size: DecimalString;
  /** Σ size × price / Σ size, to 18 places. */
  readonly averagePrice: DecimalString;
  readonly value: DecimalString;
  readonly fee: DecimalString;
  /** Size that traded as maker. */
  readonly makerSize: DecimalString;
}

/** `audit fills RUN --json`. */
export interface FillsDocument {
  /** In the order they happened. */
  readonly fills: readonly FillRow[];
  readonly totals: readonly FillTotal[];
  /** By market: the change of the position by the fills, long positive, base currency. */
  readonly net: Readonly<Record<string, DecimalString>>;
}

/** The fills of orders that are already folded. */
export function summarizeFills(orders: readonly TrackedOrder[]): FillsDocument {
  const booked = orders.flatMap((order) => [...order.snapshot.context.fills.values()].map((fill) => ({ order, fill })));
  booked.sort((a, b) => compareTraded(a.fill, b.fill));
  const fills = booked.map(({ fill }) => fill);
  const groups = groupBy(fills, ({ market_id, side }) => `${market_id} ${side}`);
  const byMarket = groupBy(fills, ({ market_id }) => market_id);
  return {
    fills: booked.map(({ order, fill }) => makeFillRow(order, fill)),
    totals: groups.map(([, of]) => sumSide(of)),
    net: Object.fromEntries(byMarket.map(([market, of]) => [market, sumNetSize(of)])),
  };
}

export function makeFillRow({ intent, step }: TrackedOrder, fill: FillRecord): FillRow {
  return {
    id: fill.id,
    at: formatMicroseconds(fill.timestamp),
    clientOrderId: intent.clientOrderId,
    orderId: fill.order_id,
    step,
    market: fill.market_id,
    side: fill.side,
    price: fill.price,
    size: fill.size,
    value: formatDecimal(decimal(fill.price).times(decimal(fill.size))),
    fee: fill.fee,
    maker: fill.is_maker,
    liquidation: fill.liquidation,
  };
}

function sumSide(fills: readonly FillRecord[]): FillTotal {
  const [first] = fills;
  if (first === undefined) throw new Error('a group of fills has at least one');
  const sum = (of: (fill: FillRecord) => Decimal) =>
    formatDecimal(fills.reduce((total, fill) => total.plus(of(fill)), new Decimal(0)));
  return {
    market: first.market_id,
    side: first.side,
    fills: fills.length,
    size: sumFills(fills),
    // Without size there is no average; the price of the fill comes closest.
    averagePrice: computeAveragePrice(fills) ?? first.price,
    value: sum((fill) => decimal(fill.price).times(decimal(fill.size))),
    fee: sum((fill) => decimal(fill.fee)),
    makerSize: sumFills(fills.filter((fill) => fill.is_maker)),
  };
}

/** Elements by key, in the order in which the keys first occur. */
function groupBy<T>(
  elements: Iterable<T>,
  keyOf: (element: T) => string,
): readonly (readonly [string, readonly T[]])[] {
  const groups = new Map<string, T[]>();
  for (const element of elements) {
    const key = keyOf(element);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [element]);
    else group.push(element);
  }
  return [...groups];
}

/** Microseconds since the epoch as ISO 8601; six digits if the last three are not zero. */
export function formatMicroseconds(us: number): string {
  // A report must not fail because of a forged or damaged time.
  return Number.isSafeInteger(us) && Math.abs(us / 1000) <= 8.64e15 ? formatMicros(us) : String(us);
}

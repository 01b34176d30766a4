/** Describes the ledger of an account for `account ledger`: what it holds, what it realised, and what may still fill. */
import { Decimal, type DecimalString, decimal, formatDecimal } from '../../base/decimal.ts';
import type { WorkingOrder } from '../../venue/limits/check.ts';
import { formatRounded, getAverageEntry } from '../../venue/position/position.ts';
import type { PositionBook } from '../../venue/position/position-book.ts';
import type { FillRecord, Side } from '../../venue/records.ts';

/** The sums of the account over all its runs. */
interface LedgerSums {
  readonly book: PositionBook;
  readonly unknown: string | undefined;
  listLeft(): readonly WorkingOrder[];
  listUnbooked(): ReadonlyMap<string, string>;
  listForeign(market: string): readonly FillRecord[];
  listFilled(running: readonly never[]): ReadonlyMap<string, { readonly unread: readonly string[] }>;
  listRuns(): readonly {
    readonly days: Readonly<Record<string, { readonly orders: number; readonly notional?: string }>>;
  }[];
}

interface LedgerMarket {
  /** Net size, base currency, long positive: all fills of the account that are known. */
  readonly position: DecimalString;
  readonly averageEntry?: DecimalString;
  /** Quote currency, by average cost, as the fees. */
  readonly realized: DecimalString;
  readonly fees: DecimalString;
  /** What orders that runs left may still fill, base currency. */
  readonly workingBuy: DecimalString;
  readonly workingSell: DecimalString;
  /** The part of the position that fills of others made. */
  readonly foreign: DecimalString;
}

export interface LedgerDocument {
  readonly account: string;
  readonly markets: Readonly<Record<string, LedgerMarket>>;
  /** Of the UTC day. No notional where an order could not be measured. */
  readonly day: {
    readonly realized: DecimalString;
    readonly fees: DecimalString;
    readonly notional?: DecimalString;
    readonly orders: number;
  };
  /** Whether every journal was read, and all fills of every order. */
  readonly known: boolean;
  /** Orders whose fills have not all been read: where no record shows how many there are, and where one shows more. */
  readonly unread?: readonly string[];
  readonly why?: string;
}

const DAY_MS = 86_400_000;

/** `now`: epoch ms. */
export function describeLedger(account: string, sums: LedgerSums, now: number): LedgerDocument {
  const { book, unknown } = sums;
  const left = sums.listLeft();
  const filled = sums.listFilled([]);
  const unbooked = sums.listUnbooked();
  const unread = [...new Set([...[...filled.values()].flatMap((each) => each.unread), ...unbooked.keys()])];
  const traded = [...book.markets(), ...left.map(({ market }) => market), ...unbooked.values()];
  const markets = [...new Set(traded)].sort();
  return {
    account,
    markets: Object.fromEntries(markets.map((market) => [market, describeMarket(sums, market)])),
    day: describeDay(sums, now),
    known: unknown === undefined && unread.length === 0,
    ...(unread.length === 0 ? {} : { unread }),
    ...(unknown === undefined ? {} : { why: unknown }),
  };
}

function describeMarket(sums: LedgerSums, market: string): LedgerMarket {
  const position = sums.book.position(market);
  const averageEntry = getAverageEntry(position);
  const working = (side: Side) =>
    formatDecimal(
      sums
        .listLeft()
        .filter((order) => order.market === market && order.side === side && order.fraction === undefined)
        .reduce((sum, { worstRemaining }) => sum.plus(decimal(worstRemaining)), new Decimal(0)),
    );
  const foreign = sums
    .listForeign(market)
    .reduce(
      (sum, { side, size }) => (side === 'long' ? sum.plus(decimal(size)) : sum.minus(decimal(size))),
      new Decimal(0),
    );
  return {
    position: formatDecimal(position.size),
    ...(averageEntry === undefined ? {} : { averageEntry }),
    realized: formatRounded(position.realized),
    fees: formatDecimal(position.fees),
    workingBuy: working('long'),
    workingSell: working('short'),
    foreign: formatDecimal(foreign),
  };
}

function describeDay(sums: LedgerSums, now: number): LedgerDocument['day'] {
  const { book } = sums;
  const start = Math.floor(now / DAY_MS) * DAY_MS;
  let [realized, fees, notional] = [new Decimal(0), new Decimal(0), new Decimal(0)];
  for (const market of book.markets()) {
    const [before, after] = [book.positionAt(market, start * 1000), book.position(market)];
    realized = realized.plus(after.realized).minus(before.realized);
    fees = fees.plus(after.fees).minus(before.fees);
  }
  const day = new Date(start).toISOString().slice(0, 10);
  const sent = sums.listRuns().flatMap(({ days }) => (Object.hasOwn(days, day) ? [days[day]] : []));
  for (const each of sent) notional = notional.plus(decimal(each?.notional ?? '0'));
  return {
    realized: formatRounded(realized),
    fees: formatDecimal(fees),
    ...(sent.every((each) => each?.notional !== undefined) ? { notional: formatDecimal(notional) } : {}),
    orders: sent.reduce((sum, each) => sum + (each?.orders ?? 0), 0),
  };
}

/**
 * Adds up what runs gained, by run, runbook, market, account or day. A position belongs to an account: what one run buys another
 * may sell, and the gain is that of the fill which closes. So the rows of every key add up to the same.
 */
import { Decimal, type DecimalString, decimal, formatDecimal } from '../../base/decimal.ts';
import { addTrade, computeUnrealized, FLAT, formatRounded, type Position } from '../../venue/position/position.ts';
import { sortTraded } from '../../venue/position/position-book.ts';
import { formatTimes, isWithin, type Span, type TradedFill, type TradedRun } from './blotter.ts';

export type PnlKey = 'run' | 'runbook' | 'market' | 'account' | 'day';

/** Quote currency. */
type PnlRow = { readonly [K in PnlKey]?: string } & {
  readonly realized: DecimalString;
  /** Of what is held at the end, at the last price that a run saw; only by market and account, and where there is a price. */
  readonly unrealized?: DecimalString;
  readonly fees: DecimalString;
  /** Realised and unrealised, less fees. */
  readonly net: DecimalString;
  readonly fills: number;
  readonly runs: number;
};

/** `audit pnl --json`. */
export interface PnlDocument {
  readonly from?: string;
  readonly to?: string;
  readonly by: PnlKey;
  readonly rows: readonly PnlRow[];
}

interface Sum {
  realized: Decimal;
  fees: Decimal;
  unrealized: Decimal | undefined;
  fills: number;
  readonly runs: Set<string>;
}

const ZERO = new Decimal(0);

/** The sums of a span of time, by key. Fills before it count for what the later ones cost. */
export function makePnl(runs: readonly TradedRun[], by: PnlKey, span: Span): PnlDocument {
  const sums = new Map<string, Sum>();
  const find = (key: string) => {
    const known = sums.get(key) ?? {
      realized: ZERO,
      fees: ZERO,
      unrealized: undefined,
      fills: 0,
      runs: new Set<string>(),
    };
    sums.set(key, known);
    return known;
  };
  const positions = new Map<string, { position: Position; last: TradedFill }>();
  for (const fill of sortTraded(runs.flatMap((run) => run.fills))) {
    if (span.to !== undefined && fill.timestamp >= span.to * 1000) break;
    const id = JSON.stringify([fill.book, fill.market]);
    const before = positions.get(id)?.position ?? FLAT;
    const position = addTrade(before, fill);
    positions.set(id, { position, last: fill });
    if (!isWithin(span, fill.timestamp)) continue;
    const sum = find(nameKey(fill, by));
    sum.realized = sum.realized.plus(position.realized).minus(before.realized);
    sum.fees = sum.fees.plus(decimal(fill.fee));
    sum.fills += 1;
    sum.runs.add(fill.run);
  }
  // An earlier time has no price: what is held is worth what the runs saw last.
  if ((by === 'market' || by === 'account') && span.to === undefined)
    for (const { position, last } of positions.values()) {
      const price = findLastPrice(runs, last);
      if (price === undefined || !sums.has(nameKey(last, by))) continue;
      const sum = find(nameKey(last, by));
      sum.unrealized = (sum.unrealized ?? ZERO).plus(computeUnrealized(position, decimal(price)));
    }
  const rows = [...sums].map(([key, { realized, fees, unrealized, fills, runs: of }]): PnlRow => {
    const [gained, open] = [formatRounded(realized), unrealized && formatRounded(unrealized)];
    return {
      [by]: key,
      realized: gained,
      ...(open === undefined ? {} : { unrealized: open }),
      fees: formatDecimal(fees),
      net: formatDecimal(
        decimal(gained)
          .plus(decimal(open ?? '0'))
          .minus(fees),
      ),
      fills,
      runs: of.size,
    };
  });
  return { ...formatTimes(span), by, rows };
}

function nameKey(fill: TradedFill, by: PnlKey): string {
  return by === 'day' ? fill.at.slice(0, 10) : fill[by];
}

/** The last price that a run saw of the market in which a fill traded; of a dry-run, in itself. */
function findLastPrice(runs: readonly TradedRun[], { book, market }: TradedFill): string | undefined {
  const seen = runs.flatMap((run) =>
    run.fills.some((fill) => fill.book === book) ? (run.prices.get(market) ?? []) : [],
  );
  return seen.sort((a, b) => b.at - a.at)[0]?.price;
}

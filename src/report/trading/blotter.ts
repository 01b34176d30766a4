/** Folds what many runs traded: every fill and order, with its run. `audit blotter` lists them, `audit pnl` adds the fills up. */
import type { Entry } from '../../journal/entry.ts';
import { sortTraded } from '../../venue/position/position-book.ts';
import { canonicalizeAccountKey, composeAccountKey } from '../../venue/profile/base-url.ts';
import type { FillRow } from '../folds/fills.ts';
import { makeFillRow } from '../folds/fills.ts';
import { OrderFold, type OrderRow } from '../folds/orders.ts';
import { MoneyFold } from '../results/money.ts';

/** The run of a row. */
interface OfRun {
  readonly run: string;
  readonly runbook: string;
  readonly account: string;
}

export interface BlotterFill
  extends OfRun,
    Pick<FillRow, 'at' | 'id' | 'step' | 'market' | 'side' | 'size' | 'price' | 'fee' | 'clientOrderId' | 'orderId'> {}

/** A fill as the sums take it. */
export interface TradedFill extends BlotterFill {
  /** Epoch µs. */
  readonly timestamp: number;
  /** The position it changes: that of an account at its venue, or of a dry-run, which begins with none. */
  readonly book: string;
}

/** What one run traded. */
export interface TradedRun extends OfRun {
  /** In the order in which they traded. */
  readonly fills: readonly TradedFill[];
  readonly orders: readonly (OfRun & OrderRow)[];
  /** The last price that the run saw of each market, and when, epoch ms. */
  readonly prices: ReadonlyMap<string, { readonly price: string; readonly at: number }>;
}

/** Entries that say what a run traded. */
export const TRADING_ENTRIES: ReadonlySet<Entry['type']> = new Set([
  'run.started',
  'call.intended',
  'call.attempted',
  'call.settled',
  'order.concluded',
  'deadman.moved',
  'feed.read',
]);

export class TradedRunFold {
  private readonly orders = new OrderFold();
  private readonly money = new MoneyFold();
  private of: (OfRun & { readonly book: string }) | undefined;
  private lastAt = 0;

  apply(entry: Entry): void {
    if (entry.type === 'run.started') {
      const { runbook, account, mode, settings } = entry.data;
      const key = composeAccountKey(String(settings['base_url']), account);
      const book = mode === 'live' ? canonicalizeAccountKey(key) : entry.run;
      this.of = { run: entry.run, runbook, account, book };
    }
    this.lastAt = entry.at;
    this.orders.apply(entry);
    this.money.apply(entry, this.orders.tracker);
  }

  /** Undefined where the entries do not begin with those of a run. */
  finish(): TradedRun | undefined {
    if (this.of === undefined) return undefined;
    const { book, ...of } = this.of;
    const fills = this.orders.orders().flatMap((order) =>
      [...order.snapshot.context.fills.values()].map((fill) => {
        const { value: _value, maker: _maker, liquidation: _liquidation, ...row } = makeFillRow(order, fill);
        return { ...of, ...row, timestamp: fill.timestamp, book };
      }),
    );
    const markets = new Set(fills.map(({ market }) => market));
    return {
      ...of,
      fills: sortTraded(fills),
      orders: this.orders.rows().map((row) => ({ ...of, ...row })),
      prices: new Map(
        [...markets].flatMap((market) => {
          const price = this.money.findLastPrice(market, this.orders.tracker);
          return price === undefined ? [] : [[market, { price, at: this.lastAt }] as const];
        }),
      ),
    };
  }
}

/** `audit blotter --json`. */
export interface BlotterDocument {
  readonly from?: string;
  readonly to?: string;
  readonly fills: readonly BlotterFill[];
  readonly orders: readonly (OfRun & OrderRow)[];
}

/** A span of time, epoch ms: from the first instant, up to but not including the last. */
export interface Span {
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}

export function isWithin({ from, to }: Span, timestamp: number): boolean {
  return (from === undefined || timestamp >= from * 1000) && (to === undefined || timestamp < to * 1000);
}

/** The fills of a span, and the orders of the runs that traded in it; all orders where no span is given. */
export function makeBlotter(runs: readonly TradedRun[], span: Span): BlotterDocument {
  const fills = sortTraded(runs.flatMap((run) => run.fills)).filter(({ timestamp }) => isWithin(span, timestamp));
  const traded = new Set(fills.map(({ run }) => run));
  const isWhole = span.from === undefined && span.to === undefined;
  return {
    ...formatTimes(span),
    fills: fills.map(({ timestamp: _timestamp, book: _book, ...row }) => row),
    orders: runs.filter(({ run }) => isWhole || traded.has(run)).flatMap(({ orders }) => orders),
  };
}

export function formatTimes({ from, to }: Span): { readonly from?: string; readonly to?: string } {
  return {
    ...(from === undefined ? {} : { from: new Date(from).toISOString() }),
    ...(to === undefined ? {} : { to: new Date(to).toISOString() }),
  };
}

/**
 * Folds one run into what the account's ledger keeps of it: its fills, what of its orders may still fill, and when and for how
 * much it sent orders. It is derived from the run's entries alone, so that it can be made again from them at any time.
 */
import { formatDecimal } from '../../base/decimal.ts';
import type { Entry } from '../../journal/entry.ts';
import { OrderTracker } from '../../journal/orders.ts';
import { isPositionStop } from '../../venue/order/context.ts';
import { computeShortfall, isZeroDecimal } from '../../venue/order/fills.ts';
import { isFilledUnseen } from '../../venue/order/guards.ts';
import { getExposure } from '../../venue/order/life.ts';
import { isWorking } from '../../venue/order/states.ts';
import { composeAccountKey } from '../../venue/profile/base-url.ts';
import { findPriceFeed } from '../../venue/profile/price-feed.ts';
import { LimitFactsFold } from './facts.ts';
import { type LedgerOrder, RUN_LEDGER_VERSION, type RunLedger } from './ledger-rows.ts';

export class RunLedgerFold {
  private readonly tracker = new OrderTracker();
  private gate = new LimitFactsFold(this.tracker, {});
  private about: Pick<RunLedger, 'run' | 'runbook' | 'account' | 'startedAt'> | undefined;
  private lastAt = 0;

  apply(entry: Entry): void {
    if (entry.type === 'run.started') {
      const { runbook, account, settings } = entry.data;
      const { base_url: url, markets, feeds, requests } = settings;
      const priceFeed = feeds === undefined ? undefined : findPriceFeed({ feeds, requests } as never);
      const key = composeAccountKey(String(url), account);
      this.about = { run: entry.run, runbook, account: key, startedAt: entry.data.startedAt };
      this.gate = new LimitFactsFold(this.tracker, (markets ?? {}) as never, undefined, priceFeed);
    }
    this.lastAt = Math.max(this.lastAt, entry.at);
    // As in the run: the facts of the limits, then the tracker.
    this.gate.apply(entry);
    this.tracker.apply(entry);
  }

  /** Undefined where the entries do not begin with those of a run. */
  finish(): RunLedger | undefined {
    return this.about && { ...this.about, lastAt: this.lastAt, ...summarizeRun(this.gate, this.tracker, this.lastAt) };
  }
}

/** What the ledger keeps of a run, from the facts of its limits. */
export function summarizeRun(
  gate: LimitFactsFold,
  tracker: OrderTracker,
  now: number,
): Omit<RunLedger, 'run' | 'runbook' | 'account' | 'startedAt' | 'lastAt'> {
  const working = new Map(gate.workingOrders().map((order) => [order.clientOrderId, order]));
  const orders = tracker.orders();
  return {
    version: RUN_LEDGER_VERSION,
    fills: orders.flatMap(({ intent, step, snapshot }) =>
      [...snapshot.context.fills.values()].map((fill) => ({ ...fill, clientOrderId: intent.clientOrderId, step })),
    ),
    orders: orders.flatMap(({ intent, snapshot }): readonly LedgerOrder[] => {
      const { clientOrderId, market, side } = intent;
      const { context } = snapshot;
      const { filled, worstRemaining } = getExposure(snapshot);
      const unseen = isFilledUnseen(snapshot);
      if (!isWorking(snapshot.state) && !unseen && isZeroDecimal(filled)) return [];
      const open = unseen ? computeShortfall(context.authorised ?? context.size, filled) : worstRemaining;
      const works = working.get(clientOrderId);
      return [
        {
          clientOrderId,
          ...(context.venueId === undefined ? {} : { orderId: context.venueId }),
          market,
          side,
          filled,
          open,
          ...(isPositionStop(intent) ? { closes: true as const } : {}),
          ...(works === undefined ? {} : { working: works }),
        },
      ];
    }),
    orderTimes: gate.listOrderTimes(now),
    days: Object.fromEntries(
      [...gate.own.sumDays()].map(([day, { orders: count, notional }]) => [
        day,
        { orders: count, ...(notional === undefined ? {} : { notional: formatDecimal(notional) }) },
      ]),
    ),
  };
}

/**
 * Describes what a run that is not settled leaves at the venue, as far as it knows: each order that may be there, a deadman
 * switch that stays armed, and what continues it. Shown of a halted run, and of one whose time to end is over.
 */
import { formatWholeSeconds } from '../../base/format.ts';
import { makePrintable } from '../../base/printable.ts';
import { getOrderState, type OrderRow } from '../../report/folds/orders.ts';
import { describeUnseen, POSITION_LEFT, type Residual } from '../../report/folds/residual.ts';
import type { RunReport } from '../../report/folds/run.ts';
import { isGone, isInDoubt } from '../../venue/order/states.ts';
import { describeCancels, describeLeft } from '../../venue/position/residual.ts';
import { UserError } from '../errors.ts';
import { exitAfter, type Signal } from '../process.ts';
import type { KnownRun } from './outcome.ts';

/** The orders that may be at the venue. */
export function listUnsettledOrders({ orders }: Pick<RunReport, 'orders'>): readonly OrderRow[] {
  return orders.filter((order) => !isGone(getOrderState(order)));
}

/** One line for each order that may be there, and one for the switch. */
export function describeUnsettled(
  report: Pick<RunReport, 'run' | 'orders'>,
  { deadmanFiresAt, cancels }: Residual,
  now: number,
): readonly string[] {
  const { run } = report;
  const orders = listUnsettledOrders(report).map((order) => {
    const [what, next] = isInDoubt(getOrderState(order))
      ? ['look it up at the venue by its client order id', 'asks again']
      : ['it may still fill', 'asks once more and cancels it'];
    return `order ${order.clientOrderId} (${order.orderId ?? 'no id yet'}) of ${makePrintable(order.market, 60)} is ${order.state}: ${what}; \`runbook resume ${run}\` ${next}, \`runbook audit show ${run}\` shows its history`;
  });
  return deadmanFiresAt === undefined ? orders : [...orders, describeDeadman(deadmanFiresAt, now, cancels)];
}

/** The same of a run that a signal ended before it was settled, with what no answer shows and the position that no working stop covers. */
export function describeInterrupted(
  known: KnownRun & { readonly hasOpenCommand: boolean },
  now: number,
): readonly string[] {
  const residual = known.residual();
  const progress = known.progress();
  const { run } = progress;
  const lost = `the signal is not in the journal, because its store does not answer: \`runbook cancel ${run} --by NAME\` before \`runbook resume ${run}\`, which otherwise goes on with the run`;
  return [
    ...(known.hasOpenCommand ? [lost] : []),
    ...describeUnsettled(progress, residual, now),
    ...residual.unseen.map(describeUnseen),
    ...residual.beyond.map((left) => `${POSITION_LEFT} ${describeLeft(left)}`),
  ];
}

/** The error that ends a process whose time to end is over. */
export function makeOverdueError(signal: Signal, within: string, known: KnownRun): UserError {
  const { run, orders: open } = known.progress();
  const orders = open.map(({ clientOrderId, orderId, market, state }) => ({
    clientOrderId,
    ...(orderId === undefined ? {} : { orderId }),
    market,
    state,
  }));
  // A run has no declaration to be held to before it has ended.
  const ended =
    known.residual().leaves === undefined ? 'is not settled' : 'has ended, and its store could not be closed';
  return new UserError(
    `${signal}: ${within} later (shutdown.within) run ${run} ${ended}. This process ends without waiting any longer; \`runbook resume ${run}\` continues from the journal, at most 15 s from now`,
    exitAfter(signal),
    'interrupted',
    { run, orders },
  );
}

/** The venue's clock may differ from ours, so the message gives both the time and the span. */
function describeDeadman(firesAt: number, now: number, cancels: Residual['cancels']): string {
  const at = new Date(firesAt).toISOString();
  const named = cancels === undefined ? '' : `; ${describeCancels(cancels)}`;
  return now >= firesAt
    ? `the deadman switch was left armed and its time is over (${at}): unless something renewed it, the venue has cancelled EVERY open order of the account, including stops${named}`
    : `the deadman switch stays armed: at ${at}, in ${formatWholeSeconds(firesAt - now)}, the venue cancels EVERY open order of the account, including stops, unless something renews it${named}`;
}

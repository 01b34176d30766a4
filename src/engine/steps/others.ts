/**
 * Finds what others have closed of a position that the run is about to close: a person at the venue, its liquidation, the stop of another
 * run. A market order for that part would open the opposite position, which no stop covers and no record of the run shows.
 */
import { Decimal, decimal, formatDecimal } from '../../base/decimal.ts';
import type { TrackedOrder } from '../../journal/orders.ts';
import { isPositionStop } from '../../venue/order/context.ts';
import { makeMarketFillParams } from '../../venue/order/requests.ts';
import { SWEEP } from '../../venue/port.ts';
import { isEndedByOthers, isStop } from '../../venue/position/residual.ts';
import type { FillRecord, Side } from '../../venue/records.ts';
import type { StepExecution } from './execution.ts';

/** How long the reading may take, ms: an exit goes on without it. */
const READ_WITHIN_MS = 2000;

/**
 * How much others have closed on `side` since an order of the run that could only close there ended without a request of the run: a venue
 * ends such orders with the position, and a person does so who closes it by hand. Where none did, or no answer came, nothing is read or
 * known: 0. What others traded both ways counts as the difference.
 */
export async function readClosedByOthers(
  { run, path }: Pick<StepExecution, 'run' | 'path'>,
  market: string,
  side: Side,
): Promise<Decimal> {
  const { clock, log, orderManager, venue } = run;
  const own = log.tracker.orders().filter(({ intent }) => intent.market === market);
  const opening = own.flatMap(({ intent, snapshot }) =>
    intent.side === side ? [] : [...snapshot.context.fills.values()].map(({ timestamp }) => timestamp),
  );
  const opened = opening.length === 0 ? Number.POSITIVE_INFINITY : Math.max(...opening);
  const taken = own.filter((order) => order.intent.side === side && isTakenAway(order));
  const [last] = taken.slice(-1);
  if (last === undefined) return new Decimal(0);
  // The time of a record may be that of its last change.
  const since = Math.max(
    ...taken.map(({ snapshot }) => Math.min(snapshot.context.lastRecord?.timestamp ?? opened, opened)),
  );
  const outcome = await venue.call({
    id: run.callId(path),
    step: path,
    endpoint: 'GET /fills',
    params: makeMarketFillParams<never>(market, orderManager.watch.lookFrom(last.createdAt)),
    class: 'resolve',
    purpose: SWEEP,
    deadlineAt: clock.now() + READ_WITHIN_MS,
    answerMs: READ_WITHIN_MS,
  });
  if (outcome.kind !== 'confirmed') return new Decimal(0);
  const others = outcome.result.filter(
    (fill) => fill.market_id === market && fill.timestamp > since && log.tracker.byId(fill.order_id) === undefined,
  );
  const closed = Decimal.max(sumSigned(others, side), 0);
  if (closed.gt(0)) {
    const liquidated = others.some(({ liquidation }) => liquidation);
    const detail = { market, size: formatDecimal(closed), ...(liquidated ? { liquidation: true } : {}) };
    const { clientOrderId } = last.intent;
    log.append('order.alarmed', { clientOrderId, alarm: 'ClosedByOthers', detail }, path);
  }
  return closed;
}

/** Whether it is a stop or a target that the venue ended or rejected without a request of this program. */
function isTakenAway(order: TrackedOrder): boolean {
  const { intent, snapshot } = order;
  const isRejected = snapshot.state === 'rejected' && (isStop(intent.type) || isPositionStop(intent));
  return isRejected || isEndedByOthers(order);
}

function sumSigned(fills: readonly FillRecord[], side: Side): Decimal {
  return fills.reduce(
    (sum, fill) => (fill.side === side ? sum.plus(decimal(fill.size)) : sum.minus(decimal(fill.size))),
    new Decimal(0),
  );
}

/**
 * Finds what others have closed of a position that the run is about to close: a person at the venue, its liquidation, the stop of another
 * run. A market order for that part would open the opposite position, which no stop covers and no record of the run shows.
 */
import { Decimal, decimal, formatDecimal } from '../../base/decimal.ts';
import type { TrackedOrder } from '../../journal/orders.ts';
import { isPositionStop } from '../../venue/order/context.ts';
import { isOwnClientOrderId } from '../../venue/order/identity.ts';
import { getExposure } from '../../venue/order/life.ts';
import { makeMarketFillParams, makeMarketParams, makeReadParams } from '../../venue/order/requests.ts';
import { Pages } from '../../venue/pages.ts';
import { type CallOutcome, SWEEP, type VenueCall } from '../../venue/port.ts';
import { isEndedByOthers, isStop } from '../../venue/position/residual.ts';
import type { FillRecord, OrderRecord, Side } from '../../venue/records.ts';
import type { StepExecution } from './execution.ts';

/** How long a reading may take, and until when the next may begin, ms: an exit goes on without it. */
const READ_WITHIN_MS = 2000;
const READ_ALL_WITHIN_MS = 10_000;
/** Most pages of fills, and most orders that are read by their ids. */
const MOST_PAGES = 5;
const MOST_BY_ID = 20;
const NONE = new Decimal(0);

/** `until`: when no further reading begins, epoch ms. */
type Asking = Pick<StepExecution, 'run' | 'path'> & { readonly until: number };

/**
 * How much others have closed on `side` since an order of the run that could only close there ended without a request of the run: a venue
 * ends such orders with the position, and a person does so who closes it by hand. Where none did, nothing is read: 0; undefined where no
 * answer came. What others traded both ways counts as the difference; what other runs of this program trade of their own does not count.
 */
export async function readClosedByOthers(
  { run, path }: Pick<StepExecution, 'run' | 'path'>,
  market: string,
  side: Side,
): Promise<Decimal | undefined> {
  const { log } = run;
  const own = log.tracker.orders().filter(({ intent }) => intent.market === market);
  const taken = listTaken(run, market, side);
  const [last] = taken.slice(-1);
  if (last === undefined) return NONE;
  const since = findSince(own, side) ?? run.orderManager.watch.lookFrom((own[0] ?? last).createdAt);
  const ask = { run, path, until: run.clock.now() + READ_ALL_WITHIN_MS };
  // Not from the last of these orders on: others may have closed long before it was placed.
  const fills = await readFills(ask, market, since);
  if (fills === undefined) return undefined;
  const others = fills.filter(
    (fill) => fill.market_id === market && fill.timestamp > since && log.tracker.byId(fill.order_id) === undefined,
  );
  if (sumSigned(others, side).lte(0)) return NONE;
  const from = run.orderManager.watch.lookFrom(last.createdAt);
  const netting = listNetting(await readOrders(ask, market, from, new Set(others.map(({ order_id: id }) => id))));
  const closing = others.filter((fill) => !netting.has(fill.order_id));
  const closed = Decimal.max(sumSigned(closing, side), 0);
  if (closed.gt(0)) {
    const liquidated = closing.some(({ liquidation }) => liquidation);
    const detail = { market, size: formatDecimal(closed), ...(liquidated ? { liquidation: true } : {}) };
    const { clientOrderId } = last.intent;
    log.append('order.alarmed', { clientOrderId, alarm: 'ClosedByOthers', detail }, path);
  }
  return closed;
}

/** The orders of the run that could only close on `side`, and whose end or size shows that others have closed of the position as well. */
export function listTaken({ log, venue }: StepExecution['run'], market: string, side: Side): readonly TrackedOrder[] {
  const own = log.tracker.orders().filter(({ intent }) => intent.market === market);
  const lot = venue.market(market)?.lot ?? '0';
  return own.filter((order) => order.intent.side === side && (isTakenAway(order) || hasClosedLess(order, own, lot)));
}

/** The fills of a market: newer ones of other programs must not hide those that closed. */
async function readFills(ask: Asking, market: string, since: number): Promise<readonly FillRecord[] | undefined> {
  const list = new Pages<FillRecord>(MOST_PAGES);
  for (let page = 0; ; page += 1) {
    const answer = await read(ask, 'GET /fills', makeMarketFillParams<never>(market, since, page));
    if (answer === undefined) return page === 0 ? undefined : list.rows;
    if (!list.take(answer.result, answer.unread?.length)) return list.rows;
  }
}

/** The orders of a market, and by their ids those of `wanted` that newer orders hide: taken for another's, one would keep the exit back. */
async function readOrders(
  ask: Asking,
  market: string,
  since: number,
  wanted: ReadonlySet<string>,
): Promise<readonly OrderRecord[]> {
  const orders = [...((await read(ask, 'GET /orders', makeMarketParams<never>(market, since)))?.result ?? [])];
  const shown = new Set(orders.map(({ id }) => id));
  for (const venueId of [...wanted].filter((id) => !shown.has(id)).slice(0, MOST_BY_ID)) {
    const params = makeReadParams<never>({ market, clientOrderId: '', venueId }, since);
    orders.push(...((await read(ask, 'GET /orders', params))?.result ?? []));
  }
  return orders;
}

/** A page without the rows that cannot be read, which hide no other; undefined without an answer in time, and where the time is over. */
async function read<E extends 'GET /fills' | 'GET /orders'>(
  { run, path, until }: Asking,
  endpoint: E,
  params: VenueCall<E>['params'],
): Promise<Extract<CallOutcome<E>, { kind: 'confirmed' }> | undefined> {
  if (run.clock.now() >= until) return undefined;
  const outcome = await run.venue.call({
    id: run.callId(path),
    step: path,
    endpoint,
    params,
    class: 'resolve',
    rows: 'each',
    purpose: SWEEP,
    deadlineAt: run.clock.now() + READ_WITHIN_MS,
    answerMs: READ_WITHIN_MS,
  });
  return outcome.kind === 'confirmed' ? outcome : undefined;
}

/**
 * The ids of orders with which other runs of this program trade positions of their own in the market: the account nets them, and each run
 * closes its own. A part of the position closes what all of them hold.
 */
function listNetting(records: readonly OrderRecord[]): ReadonlySet<string> {
  const netting = records.filter(
    ({ client_order_id, order_type: type }) => isOwnClientOrderId(client_order_id) && !isPositionStop({ type }),
  );
  return new Set(netting.map(({ id }) => id));
}

/**
 * The time, µs, from which fills of others count: when the run began to hold what it holds now. What it opened later must not hide what
 * others had closed before, which an exit may have left out already. Undefined where no fill shows it: fills may lag behind their records.
 */
function findSince(own: readonly TrackedOrder[], side: Side): number | undefined {
  const fills = own.flatMap(({ snapshot }) => [...snapshot.context.fills.values()]);
  let held = NONE;
  let since: number | undefined;
  for (const { side: traded, size, timestamp } of fills.sort((a, b) => a.timestamp - b.timestamp)) {
    const before = held;
    held = traded === side ? held.minus(decimal(size)) : held.plus(decimal(size));
    if (before.lte(0) && held.gt(0)) since = timestamp;
  }
  return since;
}

/**
 * Whether it is a stop or a target that the venue ended or rejected without a request of this program. One whose cancel the venue never
 * accepted may have ended before.
 */
function isTakenAway(order: TrackedOrder): boolean {
  const { intent, snapshot } = order;
  if (!isStop(intent.type) && !isPositionStop(intent)) return false;
  const { cancel } = snapshot.context;
  const isUnasked = snapshot.state === 'canceled' && cancel?.cause === 'run' && cancel.accepted !== true;
  return snapshot.state === 'rejected' || isUnasked || isEndedByOthers(order);
}

/**
 * Whether a fraction of the position has closed less than that of what the run held, which the venue rounds down to a lot: the account
 * held less by then.
 */
function hasClosedLess(order: TrackedOrder, own: readonly TrackedOrder[], lot: string): boolean {
  const { intent, snapshot } = order;
  if (!isPositionStop(intent) || snapshot.state !== 'closed') return false;
  const { context } = snapshot;
  const at = Math.min(...[...context.fills.values()].map(({ timestamp }) => timestamp));
  const before = own.flatMap(({ snapshot: { context: other } }) =>
    other === context ? [] : [...other.fills.values()].filter(({ timestamp }) => timestamp < at),
  );
  const held = sumSigned(before, intent.side).negated();
  const missing = held.times(decimal(intent.size)).minus(decimal(getExposure(snapshot).filled));
  return missing.gt(0) && missing.gte(decimal(lot));
}

function sumSigned(fills: readonly FillRecord[], side: Side): Decimal {
  return fills.reduce(
    (sum, fill) => (fill.side === side ? sum.plus(decimal(fill.size)) : sum.minus(decimal(fill.size))),
    new Decimal(0),
  );
}

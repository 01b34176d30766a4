/** Answers GET /orders and GET /fills: filters, sorts and pages the ledger as it looks to a reader at a time. */
import type { Params } from '../../../venue/catalogue.ts';
import type { FillRecord, OrderRecord } from '../../../venue/records.ts';
import type { Chance } from '../config/random.ts';
import type { Settings } from '../config/settings.ts';
import type { OrderLedger, SimOrder } from './ledger.ts';
import { VenueError } from './request.ts';

/** Rows of a page if p_limit is absent; the venue document does not give the number. */
const DEFAULT_PAGE_ROWS = 100;

export function listOrders(
  ledger: OrderLedger,
  params: Params<'GET /orders'>,
  at: number,
  { settings, chance }: { readonly settings: Settings; readonly chance: Chance },
): OrderRecord[] {
  if (params.client_order_id !== undefined && params.market_id === undefined) {
    throw new VenueError('MISSING_PARAMETER', 'client_order_id must be combined with market_id');
  }
  const isExact = settings.surprises.lookups === 'exact';
  const candidates = isExact ? selectCandidates(ledger, params) : ledger.listByTime().orders;
  const rows = selectPage(candidates, params, settings, (order) => {
    if (order.visibleAt > at || !isInRange(order.timestampUs, params)) return undefined;
    if (isExact && params.order_id !== undefined && order.id !== params.order_id) return undefined;
    if (params.market_id !== undefined && order.marketId !== params.market_id) return undefined;
    const lagMs =
      settings.surprises.lags === 'reads'
        ? chance.drawWithin({ min: 0, max: order.readLagMs }, `read ${order.number}`, at)
        : order.readLagMs;
    const record = showFilledLate(ledger.readRecordAt(order, at - lagMs), () =>
      ledger.readRecordAt(order, at - lagMs - settings.surprises.filledLagMs),
    );
    return params.status === undefined || record?.status === params.status ? spoil(order, record) : undefined;
  });
  const wanted = params.client_order_id ?? params.order_id;
  if (rows.length === 0 && wanted !== undefined && settings.surprises.missingOrder === 'refuse')
    throw new VenueError('ORDER_NOT_FOUND', `there is no order ${wanted}`, 404);
  return rows;
}

/** The record with the filled size that it had before; an amend since then has changed what that is a part of. */
function showFilledLate(record: OrderRecord | undefined, readOlder: () => OrderRecord | undefined) {
  if (record === undefined || record.total_filled_size === '0') return record;
  const older = readOlder();
  if (older === undefined || older === record || older.initial_size !== record.initial_size) return record;
  return { ...record, size: older.size, total_filled_size: older.total_filled_size };
}

/** The record with null in the fields that the order's configuration names. */
function spoil({ nulls }: SimOrder, record: OrderRecord | undefined): OrderRecord | undefined {
  if (nulls === undefined || record === undefined) return record;
  return { ...record, ...Object.fromEntries(nulls.map((field) => [field, null])) };
}

function selectCandidates(ledger: OrderLedger, params: Params<'GET /orders'>): readonly SimOrder[] {
  if (params.client_order_id !== undefined) return ledger.findByClientId(params.client_order_id);
  if (params.order_id === undefined) return ledger.listByTime().orders;
  const order = ledger.find(params.order_id);
  return order === undefined ? [] : [order];
}

export function listFills(
  ledger: OrderLedger,
  params: Params<'GET /fills'>,
  at: number,
  settings: Settings,
): FillRecord[] {
  return selectPage(ledger.listByTime().fills, params, settings, (fill) => {
    const wanted = params.market_id === undefined || fill.record.market_id === params.market_id;
    return wanted && fill.shownAt <= at && isInRange(fill.record.timestamp, params) ? fill.record : undefined;
  });
}

export function listFillsOf(ledger: OrderLedger, orderId: string, at: number): FillRecord[] {
  return ledger
    .listFillsOf(orderId)
    .filter((fill) => fill.shownAt <= at)
    .map((fill) => fill.record);
}

type Paging = Pick<Params<'GET /fills'>, 'start_time' | 'end_time' | 'p_limit' | 'p_page' | 'p_order'>;

/** Both ends belong to the range. */
function isInRange(timestampUs: number, { start_time, end_time }: Paging): boolean {
  return (start_time === undefined || timestampUs >= start_time) && (end_time === undefined || timestampUs <= end_time);
}

/**
 * One page of the rows that `read` keeps; `rows` are in rising order of time. Pages are offsets, so they drift (venue-notes.md,
 * surprise 10).
 */
function selectPage<Row, Kept>(
  rows: readonly Row[],
  params: Paging,
  { surprises }: Settings,
  read: (row: Row) => Kept | undefined,
): Kept[] {
  const limit = params.p_limit ?? DEFAULT_PAGE_ROWS;
  let skip = surprises.pages === 'first' ? 0 : (params.p_page ?? 0) * limit;
  const kept: Kept[] = [];
  const descending = params.p_order !== 'ASC';
  for (let index = 0; index < rows.length && kept.length < limit; index += 1) {
    const value = read(rows[descending ? rows.length - 1 - index : index] as Row);
    if (value === undefined) continue;
    if (skip > 0) skip -= 1;
    else kept.push(value);
  }
  return kept;
}

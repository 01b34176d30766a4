/**
 * Builds the parameters of every request about an order. A run and its plan call the same functions, so that a plan cannot name
 * other parameters than those that are sent. `U` stands for a value that a plan does not know.
 */
import type { DecimalString } from '../../base/decimal.ts';
import type { WireParams } from '../catalogue.ts';
import type { OrderType, Side, TimeInForce } from '../records.ts';

/** How a request names an order: by the venue's id once it is known, else by market and client order id. */
export interface OrderRef<U = never> {
  readonly market: string | U;
  readonly clientOrderId: string | U;
  readonly venueId: string | U | undefined;
}

/** The terms of an order before it has a client order id. Decimals as strings; for a position stop, `size` is the fraction. */
export interface OrderDraft<U = never> {
  readonly market: string | U;
  readonly side: Side | U;
  readonly type: OrderType;
  readonly size: DecimalString | U;
  readonly price?: DecimalString | U | undefined;
  readonly trigger?: DecimalString | U | undefined;
  readonly timeInForce?: TimeInForce | U | undefined;
}

/** Rows of a page that has to show every order of a market, or of the account. */
export const PAGE_ROWS = 1000;

export function makePlaceParams<U = never>(
  draft: OrderDraft<U>,
  clientOrderId: string | U,
): WireParams<'POST /orders', U> {
  return {
    market_id: draft.market,
    side: draft.side,
    size: draft.size,
    type: draft.type,
    price: draft.price,
    trigger_price: draft.trigger,
    client_order_id: clientOrderId,
    time_in_force: draft.timeInForce,
  };
}

export function makeAmendParams<U = never>(
  order: Pick<OrderRef<U>, 'market' | 'venueId'>,
  price: DecimalString | U,
  size: DecimalString | U | undefined,
): WireParams<'PUT /orders', U> {
  return { order_id: order.venueId ?? '', market_id: order.market, price, size };
}

export function makeCancelParams<U = never>(order: OrderRef<U>): WireParams<'DELETE /orders', U> {
  return order.venueId === undefined
    ? { market_id: order.market, client_order_id: order.clientOrderId }
    : { order_id: order.venueId, market_id: order.market };
}

/** Reads one order. `since`: start of the reading, µs. */
export function makeReadParams<U = never>(order: OrderRef<U>, since: number | U): WireParams<'GET /orders', U> {
  return order.venueId === undefined
    ? makeLookupParams(order, since)
    : { order_id: order.venueId, market_id: order.market, start_time: since };
}

/** Looks up an order by the id that we gave it, which works also where the venue's id never arrived. */
export function makeLookupParams<U = never>(
  order: Pick<OrderRef<U>, 'market' | 'clientOrderId'>,
  since: number | U,
): WireParams<'GET /orders', U> {
  return { market_id: order.market, client_order_id: order.clientOrderId, start_time: since };
}

/** Reads a page of the orders of a market, the newest first, of all or of those that are open. The first page has number 0. */
export function makeMarketParams<U = never>(
  market: string | U,
  since: number | U,
  { open = false, page = 0 }: { readonly open?: boolean; readonly page?: number } = {},
): WireParams<'GET /orders', U> {
  const status = open ? ({ status: 'open' } as const) : {};
  return {
    market_id: market,
    ...status,
    start_time: since,
    p_limit: PAGE_ROWS,
    ...(page === 0 ? {} : { p_page: page }),
  };
}

/** Reads a page of the fills of a market, the newest first. The first page has number 0. */
export function makeMarketFillParams<U = never>(
  market: string | U,
  since: number | U,
  page = 0,
): WireParams<'GET /fills', U> {
  return { market_id: market, start_time: since, p_limit: PAGE_ROWS, ...(page === 0 ? {} : { p_page: page }) };
}

export function makeOrderFillParams<U = never>(venueId: string | U): WireParams<'GET /fills/order', U> {
  return { order_id: venueId };
}

/** Statuses under which an order can still fill. The venue filters by these; an order under another status is only in the whole list. */
export const LIVE_STATUSES = ['open', 'processing', 'amending', 'canceling', 'cancelingall'] as const;

/** Reads a page of the account's orders of every status, oldest first. `since`: µs. */
export function makeNewestOrderParams<U = never>(since: number | U, page: number): WireParams<'GET /orders', U> {
  return { start_time: since, p_limit: PAGE_ROWS, p_page: page, p_order: 'ASC' };
}

/** Reads the orders of the account under one status, or a page of all of them, or of those that are not newer. `since`, `until`: µs. */
export function makeAccountOrderParams<U = never>(
  since: number | U,
  of:
    | { readonly status: (typeof LIVE_STATUSES)[number] }
    | { readonly page: number; readonly until?: number | undefined },
): WireParams<'GET /orders', U> {
  const rest = { start_time: since, p_limit: PAGE_ROWS };
  if ('status' in of) return { status: of.status, ...rest };
  return { ...rest, ...(of.until === undefined ? {} : { end_time: of.until }), p_page: of.page };
}

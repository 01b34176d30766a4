/**
 * Handles every endpoint on the side of the simulated venue; a row of the endpoint table without a handler does not compile. A
 * handler returns the `result` of the envelope or throws a `VenueError`. Handlers shape answers; orders.ts decides on orders.
 */
import { formatDecimal } from '../../base/decimal.ts';
import type { EndpointName, Params } from '../../venue/catalogue.ts';
import type { AmendAck, CancelAck, DeadmanRecord, PlacementAck } from '../../venue/records.ts';
import type { FaultRule } from './config/faults.ts';
import type { ArmedSwitch } from './market/deadman.ts';
import type { SimOrder } from './market/ledger.ts';
import { listFills, listFillsOf, listOrders } from './market/listing.ts';
import { VenueError } from './market/request.ts';
import type { Venue } from './market/venue.ts';

interface Received<E extends EndpointName> {
  readonly params: Params<E>;
  /** Epoch ms of arrival. */
  readonly at: number;
  /** What it meets, if anything: some faults affect orders. */
  readonly fault: FaultRule | undefined;
}

export type Handler<E extends EndpointName> = (venue: Venue, received: Received<E>) => unknown;

export const HANDLERS: { readonly [E in EndpointName]: Handler<E> } = {
  'GET /account': ({ account, fillEngine }, { at }) => [account.toRecord(at, fillEngine.listExposures(at))],

  'PUT /account/leverage': (venue, { params, at }) => {
    const { account, fillEngine, ledger } = venue;
    fillEngine.getMarket(params.market_id);
    const before = account.getLeverage(params.market_id);
    account.setLeverage(params.market_id, params.leverage, ledger.stamp(at));
    if (account.computeFree(at, fillEngine.listExposures(at)).isNegative() && params.leverage < before) {
      account.setLeverage(params.market_id, before, ledger.stamp(at));
      throw new VenueError('INSUFFICIENT_MARGIN', `leverage ${params.leverage} would need more margin than there is`);
    }
    return [account.toRecord(at, fillEngine.listExposures(at))];
  },

  'POST /jwt': ({ sessions, settings }, { params, at }) => {
    const fresh = sessions.refresh(params.refresh_token, at);
    return [settings.auth.result === 'object' || fresh.refresh_token !== undefined ? fresh : fresh.jwt];
  },

  'GET /orders': (venue, { params, at }) => listOrders(venue.ledger, params, at, venue),

  'POST /orders': (venue, { params, at, fault }) => [
    buildPlacementAck(venue, venue.orderEntry.place(params, at, fault)),
  ],

  'PUT /orders': ({ orderEntry, settings }, { params, at, fault }) => {
    const { order, terms } = orderEntry.amend(params, at, fault);
    const ack: AmendAck = {
      id: order.id,
      market_id: order.marketId,
      price: formatDecimal(terms.price),
      profile_id: settings.account.id,
      size: formatDecimal(terms.size ?? order.size),
      status: 'amending',
    };
    return [ack];
  },

  'DELETE /orders': ({ orderEntry, settings }, { params, at, fault }) => {
    const order = orderEntry.cancel(params, at, fault);
    const ack: CancelAck = {
      id: order.id,
      market_id: order.marketId,
      profile_id: settings.account.id,
      status: order.stage === 'canceled' ? 'canceled' : 'canceling',
    };
    return [ack];
  },

  'DELETE /orders/cancel_all': ({ orderEntry, settings }, { at, fault }) => {
    orderEntry.cancelAll(at, fault);
    return settings.surprises.cancelAllResult === 'true' ? [true] : [];
  },

  'GET /fills': ({ ledger, settings }, { params, at }) => listFills(ledger, params, at, settings),

  'GET /fills/order': ({ ledger }, { params, at }) => listFillsOf(ledger, params.order_id, at),

  'GET /profile': ({ account }) => [account.toTierRecord()],

  'POST /cancel_all_after': (venue, { params, at }) => {
    venue.fillEngine.getMarket(params.market_id);
    venue.deadman.arm(params.market_id, params.timeout, at);
    return buildDeadmanResult(venue, {
      market_id: params.market_id,
      ...buildDeadmanRecord(venue, { marketId: params.market_id, timeoutMs: params.timeout }),
    });
  },

  'GET /cancel_all_after': (venue, { params }) => {
    const armed = venue.deadman.read(params.market_id);
    if (armed !== undefined) return buildDeadmanResult(venue, buildDeadmanRecord(venue, armed));
    return { object: {}, array: [], null: null }[venue.settings.surprises.deadmanEmpty];
  },

  'DELETE /cancel_all_after': ({ deadman }, { params, at }) => {
    deadman.disarm(params.market_id, at);
    return null;
  },
};

function buildPlacementAck({ settings }: Venue, order: SimOrder): PlacementAck {
  return {
    id: order.id,
    is_liquidation: false,
    market_id: order.marketId,
    price: formatDecimal(order.price ?? order.size.times(0)),
    profile_id: settings.account.id,
    side: order.side,
    size: formatDecimal(order.size),
    status: 'processing',
    client_order_id: order.clientOrderId,
    type: order.type,
    time_in_force: order.timeInForce,
  };
}

function buildDeadmanRecord({ settings, deadman }: Venue, armed: ArmedSwitch): DeadmanRecord {
  return {
    profile_id: settings.account.id,
    timeout: armed.timeoutMs,
    last_updated: deadman.lastActivityAt * 1000,
    status: 'active',
  };
}

function buildDeadmanResult({ settings }: Venue, record: DeadmanRecord): DeadmanRecord | [DeadmanRecord] {
  return settings.surprises.deadmanResult === 'array' ? [record] : record;
}

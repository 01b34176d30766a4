/**
 * From what a rule replies to the result of an answer: each record completed from the request, from what was said before
 * and from the simulated venue; and what it means for the orders of the script. Delivery is the venue's business.
 */
import type { EndpointName } from '../../../venue/catalogue.ts';
import { endpoint } from '../../../venue/catalogue.ts';
import type { AccountRecord, OrderRecord, PlacementAck } from '../../../venue/records.ts';
import { wholeRecord } from '../file/reply-shape.ts';
import type { Reply } from '../file/test-case.ts';
import type { ScriptedOrders, SentParams } from './scripted-orders.ts';

type Given = Readonly<Record<string, unknown>>;

/** What a script may lean on: the venue behind it. */
export interface Background {
  /** An order that the simulated venue knows. */
  order(params: SentParams): OrderRecord | undefined;
  account(): AccountRecord;
}

export class ScriptedAnswers {
  private readonly orders: ScriptedOrders;
  private readonly background: Background;
  private timeoutMs = 60_000;

  constructor(orders: ScriptedOrders, background: Background) {
    this.orders = orders;
    this.background = background;
  }

  /** The result for a rule's reply; `undefined` reply: as the venue would answer a request about a scripted order. */
  result(name: EndpointName, reply: Reply | undefined, sent: SentParams, now: number): unknown {
    if (reply?.kind === 'result') {
      if (name === 'DELETE /orders/cancel_all') this.orders.cancelAll('', now);
      return reply.result;
    }
    const given = reply?.records ?? [{}];
    switch (name) {
      case 'POST /orders':
        return given.map((each) => this.placed(each, sent, now));
      case 'PUT /orders':
        return given.map((each) => this.amended(each, sent, now));
      case 'DELETE /orders':
        return given.map((each) => this.cancelled(each, sent));
      case 'GET /orders':
        return given.map((each, index) => this.read(each, index, sent, now));
      case 'GET /fills':
      case 'GET /fills/order':
        return given.map((each, index) => this.filled(each, index, sent, now));
      case 'GET /account':
      case 'PUT /account/leverage':
        return given.map((each) => this.account(each, sent, now));
      case 'GET /profile':
        return given.map((each) => wholeRecord('tier', each));
      case 'POST /cancel_all_after':
      case 'GET /cancel_all_after':
        return this.deadman(given[0] ?? {}, sent, now);
      case 'POST /jwt':
      case 'DELETE /orders/cancel_all':
      case 'DELETE /cancel_all_after':
        return endpoint(name).answer.shape === 'nothing' ? null : [];
      default:
        return name satisfies never;
    }
  }

  private placed(given: Given, sent: SentParams, now: number): PlacementAck {
    const market = sent['market_id'] ?? 'BTC-USD';
    const known = {
      id: given['id'] ?? this.orders.nextId(market),
      market_id: market,
      price: sent['price'] ?? sent['trigger_price'] ?? '0',
      side: sent['side'] ?? 'long',
      size: sent['size'] ?? '0',
      client_order_id: sent['client_order_id'] ?? '',
      type: sent['type'] ?? 'limit',
      time_in_force: sent['time_in_force'] ?? 'good_till_cancel',
    };
    const ack = wholeRecord('placement', given, known);
    this.orders.place(ack, sent, now);
    return ack;
  }

  private amended(given: Given, sent: SentParams, now: number) {
    const order = this.known(given, sent);
    const price = sent['price'] ?? order?.price ?? '0';
    if (order !== undefined) this.orders.amend(order.id, price, sent['size'], now);
    return wholeRecord('amend', given, { ...identity(order, sent), price, size: sent['size'] ?? order?.size ?? '0' });
  }

  private cancelled(given: Given, sent: SentParams) {
    const order = this.known(given, sent);
    if (order !== undefined) this.orders.cancel(order.id);
    return wholeRecord('cancel', given, identity(order, sent));
  }

  /** A record read, which is how the order stands from now on. */
  private read(given: Given, index: number, sent: SentParams, now: number): OrderRecord {
    const order = this.known(given, sent);
    if (order !== undefined) {
      this.orders.adopt(order);
      return this.orders.tell(order.id, given, now);
    }
    const market = sent['market_id'] ?? 'BTC-USD';
    const id = sent['order_id'] ?? `${market}@${800_001 + index}`;
    const size = given['size'] ?? given['initial_size'] ?? '1';
    const asked = sent['client_order_id'] === undefined ? {} : { client_order_id: sent['client_order_id'] };
    const status = sent['status'] === undefined ? {} : { status: sent['status'] };
    return wholeRecord('order', given, {
      id,
      market_id: market,
      price: '1',
      size,
      initial_size: size,
      timestamp: now * 1000,
      ...asked,
      ...status,
    });
  }

  private filled(given: Given, index: number, sent: SentParams, now: number) {
    const id = typeof given['order_id'] === 'string' ? given['order_id'] : sent['order_id'];
    const order = this.orderOf({ order_id: id });
    const unknown =
      order === undefined
        ? {
            ...(id === undefined ? {} : { order_id: id }),
            ...(sent['market_id'] === undefined ? {} : { market_id: sent['market_id'] }),
          }
        : {};
    return this.orders.fill({ ...unknown, ...given }, order, index, now);
  }

  private account(given: Given, sent: SentParams, now: number): AccountRecord {
    const known = this.background.account();
    const { market_id: market, leverage } = sent;
    const set = market === undefined || leverage === undefined ? {} : { [market]: leverage };
    return wholeRecord(
      'account',
      { ...given, leverage: { ...known.leverage, ...(given['leverage'] as object | undefined), ...set } },
      { ...known, last_update: now * 1000 },
    );
  }

  private deadman(given: Given, sent: SentParams, now: number) {
    if (sent['timeout'] !== undefined) this.timeoutMs = Number(sent['timeout']);
    const { market_id: market } = sent;
    return wholeRecord('deadman', given, {
      timeout: this.timeoutMs,
      last_updated: now * 1000,
      ...(market === undefined ? {} : { market_id: market }),
    });
  }

  private known(given: Given, sent: SentParams): OrderRecord | undefined {
    const id = typeof given['id'] === 'string' ? given['id'] : undefined;
    return id === undefined ? this.orderOf(sent) : this.orderOf({ order_id: id });
  }

  private orderOf({ order_id, client_order_id, market_id }: SentParams): OrderRecord | undefined {
    if (order_id === undefined && client_order_id === undefined) return undefined;
    return (
      this.orders.find({ order_id, client_order_id }) ?? this.background.order({ order_id, client_order_id, market_id })
    );
  }
}

function identity(order: OrderRecord | undefined, sent: SentParams): Given {
  const id = order?.id ?? sent['order_id'];
  const market = order?.market_id ?? sent['market_id'];
  return { ...(id === undefined ? {} : { id }), ...(market === undefined ? {} : { market_id: market }) };
}

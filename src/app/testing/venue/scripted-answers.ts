/**
 * Turns a rule's reply into the result of an answer: completes each record from the request, earlier replies and the simulated
 * venue, and applies it to the orders of the script. The venue delivers it.
 */
import type { EndpointName } from '../../../venue/catalogue.ts';
import { getEndpoint } from '../../../venue/catalogue.ts';
import type { AccountRecord, OrderRecord, PlacementAck } from '../../../venue/records.ts';
import { completeRecord } from '../file/reply-shape.ts';
import type { Reply } from '../file/test-case.ts';
import type { ScriptedOrders, SentParams } from './scripted-orders.ts';

type Given = Readonly<Record<string, unknown>>;

/** The simulated venue behind a script. */
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

  /** The result for a rule's reply; with `undefined` as reply: the venue's default answer about a scripted order. */
  makeResult(name: EndpointName, reply: Reply | undefined, sent: SentParams, now: number): unknown {
    if (reply?.kind === 'result') {
      if (name === 'DELETE /orders/cancel_all') this.orders.cancelAll('', now);
      return reply.result;
    }
    const given = reply?.records ?? [{}];
    switch (name) {
      case 'POST /orders':
        return given.map((each) => this.makePlaced(each, sent, now));
      case 'PUT /orders':
        return given.map((each) => this.makeAmended(each, sent, now));
      case 'DELETE /orders':
        return given.map((each) => this.makeCancelled(each, sent));
      case 'GET /orders':
        return given.map((each, index) => this.readRecord(each, index, sent, now));
      case 'GET /fills':
      case 'GET /fills/order':
        return given.map((each, index) => this.makeFilled(each, index, sent, now));
      case 'GET /account':
      case 'PUT /account/leverage':
        return given.map((each) => this.makeAccount(each, sent, now));
      case 'GET /profile':
        return given.map((each) => completeRecord('tier', each));
      case 'POST /cancel_all_after':
      case 'GET /cancel_all_after':
        return this.makeDeadman(given[0] ?? {}, sent, now);
      case 'POST /jwt':
      case 'DELETE /orders/cancel_all':
      case 'DELETE /cancel_all_after':
        return getEndpoint(name).answer.shape === 'nothing' ? null : [];
      default:
        return name satisfies never;
    }
  }

  private makePlaced(given: Given, sent: SentParams, now: number): PlacementAck {
    const market = sent['market_id'] ?? 'BTC-USD';
    const known = {
      id: given['id'] ?? this.orders.makeNextId(market),
      market_id: market,
      price: sent['price'] ?? sent['trigger_price'] ?? '0',
      side: sent['side'] ?? 'long',
      size: sent['size'] ?? '0',
      client_order_id: sent['client_order_id'] ?? '',
      type: sent['type'] ?? 'limit',
      time_in_force: sent['time_in_force'] ?? 'good_till_cancel',
    };
    const ack = completeRecord('placement', given, known);
    this.orders.place(ack, sent, now);
    return ack;
  }

  private makeAmended(given: Given, sent: SentParams, now: number) {
    const order = this.findKnown(given, sent);
    const price = sent['price'] ?? order?.price ?? '0';
    if (order !== undefined) this.orders.amend(order.id, price, sent['size'], now);
    return completeRecord('amend', given, {
      ...identifyOrder(order, sent),
      price,
      size: sent['size'] ?? order?.size ?? '0',
    });
  }

  private makeCancelled(given: Given, sent: SentParams) {
    const order = this.findKnown(given, sent);
    if (order !== undefined) this.orders.cancel(order.id);
    return completeRecord('cancel', given, identifyOrder(order, sent));
  }

  /** Reads a record, which is the order's state from now on. */
  private readRecord(given: Given, index: number, sent: SentParams, now: number): OrderRecord {
    const order = this.findKnown(given, sent);
    if (order !== undefined) {
      this.orders.adopt(order);
      return this.orders.applyRecord(order.id, given, now);
    }
    const market = sent['market_id'] ?? 'BTC-USD';
    const id = sent['order_id'] ?? `${market}@${800_001 + index}`;
    const size = given['size'] ?? given['initial_size'] ?? '1';
    const asked = sent['client_order_id'] === undefined ? {} : { client_order_id: sent['client_order_id'] };
    const status = sent['status'] === undefined ? {} : { status: sent['status'] };
    return completeRecord('order', given, {
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

  private makeFilled(given: Given, index: number, sent: SentParams, now: number) {
    const id = typeof given['order_id'] === 'string' ? given['order_id'] : sent['order_id'];
    const order = this.findOrder({ order_id: id });
    const unknown =
      order === undefined
        ? {
            ...(id === undefined ? {} : { order_id: id }),
            ...(sent['market_id'] === undefined ? {} : { market_id: sent['market_id'] }),
          }
        : {};
    return this.orders.completeFill({ ...unknown, ...given }, order, index, now);
  }

  private makeAccount(given: Given, sent: SentParams, now: number): AccountRecord {
    const known = this.background.account();
    const { market_id: market, leverage } = sent;
    const set = market === undefined || leverage === undefined ? {} : { [market]: leverage };
    return completeRecord(
      'account',
      { ...given, leverage: { ...known.leverage, ...(given['leverage'] as object | undefined), ...set } },
      { ...known, last_update: now * 1000 },
    );
  }

  private makeDeadman(given: Given, sent: SentParams, now: number) {
    if (sent['timeout'] !== undefined) this.timeoutMs = Number(sent['timeout']);
    const { market_id: market } = sent;
    return completeRecord('deadman', given, {
      timeout: this.timeoutMs,
      last_updated: now * 1000,
      ...(market === undefined ? {} : { market_id: market }),
    });
  }

  private findKnown(given: Given, sent: SentParams): OrderRecord | undefined {
    const id = typeof given['id'] === 'string' ? given['id'] : undefined;
    return id === undefined ? this.findOrder(sent) : this.findOrder({ order_id: id });
  }

  private findOrder({ order_id, client_order_id, market_id }: SentParams): OrderRecord | undefined {
    if (order_id === undefined && client_order_id === undefined) return undefined;
    return (
      this.orders.find({ order_id, client_order_id }) ?? this.background.order({ order_id, client_order_id, market_id })
    );
  }
}

function identifyOrder(order: OrderRecord | undefined, sent: SentParams): Given {
  const id = order?.id ?? sent['order_id'];
  const market = order?.market_id ?? sent['market_id'];
  return { ...(id === undefined ? {} : { id }), ...(market === undefined ? {} : { market_id: market }) };
}

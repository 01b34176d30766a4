/**
 * What an account can ask to be done with orders. The desk accepts or refuses at once and answers with what is under way;
 * what becomes of it happens after a delay, and need not be what was asked for (venue-notes.md, surprise 1).
 */
import { type Decimal, decimal } from '../../../base/decimal.ts';
import { formatCount } from '../../../base/format.ts';
import type { Params } from '../../../venue/catalogue.ts';
import type { FaultRule } from '../config/faults.ts';
import type { Chance } from '../config/random.ts';
import type { Settings } from '../config/settings.ts';
import type { EventQueue } from './events.ts';
import type { FillEngine, NewTerms } from './fills.ts';
import { isPositionOrder, isTerminal, type OrderLedger, type SimOrder } from './ledger.ts';
import { VenueError } from './request.ts';
import { checkSteps, checkTerms } from './terms.ts';

interface OrderEntryParts {
  readonly settings: Settings;
  readonly chance: Chance;
  readonly agenda: EventQueue;
  readonly floor: FillEngine;
  readonly book: OrderLedger;
}

type Fault = FaultRule | undefined;

export class OrderEntry {
  private readonly parts: OrderEntryParts;
  private actions = 0;

  constructor(parts: OrderEntryParts) {
    this.parts = parts;
  }

  place(params: Params<'POST /orders'>, at: number, fault: Fault): SimOrder {
    const { settings, book, floor } = this.parts;
    checkTerms(params, floor.market(params.market_id), settings.surprises);
    const clientOrderId = params.client_order_id ?? '';
    const used = clientOrderId !== '' && book.withClientId(clientOrderId).length > 0;
    if (used && settings.surprises.duplicateIds === 'refuse') {
      throw new VenueError('CLIENT_ORDER_ID_DUPLICATE', `client order id ${clientOrderId} has been used`);
    }
    if (book.open.size >= settings.account.maxOpenOrders) {
      throw new VenueError('OPEN_ORDERS_LIMIT', `the account has ${formatCount(book.open.size, 'open order')} already`);
    }
    const order = floor.add(
      {
        marketId: params.market_id,
        side: params.side,
        type: params.type,
        clientOrderId,
        timeInForce: params.time_in_force ?? 'good_till_cancel',
        price: optionalDecimal(params.price),
        trigger: optionalDecimal(params.trigger_price),
        size: decimal(params.size),
        stage: 'processing',
        visibleAt: at + this.visibilityLag(fault),
      },
      at,
    );
    this.later(at, `place ${order.number}`, fault, (when) => {
      if (order.stage !== 'processing') return;
      if (fault?.do === 'late_reject') floor.end(order, 'rejected', fault.reason ?? 'REJECTED', when);
      else floor.decide(order, when);
    });
    return order;
  }

  amend(params: Params<'PUT /orders'>, at: number, fault: Fault): { order: SimOrder; terms: NewTerms } {
    const { settings, book, floor } = this.parts;
    const order = this.openOrder(book.find(params.order_id), params.market_id);
    const isFraction = isPositionOrder(order) && order.stage !== 'working';
    checkSteps(params, isFraction, floor.market(params.market_id), settings.surprises);
    const terms = { price: decimal(params.price), size: optionalDecimal(params.size) };
    order.amendsUnderWay += 1;
    book.note(order, at);
    this.later(at, this.nextAction(), fault, (when) => {
      order.amendsUnderWay -= 1;
      if (isTerminal(order)) return;
      if (fault?.do === 'amend_lost' || !floor.allows(order, terms, when)) book.note(order, when);
      else this.applyAmend(order, terms, when);
    });
    return { order, terms };
  }

  cancel(params: Params<'DELETE /orders'>, at: number, fault: Fault): SimOrder {
    const order = this.openOrder(this.named(params), params.market_id);
    order.cancelsUnderWay += 1;
    this.parts.book.note(order, at);
    this.later(at, this.nextAction(), fault, (when) => {
      order.cancelsUnderWay -= 1;
      this.finishCancel(order, when, fault);
    });
    return order;
  }

  cancelAll(at: number, fault: Fault): void {
    const orders = this.openOrders();
    for (const order of orders) {
      order.cancelsAllUnderWay += 1;
      this.parts.book.note(order, at);
    }
    this.later(at, this.nextAction(), fault, (when) => {
      for (const order of orders) {
        order.cancelsAllUnderWay -= 1;
        this.finishCancel(order, when, fault);
      }
    });
  }

  /** venue-api.md, rule 2: every open order of every market, stops too, at once. */
  cancelByDeadman(at: number): void {
    const { agenda, floor } = this.parts;
    agenda.settle(at);
    for (const order of this.openOrders()) floor.end(order, 'canceled', 'deadman switch', at);
    agenda.watch();
  }

  /** Surprise 4: with a flicker, a working order shows as canceled, and is out of the book, until its terms apply. */
  private applyAmend(order: SimOrder, terms: NewTerms, at: number): void {
    const { agenda, book, floor, settings } = this.parts;
    const { amendFlickerMs } = settings.surprises;
    if (amendFlickerMs === 0 || order.stage !== 'working') {
      floor.amend(order, terms, at);
      return;
    }
    order.flickers = true;
    floor.market(order.marketId).unwatch(order);
    book.note(order, at);
    agenda.at(at + amendFlickerMs, (when) => {
      order.flickers = false;
      if (!isTerminal(order)) floor.amend(order, terms, when);
    });
  }

  private finishCancel(order: SimOrder, at: number, fault: Fault): void {
    const { book, floor } = this.parts;
    if (isTerminal(order)) return;
    if (fault?.do === 'cancel_lost') {
      book.note(order, at);
      return;
    }
    // Surprise 3: the cancel loses against a fill.
    const fills = fault?.do === 'fill_first' && order.stage === 'working';
    if (fills) floor.fillFraction(order, decimal(fault.fraction ?? '1'), at);
    if (!isTerminal(order)) floor.end(order, 'canceled', '', at);
  }

  private named(params: Params<'DELETE /orders'>): SimOrder | undefined {
    const { book } = this.parts;
    if (params.order_id !== undefined) return book.find(params.order_id);
    const { client_order_id: clientOrderId = '', market_id: marketId } = params;
    if (clientOrderId === '') throw new VenueError('MISSING_PARAMETER', 'order_id or client_order_id is required');
    const orders = book.withClientId(clientOrderId).filter((order) => order.marketId === marketId);
    return orders.find((order) => !isTerminal(order)) ?? orders.at(-1);
  }

  private openOrder(order: SimOrder | undefined, marketId: string): SimOrder {
    if (order === undefined || order.marketId !== marketId) {
      throw new VenueError('ORDER_NOT_FOUND', 'there is no such order in that market', 404);
    }
    if (isTerminal(order)) throw new VenueError('ORDER_NOT_OPEN', `order ${order.id} is ${order.stage} already`);
    return order;
  }

  private openOrders(): SimOrder[] {
    const skips = this.parts.settings.surprises.cancelAllSkipsProcessing;
    return [...this.parts.book.open].filter((order) => !(skips && order.stage === 'processing'));
  }

  private visibilityLag(fault: Fault): number {
    const { chance, floor, settings } = this.parts;
    if (fault?.do === 'invisible') return fault.ms ?? Number.POSITIVE_INFINITY;
    return chance.within(settings.visibilityLagMs, 'visibility', floor.nextNumber);
  }

  /** Does something after the processing delay of its name; a stuck one later, or never. */
  private later(at: number, name: string, fault: Fault, work: (at: number) => void): void {
    const stuck = fault?.do === 'stuck';
    if (stuck && fault.ms === undefined) return;
    const delay = this.parts.chance.within(this.parts.settings.processingMs, name, 0);
    this.parts.agenda.at(at + delay + (stuck ? (fault.ms ?? 0) : 0), work);
  }

  private nextAction(): string {
    this.actions += 1;
    return `action ${this.actions}`;
  }
}

function optionalDecimal(text: string | undefined): Decimal | undefined {
  return text === undefined ? undefined : decimal(text);
}

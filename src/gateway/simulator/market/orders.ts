/**
 * Places, amends and cancels orders for the account. A request is accepted or refused at once; its outcome follows after a
 * delay and can differ from the request (venue-notes.md, surprise 1).
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
  readonly events: EventQueue;
  readonly fillEngine: FillEngine;
  readonly ledger: OrderLedger;
}

type Fault = FaultRule | undefined;

export class OrderEntry {
  private readonly parts: OrderEntryParts;
  private actions = 0;

  constructor(parts: OrderEntryParts) {
    this.parts = parts;
  }

  place(params: Params<'POST /orders'>, at: number, fault: Fault): SimOrder {
    const { settings, ledger, fillEngine } = this.parts;
    checkTerms(params, fillEngine.getMarket(params.market_id), settings.surprises);
    const clientOrderId = params.client_order_id ?? '';
    const [known] = clientOrderId === '' ? [] : ledger.findByClientId(clientOrderId);
    if (known !== undefined && settings.surprises.duplicateIds === 'same') return known;
    if (known !== undefined && settings.surprises.duplicateIds === 'refuse') {
      throw new VenueError('CLIENT_ORDER_ID_DUPLICATE', `client order id ${clientOrderId} has been used`);
    }
    if (ledger.open.size >= settings.account.maxOpenOrders) {
      throw new VenueError(
        'OPEN_ORDERS_LIMIT',
        `the account has ${formatCount(ledger.open.size, 'open order')} already`,
      );
    }
    const order = fillEngine.add(
      {
        marketId: params.market_id,
        side: params.side,
        type: params.type,
        clientOrderId,
        timeInForce: params.time_in_force ?? 'good_till_cancel',
        price: toOptionalDecimal(params.price),
        trigger: toOptionalDecimal(params.trigger_price),
        size: decimal(params.size),
        stage: 'processing',
        visibleAt: at + this.drawVisibilityLag(fault),
      },
      at,
    );
    this.scheduleOutcome(at, `place ${order.number}`, fault, (when) => {
      if (order.stage !== 'processing') return;
      if (fault?.do === 'late_reject') fillEngine.end(order, 'rejected', fault.reason ?? 'REJECTED', when);
      else fillEngine.decide(order, when);
    });
    return order;
  }

  amend(params: Params<'PUT /orders'>, at: number, fault: Fault): { order: SimOrder; terms: NewTerms } {
    const { settings, ledger, fillEngine } = this.parts;
    const order = this.requireOpen(ledger.find(params.order_id), params.market_id);
    const isFraction = isPositionOrder(order) && order.stage !== 'working';
    checkSteps(params, isFraction, fillEngine.getMarket(params.market_id), settings.surprises);
    const terms = { price: decimal(params.price), size: toOptionalDecimal(params.size) };
    order.amendsUnderWay += 1;
    ledger.note(order, at);
    this.scheduleOutcome(at, this.takeActionName(), fault, (when) => {
      order.amendsUnderWay -= 1;
      if (isTerminal(order)) return;
      if (fault?.do === 'amend_lost' || !fillEngine.allows(order, terms, when)) ledger.note(order, when);
      else this.applyAmend(order, terms, when);
    });
    return { order, terms };
  }

  cancel(params: Params<'DELETE /orders'>, at: number, fault: Fault): SimOrder {
    const order = this.requireOpen(this.findNamed(params), params.market_id);
    const isHeldUp = fault?.do === 'stuck' || fault?.do === 'cancel_lost';
    if (this.parts.settings.surprises.cancelAck === 'canceled' && !isHeldUp) {
      this.finishCancel(order, at, fault);
      return order;
    }
    order.cancelsUnderWay += 1;
    this.parts.ledger.note(order, at);
    this.scheduleOutcome(at, this.takeActionName(), fault, (when) => {
      order.cancelsUnderWay -= 1;
      this.finishCancel(order, when, fault);
    });
    return order;
  }

  cancelAll(at: number, fault: Fault): void {
    const orders = this.listOpen();
    for (const order of orders) {
      order.cancelsAllUnderWay += 1;
      this.parts.ledger.note(order, at);
    }
    this.scheduleOutcome(at, this.takeActionName(), fault, (when) => {
      for (const order of orders) {
        order.cancelsAllUnderWay -= 1;
        this.finishCancel(order, when, fault);
      }
    });
  }

  /** venue-api.md, rule 2: cancels every open order of every market at once, stops included. */
  cancelByDeadman(at: number): void {
    const { events, fillEngine } = this.parts;
    events.settle(at);
    for (const order of this.listOpen()) fillEngine.end(order, 'canceled', 'deadman switch', at);
    events.watch();
  }

  /** Surprise 4: with a flicker, a working order shows as canceled and leaves the book until its new terms apply. */
  private applyAmend(order: SimOrder, terms: NewTerms, at: number): void {
    const { events, ledger, fillEngine, settings } = this.parts;
    const { amendFlickerMs } = settings.surprises;
    if (amendFlickerMs === 0 || order.stage !== 'working') {
      fillEngine.amend(order, terms, at);
      return;
    }
    order.flickers = true;
    fillEngine.getMarket(order.marketId).unwatch(order);
    ledger.note(order, at);
    events.schedule(at + amendFlickerMs, (when) => {
      order.flickers = false;
      if (!isTerminal(order)) fillEngine.amend(order, terms, when);
    });
  }

  private finishCancel(order: SimOrder, at: number, fault: Fault): void {
    const { ledger, fillEngine } = this.parts;
    if (isTerminal(order)) return;
    if (fault?.do === 'cancel_lost') {
      ledger.note(order, at);
      return;
    }
    // Surprise 3: a fill comes before the cancel.
    const fillsFirst = fault?.do === 'fill_first' && order.stage === 'working';
    if (fillsFirst) fillEngine.fillFraction(order, decimal(fault.fraction ?? '1'), at);
    if (!isTerminal(order)) fillEngine.end(order, 'canceled', '', at);
  }

  private findNamed(params: Params<'DELETE /orders'>): SimOrder | undefined {
    const { ledger } = this.parts;
    if (params.order_id !== undefined) return ledger.find(params.order_id);
    const { client_order_id: clientOrderId = '', market_id: marketId } = params;
    if (clientOrderId === '') throw new VenueError('MISSING_PARAMETER', 'order_id or client_order_id is required');
    const orders = ledger.findByClientId(clientOrderId).filter((order) => order.marketId === marketId);
    return orders.find((order) => !isTerminal(order)) ?? orders.at(-1);
  }

  private requireOpen(order: SimOrder | undefined, marketId: string): SimOrder {
    if (order === undefined || order.marketId !== marketId) {
      throw new VenueError('ORDER_NOT_FOUND', 'there is no such order in that market', 404);
    }
    if (isTerminal(order)) throw new VenueError('ORDER_NOT_OPEN', `order ${order.id} is ${order.stage} already`);
    return order;
  }

  private listOpen(): SimOrder[] {
    const skips = this.parts.settings.surprises.cancelAllSkipsProcessing;
    return [...this.parts.ledger.open].filter((order) => !(skips && order.stage === 'processing'));
  }

  private drawVisibilityLag(fault: Fault): number {
    const { chance, fillEngine, settings } = this.parts;
    if (fault?.do === 'invisible') return fault.ms ?? Number.POSITIVE_INFINITY;
    if (fault?.do === 'error' && fault.ms !== undefined) return fault.ms;
    return chance.drawWithin(settings.visibilityLagMs, 'visibility', fillEngine.nextNumber);
  }

  /** Runs `work` after the processing delay that belongs to `name`; with the fault `stuck` later or never. */
  private scheduleOutcome(at: number, name: string, fault: Fault, work: (at: number) => void): void {
    const stuck = fault?.do === 'stuck';
    if (stuck && fault.ms === undefined) return;
    const delay = this.parts.chance.drawWithin(this.parts.settings.processingMs, name, 0);
    this.parts.events.schedule(at + delay + (stuck ? (fault.ms ?? 0) : 0), work);
  }

  private takeActionName(): string {
    this.actions += 1;
    return `action ${this.actions}`;
  }
}

function toOptionalDecimal(text: string | undefined): Decimal | undefined {
  return text === undefined ? undefined : decimal(text);
}

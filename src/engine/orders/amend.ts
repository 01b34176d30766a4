/**
 * Amends orders of ours, one request for an order at a time: a second PUT before the terms are known would leave nobody
 * knowing them (orders.md, Unknown outcomes 8). An acknowledged amend is an intent; which terms are in force a record says.
 */

import { type Decimal, decimal } from '../../base/decimal.ts';
import { formatSpan } from '../../base/format.ts';
import type { TrackedOrder } from '../../journal/orders.ts';
import { isPositionStop } from '../../venue/order/context.ts';
import { exposureOf, orderCan } from '../../venue/order/life.ts';
import { isTerminal } from '../../venue/order/states.ts';
import { failureOfOutcome } from '../failure.ts';
import { type Cancellation, StepFailure } from '../interruption.ts';
import {
  conclude,
  isStranded,
  limitsOf,
  type OrderManagerParts,
  type OrderRequestContext,
  strand,
  whileWanted,
} from './parts.ts';
import { CONFIRM_WITHIN_MS, hasTerms, isEnded, isQuarantined, nameOf, quarantined } from './status.ts';
import type { OrderWatch } from './watch.ts';

/** How long the terms of an amended order may stay untold before a person has to look, ms. */
const AMEND_WITHIN_MS = 240_000;

export class Amending {
  private readonly run: OrderManagerParts;
  private readonly watch: OrderWatch;
  /** Orders that a step is amending at this moment. */
  private readonly underWay = new Set<TrackedOrder>();

  constructor(run: OrderManagerParts, watch: OrderWatch) {
    this.run = run;
    this.watch = watch;
  }

  /** Resolves when the new terms are in force. Throws StepFailure `not_found` when the order is over, `rejected` when the old terms stayed. */
  async own(order: TrackedOrder, price: Decimal, size: Decimal | undefined, at: OrderRequestContext): Promise<void> {
    if (isTerminal(order.snapshot.state))
      throw new StepFailure(
        'not_found',
        `order ${nameOf(order)} is ${order.snapshot.state}: nothing to amend`,
        at.step,
      );
    const isReady = (each: TrackedOrder) => each.snapshot.state === 'open' && !this.underWay.has(each);
    while (!isReady(order) && !isEnded(order))
      await this.watch.until(order, (each) => isReady(each) || isEnded(each), at.cancel);
    this.refuse(order, size, at.step);
    if (hasTerms(order, price, size)) return;
    this.underWay.add(order);
    try {
      await this.send(order, price, size, at);
    } finally {
      this.underWay.delete(order);
      this.watch.check();
    }
  }

  /** A run that was told to end while it waited for an amend: which terms are in force is found out all the same. */
  async settle(order: TrackedOrder, step: string, cancel: Cancellation): Promise<void> {
    const told = await this.watch.within(
      CONFIRM_WITHIN_MS,
      order,
      (each) => each.snapshot.state !== 'amending',
      cancel,
    );
    if (!told)
      conclude(
        this.run.log,
        order,
        { event: 'T_EXHAUSTED', because: `the terms were not known within ${formatSpan(CONFIRM_WITHIN_MS)}` },
        step,
      );
    if (isQuarantined(order)) throw quarantined(order, step);
  }

  /** What the order's life does not allow (`orderCan.amend`), said before anything is sent. */
  private refuse(order: TrackedOrder, size: Decimal | undefined, step: string): void {
    const { snapshot } = order;
    if (snapshot.state !== 'open' || orderCan.amend(snapshot, { size: size?.toFixed() })) return;
    const because = isPositionStop(order.intent)
      ? `AMEND_SIZE_OF_POSITION_STOP: order ${nameOf(order)} is for a part of the position; whether a new size is a part or an amount is not shown: cancel it and place another`
      : `AMEND_SIZE_OF_PART_FILLED: order ${nameOf(order)} has filled ${exposureOf(snapshot).filled}; what a new size means then is not shown`;
    throw new StepFailure('denied', because, step);
  }

  private async send(
    order: TrackedOrder,
    price: Decimal,
    size: Decimal | undefined,
    at: OrderRequestContext,
  ): Promise<void> {
    const outcome = await whileWanted(at.cancel, (wanted) =>
      this.run.venue.call({
        id: this.run.callId(at.step),
        step: at.step,
        endpoint: 'PUT /orders',
        params: {
          order_id: order.snapshot.context.venueId ?? '',
          market_id: order.intent.market,
          price: price.toFixed(),
          size: size?.toFixed(),
        },
        class: 'enter',
        clientOrderId: order.intent.clientOrderId,
        wanted,
        ...limitsOf(at),
      }),
    );
    if (outcome.kind === 'rejected' || outcome.kind === 'denied') {
      await this.watch.read(order, at.step, 'confirm', 'reconcile');
      if (isTerminal(order.snapshot.state)) await this.watch.readFills(order, at.step, at.cancel);
      if (isTerminal(order.snapshot.state))
        throw new StepFailure(
          'not_found',
          `order ${nameOf(order)} was ${order.snapshot.state} before the amend came`,
          at.step,
        );
      throw failureOfOutcome(outcome, at.step);
    }
    const told = await this.watch.within(
      AMEND_WITHIN_MS,
      order,
      (each) => each.snapshot.state !== 'amending' || isStranded(this.run, each),
      at.cancel,
    );
    if (!told)
      conclude(
        this.run.log,
        order,
        { event: 'T_EXHAUSTED', because: `its terms could not be told for ${formatSpan(AMEND_WITHIN_MS)}` },
        at.step,
      );
    strand(this.run, order, at.step);
    await this.watch.readFills(order, at.step, at.cancel);
    if (isTerminal(order.snapshot.state)) {
      throw new StepFailure(
        'not_found',
        `order ${nameOf(order)} was ${order.snapshot.state} before the amend took`,
        at.step,
      );
    }
    if (isQuarantined(order)) throw quarantined(order, at.step);
    if (!decimal(order.snapshot.context.lastRecord?.price ?? '0').eq(price)) {
      throw new StepFailure('rejected', `order ${nameOf(order)} kept its old terms`, at.step);
    }
  }
}

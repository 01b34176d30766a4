/**
 * Amends our orders, one request per order at a time: after a second PUT before the terms are known, the terms could not be
 * determined (orders.md, Unknown outcomes 8). An acknowledged amend is an intent; a record shows which terms are in force.
 */

import { type Decimal, decimal } from '../../base/decimal.ts';
import { formatSpan } from '../../base/format.ts';
import type { TrackedOrder } from '../../journal/orders.ts';
import { isPositionStop } from '../../venue/order/context.ts';
import { getExposure, mayAmend } from '../../venue/order/life.ts';
import { AMEND_WITHIN_MS, CONFIRM_WITHIN_MS } from '../../venue/order/polling.ts';
import { makeAmendParams } from '../../venue/order/requests.ts';
import { isTerminal } from '../../venue/order/states.ts';
import { toFailure } from '../failure.ts';
import { type Cancellation, StepFailure } from '../interruption.ts';
import {
  callWhileWanted,
  conclude,
  isUnknownTooLong,
  type OrderManagerParts,
  type OrderRequestContext,
  quarantineUnknown,
  refer,
  selectLimits,
} from '../readings/parts.ts';
import { getOrderName, haltForQuarantine, hasTerms, isEnded, isQuarantined } from '../readings/status.ts';
import type { OrderWatch } from '../readings/watch.ts';

export class Amending {
  private readonly run: OrderManagerParts;
  private readonly watch: OrderWatch;
  /** Orders that a step is amending now. */
  private readonly underWay = new Set<TrackedOrder>();

  constructor(run: OrderManagerParts, watch: OrderWatch) {
    this.run = run;
    this.watch = watch;
  }

  /** Resolves when the new terms are in force. Throws StepFailure: `not_found` if the order has ended, `rejected` if it kept its terms. */
  async own(order: TrackedOrder, price: Decimal, size: Decimal | undefined, at: OrderRequestContext): Promise<void> {
    const isReady = (each: TrackedOrder) => each.snapshot.state === 'open' && !this.underWay.has(each);
    while (!isReady(order) && !isEnded(order)) {
      const isOver = (each: TrackedOrder) => isReady(each) || isEnded(each);
      // An amend of another branch has its own bound.
      if ((await this.watch.waitWithin(AMEND_WITHIN_MS, order, isOver, at)) || this.underWay.has(order)) continue;
      throw new StepFailure(
        'transport',
        `order ${getOrderName(order)} was not amended within ${formatSpan(AMEND_WITHIN_MS)}: its state is ${order.snapshot.state}`,
        at.step,
      );
    }
    if (isQuarantined(order)) throw haltForQuarantine(order, at.step);
    if (isTerminal(order.snapshot.state))
      throw new StepFailure(
        'not_found',
        `order ${getOrderName(order)} is ${order.snapshot.state}: nothing to amend`,
        at.step,
      );
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

  /** Finds out which terms are in force where the run ends during an amend. */
  async settle(order: TrackedOrder, step: string, cancel: Cancellation): Promise<void> {
    const isKnown = await this.watch.waitWithin(
      CONFIRM_WITHIN_MS,
      order,
      (each) => each.snapshot.state !== 'amending',
      { cancel },
    );
    if (!isKnown)
      conclude(
        this.run.log,
        order,
        { event: 'T_EXHAUSTED', because: `the terms were not known within ${formatSpan(CONFIRM_WITHIN_MS)}` },
        step,
      );
    if (isQuarantined(order)) throw haltForQuarantine(order, step);
  }

  /** Refuses what the order's state does not allow (`mayAmend`), before anything is sent. */
  private refuse(order: TrackedOrder, size: Decimal | undefined, step: string): void {
    const { snapshot } = order;
    if (snapshot.state !== 'open' || mayAmend(snapshot, { size: size?.toFixed() })) return;
    const because = isPositionStop(order.intent)
      ? `AMEND_SIZE_OF_POSITION_STOP: order ${getOrderName(order)} is for a fraction of the position, and the venue does not say whether a new size would be a fraction or an amount; cancel it and place another`
      : `AMEND_SIZE_OF_PART_FILLED: order ${getOrderName(order)} has filled ${getExposure(snapshot).filled}, and the venue does not say what a new size means then; cancel it and place another`;
    throw new StepFailure('denied', because, step);
  }

  private async send(
    order: TrackedOrder,
    price: Decimal,
    size: Decimal | undefined,
    at: OrderRequestContext,
  ): Promise<void> {
    const outcome = await callWhileWanted(at.cancel, (wanted) =>
      this.run.venue.call({
        id: this.run.callId(at.step),
        step: at.step,
        endpoint: 'PUT /orders',
        params: makeAmendParams<never>(refer(order), price.toFixed(), size?.toFixed()),
        class: 'enter',
        clientOrderId: order.intent.clientOrderId,
        wanted,
        ...selectLimits(at),
      }),
    );
    if (outcome.kind === 'rejected' || outcome.kind === 'denied') {
      await this.watch.read(order, at.step, 'confirm', { class: 'reconcile' });
      if (isTerminal(order.snapshot.state))
        throw new StepFailure(
          'not_found',
          `order ${getOrderName(order)} was ${order.snapshot.state} before the amend arrived`,
          at.step,
        );
      // Words that decide nothing: it may take effect all the same.
      if (outcome.kind === 'denied' || outcome.definite) throw toFailure(outcome, at.step);
    }
    const isKnown = await this.watch.waitWithin(
      AMEND_WITHIN_MS,
      order,
      (each) => each.snapshot.state !== 'amending' || isUnknownTooLong(this.run, each),
      at,
    );
    if (!isKnown)
      conclude(
        this.run.log,
        order,
        { event: 'T_EXHAUSTED', because: `its terms were unknown for ${formatSpan(AMEND_WITHIN_MS)}` },
        at.step,
      );
    quarantineUnknown(this.run, order, at.step);
    if (isTerminal(order.snapshot.state)) {
      throw new StepFailure(
        'not_found',
        `order ${getOrderName(order)} was ${order.snapshot.state} before the amend took effect`,
        at.step,
      );
    }
    if (isQuarantined(order)) throw haltForQuarantine(order, at.step);
    const { amend, lastRecord } = order.snapshot.context;
    if (amend?.outcome === 'lost' || !decimal(lastRecord?.price ?? '0').eq(price)) {
      const why = outcome.kind === 'rejected' ? `: the venue refused the amend (${outcome.message})` : '';
      throw new StepFailure('rejected', `order ${getOrderName(order)} kept its old terms${why}`, at.step);
    }
  }
}

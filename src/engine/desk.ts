/**
 * The order desk: places, confirms, amends and cancels the orders of one run, and finds out what became of them. It
 * never sends a second POST for an intent whose first may have arrived (orders.md, "Unknown outcomes"), never takes an
 * acknowledgement for an outcome, and waits for every answer it has asked for.
 */
import { type Decimal, decimal } from '../base/decimal.ts';
import type { BookOrder } from '../journal/orders.ts';
import type { AwaitTarget } from '../runbook/checked.ts';
import { clientOrderId } from '../venue/identity.ts';
import { exposureOf, isPositionStop, isTerminal, orderCan, TIMINGS } from '../venue/order.ts';
import type { OrderTerms } from '../venue/port.ts';
import type { OrderRecord } from '../venue/records.ts';
import { Cancelling } from './cancelling.ts';
import {
  type Conclusion,
  conclude,
  type Desk,
  type DeskParts,
  limitsOf,
  ownErrand,
  type Terms,
  whileWanted,
} from './desk-parts.ts';
import { failureOfOutcome } from './failure.ts';
import { intentOf, paramsOf, sameTerms } from './intent.ts';
import { Cancellation, Halt, StepFailure } from './interruption.ts';
import {
  CONFIRM_WITHIN_MS,
  hasTerms,
  isBeingCancelled,
  isConfirmed,
  isEnded,
  isQuarantined,
  isStrange,
  leftBehind,
  nameOf,
  quarantined,
  reached,
} from './order-standing.ts';
import { OrderHandle } from './orders.ts';
import { Resolution } from './resolution.ts';
import { OrderWatch } from './watch.ts';

/** How long the terms of an amended order may stay untold before a person has to look, ms. */
const AMEND_WITHIN_MS = 240_000;
/** Second POSTs of a `resend` intent, each only after proven absence. */
const RESENDS = 2;

interface Placed {
  attempt: number;
  order: BookOrder | undefined;
  limited: boolean;
}

export class OrderDesk {
  readonly watch: OrderWatch;
  private readonly run: DeskParts;
  private readonly resolution: Resolution;
  private readonly cancelling: Cancelling;
  private readonly handles = new Map<string, OrderHandle>();
  /** Orders that somebody asked to be taken away: none of them is left behind without a word. */
  private readonly unwanted = new Set<BookOrder>();
  /** Orders that a step is amending at this moment. */
  private readonly amends = new Set<BookOrder>();
  /** While a cancel_all is under way nothing new is decided: what it takes is to be known first. */
  private barrier: Promise<unknown> = Promise.resolve();

  constructor(run: DeskParts) {
    this.run = run;
    this.watch = new OrderWatch(run);
    this.resolution = new Resolution(run, this.watch);
    this.cancelling = new Cancelling(run, this.watch);
  }

  handle(order: BookOrder): OrderHandle {
    const known = this.handles.get(order.intent.clientOrderId);
    if (known !== undefined) return known;
    const handle = OrderHandle.ofOwn(order);
    this.handles.set(order.intent.clientOrderId, handle);
    return handle;
  }

  /**
   * Places an order and resolves when its fate is known to be at the venue: acknowledged or found. Throws StepFailure when
   * it certainly is not, Halt when that can not be told.
   */
  async place(at: Desk, leg: string, terms: Terms): Promise<OrderHandle> {
    await this.barrier;
    at.cancel.check();
    await this.run.keeper.beforeOrder(at.step);
    // Arming the switch takes its time, and so does looking for an order that was refused for want of tokens.
    at.cancel.check();
    const placed = this.placedBefore(at, leg);
    const before = placed.order;
    if (before !== undefined && before.snapshot.state !== 'draft' && !isTerminal(before.snapshot.state)) {
      return this.handle(before);
    }
    const again = before !== undefined && before.snapshot.state === 'draft' && sameTerms(before.intent, terms);
    if (!again) {
      if (before?.snapshot.state === 'draft') this.conclude(before, 'DENY', 'superseded by other terms', at.step);
      placed.attempt += 1;
      placed.limited = false;
    }
    const id = again
      ? before.intent.clientOrderId
      : clientOrderId({
          account: this.run.setup.account,
          run: this.run.setup.run,
          path: leg === '' ? at.step : `${at.step}#${leg}`,
          attempt: placed.attempt,
          ...(terms.tag === undefined ? {} : { tag: terms.tag }),
        });
    const intent = intentOf(terms, id);
    if (placed.limited && before !== undefined && (await this.resolution.lookUpOnce(before, at.step)))
      return this.adopted(before, at.step);
    at.cancel.check();
    return this.post(at, placed, intent);
  }

  /** Waits until the order has come as far as `target`; then its fills are known as well. Throws StepFailure when it can not any more. */
  async reach(handle: OrderHandle, target: AwaitTarget, at: Desk): Promise<void> {
    const order = this.ownOrder(handle, at.step);
    if (target === 'accepted') return handle.touch();
    const confirmBy = this.run.clock.now() + CONFIRM_WITHIN_MS;
    if (!isConfirmed(order)) await this.confirm(order, confirmBy, at);
    await this.watch.until(order, (each) => reached(each, target) || isEnded(each) || this.isStranded(each), at.cancel);
    if (!reached(order, target)) this.strand(order, at.step);
    await this.watch.readFills(order, at.step, at.cancel);
    handle.touch();
    this.refuseEnded(order, target, at.step);
  }

  /** Cancels an order of ours or one that a list showed. An order that is over already needs no request. */
  async cancel(handle: OrderHandle, target: AwaitTarget, at: Desk): Promise<void> {
    if (handle.own === undefined) return this.cancelling.external(handle, target, at);
    this.unwanted.add(handle.own);
    await this.cancelling.own(handle.own, target, at);
    handle.touch();
  }

  /** Amends an order and waits until its terms are known. Throws StepFailure `not_found` when it is over, `rejected` when the old terms stayed. */
  async amend(handle: OrderHandle, price: Decimal, size: Decimal | undefined, at: Desk): Promise<void> {
    await this.barrier;
    at.cancel.check();
    const order = this.ownOrder(handle, at.step);
    if (isTerminal(order.snapshot.state)) {
      handle.touch();
      throw new StepFailure(
        'not_found',
        `order ${nameOf(order)} is ${order.snapshot.state}: nothing to amend`,
        at.step,
      );
    }
    // Of several branches that amend one order each waits for the one before: two at once leave nobody knowing its terms.
    const isReady = (each: BookOrder) => each.snapshot.state === 'open' && !this.amends.has(each);
    while (!isReady(order) && !isEnded(order))
      await this.watch.until(order, (each) => isReady(each) || isEnded(each), at.cancel);
    this.refuseAmend(order, size, at.step);
    if (hasTerms(order, price, size)) {
      handle.touch();
      return;
    }
    this.amends.add(order);
    try {
      await this.amendAlone(handle, order, price, size, at);
    } finally {
      this.amends.delete(order);
      this.watch.check();
    }
  }

  /** What the order's life does not allow (`orderCan.amend`), said before anything is sent. */
  private refuseAmend(order: BookOrder, size: Decimal | undefined, step: string): void {
    const { snapshot } = order;
    if (snapshot.state !== 'open' || orderCan.amend(snapshot, { size: size?.toFixed() })) return;
    const because = isPositionStop(order.intent)
      ? `AMEND_SIZE_OF_POSITION_STOP: order ${nameOf(order)} is for a part of the position; whether a new size is a part or an amount is not shown: cancel it and place another`
      : `AMEND_SIZE_OF_PART_FILLED: order ${nameOf(order)} has filled ${exposureOf(snapshot).filled}; what a new size means then is not shown`;
    throw new StepFailure('denied', because, step);
  }

  private async amendAlone(
    handle: OrderHandle,
    order: BookOrder,
    price: Decimal,
    size: Decimal | undefined,
    at: Desk,
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
      handle.touch();
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
      (each) => each.snapshot.state !== 'amending' || this.isStranded(each),
      at.cancel,
    );
    if (!told) this.conclude(order, 'T_EXHAUSTED', `its terms could not be told for ${AMEND_WITHIN_MS} ms`, at.step);
    this.strand(order, at.step);
    await this.watch.readFills(order, at.step, at.cancel);
    handle.touch();
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

  /** Reads an order and takes in what is found. */
  async refresh(handle: OrderHandle, at: Desk): Promise<void> {
    const order = handle.own;
    if (order !== undefined) {
      if (!isTerminal(order.snapshot.state)) {
        const outcome = await this.watch.read(order, at.step, 'refresh', 'reconcile');
        if (outcome.kind !== 'confirmed') throw failureOfOutcome(outcome, at.step);
      }
      await this.watch.readFills(order, at.step, at.cancel);
      this.watch.check();
      handle.touch();
      return;
    }
    await this.cancelling.readExternal(handle, at);
  }

  /** Cancels every order of the account, ours or not, and gives those that are left all the same. */
  cancelAll(at: Desk): Promise<readonly OrderRecord[]> {
    for (const order of this.working()) this.unwanted.add(order);
    const work = this.cancelling.all(at);
    this.barrier = work.catch(() => {});
    // What another run would place meanwhile would be taken away with the rest, and keep this from ending.
    this.run.venue.keepOrdersBack(this.barrier);
    return work;
  }

  /** Orders of this run that still rest or may rest. */
  working(market?: string): readonly BookOrder[] {
    return this.run.log.book
      .orders()
      .filter(
        (order) =>
          (market === undefined || order.intent.market === market) &&
          !isTerminal(order.snapshot.state) &&
          order.snapshot.state !== 'draft',
      );
  }

  /**
   * Asks again for every order whose fate was not known, and cancels those that turn out to rest. Throws Halt while one of
   * them still can not be told, or when the venue does not answer.
   */
  async settleDoubts(step: string): Promise<void> {
    await this.resolution.settleDoubts(step);
    await this.takeAway(this.working(), ownErrand(step, new Cancellation()));
  }

  /** Reads every working order. Throws Halt when a reading gets no answer. */
  async readAll(step: string): Promise<void> {
    for (const order of this.working()) {
      const outcome = await this.watch.read(order, step, 'refresh', 'resolve');
      if (outcome.kind !== 'confirmed')
        throw new Halt('unknown_outcome', `order ${nameOf(order)} could not be read: ${outcome.message}`, step);
    }
    this.watch.check();
  }

  /**
   * Before a run ends: what was asked to be cancelled is seen to be cancelled, and what ended is final. Of one that failed
   * (`failed`) every order is seen as well: the step that would have waited for it may be what was given up. Throws Halt where
   * an order that was to go may still work, or nobody can tell: an end in order would hide it.
   */
  async settle(step: string, cancel: Cancellation, failed: boolean): Promise<void> {
    for (const order of this.working())
      if (order.snapshot.state === 'amending') await this.settleAmend(order, step, cancel);
    if (failed)
      for (const order of this.working())
        if (!isConfirmed(order)) await this.settleUnconfirmed(order, ownErrand(step, cancel));
    const leftOver = this.working().filter(
      (order) => !isQuarantined(order) && (order.snapshot.state === 'canceling' || this.unwanted.has(order)),
    );
    await this.takeAway(leftOver, ownErrand(step, cancel));
    for (const order of this.run.log.book.orders()) {
      if (order.snapshot.state === 'draft') this.conclude(order, 'DENY', 'the run ended before it was sent', step);
    }
  }

  /** Cancels all of them, also where one can not be: throws Halt that names those which could not be shown to be gone. */
  private async takeAway(orders: readonly BookOrder[], at: Desk): Promise<void> {
    let halt: Halt | undefined;
    const left: string[] = [];
    let why = '';
    for (const order of orders) {
      // One that was asked for in vain is asked for once more; the rest is for whoever takes the run up. A cancel that was
      // acknowledged and not waited for was not in vain yet.
      const inVain = this.unwanted.has(order) && !isBeingCancelled(order);
      const tries = inVain ? 1 : TIMINGS.cancelTries;
      this.unwanted.add(order);
      try {
        await this.cancelling.own(order, 'terminal', at, tries);
        this.handle(order).touch();
      } catch (error) {
        if (error instanceof Halt) halt ??= error;
        else if (error instanceof StepFailure) {
          left.push(`${nameOf(order)} (client order id ${order.intent.clientOrderId})`);
          why = error.message;
        } else throw error;
      }
    }
    if (left.length > 0) throw leftBehind(left, why, at.step);
    if (halt !== undefined) throw halt;
  }

  /** A run that was told to end while it waited for an amend: which terms are in force is found out all the same. */
  private async settleAmend(order: BookOrder, step: string, cancel: Cancellation): Promise<void> {
    const told = await this.watch.within(
      CONFIRM_WITHIN_MS,
      order,
      (each) => each.snapshot.state !== 'amending',
      cancel,
    );
    if (!told) this.conclude(order, 'T_EXHAUSTED', `the terms were not known within ${CONFIRM_WITHIN_MS} ms`, step);
    if (isQuarantined(order)) throw quarantined(order, step);
  }

  /** What nobody waits for any more is waited for, or taken back. */
  private async settleUnconfirmed(order: BookOrder, at: Desk): Promise<void> {
    try {
      await this.confirm(order, this.run.clock.now() + CONFIRM_WITHIN_MS, at);
      await this.watch.readFills(order, at.step, at.cancel);
    } catch (error) {
      // Taken back, with the fills it had: it is known.
      if (!(error instanceof StepFailure)) throw error;
    } finally {
      this.handle(order).touch();
    }
  }

  private async post(at: Desk, placed: Placed, intent: OrderTerms): Promise<OrderHandle> {
    for (let sends = 1; ; sends += 1) {
      // Finding out what became of the first may have taken longer than the deadman switch lasts.
      if (sends > 1) await this.beforeResend(at);
      const outcome = await whileWanted(at.cancel, (wanted) =>
        this.run.venue.call({
          id: this.run.callId(at.step),
          step: at.step,
          endpoint: 'POST /orders',
          params: paramsOf(intent),
          class: 'enter',
          intent,
          clientOrderId: intent.clientOrderId,
          wanted,
          ...limitsOf(at),
        }),
      );
      const order = this.run.log.book.get(intent.clientOrderId);
      if (order === undefined) throw new Error(`engine: intent ${intent.clientOrderId} did not reach the book`);
      placed.order = order;
      placed.limited = outcome.kind === 'rejected' && outcome.failure === 'rate_limited';
      switch (outcome.kind) {
        case 'confirmed':
          return this.handle(order);
        case 'denied':
          throw failureOfOutcome(outcome, at.step);
        case 'rejected': {
          if (outcome.failure === 'duplicate') break;
          // A refused session is definite by the venue's document. One that took the order all the same has had the time to show it.
          if (
            outcome.failure === 'unauthorized' &&
            sends === 1 &&
            !(await this.resolution.lookUpRefused(order, at.step))
          )
            continue;
          if (outcome.failure === 'unauthorized' && order.snapshot.state !== 'draft')
            return this.adopted(order, at.step);
          if (outcome.definite || outcome.failure === 'transport' || outcome.failure === 'rate_limited')
            throw failureOfOutcome(outcome, at.step);
          if (await this.resolution.lookUpRefused(order, at.step)) return this.adopted(order, at.step);
          this.conclude(order, 'REFUSED', 'refused, and one look-up found no order', at.step);
          throw failureOfOutcome(outcome, at.step);
        }
        case 'unresolved':
          break;
        default:
          outcome satisfies never;
      }
      await this.resolution.resolve(order, at.step);
      if (order.snapshot.state !== 'absent') return this.adopted(order, at.step);
      if (intent.onAmbiguous !== 'resend' || sends > RESENDS) {
        throw new Halt(
          'unknown_outcome',
          `no answer to the order ${intent.clientOrderId} and no trace of it at the venue; it is not sent again unless on_ambiguous says resend`,
          at.step,
        );
      }
    }
  }

  private async beforeResend(at: Desk): Promise<void> {
    at.cancel.check();
    await this.barrier;
    await this.run.keeper.beforeOrder(at.step);
    at.cancel.check();
  }

  private adopted(order: BookOrder, step: string): OrderHandle {
    if (order.snapshot.state === 'quarantined') throw quarantined(order, step);
    return this.handle(order);
  }

  private async confirm(order: BookOrder, confirmBy: number, at: Desk): Promise<void> {
    const { clock } = this.run;
    if (await this.watch.within(confirmBy - clock.now(), order, isConfirmed, at.cancel)) return;
    this.conclude(order, 'T_CONFIRM', `not confirmed within ${CONFIRM_WITHIN_MS} ms`, at.step);
    await this.cancelling.send(order, at);
    if (await this.watch.within(CONFIRM_WITHIN_MS / 2, order, isEnded, at.cancel)) {
      if (order.snapshot.state !== 'canceled') return;
      await this.watch.readFills(order, at.step, at.cancel);
      const { filled } = order.snapshot.context;
      throw new StepFailure(
        'cancelled',
        `order ${nameOf(order)} was not confirmed within ${CONFIRM_WITHIN_MS} ms and was cancelled with ${filled} filled`,
        at.step,
      );
    }
    this.strand(order, at.step);
    if (isQuarantined(order)) throw quarantined(order, at.step);
    throw new Halt(
      'unknown_outcome',
      `order ${nameOf(order)} stays ${order.snapshot.state} and can not be cancelled`,
      at.step,
    );
  }

  /** Shown for so long under a status that nobody knows that waiting on would only hide it from people. */
  private isStranded(order: BookOrder): boolean {
    return isStrange(order, this.run.clock.now(), CONFIRM_WITHIN_MS);
  }

  private strand(order: BookOrder, step: string): void {
    if (this.isStranded(order) && !isEnded(order))
      this.conclude(order, 'T_EXHAUSTED', `shown under an unknown status for ${CONFIRM_WITHIN_MS} ms`, step);
  }

  private refuseEnded(order: BookOrder, target: AwaitTarget, step: string): void {
    const { state, context } = order.snapshot;
    if (state === 'quarantined') throw quarantined(order, step);
    if (state === 'rejected' && target !== 'terminal') {
      throw new StepFailure(
        'rejected',
        `order ${nameOf(order)} was rejected: ${context.lastRecord?.reason || 'no reason given'}`,
        step,
      );
    }
    if (reached(order, target)) return;
    throw new StepFailure(
      'cancelled',
      `order ${nameOf(order)} is ${state} with ${context.filled} filled: it can not become ${target} any more`,
      step,
    );
  }

  private placedBefore(at: Desk, leg: string): Placed {
    const known = at.memory.get(`order:${leg}`) as Placed | undefined;
    const placed: Placed = known ?? { attempt: 0, order: undefined, limited: false };
    if (known === undefined) at.memory.set(`order:${leg}`, placed);
    return placed;
  }

  private ownOrder(handle: OrderHandle, step: string): BookOrder {
    if (handle.own === undefined) {
      throw new StepFailure(
        'denied',
        `NOT_OUR_ORDER: order ${handle.id} was not placed by this run; it can be listed, refreshed and cancelled only`,
        step,
      );
    }
    return handle.own;
  }

  private conclude(order: BookOrder, event: Conclusion, because: string, step: string): void {
    conclude(this.run.log, order, event, because, step);
  }
}

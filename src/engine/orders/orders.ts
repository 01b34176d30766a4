/**
 * The order desk: places, confirms, amends and cancels the orders of one run, and finds out what became of them. It
 * never sends a second POST for an intent whose first may have arrived (orders.md, "Unknown outcomes"), never takes an
 * acknowledgement for an outcome, and waits for every answer it has asked for.
 */
import type { Decimal } from '../../base/decimal.ts';
import type { BookOrder } from '../../journal/orders.ts';
import type { AwaitTarget } from '../../runbook/checked.ts';
import { TIMINGS } from '../../venue/order/context.ts';
import { clientOrderId } from '../../venue/order/identity.ts';
import { isTerminal, isWorking } from '../../venue/order/states.ts';
import type { OrderTerms } from '../../venue/port.ts';
import type { OrderRecord } from '../../venue/records.ts';
import { failureOfOutcome } from '../failure.ts';
import { Cancellation, Halt, StepFailure } from '../interruption.ts';
import { Amending } from './amend.ts';
import { Cancelling } from './cancel.ts';
import { OrderHandle } from './handles.ts';
import { intentOf, paramsOf, sameTerms } from './intent.ts';
import {
  conclude,
  type Desk,
  type DeskParts,
  isStranded,
  limitsOf,
  ownErrand,
  strand,
  type Terms,
  whileWanted,
} from './parts.ts';
import { Resolution } from './resolution.ts';
import {
  CONFIRM_WITHIN_MS,
  isBeingCancelled,
  isConfirmed,
  isEnded,
  isQuarantined,
  leftBehind,
  nameOf,
  quarantined,
  reached,
} from './status.ts';
import { OrderWatch } from './watch.ts';

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
  private readonly amending: Amending;
  private readonly cancelling: Cancelling;
  private readonly handles = new Map<string, OrderHandle>();
  /** Orders that somebody asked to be taken away: none of them is left behind without a word. */
  private readonly unwanted = new Set<BookOrder>();
  /** While a cancel_all is under way nothing new is decided: what it takes is to be known first. */
  private barrier: Promise<unknown> = Promise.resolve();

  constructor(run: DeskParts) {
    this.run = run;
    this.watch = new OrderWatch(run);
    this.resolution = new Resolution(run, this.watch);
    this.amending = new Amending(run, this.watch);
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
    if (before !== undefined && isWorking(before.snapshot.state)) return this.handle(before);
    const again = before !== undefined && before.snapshot.state === 'draft' && sameTerms(before.intent, terms);
    if (!again) {
      if (before?.snapshot.state === 'draft')
        conclude(this.run.log, before, { event: 'DENY', because: 'superseded by other terms' }, at.step);
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
    await this.watch.until(
      order,
      (each) => reached(each, target) || isEnded(each) || isStranded(this.run, each),
      at.cancel,
    );
    if (!reached(order, target)) strand(this.run, order, at.step);
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
    try {
      await this.amending.own(order, price, size, at);
    } finally {
      handle.touch();
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
      .filter((order) => (market === undefined || order.intent.market === market) && isWorking(order.snapshot.state));
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
      if (order.snapshot.state === 'amending') await this.amending.settle(order, step, cancel);
    if (failed)
      for (const order of this.working())
        if (!isConfirmed(order)) await this.settleUnconfirmed(order, ownErrand(step, cancel));
    const leftOver = this.working().filter(
      (order) => !isQuarantined(order) && (order.snapshot.state === 'canceling' || this.unwanted.has(order)),
    );
    await this.takeAway(leftOver, ownErrand(step, cancel));
    for (const order of this.run.log.book.orders()) {
      if (order.snapshot.state === 'draft')
        conclude(this.run.log, order, { event: 'DENY', because: 'the run ended before it was sent' }, step);
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
          conclude(
            this.run.log,
            order,
            { event: 'REFUSED', because: 'refused, and one look-up found no order' },
            at.step,
          );
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
    conclude(
      this.run.log,
      order,
      { event: 'T_CONFIRM', because: `not confirmed within ${CONFIRM_WITHIN_MS} ms` },
      at.step,
    );
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
    strand(this.run, order, at.step);
    if (isQuarantined(order)) throw quarantined(order, at.step);
    throw new Halt(
      'unknown_outcome',
      `order ${nameOf(order)} stays ${order.snapshot.state} and can not be cancelled`,
      at.step,
    );
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
}

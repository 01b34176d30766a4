/**
 * The order desk: places, confirms, amends and cancels the orders of one run, and finds out what became of them. It
 * never sends a second POST for an intent whose first may have arrived (orders.md, "Unknown outcomes"), never takes an
 * acknowledgement for an outcome, and waits for every answer it has asked for.
 */
import { Decimal, decimal } from '../base/decimal.ts';
import type { BookOrder } from '../journal/orders.ts';
import type { AwaitTarget } from '../runbook/checked.ts';
import type { Params } from '../venue/catalogue.ts';
import { clientOrderId } from '../venue/identity.ts';
import type { LimitRules } from '../venue/limits.ts';
import { isTerminal } from '../venue/order.ts';
import type { CallOutcome, OrderTerms } from '../venue/port.ts';
import { failureOfOutcome } from './failure.ts';
import { Cancellation, Halt, StepFailure } from './interruption.ts';
import { OrderHandle } from './orders.ts';
import type { RunPorts, RunSetup } from './ports.ts';
import { sleepUntil } from './waiting.ts';
import { LOOK_BACK_MS, OrderWatch } from './watch.ts';

/** Look-ups of an order whose fate is not known, ms after the doubt began; then every five seconds (orders.md, 5). */
const LOOKUPS_MS = [500, 1000, 2000, 4000, 8000] as const;
const LOOKUP_EVERY_MS = 5000;
/** Reads that found nothing before absence may be concluded (orders.md, 6). */
const ABSENCE_READS = 5;
/** An order that stays `processing` for this long is cancelled and looked at by a person (reliability.md, fault 29). */
const CONFIRM_WITHIN_MS = 60_000;
/** How long the terms of an amended order may stay untold before a person has to look, ms. */
const AMEND_WITHIN_MS = 240_000;
/** A cancel that was acknowledged but did not happen is sent again this often (orders.md, canceling × P_OPEN). */
const CANCEL_TRIES = 4;
/** Second POSTs of a `resend` intent, each only after proven absence. */
const RESENDS = 2;
const REPEAT_DELAYS_MS = [250, 500, 1000, 2000, 4000] as const;

/** Where in the run a desk order is given: the step, and the scope its waits belong to. */
export interface Desk {
  /** The step's path with iterations. */
  readonly step: string;
  readonly cancel: Cancellation;
  /** The same for every attempt of a step: which intents it has made, by leg. */
  readonly memory: Map<string, unknown>;
  readonly limits: LimitRules | undefined;
  readonly reference: { readonly price: string; readonly at: number } | undefined;
}
/** What the desk needs of the run. */
interface DeskParts extends RunPorts {
  readonly setup: RunSetup;
  readonly keeper: { beforeOrder(step: string): Promise<void> };
  callId(path: string): string;
}

export type Terms = Omit<OrderTerms, 'clientOrderId'> & { readonly tag?: string };

interface Placed {
  attempt: number;
  order: BookOrder | undefined;
  limited: boolean;
}

export class OrderDesk {
  readonly watch: OrderWatch;
  private readonly run: DeskParts;
  private readonly handles = new Map<string, OrderHandle>();
  /** While a cancel_all is under way nothing new is sent (reliability.md, I7). */
  private barrier: Promise<unknown> = Promise.resolve();

  constructor(run: DeskParts) {
    this.run = run;
    this.watch = new OrderWatch(run.venue, run.clock, run.callId);
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
    if (placed.limited && before !== undefined && (await this.lookUpOnce(before, at.step))) return this.adopted(before);
    return this.post(at, placed, intent);
  }

  /** Waits until the order has come as far as `target`; then its fills are known as well. Throws StepFailure when it can not any more. */
  async reach(handle: OrderHandle, target: AwaitTarget, at: Desk): Promise<void> {
    const order = this.ownOrder(handle, at.step);
    if (target === 'accepted') return handle.touch();
    const confirmBy = this.run.clock.now() + CONFIRM_WITHIN_MS;
    if (!isConfirmed(order)) await this.confirm(order, confirmBy, at);
    await this.watch.until(order, (each) => reached(each, target) || isEnded(each), at.cancel);
    await this.readFills(order, at);
    handle.touch();
    this.refuseEnded(order, target, at.step);
  }

  /** Cancels an order of ours or one that a list showed. An order that is over already needs no request. */
  async cancel(handle: OrderHandle, target: AwaitTarget, at: Desk): Promise<void> {
    const order = handle.own;
    if (order === undefined) {
      await this.cancelExternal(handle, target, at);
      return;
    }
    for (let tries = 1; !isTerminal(order.snapshot.state); tries += 1) {
      // What is on its way already is waited for first.
      const outcome = tries === 1 && isBeingCancelled(order) ? undefined : await this.sendCancel(order, at);
      if (outcome?.kind === 'rejected' && outcome.failure !== 'duplicate') {
        // Refused: most often a fill or an earlier cancel won. The record decides, not the text.
        await this.watch.read(order, at.step, 'confirm', 'reconcile');
        this.watch.check();
        if (isTerminal(order.snapshot.state)) break;
        // Still `canceling`: the text says that it is over, and no record does yet.
        if (order.snapshot.state !== 'canceling') throw failureOfOutcome(outcome, at.step);
      }
      if (target === 'accepted') break;
      const told = await this.watchFor(
        order,
        (each) => isEnded(each) || each.snapshot.state === 'open',
        CONFIRM_WITHIN_MS,
        at,
      );
      if (isTerminal(order.snapshot.state) || isQuarantined(order)) break;
      if (tries < CANCEL_TRIES) continue;
      if (told)
        throw new StepFailure(
          'rejected',
          `the venue did not cancel order ${nameOf(order)} after ${tries} tries`,
          at.step,
        );
      this.conclude(order, 'T_EXHAUSTED', `no end to be seen after ${tries} cancels`, at.step);
      break;
    }
    if (isQuarantined(order)) throw quarantined(order, at.step);
    if (isTerminal(order.snapshot.state)) await this.readFills(order, at);
    handle.touch();
  }

  /** Amends an order and waits until its terms are known. Throws StepFailure `not_found` when it is over, `rejected` when the old terms stayed. */
  async amend(handle: OrderHandle, price: Decimal, size: Decimal | undefined, at: Desk): Promise<void> {
    await this.barrier;
    const order = this.ownOrder(handle, at.step);
    const { venueId } = order.snapshot.context;
    if (isTerminal(order.snapshot.state)) {
      handle.touch();
      throw new StepFailure(
        'not_found',
        `order ${nameOf(order)} is ${order.snapshot.state}: nothing to amend`,
        at.step,
      );
    }
    if (venueId === undefined || order.snapshot.state !== 'open')
      await this.watch.until(order, (each) => each.snapshot.state === 'open' || isEnded(each), at.cancel);
    if (size !== undefined && decimal(order.snapshot.context.filled).gt(0)) {
      throw new StepFailure(
        'denied',
        `AMEND_SIZE_OF_PART_FILLED: order ${nameOf(order)} has filled ${order.snapshot.context.filled}; what a new size means then is not shown`,
        at.step,
      );
    }
    if (hasTerms(order, price, size)) {
      handle.touch();
      return;
    }
    const outcome = await this.run.venue.call({
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
      ...limitsOf(at),
    });
    if (outcome.kind === 'rejected' || outcome.kind === 'denied') {
      await this.watch.read(order, at.step, 'confirm', 'reconcile');
      if (isTerminal(order.snapshot.state)) await this.readFills(order, at);
      handle.touch();
      if (isTerminal(order.snapshot.state))
        throw new StepFailure(
          'not_found',
          `order ${nameOf(order)} was ${order.snapshot.state} before the amend came`,
          at.step,
        );
      throw failureOfOutcome(outcome, at.step);
    }
    const told = await this.watchFor(order, (each) => each.snapshot.state !== 'amending', AMEND_WITHIN_MS, at);
    if (!told) this.conclude(order, 'T_EXHAUSTED', `its terms could not be told for ${AMEND_WITHIN_MS} ms`, at.step);
    await this.readFills(order, at);
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
      await this.readFills(order, at);
      this.watch.check();
      handle.touch();
      return;
    }
    const outcome = await this.run.venue.call({
      id: this.run.callId(at.step),
      step: at.step,
      endpoint: 'GET /orders',
      params: {
        order_id: handle.id,
        market_id: handle.market_id,
        start_time: handle.timestamp.us - LOOK_BACK_MS * 1000,
      },
      class: 'reconcile',
      purpose: 'refresh',
    });
    if (outcome.kind !== 'confirmed') throw failureOfOutcome(outcome, at.step);
    const [record] = outcome.result;
    if (record === undefined) throw new StepFailure('not_found', `order ${handle.id} was not found`, at.step);
    handle.touch(record);
  }

  /** Cancels every order of the account, ours or not; resolves when the venue has taken the request. */
  async cancelAll(at: Desk): Promise<void> {
    const work = this.run.venue.call({
      id: this.run.callId(at.step),
      step: at.step,
      endpoint: 'DELETE /orders/cancel_all',
      params: {},
      class: 'protect',
    });
    this.barrier = work;
    const outcome = await work;
    if (outcome.kind === 'unresolved') throw new StepFailure('transport', outcome.message, at.step);
    if (outcome.kind !== 'confirmed') throw failureOfOutcome(outcome, at.step);
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
    const at: Desk = { step, cancel: new Cancellation(), memory: new Map(), limits: undefined, reference: undefined };
    for (const order of this.run.log.book.orders()) {
      if (!['submitting', 'unknown', 'absent', 'quarantined'].includes(order.snapshot.state)) continue;
      const outcome = await this.watch.read(order, step, 'lookup', 'resolve');
      if (outcome.kind !== 'confirmed')
        throw new Halt('unknown_outcome', `order ${nameOf(order)} could not be looked up: ${outcome.message}`, step);
      if (isFound(order)) continue;
      // The horizon passed before the run halted, and the venue still knows no such order: absent, and a person has seen it.
      if (order.snapshot.state !== 'absent') await this.resolve(order, step);
    }
    for (const order of this.working()) await this.cancel(this.handle(order), 'terminal', { ...at, memory: new Map() });
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

  /** Before a run ends: what was asked to be cancelled is seen to be cancelled, and what ended is final. */
  async settle(step: string, cancel: Cancellation): Promise<void> {
    const at: Desk = { step, cancel, memory: new Map(), limits: undefined, reference: undefined };
    for (const order of this.working()) {
      if (order.snapshot.state === 'amending') await this.settleAmend(order, at);
      if (order.snapshot.state === 'canceling')
        await this.cancel(this.handle(order), 'terminal', { ...at, memory: new Map() });
    }
    for (const order of this.run.log.book.orders()) {
      if (order.snapshot.state === 'draft') this.conclude(order, 'DENY', 'the run ended before it was sent', step);
    }
  }

  /** A run that was told to end while it waited for an amend: which terms are in force is found out all the same. */
  private async settleAmend(order: BookOrder, at: Desk): Promise<void> {
    const { clock } = this.run;
    const own = new Cancellation(at.cancel);
    const timer = clock.at(clock.now() + CONFIRM_WITHIN_MS, () => own.cancel('timeout', 'the terms are not known'));
    try {
      await this.watch.until(order, (each) => each.snapshot.state !== 'amending', own);
    } catch (error) {
      if (own.reason?.origin !== own) throw error;
      this.conclude(order, 'T_EXHAUSTED', `the terms were not known within ${CONFIRM_WITHIN_MS} ms`, at.step);
    } finally {
      timer.cancel();
      own.close();
    }
    if (isQuarantined(order)) throw quarantined(order, at.step);
  }

  private async post(at: Desk, placed: Placed, intent: OrderTerms): Promise<OrderHandle> {
    for (let sends = 1; ; sends += 1) {
      // Finding out what became of the first may have taken longer than the deadman switch lasts.
      if (sends > 1) await this.beforeResend(at);
      const outcome = await this.run.venue.call({
        id: this.run.callId(at.step),
        step: at.step,
        endpoint: 'POST /orders',
        params: paramsOf(intent),
        class: 'enter',
        intent,
        clientOrderId: intent.clientOrderId,
        ...limitsOf(at),
      });
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
          if (outcome.failure === 'unauthorized' && sends === 1 && !(await this.lookUpOnce(order, at.step))) continue;
          if (outcome.failure === 'unauthorized' && order.snapshot.state !== 'draft') return this.adopted(order);
          if (outcome.definite || outcome.failure === 'transport' || outcome.failure === 'rate_limited')
            throw failureOfOutcome(outcome, at.step);
          if (await this.lookUpOnce(order, at.step)) return this.adopted(order);
          this.conclude(order, 'REFUSED', 'refused, and one look-up found no order', at.step);
          throw failureOfOutcome(outcome, at.step);
        }
        case 'unresolved':
          break;
        default:
          outcome satisfies never;
      }
      await this.resolve(order, at.step);
      if (order.snapshot.state !== 'absent') return this.adopted(order);
      if (intent.onAmbiguous !== 'resend' || sends > RESENDS) {
        throw new Halt(
          'unknown_outcome',
          `no answer to the order ${intent.clientOrderId} and no trace of it at the venue; it is not sent again unless on_ambiguous says resend`,
          at.step,
        );
      }
    }
  }

  /**
   * Finds out whether an order whose POST got no answer is there: look-ups by client order id until it is found, or until
   * nothing was found five times and the last time after the absence horizon, and a page of the market shows nothing either.
   */
  private async resolve(order: BookOrder, step: string): Promise<void> {
    const { clock, setup, venue, callId } = this.run;
    const doubtAt = clock.now();
    const provenAfter = doubtAt + setup.absenceHorizonMs;
    const never = new Cancellation();
    let reads = 0;
    for (let round = 0; ; round += 1) {
      const offset = LOOKUPS_MS[round] ?? (LOOKUPS_MS.at(-1) ?? 0) + (round - LOOKUPS_MS.length + 1) * LOOKUP_EVERY_MS;
      await sleepUntil(clock, Math.max(clock.now(), doubtAt + offset), never);
      const sentAt = clock.now();
      const outcome = await this.watch.read(order, step, 'lookup', 'resolve');
      this.watch.check();
      if (isFound(order)) return;
      if (outcome.kind === 'confirmed') reads += 1;
      // The horizon bounds the doubt; a venue that answers nothing at all for ten times as long is a person's business.
      if ((reads >= ABSENCE_READS && sentAt > provenAfter) || sentAt > doubtAt + 10 * setup.absenceHorizonMs) break;
    }
    // An independent question: a page of the market, and its fills, in case the look-up itself is what fails.
    await this.watch.readMarket(order.intent.market, order.createdAt, step, 'lookup', 'resolve');
    if (isFound(order)) return;
    await venue.call({
      id: callId(step),
      step,
      endpoint: 'GET /fills',
      params: { market_id: order.intent.market, start_time: (order.createdAt - LOOK_BACK_MS) * 1000, p_limit: 1000 },
      class: 'resolve',
      purpose: 'lookup',
    });
    this.conclude(order, 'T_EXHAUSTED', `${reads} look-ups found nothing in ${clock.now() - doubtAt} ms`, step);
    if (isQuarantined(order)) throw quarantined(order, step);
  }

  private async beforeResend(at: Desk): Promise<void> {
    at.cancel.check();
    await this.barrier;
    await this.run.keeper.beforeOrder(at.step);
    at.cancel.check();
  }

  private adopted(order: BookOrder): OrderHandle {
    if (order.snapshot.state === 'quarantined') throw quarantined(order, 'place');
    return this.handle(order);
  }

  /** One look-up by client order id; true when the venue knows the order. */
  private async lookUpOnce(order: BookOrder, step: string): Promise<boolean> {
    const outcome = await this.watch.read(order, step, 'lookup', 'resolve');
    if (outcome.kind === 'confirmed')
      return outcome.result.some((record) => record.client_order_id === order.intent.clientOrderId);
    // Not even the look-up was answered: the doubt stands, and is resolved with patience.
    await this.resolve(order, step);
    return isFound(order);
  }

  private async confirm(order: BookOrder, confirmBy: number, at: Desk): Promise<void> {
    const { clock } = this.run;
    if (await this.watchFor(order, isConfirmed, confirmBy - clock.now(), at)) return;
    this.conclude(order, 'T_CONFIRM', `not confirmed within ${CONFIRM_WITHIN_MS} ms`, at.step);
    await this.sendCancel(order, at);
    if (await this.watchFor(order, isEnded, CONFIRM_WITHIN_MS / 2, at)) {
      if (order.snapshot.state !== 'canceled') return;
      await this.readFills(order, at);
      const { filled } = order.snapshot.context;
      throw new StepFailure(
        'cancelled',
        `order ${nameOf(order)} was not confirmed within ${CONFIRM_WITHIN_MS} ms and was cancelled with ${filled} filled`,
        at.step,
      );
    }
    throw new Halt(
      'unknown_outcome',
      `order ${nameOf(order)} stays ${order.snapshot.state} and can not be cancelled`,
      at.step,
    );
  }

  /** Waits until something holds of an order, but no longer than `ms`; false when the time ran out first. */
  private async watchFor(
    order: BookOrder,
    until: (order: BookOrder) => boolean,
    ms: number,
    at: Desk,
  ): Promise<boolean> {
    const { clock } = this.run;
    const own = new Cancellation(at.cancel);
    const timer = clock.at(clock.now() + ms, () => own.cancel('timeout', 'not seen in time'));
    try {
      await this.watch.until(order, until, own);
      return true;
    } catch (error) {
      if (!own.timedOut) throw error;
      return false;
    } finally {
      timer.cancel();
      own.close();
    }
  }

  private async sendCancel(order: BookOrder, at: Desk): Promise<CallOutcome<'DELETE /orders'>> {
    const { clock, venue, callId } = this.run;
    for (let tries = 0; ; tries += 1) {
      const { venueId } = order.snapshot.context;
      const outcome = await venue.call({
        id: callId(at.step),
        step: at.step,
        endpoint: 'DELETE /orders',
        params:
          venueId === undefined
            ? { market_id: order.intent.market, client_order_id: order.intent.clientOrderId }
            : { order_id: venueId, market_id: order.intent.market },
        class: 'protect',
        clientOrderId: order.intent.clientOrderId,
      });
      const repeat =
        outcome.kind === 'unresolved' ||
        (outcome.kind === 'rejected' && ['transport', 'rate_limited', 'unauthorized'].includes(outcome.failure));
      const delay = REPEAT_DELAYS_MS[tries];
      if (!repeat || delay === undefined || isTerminal(order.snapshot.state)) return outcome;
      const hinted = outcome.kind === 'rejected' ? (outcome.retryAfterMs ?? 0) : 0;
      await sleepUntil(clock, clock.now() + Math.max(delay, hinted), new Cancellation());
    }
  }

  /** Cancels an order that is not of this run; there is no book of it, so its own record is asked. */
  private async cancelExternal(handle: OrderHandle, target: AwaitTarget, at: Desk): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      const outcome = await this.run.venue.call({
        id: this.run.callId(at.step),
        step: at.step,
        endpoint: 'DELETE /orders',
        params: { order_id: handle.id, market_id: handle.market_id },
        class: 'protect',
      });
      if (outcome.kind === 'unresolved') throw new StepFailure('transport', outcome.message, at.step);
      if (outcome.kind === 'rejected' && outcome.failure === 'rejected') {
        // Refused: most often it is over. The record decides, not the text.
        await this.refresh(handle, at);
        if (handle.terminal)
          throw new StepFailure('not_found', `order ${handle.id} is ${handle.status} already`, at.step);
      }
      if (outcome.kind !== 'confirmed') throw failureOfOutcome(outcome, at.step);
      if (target !== 'terminal' || (await this.seenEnded(handle, at))) return;
      if (tries >= CANCEL_TRIES)
        throw new StepFailure('rejected', `the venue did not cancel order ${handle.id} after ${tries} tries`, at.step);
    }
  }

  /** Reads an order that is not of this run until it is over; false when it still works after a while. */
  private async seenEnded(handle: OrderHandle, at: Desk): Promise<boolean> {
    const { clock } = this.run;
    for (const delay of REPEAT_DELAYS_MS.slice(1)) {
      await sleepUntil(clock, clock.now() + delay, at.cancel);
      await this.refresh(handle, at);
      if (handle.terminal) return true;
    }
    return false;
  }

  /** Reads the fills of an order when its record says that there are some we have not seen. */
  private async readFills(order: BookOrder, at: Desk): Promise<void> {
    const { clock, venue, callId } = this.run;
    for (const delay of [...REPEAT_DELAYS_MS, undefined]) {
      const { venueId, filled, recordFilled } = order.snapshot.context;
      if (venueId === undefined || decimal(recordFilled).lte(decimal(filled))) return;
      const outcome = await venue.call({
        id: callId(at.step),
        step: at.step,
        endpoint: 'GET /fills/order',
        params: { order_id: venueId },
        class: 'reconcile',
        clientOrderId: order.intent.clientOrderId,
        purpose: 'fills',
      });
      if (outcome.kind === 'denied') throw failureOfOutcome(outcome, at.step);
      if (
        delay === undefined ||
        decimal(order.snapshot.context.recordFilled).lte(decimal(order.snapshot.context.filled))
      )
        return;
      await sleepUntil(clock, clock.now() + delay, at.cancel);
    }
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

  private conclude(
    order: BookOrder,
    event: 'T_CONFIRM' | 'T_EXHAUSTED' | 'T_SETTLE' | 'REFUSED' | 'DENY',
    because: string,
    step: string,
  ): void {
    this.run.log.append('order.concluded', { clientOrderId: order.intent.clientOrderId, event, because }, step);
  }
}

function limitsOf(at: Desk): { limits?: LimitRules; reference?: { price: string; at: number } } {
  return {
    ...(at.limits === undefined ? {} : { limits: at.limits }),
    ...(at.reference === undefined ? {} : { reference: at.reference }),
  };
}

function intentOf(terms: Terms, id: string): OrderTerms {
  const { tag: _tag, ...rest } = terms;
  return { clientOrderId: id, ...rest };
}

function paramsOf(intent: OrderTerms): Params<'POST /orders'> {
  return {
    market_id: intent.market,
    side: intent.side,
    size: intent.size,
    type: intent.type,
    price: intent.price,
    trigger_price: intent.trigger,
    client_order_id: intent.clientOrderId,
    time_in_force: intent.timeInForce,
  };
}

function sameTerms(intent: OrderTerms, terms: Terms): boolean {
  return (
    intent.market === terms.market &&
    intent.side === terms.side &&
    intent.type === terms.type &&
    intent.size === terms.size &&
    intent.price === terms.price &&
    intent.trigger === terms.trigger &&
    intent.timeInForce === terms.timeInForce
  );
}

/**
 * Whether an amend would change nothing. It is not sent then: it would cost the order its place in the queue, and no reading
 * could tell whether it was taken.
 */
function hasTerms(order: BookOrder, price: Decimal, size: Decimal | undefined): boolean {
  const { state, context } = order.snapshot;
  return (
    state === 'open' &&
    context.price !== undefined &&
    price.eq(decimal(context.price)) &&
    (size === undefined || size.eq(decimal(context.size)))
  );
}

function isConfirmed(order: BookOrder): boolean {
  return !['draft', 'submitting', 'unknown', 'processing'].includes(order.snapshot.state);
}
function isFound(order: BookOrder): boolean {
  return !['draft', 'submitting', 'unknown', 'absent'].includes(order.snapshot.state);
}
function isQuarantined(order: BookOrder): boolean {
  return order.snapshot.state === 'quarantined';
}
/** Whether a cancel, one of the account or a fired switch among them, is known to be at work. */
function isBeingCancelled({ snapshot }: BookOrder): boolean {
  const { cancel } = snapshot.context;
  return snapshot.state === 'canceling' && cancel?.ackedAt !== undefined;
}
function isEnded(order: BookOrder): boolean {
  return isTerminal(order.snapshot.state) || isQuarantined(order);
}

function reached(order: BookOrder, target: AwaitTarget): boolean {
  const { state, context } = order.snapshot;
  const filled = Decimal.max(decimal(context.filled), decimal(context.recordFilled));
  switch (target) {
    case 'accepted':
      return true;
    case 'live':
      return isConfirmed(order) && state !== 'rejected';
    case 'any_fill':
      return filled.gt(0);
    case 'filled':
      return state === 'closed';
    case 'terminal':
      return isTerminal(state);
    default:
      return target satisfies never;
  }
}

function nameOf(order: BookOrder): string {
  return order.snapshot.context.venueId ?? order.intent.clientOrderId;
}

function quarantined(order: BookOrder, step: string): Halt {
  return new Halt(
    'unknown_outcome',
    `what became of order ${nameOf(order)} can not be told; look it up at the venue by its client order id, then resume the run, which asks again`,
    step,
  );
}

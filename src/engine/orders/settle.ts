/**
 * Leaves no order of a run behind in doubt: before the run ends, and again when a halted run is resumed. What was asked to be
 * cancelled is seen to be cancelled, what is not known is asked for once more.
 */
import type { TrackedOrder } from '../../journal/orders.ts';
import { TIMINGS } from '../../venue/order/context.ts';
import { Cancellation, Halt, StepFailure } from '../interruption.ts';
import type { Amending } from './amend.ts';
import type { Cancelling } from './cancel.ts';
import type { Confirming } from './confirm.ts';
import type { OrderHandles } from './handles.ts';
import { conclude, internalRequest, type OrderManagerParts, type OrderRequestContext, workingOrders } from './parts.ts';
import type { Resolution } from './resolution.ts';
import { isBeingCancelled, isConfirmed, isQuarantined, leftBehind, nameOf } from './status.ts';
import type { OrderWatch } from './watch.ts';

interface SettlingParts {
  readonly watch: OrderWatch;
  readonly resolution: Resolution;
  readonly amending: Amending;
  readonly cancelling: Cancelling;
  readonly confirming: Confirming;
  readonly handles: OrderHandles;
}

export class Settling {
  private readonly run: OrderManagerParts;
  private readonly parts: SettlingParts;
  /** Orders that were asked to be cancelled: none of them is left behind without a word. */
  private readonly unwanted = new Set<TrackedOrder>();

  constructor(run: OrderManagerParts, parts: SettlingParts) {
    this.run = run;
    this.parts = parts;
  }

  /** The order was asked to be cancelled. */
  markUnwanted(order: TrackedOrder): void {
    this.unwanted.add(order);
  }

  /**
   * Before a run ends: what was asked to be cancelled is seen to be cancelled, and what ended is final. Of one that failed
   * (`failed`) every order is seen as well: the step that would have waited for it may be what was given up. Throws Halt where
   * an order that was to go may still work, or that is not known: a clean end would hide it.
   */
  async settle(step: string, cancel: Cancellation, failed: boolean): Promise<void> {
    for (const order of workingOrders(this.run.log))
      if (order.snapshot.state === 'amending') await this.parts.amending.settle(order, step, cancel);
    if (failed)
      for (const order of workingOrders(this.run.log))
        if (!isConfirmed(order)) await this.settleUnconfirmed(order, internalRequest(step, cancel));
    const leftOver = workingOrders(this.run.log).filter(
      (order) => !isQuarantined(order) && (order.snapshot.state === 'canceling' || this.unwanted.has(order)),
    );
    await this.takeAway(leftOver, internalRequest(step, cancel));
    for (const order of this.run.log.tracker.orders()) {
      if (order.snapshot.state === 'draft')
        conclude(this.run.log, order, { event: 'DENY', because: 'the run ended before it was sent' }, step);
    }
  }

  /** Cancels all of them, also where one cannot be: throws Halt that names those which could not be shown to be gone. */
  private async takeAway(orders: readonly TrackedOrder[], at: OrderRequestContext): Promise<void> {
    let halt: Halt | undefined;
    const left: string[] = [];
    let why = '';
    for (const order of orders) {
      // A cancel that failed is retried once; `resume` does the rest. One that was acknowledged and not waited for has not failed yet.
      const hasFailed = this.unwanted.has(order) && !isBeingCancelled(order);
      const tries = hasFailed ? 1 : TIMINGS.cancelTries;
      this.unwanted.add(order);
      try {
        await this.parts.cancelling.own(order, 'terminal', at, tries);
        this.parts.handles.of(order).touch();
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

  /** An order that no step waits for any more is waited for, or taken back. */
  private async settleUnconfirmed(order: TrackedOrder, at: OrderRequestContext): Promise<void> {
    try {
      await this.parts.confirming.confirm(order, at);
      await this.parts.watch.readFills(order, at.step, at.cancel);
    } catch (error) {
      // Taken back, with the fills it had: it is known.
      if (!(error instanceof StepFailure)) throw error;
    } finally {
      this.parts.handles.of(order).touch();
    }
  }

  /**
   * Asks again for every order whose fate was not known, and cancels those that turn out to rest. Throws Halt while one of
   * them still cannot be told, or when the venue does not answer.
   */
  async settleDoubts(step: string): Promise<void> {
    await this.parts.resolution.settleDoubts(step);
    await this.takeAway(workingOrders(this.run.log), internalRequest(step, new Cancellation()));
  }
}

/**
 * Waits until an order has reached the state asked for: confirmed by a record, filled, ended. An order that no record shows in
 * time is cancelled; an acknowledgement is never taken for an outcome.
 */
import { formatSpan } from '../../base/format.ts';
import type { TrackedOrder } from '../../journal/orders.ts';
import type { AwaitTarget } from '../../runbook/checked.ts';
import { getExposure } from '../../venue/order/life.ts';
import { CONFIRM_WITHIN_MS } from '../../venue/order/polling.ts';
import { Abandoned, Cancellation, Halt, StepFailure } from '../interruption.ts';
import { type OrderHandle, requireOwnOrder } from '../readings/handles.ts';
import {
  conclude,
  isUnknownTooLong,
  type OrderManagerParts,
  type OrderRequestContext,
  quarantineUnknown,
} from '../readings/parts.ts';
import {
  getOrderName,
  haltForQuarantine,
  hasReached,
  isConfirmed,
  isEnded,
  isQuarantined,
} from '../readings/status.ts';
import type { OrderWatch } from '../readings/watch.ts';
import type { Cancelling } from './cancel.ts';

export class Confirming {
  private readonly run: OrderManagerParts;
  private readonly watch: OrderWatch;
  private readonly cancelling: Cancelling;

  constructor(run: OrderManagerParts, watch: OrderWatch, cancelling: Cancelling) {
    this.run = run;
    this.watch = watch;
    this.cancelling = cancelling;
  }

  /**
   * Waits until the order has reached `target`. Throws StepFailure when it can no longer reach it. `endsAtOnce`: an order that
   * never rests; it is cancelled where no record shows its end in time, and a rejection is a failure of its step.
   */
  async reach(handle: OrderHandle, target: AwaitTarget, at: OrderRequestContext, endsAtOnce = false): Promise<void> {
    const order = requireOwnOrder(handle, at.step);
    if (target === 'accepted') return;
    if (endsAtOnce) await this.confirm(order, at, isEnded);
    else if (!isConfirmed(order)) await this.confirm(order, at);
    await this.watch.until(
      order,
      (each) => hasReached(each, target) || isEnded(each) || isUnknownTooLong(this.run, each),
      at,
    );
    if (!hasReached(order, target)) quarantineUnknown(this.run, order, at.step);
    this.refuseEnded(order, endsAtOnce ? 'live' : target, at.step);
  }

  /**
   * Waits until one of the orders has reached `target`, and gives its place. Throws StepFailure when none can reach it any more,
   * Halt when the outcome of one is unknown.
   */
  async reachAny(handles: readonly OrderHandle[], target: AwaitTarget, at: OrderRequestContext): Promise<number> {
    const own = new Cancellation(at.cancel);
    const failures: unknown[] = [];
    const wait = async (handle: OrderHandle): Promise<void> => {
      try {
        await this.reach(handle, target, { ...at, cancel: own });
        own.cancel('sibling', 'another order was first');
      } catch (error) {
        if (!(error instanceof Abandoned && error.reason.origin === own)) failures.push(error);
        // The others may still get there, unless the run has to end.
        if (!(error instanceof StepFailure)) own.cancel('sibling', 'the wait for another order has ended');
      }
    };
    try {
      await Promise.all(handles.map(wait));
    } finally {
      own.close();
    }
    const ending = failures.find((error) => !(error instanceof StepFailure));
    if (ending !== undefined) throw ending;
    at.cancel.check();
    const first = handles.findIndex(({ own: order }) => order !== undefined && hasReached(order, target));
    if (first === -1) throw failures[0];
    return first;
  }

  /**
   * Waits until a record shows the order, or its end (`isShown`). Throws StepFailure when it was cancelled instead, Halt when that
   * is unknown.
   */
  async confirm(order: TrackedOrder, at: OrderRequestContext, isShown = isConfirmed): Promise<void> {
    if (await this.watch.seeWithin(CONFIRM_WITHIN_MS, order, isShown, at)) return;
    const not = isShown === isConfirmed ? 'not confirmed' : 'not ended';
    conclude(
      this.run.log,
      order,
      { event: 'T_CONFIRM', because: `${not} within ${formatSpan(CONFIRM_WITHIN_MS)}` },
      at.step,
    );
    await this.cancelling.send(order, at);
    if (await this.watch.seeWithin(CONFIRM_WITHIN_MS / 2, order, isEnded, at)) {
      if (order.snapshot.state !== 'canceled') return;
      const { filled } = getExposure(order.snapshot);
      throw new StepFailure(
        'cancelled',
        `order ${getOrderName(order)} was ${not} within ${formatSpan(CONFIRM_WITHIN_MS)} and was cancelled with ${filled} filled`,
        at.step,
      );
    }
    // What follows at this instant, as the wait for another order does, has to find it in the journal (playback.ts, jumpTo).
    const because = `no end seen within ${formatSpan(CONFIRM_WITHIN_MS / 2)} of its cancel`;
    conclude(this.run.log, order, { event: 'T_CONFIRM', because }, at.step);
    quarantineUnknown(this.run, order, at.step);
    if (isQuarantined(order)) throw haltForQuarantine(order, at.step);
    this.cancelling.overdue.add(order);
    throw new Halt(
      'unknown_outcome',
      `order ${getOrderName(order)} stays ${order.snapshot.state} and cannot be cancelled`,
      at.step,
    );
  }

  private refuseEnded(order: TrackedOrder, target: AwaitTarget, step: string): void {
    const { state, context } = order.snapshot;
    if (state === 'quarantined') throw haltForQuarantine(order, step);
    if (state === 'rejected' && target !== 'terminal') {
      throw new StepFailure(
        'rejected',
        `order ${getOrderName(order)} was rejected: ${context.lastRecord?.reason || 'no reason given'}`,
        step,
      );
    }
    if (hasReached(order, target)) return;
    throw new StepFailure(
      'cancelled',
      `order ${getOrderName(order)} is ${state} with ${getExposure(order.snapshot).filled} filled: it can no longer become ${target}`,
      step,
    );
  }
}

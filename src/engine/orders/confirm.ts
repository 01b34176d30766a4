/**
 * Waits until an order has reached the state asked for: confirmed by a record, filled, ended. An order that no record shows in
 * time is cancelled; an acknowledgement is never taken for an outcome.
 */
import { formatSpan } from '../../base/format.ts';
import type { TrackedOrder } from '../../journal/orders.ts';
import type { AwaitTarget } from '../../runbook/checked.ts';
import { CONFIRM_WITHIN_MS } from '../../venue/order/polling.ts';
import { Halt, StepFailure } from '../interruption.ts';
import type { Cancelling } from './cancel.ts';
import { type OrderHandle, requireOwnOrder } from './handles.ts';
import {
  conclude,
  isUnknownTooLong,
  type OrderManagerParts,
  type OrderRequestContext,
  quarantineUnknown,
} from './parts.ts';
import { getOrderName, haltForQuarantine, hasReached, isConfirmed, isEnded, isQuarantined } from './status.ts';
import type { OrderWatch } from './watch.ts';

export class Confirming {
  private readonly run: OrderManagerParts;
  private readonly watch: OrderWatch;
  private readonly cancelling: Cancelling;

  constructor(run: OrderManagerParts, watch: OrderWatch, cancelling: Cancelling) {
    this.run = run;
    this.watch = watch;
    this.cancelling = cancelling;
  }

  /** Waits until the order has reached `target` and its fills are known. Throws StepFailure when it can no longer reach it. */
  async reach(handle: OrderHandle, target: AwaitTarget, at: OrderRequestContext): Promise<void> {
    const order = requireOwnOrder(handle, at.step);
    if (target === 'accepted') return handle.touch();
    if (!isConfirmed(order)) await this.confirm(order, at);
    await this.watch.until(
      order,
      (each) => hasReached(each, target) || isEnded(each) || isUnknownTooLong(this.run, each),
      at.cancel,
    );
    if (!hasReached(order, target)) quarantineUnknown(this.run, order, at.step);
    await this.watch.readFills(order, at.step, at.cancel);
    handle.touch();
    this.refuseEnded(order, target, at.step);
  }

  /** Waits until a record shows the order. Throws StepFailure when it was cancelled instead, Halt when that is unknown. */
  async confirm(order: TrackedOrder, at: OrderRequestContext): Promise<void> {
    if (await this.watch.waitWithin(CONFIRM_WITHIN_MS, order, isConfirmed, at.cancel)) return;
    conclude(
      this.run.log,
      order,
      { event: 'T_CONFIRM', because: `not confirmed within ${formatSpan(CONFIRM_WITHIN_MS)}` },
      at.step,
    );
    await this.cancelling.send(order, at);
    if (await this.watch.waitWithin(CONFIRM_WITHIN_MS / 2, order, isEnded, at.cancel)) {
      if (order.snapshot.state !== 'canceled') return;
      await this.watch.readFills(order, at.step, at.cancel);
      const { filled } = order.snapshot.context;
      throw new StepFailure(
        'cancelled',
        `order ${getOrderName(order)} was not confirmed within ${formatSpan(CONFIRM_WITHIN_MS)} and was cancelled with ${filled} filled`,
        at.step,
      );
    }
    quarantineUnknown(this.run, order, at.step);
    if (isQuarantined(order)) throw haltForQuarantine(order, at.step);
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
      `order ${getOrderName(order)} is ${state} with ${context.filled} filled: it can no longer become ${target}`,
      step,
    );
  }
}

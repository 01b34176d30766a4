/**
 * Waits until an order has come as far as was asked: confirmed by a record, filled, over. One that no record shows in time is
 * cancelled; an acknowledgement is never taken for an outcome.
 */
import { formatSpan } from '../../base/format.ts';
import type { TrackedOrder } from '../../journal/orders.ts';
import type { AwaitTarget } from '../../runbook/checked.ts';
import { Halt, StepFailure } from '../interruption.ts';
import type { Cancelling } from './cancel.ts';
import { type OrderHandle, ownOrder } from './handles.ts';
import { conclude, isStranded, type OrderManagerParts, type OrderRequestContext, strand } from './parts.ts';
import { CONFIRM_WITHIN_MS, isConfirmed, isEnded, isQuarantined, nameOf, quarantined, reached } from './status.ts';
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

  /** Waits until the order has come as far as `target`; then its fills are known as well. Throws StepFailure when it cannot any more. */
  async reach(handle: OrderHandle, target: AwaitTarget, at: OrderRequestContext): Promise<void> {
    const order = ownOrder(handle, at.step);
    if (target === 'accepted') return handle.touch();
    if (!isConfirmed(order)) await this.confirm(order, at);
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

  /** Waits until a record shows the order. Throws StepFailure when it was cancelled instead, Halt when that cannot be told. */
  async confirm(order: TrackedOrder, at: OrderRequestContext): Promise<void> {
    if (await this.watch.within(CONFIRM_WITHIN_MS, order, isConfirmed, at.cancel)) return;
    conclude(
      this.run.log,
      order,
      { event: 'T_CONFIRM', because: `not confirmed within ${formatSpan(CONFIRM_WITHIN_MS)}` },
      at.step,
    );
    await this.cancelling.send(order, at);
    if (await this.watch.within(CONFIRM_WITHIN_MS / 2, order, isEnded, at.cancel)) {
      if (order.snapshot.state !== 'canceled') return;
      await this.watch.readFills(order, at.step, at.cancel);
      const { filled } = order.snapshot.context;
      throw new StepFailure(
        'cancelled',
        `order ${nameOf(order)} was not confirmed within ${formatSpan(CONFIRM_WITHIN_MS)} and was cancelled with ${filled} filled`,
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

  private refuseEnded(order: TrackedOrder, target: AwaitTarget, step: string): void {
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
}

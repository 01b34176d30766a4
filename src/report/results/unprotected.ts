/** Folds how long a run held a position, or a part of one, that no working stop of the run covered, as the run itself knew it. */
import { decimal } from '../../base/decimal.ts';
import type { Entry } from '../../journal/entry.ts';
import type { TrackedOrder } from '../../journal/orders.ts';
import { findLeft } from '../../venue/position/residual.ts';

export class UnprotectedFold {
  private readonly orders: { orders(): readonly TrackedOrder[] };
  private since: number | undefined;
  private totalMs = 0;
  private fills = 0;

  /** `orders` has applied each entry before. */
  constructor(orders: { orders(): readonly TrackedOrder[] }) {
    this.orders = orders;
  }

  apply(entry: Entry): void {
    if (entry.type !== 'call.settled' && entry.type !== 'order.moved') return;
    const orders = this.orders.orders();
    const fills = orders.reduce((count, { snapshot }) => count + snapshot.context.fills.size, 0);
    // Most answers change neither an order nor its fills.
    if (entry.type === 'call.settled' && fills === this.fills) return;
    this.fills = fills;
    const left = findLeft(orders, { when: 'steps', staysArmed: false });
    const isOpen = left.some(({ size, covered }) => decimal(covered).lt(decimal(size)));
    if (isOpen) this.since ??= entry.at;
    else {
      this.totalMs = this.sumMs(entry.at);
      this.since = undefined;
    }
  }

  /** ms until a time. */
  sumMs(until: number): number {
    return this.totalMs + (this.since === undefined ? 0 : until - this.since);
  }
}

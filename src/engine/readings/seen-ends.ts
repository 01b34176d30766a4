/**
 * Keeps what answers have shown of the orders of a run that ended with less than they asked for: a record that showed an end may be older
 * than what filled. The looks at the end of a run and before an exit ask it which orders they still have to read.
 */
import type { OrderTracker, TrackedOrder } from '../../journal/orders.ts';
import { type CallOutcome, NOT_RECORDED, SWEEP, type VenueCall } from '../../venue/port.ts';
import { ANSWER_AT_ONCE_MS, type Completing, type CompletingRequest, haltUnrecorded } from './completing.ts';
import { findEndShownAt, mayHaveMore } from './completion.ts';
import { callWhileWanted, type OrderManagerParts } from './parts.ts';
import type { OrderWatch } from './watch.ts';

/** Keeps the orders of a run that ended with less than they asked for: of thousands that filled whole, no look asks anything. */
export class ShortOrders {
  private readonly changed: Set<TrackedOrder>;
  private readonly short = new Set<TrackedOrder>();

  constructor(tracker: Pick<OrderTracker, 'watchOrders'>) {
    this.changed = tracker.watchOrders();
  }

  /** Takes in what has changed: also now and then meanwhile, so that no look has to do so of many at once. */
  update(): void {
    for (const order of this.changed)
      if (mayHaveMore(order.snapshot)) this.short.add(order);
      else this.short.delete(order);
    this.changed.clear();
  }

  list(): readonly TrackedOrder[] {
    this.update();
    return [...this.short];
  }

  /** Forgets those of which nothing more can come to light, until one changes. */
  forget(isOver: (order: TrackedOrder) => boolean): void {
    for (const order of this.short) if (isOver(order)) this.short.delete(order);
  }
}

export class SeenEnds {
  private readonly run: OrderManagerParts;
  private readonly watch: OrderWatch;
  private readonly completing: Completing;
  /** When a look was sent whose answer showed nothing of an order, epoch ms: of one that it need not show. */
  private readonly answeredAt = new WeakMap<TrackedOrder, number>();
  /** Those that ended short and of which a recording has nothing. */
  private readonly unrecorded = new WeakSet<TrackedOrder>();

  constructor(run: OrderManagerParts, watch: OrderWatch, completing: Completing) {
    this.run = run;
    this.watch = watch;
    this.completing = completing;
  }

  /** Reads orders of one market, several in one page. */
  async read(
    orders: readonly TrackedOrder[],
    {
      step,
      cancel,
      ...how
    }: Pick<CompletingRequest, 'step' | 'cancel'> & Pick<VenueCall, 'class' | 'deadlineAt' | 'answerMs'>,
  ): Promise<CallOutcome<'GET /orders'>> {
    const { watch } = this;
    const outcome = await callWhileWanted(cancel, (wanted) => {
      const limits = { answerMs: ANSWER_AT_ONCE_MS, ...how, wanted };
      const [first, ...others] = orders;
      if (first === undefined || others.length > 0)
        return watch.readTogether(orders, step, { purpose: SWEEP, ...limits });
      return watch.read(first, step, SWEEP, limits);
    });
    haltUnrecorded(outcome, step);
    return outcome;
  }

  /**
   * Notes of the orders that ended short that an answer shows nothing of them. Of one that a record has shown before it proves nothing, the
   * next answer may have it, until its fills must be out: these say then what it filled.
   */
  note(orders: readonly TrackedOrder[], outcome: CallOutcome<'GET /orders'>, askedAt: number): void {
    const isUnrecorded = outcome.kind === 'denied' && outcome.code === NOT_RECORDED;
    if (outcome.kind !== 'confirmed' && !isUnrecorded) return;
    const before = askedAt - this.run.setup.fillsWindowMs;
    for (const order of orders) {
      const isKnown = order.snapshot.context.confirmedAt !== undefined;
      if (isUnrecorded) this.unrecorded.add(order);
      else if (!isKnown || (findEndShownAt(order.snapshot) ?? askedAt) < before) this.answeredAt.set(order, askedAt);
    }
  }

  /** Whether an answer has shown what filled of an order that ended short, or nothing of one that it need not show. */
  has(order: TrackedOrder, shownAt = findEndShownAt(order.snapshot)): boolean {
    if (shownAt === undefined || this.unrecorded.has(order) || this.watch.hasShownEndSince(shownAt, order)) return true;
    if ((this.answeredAt.get(order) ?? Number.NEGATIVE_INFINITY) < shownAt) return false;
    // What one has filled that a record has shown before, its fills say: they have to have been read.
    return order.snapshot.context.confirmedAt === undefined || this.hasReadFills(order);
  }

  /** Whether the fills of an ended order were read when they had to be out. */
  private hasReadFills(order: TrackedOrder): boolean {
    const at = this.completing.fillsReadAt.get(order);
    return at !== undefined && at >= order.snapshot.context.since + this.run.setup.fillsWindowMs;
  }

  /** Whether nothing more can come to light of an ended order: an answer has shown its end, and its fills were read when they had to be out. */
  isOver(order: TrackedOrder): boolean {
    return this.hasReadFills(order) && this.has(order);
  }
}

/**
 * Reads, before an exit sends an order, what the orders of its market that ended short have filled: it would be sold twice. As urgent as
 * that order, and for no longer than it takes, because the position is bare meanwhile.
 */
import type { TrackedOrder } from '../../journal/orders.ts';
import { COMPLETED_TOGETHER, REPEAT_DELAYS_MS } from '../../venue/order/polling.ts';
import { SWEEP } from '../../venue/port.ts';
import { awaitEach, type Cancellation } from '../interruption.ts';
import { sleepUntil } from '../waiting.ts';
import { type Completing, haltUnrecorded, MOST_HIDDEN } from './completing.ts';
import { findEndShownAt, isClosedShort, mayHaveMore } from './completion.ts';
import type { OrderManagerParts } from './parts.ts';
import type { SeenEnds } from './seen-ends.ts';
import type { OrderWatch } from './watch.ts';

/** Of how many orders an exit reads the fills before its next order. */
const MOST_SHORT = 5;
/**
 * How long an answer may take for which an exit waits, ms, as one with its price: without it a venue whose answers take a little longer
 * than those that nothing waits for would have everything sold twice.
 */
const EXIT_ANSWER_MS = 5000;

export class ExitLook {
  private readonly run: OrderManagerParts;
  private readonly watch: OrderWatch;
  private readonly completing: Completing;
  private readonly seen: SeenEnds;

  constructor(run: OrderManagerParts, watch: OrderWatch, completing: Completing, seen: SeenEnds) {
    this.run = run;
    this.watch = watch;
    this.completing = completing;
    this.seen = seen;
  }

  /**
   * Before the first order of an exit: waits until a record shows what filled of the orders of its market that ended short, and reads it
   * as urgently as the exit. Without it that would be sold twice.
   */
  async readBefore(orders: readonly TrackedOrder[], step: string, cancel: Cancellation): Promise<void> {
    const { clock, setup } = this.run;
    const since = clock.now() - setup.fillsWindowMs;
    const due = orders
      .flatMap((order) => ({ order, shownAt: findEndShownAt(order.snapshot) ?? 0 }))
      .filter(({ order, shownAt }) => shownAt >= since && !this.seen.has(order))
      .slice(-MOST_HIDDEN);
    if (due.length === 0) return;
    await sleepUntil(clock, Math.max(clock.now(), ...due.map(({ shownAt }) => shownAt)), cancel);
    const looked = due.map(({ order }) => order);
    await this.readRecords(looked, step, cancel);
    const left = looked.filter((order) => !this.seen.has(order));
    await this.readNewestFills(left, step, cancel);
    this.watch.check();
  }

  /**
   * Reads, before an exit sends another order for the rest, the records of the orders that ended with less than they asked for, and the
   * fills of the newest: either may show first what filled as they ended. As urgent as that order. The position is bare meanwhile: no
   * record is read that an answer has shown late enough, several of either are read in one page, and both side by side.
   */
  async readShort(orders: readonly TrackedOrder[], step: string, cancel: Cancellation): Promise<void> {
    const now = this.run.clock.now();
    const isShort = ({ snapshot }: TrackedOrder) => mayHaveMore(snapshot);
    const short = orders.filter(isShort).slice(-MOST_HIDDEN);
    const owed = short.filter((order) => !this.seen.has(order) || isClosedShort(order.snapshot, now));
    await awaitEach([
      ...(owed.length > 0 ? [this.readRecords(owed, step, cancel)] : []),
      this.readNewestFills(short, step, cancel),
    ]);
    this.watch.check();
  }

  /** Reads records for an exit, and once more those that an answer lacks. */
  private async readRecords(orders: readonly TrackedOrder[], step: string, cancel: Cancellation): Promise<void> {
    const { clock } = this.run;
    const read = (of: readonly TrackedOrder[]) =>
      this.seen.read(of, { class: 'resolve', deadlineAt: clock.now(), answerMs: EXIT_ANSWER_MS, step, cancel });
    const askedAt = clock.now();
    const outcome = await read(orders);
    this.seen.note(orders, outcome, askedAt);
    const left = orders.filter((order) => !this.watch.hasShownSince(askedAt, order));
    if (outcome.kind !== 'confirmed' || left.length === 0) return;
    await sleepUntil(clock, clock.now() + REPEAT_DELAYS_MS[0], cancel);
    await read(left);
  }

  /**
   * Reads the fills of the newest of the orders for an exit, side by side: those of the exit itself are the newest, and it waits for the
   * slowest answer alone.
   */
  private async readNewestFills(orders: readonly TrackedOrder[], step: string, cancel: Cancellation): Promise<void> {
    const how = { windowMs: 0, answerMs: EXIT_ANSWER_MS, purpose: SWEEP, class: 'resolve' } as const;
    const request = { ...how, step, cancel };
    let newest: readonly TrackedOrder[] = orders.slice(-MOST_SHORT).reverse();
    const [first] = newest;
    if (first !== undefined && newest.length >= COMPLETED_TOGETHER)
      newest = await this.completing.readFillsTogether(first.intent.market, newest, request);
    await awaitEach(
      newest.map(async (order) => haltUnrecorded(await this.completing.readOne(order, 'fills', request), step)),
    );
  }
}

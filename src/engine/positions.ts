/**
 * Keeps the positions of a run for its expressions: what the fills journaled so far add up to, of every order of the run, by
 * average cost. The size counts what a record shows beyond the fills as well: a way out that closes the position must not wait
 * for fills that are late, nor leave behind what they will show. What the run holds is another figure where an order of it has closed
 * a position that was not its own: closing that again would open one.
 */
import { Decimal, decimal } from '../base/decimal.ts';
import { signSize } from '../journal/held-positions.ts';
import type { OrderTracker, TrackedOrder } from '../journal/orders.ts';
import type { HeldPosition } from '../runbook/values.ts';
import { computeShortfall } from '../venue/order/fills.ts';
import { getExposure } from '../venue/order/life.ts';
import { getAverageEntry } from '../venue/position/position.ts';
import { PositionBook } from '../venue/position/position-book.ts';

export class RunPositions {
  private readonly tracker: OrderTracker;
  /** Filled from the first question on: most runs ask none. */
  private changed: Set<TrackedOrder> | undefined;
  private readonly book = new PositionBook();
  /** The fills of each order as they were counted; an order has another map after each new fill. */
  private readonly counted = new Map<string, ReadonlyMap<string, unknown>>();

  constructor(tracker: OrderTracker) {
    this.tracker = tracker;
  }

  /** Net size that the run has opened and not closed, base currency, long positive: what `leaves` counts, and `close` closes. */
  getHeld(market: string): Decimal {
    return this.tracker.getOpened(market).net;
  }

  get(market: string): HeldPosition {
    this.update();
    let unread = new Decimal(0);
    for (const { intent, snapshot } of this.tracker.unfinished()) {
      if (intent.market !== market) continue;
      const beyond = computeShortfall(getExposure(snapshot).filled, snapshot.context.filled);
      if (beyond !== '0') unread = unread.plus(signSize(intent.side, beyond));
    }
    const position = this.book.position(market);
    const entry = getAverageEntry(position);
    const { size, realized, fees } = position;
    return {
      size: size.plus(unread),
      realized,
      fees,
      ...(entry === undefined ? {} : { averageEntry: decimal(entry) }),
    };
  }

  private update(): void {
    this.changed ??= this.tracker.watchOrders();
    for (const { intent, snapshot } of this.changed) {
      const { fills } = snapshot.context;
      if (this.counted.get(intent.clientOrderId) === fills) continue;
      for (const fill of fills.values()) this.book.add(intent.market, fill);
      this.counted.set(intent.clientOrderId, fills);
    }
    this.changed.clear();
  }
}

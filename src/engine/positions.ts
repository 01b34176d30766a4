/**
 * Keeps the positions of a run for its expressions: what the fills journaled so far add up to, of every order of the run, by
 * average cost.
 */
import { decimal } from '../base/decimal.ts';
import type { OrderTracker } from '../journal/orders.ts';
import type { HeldPosition } from '../runbook/values.ts';
import { getAverageEntry } from '../venue/position/position.ts';
import { PositionBook } from '../venue/position/position-book.ts';

export class RunPositions {
  private readonly tracker: Pick<OrderTracker, 'orders'>;
  private readonly book = new PositionBook();
  /** The fills of each order as they were counted; an order has another map after each new fill. */
  private readonly counted = new Map<string, ReadonlyMap<string, unknown>>();

  constructor(tracker: Pick<OrderTracker, 'orders'>) {
    this.tracker = tracker;
  }

  get(market: string): HeldPosition {
    for (const { intent, snapshot } of this.tracker.orders()) {
      const { fills } = snapshot.context;
      if (intent.market !== market || this.counted.get(intent.clientOrderId) === fills) continue;
      for (const fill of fills.values()) this.book.add(market, fill);
      this.counted.set(intent.clientOrderId, fills);
    }
    const position = this.book.position(market);
    const entry = getAverageEntry(position);
    const { size, realized, fees } = position;
    return { size, realized, fees, ...(entry === undefined ? {} : { averageEntry: decimal(entry) }) };
  }
}

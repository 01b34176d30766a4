/**
 * Simulates one market: the liquidity at each tick, and the time at which the price path reaches an order. A taking order
 * consumes levels from the best price outward. A resting order is filled at its own price by the amount that would have traded
 * through it. All liquidity returns at the next step, and orders of the account never trade with each other. The market decides
 * prices and amounts; fills.ts decides the outcome of an order.
 */
import { Decimal, decimal } from '../../../base/decimal.ts';
import type { MarketConfig } from '../config/settings.ts';
import { countTicks, type PriceGrid, type PricePath, type Quote } from '../price/prices.ts';
import { isPositionOrder, type SimOrder } from './ledger.ts';

/** An amount in base currency, traded at one price. */
export interface Execution {
  readonly price: Decimal;
  readonly size: Decimal;
}

/** Steps of the price path that one search covers; a timer at their end continues the search. */
const LOOKAHEAD_STEPS = 512;

export class Market {
  readonly id: string;
  readonly grid: PriceGrid;
  readonly lot: Decimal;
  readonly minSize: Decimal;
  readonly path: PricePath;
  private readonly depth: Decimal;
  private readonly levels: number;
  private readonly active = new Set<SimOrder>();
  /** The last step that was processed. */
  private step = 0;
  private consumedAsks: Decimal[] = [];
  private consumedBids: Decimal[] = [];
  private planned: Planned | undefined;

  constructor(id: string, config: MarketConfig, grid: PriceGrid, path: PricePath) {
    this.id = id;
    this.grid = grid;
    this.path = path;
    this.lot = decimal(config.lot);
    this.minSize = decimal(config.min_size);
    this.depth = decimal(config.depth);
    this.levels = config.levels;
  }

  getMidAt(ms: number): Decimal {
    return this.grid.toPrice(this.path.getMid(this.path.getStepAt(ms)));
  }

  /** Watches the price for an order: for its trigger while it waits, for its limit while it works. */
  watch(order: SimOrder): void {
    this.active.add(order);
    this.planned = undefined;
  }

  unwatch(order: SimOrder): void {
    if (this.active.delete(order)) this.planned = undefined;
  }

  /** The next time at which the market must be processed; undefined if no watched order can be reached. */
  findNext(): Planned | undefined {
    if (this.active.size === 0) return undefined;
    this.planned ??= this.search();
    return this.planned.at === Number.POSITIVE_INFINITY ? undefined : this.planned;
  }

  private search(): Planned {
    const reach = this.computeReach();
    const end = Math.min(this.step + LOOKAHEAD_STEPS, Math.max(this.path.lastChange, this.step + 1));
    for (let step = this.step + 1; step <= end; step += 1) {
      if (reaches(reach, this.path.getQuote(step))) return { at: this.path.getTimeOf(step), happens: true };
    }
    // A price that does not change from here on reaches nothing that it does not reach now.
    return { at: end > this.path.lastChange ? Number.POSITIVE_INFINITY : this.path.getTimeOf(end), happens: false };
  }

  /** Moves to the step of a time and restores the liquidity. Earlier events of `findNext` must be processed first. */
  moveTo(ms: number): void {
    const step = this.path.getStepAt(ms);
    if (this.planned !== undefined && this.planned.at <= ms) this.planned = undefined;
    if (step <= this.step) return;
    this.step = step;
    this.consumedAsks = [];
    this.consumedBids = [];
  }

  /**
   * Sets the mid price from the next step of the path on, or with `now` from the present one; the caller looks for the next event
   * anew, and with `now` processes the step.
   */
  setPrice(price: Decimal, at: number, from: 'next' | 'now' = 'next'): void {
    const step = this.path.getStepAt(at) + (from === 'next' ? 1 : 0);
    this.path.set(step, Math.max(1, countTicks(price, this.grid.tick)));
    this.planned = undefined;
  }

  /** Reports the account's position after a fill: recorded candles turn against it. */
  lean(position: -1 | 0 | 1, at: number): void {
    if (this.path.lean(this.path.getStepAt(at), position)) this.planned = undefined;
  }

  /** Waiting orders whose trigger the price has reached, in order of arrival. */
  listTriggered(): SimOrder[] {
    const { mid } = this.path.getQuote(this.step);
    return this.selectInOrder((order) => order.stage === 'waiting' && this.triggers(order, mid));
  }

  /** Working orders that the present step fills, best price first, then by priority. */
  listCrossed(): SimOrder[] {
    const quote = this.path.getQuote(this.step);
    return this.selectInOrder((order) => order.stage === 'working' && this.crosses(order, quote)).sort((a, b) => {
      if (a.side !== b.side || a.price === undefined || b.price === undefined) return a.priority - b.priority;
      const better = a.side === 'long' ? b.price.comparedTo(a.price) : a.price.comparedTo(b.price);
      return better || a.priority - b.priority;
    });
  }

  /** Whether the present price would fill at least part of an order that arrives now. */
  crossesNow(order: SimOrder): boolean {
    return this.crosses(order, this.path.getQuote(this.step));
  }

  triggersNow(order: SimOrder): boolean {
    return this.triggers(order, this.path.getMid(this.step));
  }

  /** Takes the liquidity up to the order's price, from the best price outward, at the offered prices. */
  take(order: SimOrder): Execution[] {
    const executions: Execution[] = [];
    let wanted = order.size;
    this.visitLevels(order, (level, offered) => {
      const size = Decimal.min(offered, wanted);
      wanted = wanted.minus(size);
      this.consume(order, level, size);
      executions.push({ price: this.grid.toPrice(this.getLevelTicks(order, level)), size });
      return wanted.greaterThan(0);
    });
    return executions;
  }

  /** Fills a resting order at its own price with the amount that would have traded through it. */
  fillResting(order: SimOrder): Execution | undefined {
    let filled = new Decimal(0);
    this.visitLevels(order, (level, offered) => {
      const size = Decimal.min(offered, order.size.minus(filled));
      this.consume(order, level, size);
      filled = filled.plus(size);
      return filled.lessThan(order.size);
    });
    if (filled.isZero()) return undefined;
    return { price: order.price ?? this.grid.toPrice(this.path.getMid(this.step)), size: filled };
  }

  /** The amount that an order could take now, base currency. */
  sumAvailable(order: SimOrder): Decimal {
    let sum = new Decimal(0);
    this.visitLevels(order, (_, offered) => {
      sum = sum.plus(offered);
      return sum.lessThan(order.size);
    });
    return sum;
  }

  /** Visits the levels that an order can reach, from the best price outward, while `visit` returns true. */
  private visitLevels(order: SimOrder, visit: (level: number, offered: Decimal) => boolean): void {
    if (this.path.findGap(this.step) !== undefined) return;
    const eaten = order.side === 'long' ? this.consumedAsks : this.consumedBids;
    const limit = this.getLimitTicks(order);
    for (let level = 0; level < this.levels; level += 1) {
      const ticks = this.getLevelTicks(order, level);
      if (ticks <= 0 || (order.side === 'long' ? ticks > limit : ticks < limit)) return;
      const offered = this.depth.minus(eaten[level] ?? 0);
      if (offered.greaterThan(0) && !visit(level, offered)) return;
    }
  }

  private getLevelTicks(order: SimOrder, level: number): number {
    const { bid, ask } = this.path.getQuote(this.step);
    return order.side === 'long' ? ask + level : bid - level;
  }

  /** The worst price that an order accepts, in ticks; infinite if it accepts every price. */
  private getLimitTicks({ side, price }: SimOrder): number {
    if (side === 'long') return price === undefined ? Number.POSITIVE_INFINITY : this.grid.toTicks(price, 'down');
    return price === undefined ? Number.NEGATIVE_INFINITY : this.grid.toTicks(price, 'up');
  }

  private consume(order: SimOrder, level: number, size: Decimal): void {
    const eaten = order.side === 'long' ? this.consumedAsks : this.consumedBids;
    eaten[level] = size.plus(eaten[level] ?? 0);
  }

  private crosses(order: SimOrder, quote: Quote): boolean {
    return order.side === 'long' ? quote.ask <= this.getLimitTicks(order) : quote.bid >= this.getLimitTicks(order);
  }

  private triggers(order: SimOrder, mid: number): boolean {
    if (order.trigger === undefined) return false;
    return triggersOnRise(order)
      ? mid >= this.grid.toTicks(order.trigger, 'up')
      : mid <= this.grid.toTicks(order.trigger, 'down');
  }

  private selectInOrder(chosen: (order: SimOrder) => boolean): SimOrder[] {
    return [...this.active].filter(chosen).sort((a, b) => a.number - b.number);
  }

  /** The prices at which a watched order is triggered or filled, in ticks. */
  private computeReach(): Reach {
    const never = { falls: Number.NEGATIVE_INFINITY, rises: Number.POSITIVE_INFINITY };
    const reach = { askFalls: never.falls, bidRises: never.rises, midRises: never.rises, midFalls: never.falls };
    for (const order of this.active) {
      if (order.stage === 'waiting' && order.trigger !== undefined) {
        if (triggersOnRise(order)) reach.midRises = Math.min(reach.midRises, this.grid.toTicks(order.trigger, 'up'));
        else reach.midFalls = Math.max(reach.midFalls, this.grid.toTicks(order.trigger, 'down'));
      } else if (order.stage === 'working') {
        if (order.side === 'long') reach.askFalls = Math.max(reach.askFalls, this.getLimitTicks(order));
        else reach.bidRises = Math.min(reach.bidRises, this.getLimitTicks(order));
      }
    }
    return reach;
  }
}

interface Planned {
  /** Epoch ms. */
  readonly at: number;
  /** If false, no order is reached until then, and the search continues from there. */
  readonly happens: boolean;
}

interface Reach {
  readonly askFalls: number;
  readonly bidRises: number;
  readonly midRises: number;
  readonly midFalls: number;
}

function reaches(reach: Reach, quote: Quote): boolean {
  return (
    quote.ask <= reach.askFalls ||
    quote.bid >= reach.bidRises ||
    quote.mid >= reach.midRises ||
    quote.mid <= reach.midFalls
  );
}

/**
 * Whether a rise of the price triggers an order. A stop follows its side. A position order closes the opposite position: a short
 * stop-loss protects a long position against a fall, and a short take-profit waits for a rise.
 */
function triggersOnRise(order: SimOrder): boolean {
  if (!isPositionOrder(order)) return order.side === 'long';
  return (order.type === 'stop_loss') === (order.side === 'long');
}

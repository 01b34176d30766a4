/**
 * The price of a market as a function of seed, market and time: it comes out the same whoever asks, when and how often.
 * A path is a row of steps on a grid of time; at each it stands on a whole number of ticks. Counts of ticks are
 * integers and may be JavaScript numbers; a price is a Decimal, made from a count by `PriceGrid`.
 */
import { type Decimal, decimal } from '../../../base/decimal.ts';
import type { Stream } from '../config/random.ts';
import type { MarketConfig, PathConfig } from '../config/settings.ts';

const WALK_STEP_MS = 1000;
const POINTS_STEP_MS = 100;

/** Between prices and counts of ticks. */
export class PriceGrid {
  readonly tick: Decimal;

  constructor(tick: Decimal) {
    this.tick = tick;
  }

  toPrice(ticks: number): Decimal {
    return this.tick.times(ticks);
  }

  /** The largest count of ticks at or below a price, or the smallest at or above it. Prices far outside give an infinity. */
  toTicks(price: Decimal, toward: 'down' | 'up'): number {
    const exact = price.div(this.tick);
    const whole = toward === 'down' ? exact.floor() : exact.ceil();
    return whole.greaterThan(Number.MAX_SAFE_INTEGER) ? Number.POSITIVE_INFINITY : Number(whole.toFixed());
  }
}

/** Best bid, mid and best ask as counts of ticks. */
export interface Quote {
  readonly bid: number;
  readonly mid: number;
  readonly ask: number;
}

/** A walk keeps this many of its past steps; nobody asks for older ones. */
const KEPT_STEPS = 4096;

export class PricePath {
  /** The step after which the price stands still for ever; infinity for a walk. */
  readonly lastChange: number;
  private readonly originMs: number;
  private readonly stepMs: number;
  private readonly half: number;
  private readonly points: readonly { readonly step: number; readonly ticks: number }[];
  private readonly walk: Walk | undefined;

  constructor(market: MarketConfig, grid: PriceGrid, originMs: number, stream: Stream) {
    const { path } = market;
    this.originMs = originMs;
    this.stepMs = path.stepMs ?? (path.kind === 'walk' ? WALK_STEP_MS : POINTS_STEP_MS);
    const start = grid.toTicks(decimal(market.start), 'down');
    this.half = Math.max(1, Math.round((start * market.spreadBps) / 20_000));
    this.points = toPoints(path, start, this.stepMs, grid);
    this.walk = path.kind === 'walk' ? new Walk(start, this.half + 1, path.volatilityBps, stream) : undefined;
    this.lastChange = this.walk === undefined ? (this.points.at(-1)?.step ?? 0) : Number.POSITIVE_INFINITY;
  }

  /** The step in force at a time; times before the start have the first. */
  getStepAt(ms: number): number {
    return Math.max(0, Math.floor((ms - this.originMs) / this.stepMs));
  }

  getTimeOf(step: number): number {
    return this.originMs + step * this.stepMs;
  }

  getQuote(step: number): Quote {
    const mid = this.getMid(step);
    return { bid: mid - this.half, mid, ask: mid + this.half };
  }

  /** The mid price at a step, in ticks. */
  getMid(step: number): number {
    if (this.walk !== undefined) return this.walk.getTicks(step);
    let low = 0;
    for (let high = this.points.length - 1; low < high; ) {
      const middle = (low + high + 1) >> 1;
      if ((this.points[middle] as { step: number }).step <= step) low = middle;
      else high = middle - 1;
    }
    return (this.points[low] as { ticks: number }).ticks;
  }
}

/** The points on the grid, with the start price before the first. */
function toPoints(path: PathConfig, start: number, stepMs: number, grid: PriceGrid): { step: number; ticks: number }[] {
  if (path.kind === 'walk') return [];
  const points = path.points.map(({ afterMs, price }) => ({
    step: Math.ceil(afterMs / stepMs),
    ticks: grid.toTicks(decimal(price), 'down'),
  }));
  return points[0]?.step === 0 ? points : [{ step: 0, ticks: start }, ...points];
}

/**
 * A geometric walk. Its position between ticks is an IEEE double moved by + and * alone, which come out the same on every
 * machine; the nearly normal draw is a sum of four uniform ones, which needs no logarithm (those differ).
 */
class Walk {
  private position: number;
  private readonly least: number;
  private readonly deviation: number;
  private readonly stream: Stream;
  private readonly steps: number[];
  /** The step that `steps[0]` is. */
  private first = 0;

  constructor(start: number, least: number, volatilityBps: number, stream: Stream) {
    this.position = start;
    this.least = least;
    this.deviation = volatilityBps / 10_000;
    this.stream = stream;
    this.steps = [start];
  }

  getTicks(step: number): number {
    while (this.first + this.steps.length <= step) this.grow();
    const ticks = this.steps[step - this.first];
    if (ticks === undefined)
      throw new RangeError(`step ${step} of the price path is gone; the oldest kept is ${this.first}`);
    return ticks;
  }

  private grow(): void {
    const { stream } = this;
    const normal = (stream.next() + stream.next() + stream.next() + stream.next() - 2) * 1.7320508075688772;
    this.position = Math.max(this.least, this.position * (1 + this.deviation * normal));
    this.steps.push(Math.round(this.position));
    if (this.steps.length >= 4 * KEPT_STEPS) {
      this.steps.splice(0, this.steps.length - 2 * KEPT_STEPS);
      this.first += 2 * KEPT_STEPS;
    }
  }
}

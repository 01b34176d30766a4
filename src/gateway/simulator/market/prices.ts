/**
 * Computes the price of a market from the seed, the market and the time; the number and order of reads do not change it. A path
 * is a sequence of steps on a grid of time, and at each step the price is a whole number of ticks. Counts of ticks are integers
 * and may be JavaScript numbers; a price is a Decimal that `PriceGrid` makes from a count.
 */
import { type Decimal, decimal } from '../../../base/decimal.ts';
import type { Stream } from '../config/random.ts';
import type { MarketConfig, PathConfig } from '../config/settings.ts';

const WALK_STEP_MS = 1000;
const POINTS_STEP_MS = 100;

/** Converts between prices and counts of ticks. */
export class PriceGrid {
  readonly tick: Decimal;

  constructor(tick: Decimal) {
    this.tick = tick;
  }

  toPrice(ticks: number): Decimal {
    return this.tick.times(ticks);
  }

  /** The largest count of ticks at or below a price, or the smallest at or above it; infinite beyond safe integers. */
  toTicks(price: Decimal, toward: 'down' | 'up'): number {
    const exact = price.div(this.tick);
    const whole = toward === 'down' ? exact.floor() : exact.ceil();
    return whole.greaterThan(Number.MAX_SAFE_INTEGER) ? Number.POSITIVE_INFINITY : Number(whole.toFixed());
  }
}

/** Best bid, mid and best ask in ticks. */
export interface Quote {
  readonly bid: number;
  readonly mid: number;
  readonly ask: number;
}

/** Past steps that a walk keeps at least; older ones are not read. */
const KEPT_STEPS = 4096;

export class PricePath {
  /** The step after which the price does not change any more; infinity for a walk. */
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

  /** The step of a time; times before the start have the first step. */
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

/** Puts the points on the grid, with the start price before the first. */
function toPoints(path: PathConfig, start: number, stepMs: number, grid: PriceGrid): { step: number; ticks: number }[] {
  if (path.kind === 'walk') return [];
  const points = path.points.map(({ afterMs, price }) => ({
    step: Math.ceil(afterMs / stepMs),
    ticks: grid.toTicks(decimal(price), 'down'),
  }));
  return points[0]?.step === 0 ? points : [{ step: 0, ticks: start }, ...points];
}

/**
 * A geometric walk. Its position between ticks is an IEEE double that only + and * change, which give the same result on every
 * machine. The nearly normal draw is a sum of four uniform ones and needs no logarithm, whose result can differ.
 */
class Walk {
  private position: number;
  private readonly least: number;
  private readonly deviation: number;
  private readonly stream: Stream;
  private readonly steps: number[];
  /** Number of the step in `steps[0]`. */
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

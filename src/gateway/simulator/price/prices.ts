/**
 * The price of a market over time, on a grid of steps: at each step it is a whole number of ticks. It follows from the
 * configuration, the seed, the market and the time, and, where a candle leaves the order of its extremes open, from the position;
 * the number and order of reads do not change it. Counts of ticks are integers and may be JavaScript numbers; a price is a
 * Decimal that `PriceGrid` makes from a count.
 */
import { type Decimal, decimal, roundToStep, toCount } from '../../../base/decimal.ts';
import type { Stream } from '../config/random.ts';
import type { MarketConfig, PriceHistory } from '../config/settings.ts';
import { CandleCourse } from './candles.ts';
import { type Knot, PointCourse, SetCourse, TickCourse } from './points.ts';
import { Walk } from './walk.ts';

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

/** The nearest count of ticks to a price; `Number.MAX_SAFE_INTEGER` beyond it. */
export function countTicks(price: Decimal, tick: Decimal): number {
  return toCount(roundToStep(price.div(tick), decimal(1), 'nearest'));
}

/** Best bid, mid and best ask in ticks. */
export interface Quote {
  readonly bid: number;
  readonly mid: number;
  readonly ask: number;
}

/** The mid price by step. */
export interface Course {
  /** The step after which the price does not change any more; infinity for a walk. */
  readonly lastChange: number;
  getTicks(step: number): number;
  /** The first step that is still known; 0 by default. */
  readonly oldest?: number;
  /** The step since which nothing is quoted and nothing can be traded; undefined while there are quotes. */
  findGap?(step: number): number | undefined;
  /** Reports the position from a step on: 1 long, -1 short, 0 none. */
  lean?(step: number, position: -1 | 0 | 1): void;
}

export class PricePath {
  private course: Course;
  private readonly originMs: number;
  private readonly stepMs: number;
  private readonly half: number;

  constructor(market: MarketConfig, grid: PriceGrid, originMs: number, stream: Stream) {
    const { path } = market;
    this.originMs = originMs;
    this.stepMs = path.stepMs ?? (path.kind === 'walk' ? WALK_STEP_MS : POINTS_STEP_MS);
    const toHalf = (start: number) => Math.max(1, Math.round((start * market.spreadBps) / 20_000));
    if (path.kind === 'history') {
      this.course = this.followHistory(path.history);
      this.half = toHalf(this.course.getTicks(0));
      return;
    }
    const start = grid.toTicks(decimal(market.start), 'down');
    this.half = toHalf(start);
    if (path.kind === 'live') this.course = new SetCourse(start);
    else if (path.kind === 'walk') this.course = new Walk(start, this.half + 1, path.volatilityBps, stream);
    else this.course = new PointCourse(toKnots(path.points, start, this.stepMs, grid));
  }

  private followHistory({ form, times, ticks }: PriceHistory): Course {
    const toStep = (ms: number) => Math.ceil((ms - this.originMs) / this.stepMs);
    return form === 'candles'
      ? new CandleCourse(times, ticks, { toStep, stepMs: this.stepMs })
      : new TickCourse(times, ticks, toStep);
  }

  get lastChange(): number {
    return this.course.lastChange;
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
    return this.course.getTicks(step);
  }

  /** The mid price at the steps after one time and up to another, every `everyMs` at most, as far as they are known. */
  listMids(fromMs: number, toMs: number, everyMs: number): readonly { readonly at: number; readonly ticks: number }[] {
    const every = Math.max(1, Math.ceil(everyMs / this.stepMs));
    const first = Math.max(this.course.oldest ?? 0, fromMs < this.originMs ? 0 : this.getStepAt(fromMs) + 1);
    const mids: { at: number; ticks: number }[] = [];
    for (let step = Math.ceil(first / every) * every; step <= this.getStepAt(toMs); step += every)
      mids.push({ at: this.getTimeOf(step), ticks: this.getMid(step) });
    return mids;
  }

  /** Since when nothing is quoted, epoch ms; undefined while there are quotes. */
  findGap(step: number): number | undefined {
    const since = this.course.findGap?.(step);
    return since === undefined ? undefined : this.getTimeOf(since);
  }

  /** Sets the mid price from a step on; it holds until it is set again, whatever the path said. */
  set(step: number, ticks: number): void {
    const course =
      this.course instanceof SetCourse ? this.course : new SetCourse(this.course.getTicks(step), this.course);
    course.set(step, ticks);
    this.course = course;
  }

  /** Reports the position of the account from a step on. Returns whether later prices may differ from those read before. */
  lean(step: number, position: -1 | 0 | 1): boolean {
    this.course.lean?.(step, position);
    return this.course.lean !== undefined;
  }
}

/** Puts the points on the grid, with the start price before the first. */
function toKnots(
  points: Extract<MarketConfig['path'], { kind: 'points' }>['points'],
  start: number,
  stepMs: number,
  grid: PriceGrid,
): readonly Knot[] {
  const knots = points.map(({ afterMs, price, ramp, closed }) => ({
    step: Math.ceil(afterMs / stepMs),
    ticks: grid.toTicks(decimal(price), 'down'),
    ...(ramp === true ? { ramp } : {}),
    ...(closed === true ? { closed } : {}),
  }));
  return knots[0]?.step === 0 ? knots : [{ step: 0, ticks: start }, ...knots];
}

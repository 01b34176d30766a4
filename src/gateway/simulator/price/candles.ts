/**
 * A price given by candles. It moves in straight lines from the open of a candle over one extreme and the other to its close, a
 * third of its time each; from the close it jumps to the next open. A candle does not say which extreme came first: the one
 * that hurts the account's position does, or, without a position, the one nearer to the open. The other order would let a
 * strategy take its profit before a stop that the market may have reached first. A position that changes before the first
 * extreme is reached changes the order; what has been reached stays.
 */
import { findLastAt, getTicksBetween, type Knot } from './points.ts';

/** Length of a candle that has no neighbour. */
const LONE_CANDLE_MS = 60_000;

interface Grid {
  toStep(ms: number): number;
  readonly stepMs: number;
}

export class CandleCourse {
  readonly lastChange: number;
  private readonly times: Float64Array;
  /** Open, high, low and close of each candle. */
  private readonly ticks: Float64Array;
  private readonly grid: Grid;
  private readonly lengthMs: number;
  private readonly ways: (readonly Knot[] | undefined)[] = [];
  private position: -1 | 0 | 1 = 0;
  /** The candle of the newest change of the position; the ways of earlier ones are settled. */
  private settled = 0;
  private newest = 0;

  constructor(times: Float64Array, ticks: Float64Array, grid: Grid) {
    this.times = times;
    this.ticks = ticks;
    this.grid = grid;
    this.lengthMs = measureCandle(times);
    this.lastChange = Math.max(0, this.getWay(times.length - 1).at(-1)?.step ?? 0);
    this.ways.length = 0;
  }

  getTicks(step: number): number {
    const way = this.getWay(this.findCandle(step));
    let index = 0;
    while (index + 1 < way.length && (way[index + 1] as Knot).step <= step) index += 1;
    return getTicksBetween(way, index, step);
  }

  lean(step: number, position: -1 | 0 | 1): void {
    if (position === this.position) return;
    const candle = this.findCandle(step);
    for (let index = this.settled; index <= candle; index += 1) this.getWay(index);
    const way = this.getWay(candle);
    this.position = position;
    this.settled = candle;
    this.ways.length = candle + 1;
    // Without a position nothing hurts, and the way goes on as it began.
    if (position === 0 || step >= (way.at(-3) as Knot).step) return;
    const begun = way.slice(0, -3).filter((knot) => knot.step < step);
    const here: Knot = { step, ticks: this.getTicks(step), ...(begun.length > 0 ? { ramp: true } : {}) };
    this.ways[candle] = [...begun, here, ...this.buildWay(candle).slice(-3)];
  }

  private findCandle(step: number): number {
    const getStep = (index: number) => this.grid.toStep(this.times[index] as number);
    // Reads follow one another in time.
    const { newest } = this;
    if (getStep(newest) <= step && (newest + 1 === this.times.length || getStep(newest + 1) > step)) return newest;
    this.newest = findLastAt(this.times.length, getStep, step);
    return this.newest;
  }

  private getWay(candle: number): readonly Knot[] {
    const known = this.ways[candle];
    if (known !== undefined) return known;
    const way = this.buildWay(candle);
    this.ways[candle] = way;
    return way;
  }

  /** Open, the two extremes, close; at least four knots. */
  private buildWay(candle: number): readonly Knot[] {
    const [open = 0, high = 0, low = 0, close = 0] = this.ticks.subarray(4 * candle, 4 * candle + 4);
    const nearest = high - open < open - low ? 1 : -1;
    const lowFirst = (this.position === 0 ? -nearest : this.position) > 0;
    const [first, second] = lowFirst ? [low, high] : [high, low];
    const startMs = this.times[candle] as number;
    const next = this.times[candle + 1] ?? Number.POSITIVE_INFINITY;
    const lengthMs = Math.min(this.lengthMs, next - startMs);
    const at = (part: number) => this.grid.toStep(startMs + part * lengthMs);
    const end = this.grid.toStep(startMs + lengthMs - this.grid.stepMs);
    return [
      { step: at(0), ticks: open },
      { step: at(1 / 3), ticks: first, ramp: true },
      { step: at(2 / 3), ticks: second, ramp: true },
      { step: end, ticks: close, ramp: true },
    ];
  }
}

/** Length of the candles, ms: the smallest distance between two. */
export function measureCandle(times: Float64Array): number {
  let least = Number.POSITIVE_INFINITY;
  for (let index = 1; index < times.length; index += 1)
    least = Math.min(least, (times[index] as number) - (times[index - 1] as number));
  return least === Number.POSITIVE_INFINITY ? LONE_CANDLE_MS : least;
}

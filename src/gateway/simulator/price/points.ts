/** A price given by points: it holds from each to the next, or moves there in a straight line. */
import { findFirst } from '../../../base/json.ts';

export interface Knot {
  readonly step: number;
  readonly ticks: number;
  /** The price moves in a straight line from the knot before. */
  readonly ramp?: true;
  /** Nothing is quoted from here to the next knot. */
  readonly closed?: true;
}

export class PointCourse {
  readonly lastChange: number;
  /** By step, ascending; of several with the same step the last counts. */
  private readonly knots: readonly Knot[];

  constructor(knots: readonly Knot[]) {
    this.knots = knots;
    this.lastChange = Math.max(0, knots.at(-1)?.step ?? 0);
  }

  getTicks(step: number): number {
    return getTicksBetween(
      this.knots,
      findLastAt(this.knots.length, (index) => this.getStep(index), step),
      step,
    );
  }

  findGap(step: number): number | undefined {
    const knot = this.knots[findLastAt(this.knots.length, (index) => this.getStep(index), step)];
    return knot?.closed === true ? knot.step : undefined;
  }

  private getStep(index: number): number {
    return (this.knots[index] as Knot).step;
  }
}

/** A price that is set as time goes on; it holds until it is set again. Before it is first set, `before` gives it. */
export class SetCourse {
  private readonly knots: Knot[];
  private readonly before: Pick<PointCourse, 'getTicks'> | undefined;

  constructor(start: number, before?: Pick<PointCourse, 'getTicks'>) {
    this.knots = [{ step: 0, ticks: start }];
    this.before = before;
  }

  get lastChange(): number {
    return this.knots.at(-1)?.step ?? 0;
  }

  getTicks(step: number): number {
    const getStep = (index: number) => (this.knots[index] as Knot).step;
    if (this.before !== undefined && step < getStep(Math.min(1, this.knots.length - 1)))
      return this.before.getTicks(step);
    return (this.knots[findLastAt(this.knots.length, getStep, step)] as Knot).ticks;
  }

  set(step: number, ticks: number): void {
    if (this.knots.at(-1)?.step === step) this.knots.pop();
    this.knots.push({ step, ticks });
    if (this.knots.length > MOST_SET) this.knots.splice(1, MOST_SET / 2);
  }
}

/** Prices that are kept; older ones are not read. */
const MOST_SET = 10_000;

/** Recorded ticks: the price holds from each to the next. */
export class TickCourse {
  readonly lastChange: number;
  private readonly ticks: Float64Array;
  private readonly getStep: (index: number) => number;

  constructor(times: Float64Array, ticks: Float64Array, toStep: (ms: number) => number) {
    this.ticks = ticks;
    this.getStep = (index) => toStep(times[index] as number);
    this.lastChange = Math.max(0, this.getStep(times.length - 1));
  }

  getTicks(step: number): number {
    return this.ticks[findLastAt(this.ticks.length, this.getStep, step)] as number;
  }
}

/** The price at a step that lies at or after the knot at `index` and before the next. */
export function getTicksBetween(knots: readonly Knot[], index: number, step: number): number {
  const knot = knots[index] as Knot;
  const next = knots[index + 1];
  if (next?.ramp !== true || step <= knot.step) return knot.ticks;
  return knot.ticks + Math.round(((next.ticks - knot.ticks) * (step - knot.step)) / (next.step - knot.step));
}

/** The last of `count` rows whose step is not after `step`; the first where all are. */
export function findLastAt(count: number, getStep: (index: number) => number, step: number): number {
  return Math.max(0, findFirst(count, (index) => getStep(index) > step) - 1);
}

/** Places decimals on an axis, with round marks. Only positions in a drawing become JavaScript numbers. */
import { Decimal, formatDecimal } from '../../base/decimal.ts';

interface Pixels {
  /** Where the lowest value is, in pixels. */
  readonly from: number;
  readonly to: number;
}

export interface ValueAxis {
  readonly low: Decimal;
  readonly high: Decimal;
  /** Round values within it. */
  readonly ticks: readonly Decimal[];
  /** The position of a value, pixels. */
  place(value: Decimal): number;
  format(value: Decimal): string;
}

/** An axis from the lowest to the highest of some values, with a little room; about `most` marks at most. */
export function makeValueAxis(values: readonly Decimal[], { from, to }: Pixels, most: number): ValueAxis {
  const [low, high] = widen(values);
  const span = high.minus(low);
  const step = chooseStep(span.div(most));
  const ticks: Decimal[] = [];
  for (let tick = low.div(step).ceil().times(step); tick.lessThanOrEqualTo(high); tick = tick.plus(step))
    ticks.push(tick);
  const places = Math.max(0, step.decimalPlaces());
  return {
    low,
    high,
    ticks,
    place: (value) => from + (to - from) * Number(value.minus(low).div(span).toFixed(6)),
    format: (value) => formatDecimal(new Decimal(value.toFixed(places))),
  };
}

function widen(values: readonly Decimal[]): readonly [Decimal, Decimal] {
  const low = values.length === 0 ? new Decimal(0) : Decimal.min(...values);
  const high = values.length === 0 ? new Decimal(1) : Decimal.max(...values);
  const room = high.equals(low) ? Decimal.max(high.abs().times('0.01'), '0.01') : high.minus(low).times('0.06');
  return [low.minus(room), high.plus(room)];
}

/** The smallest of 1, 2 and 5 times a power of ten that is not below. */
function chooseStep(least: Decimal): Decimal {
  const power = new Decimal(10).pow(least.log(10).floor());
  const factor = [1, 2, 5, 10].find((each) => power.times(each).greaterThanOrEqualTo(least)) ?? 10;
  return power.times(factor);
}

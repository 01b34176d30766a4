/**
 * Decides what `manage` does next with the position that it holds: waits, replaces the stop by a tighter one, closes by market
 * orders, or ends. Pure: prices, times and the states of its orders come in, one decision goes out.
 */
import { Decimal, type DecimalString, decimal, FINEST_STEP, formatDecimal, roundToStep } from '../../base/decimal.ts';
import type { ManageEnd } from '../../runbook/functions/records.ts';
import { MOVE_EVERY_MS, PRICE_PATIENCE_MS } from '../../runbook/steps/manage.ts';

/** What the author asked for, with its values. Ratios are unsigned. */
export interface Barriers {
  /** 1 for a long position, -1 for a short one. */
  readonly direction: 1 | -1;
  readonly tick?: DecimalString | undefined;
  /** Whether it reads the price of the market. */
  readonly priced: boolean;
  readonly trail?: { readonly by: Decimal; readonly step: Decimal } | undefined;
  readonly breakEven?: { readonly after: Decimal; readonly offset: Decimal } | undefined;
  /** ms */
  readonly timeLimit?: number | undefined;
  /** ms */
  readonly escalateAfter?: number | undefined;
}

/** The terms of a stop, and which barrier put it there. */
export interface StopTerms {
  readonly trigger: Decimal;
  readonly price: Decimal;
  readonly how: Extract<ManageEnd, 'stop_loss' | 'trail' | 'break_even'>;
}

/** What is known when it decides. Times in ms. */
export interface Held {
  /** What is left of the position, base currency, unsigned; not above 0 where it is gone. */
  readonly left: Decimal;
  readonly averageEntry?: Decimal | undefined;
  /** The stop that holds it; `ends`: it has ended at the venue. Undefined where the author wants none. */
  readonly stop?: (StopTerms & { readonly ended: boolean }) | undefined;
  /** Whether another order of the step still works. */
  readonly works: boolean;
  /** The price of the market; undefined where it cannot be read. */
  readonly price?: Decimal | undefined;
  /** The best price since the step began. */
  readonly best?: Decimal | undefined;
  readonly now: number;
  readonly startedAt: number;
  /** Since when the stop has triggered without a fill of all of it. */
  readonly triggeredAt?: number | undefined;
  /** When the stop was last replaced, or its replacement refused. */
  readonly movedAt?: number | undefined;
}

export type Decision =
  | { readonly do: 'wait' | 'done' | 'lost' | 'unpriced' }
  | { readonly do: 'exit'; readonly how: 'time_limit' | 'escalated' }
  | { readonly do: 'tighten'; readonly to: StopTerms };

export function decideHold(barriers: Barriers, held: Held): Decision {
  const { now, startedAt, stop, triggeredAt, price } = held;
  const { timeLimit, escalateAfter, priced } = barriers;
  if (held.left.lte(0)) return { do: 'done' };
  if (stop?.ended === true || (stop === undefined && !held.works && timeLimit === undefined)) return { do: 'lost' };
  const mayExit = !priced || price !== undefined;
  if (timeLimit !== undefined && now - startedAt >= timeLimit) {
    if (mayExit) return { do: 'exit', how: 'time_limit' };
    if (now - startedAt >= timeLimit + PRICE_PATIENCE_MS) return { do: 'unpriced' };
  }
  if (escalateAfter !== undefined && triggeredAt !== undefined && now - triggeredAt >= escalateAfter && mayExit)
    return { do: 'exit', how: 'escalated' };
  const isPaused = held.movedAt !== undefined && now - held.movedAt < MOVE_EVERY_MS;
  if (stop === undefined || triggeredAt !== undefined || isPaused) return { do: 'wait' };
  const to = findTighter(barriers, held, stop);
  return to === undefined ? { do: 'wait' } : { do: 'tighten', to };
}

/** The tightest stop that its barriers ask for, where it is tighter than the one that works and the market is not beyond it. */
function findTighter(
  { direction, tick, trail, breakEven }: Barriers,
  { price, best, averageEntry }: Held,
  stop: StopTerms,
): StopTerms | undefined {
  if (price === undefined) return undefined;
  // Of a market that is not described: what its author and the venue wrote of it is the best sign of its tick.
  const places = Math.max(...[stop.trigger, stop.price, price].map((each) => each.decimalPlaces()));
  const at = { direction, tick: tick ?? formatDecimal(Decimal.max(FINEST_STEP, new Decimal(10).pow(-places))) };
  const isTighter = (one: Decimal, other: Decimal) => one.minus(other).times(direction).gt(0);
  const found: { trigger: Decimal; how: StopTerms['how'] }[] = [];
  if (trail !== undefined && best !== undefined) {
    const trigger = round(shift(best, trail.by, direction), at);
    const least = stop.trigger.times(trail.step.times(direction).plus(1));
    if (!isTighter(least, trigger)) found.push({ trigger, how: 'trail' });
  }
  if (breakEven !== undefined && averageEntry !== undefined) {
    const gain = price.minus(averageEntry).times(direction).div(averageEntry);
    const trigger = round(shift(averageEntry, breakEven.offset.negated(), direction), at);
    if (gain.gte(breakEven.after)) found.push({ trigger, how: 'break_even' });
  }
  const [to] = found
    .filter(({ trigger }) => isTighter(trigger, stop.trigger) && isTighter(price, trigger))
    .sort((a, b) => (isTighter(a.trigger, b.trigger) ? -1 : 1));
  if (to === undefined) return undefined;
  // The limit keeps its distance from the trigger.
  return { ...to, price: round(to.trigger.times(stop.price).div(stop.trigger), at) };
}

/** The worst price of an order that closes the position now. */
export function boundExit(price: Decimal, slip: Decimal, at: Pick<Barriers, 'direction' | 'tick'>): Decimal {
  return round(shift(price, slip, at.direction), at);
}

/** Whether the market has reached the trigger of the stop. */
export function hasReachedTrigger(
  { direction }: Pick<Barriers, 'direction'>,
  trigger: Decimal,
  price: Decimal,
): boolean {
  return price.minus(trigger).times(direction).lte(0);
}

/** The better of two prices for the holder of the position. */
export function chooseBest(
  { direction }: Pick<Barriers, 'direction'>,
  one: Decimal,
  other: Decimal | undefined,
): Decimal {
  if (other === undefined) return one;
  return direction === 1 ? Decimal.max(one, other) : Decimal.min(one, other);
}

/** A price moved against the position. */
function shift(price: Decimal, ratio: Decimal, direction: 1 | -1): Decimal {
  return price.times(ratio.times(-direction).plus(1));
}

/** Away from the market: a stop that is rounded must not be tighter than asked for. */
function round(price: Decimal, { direction, tick }: Pick<Barriers, 'direction' | 'tick'>): Decimal {
  return roundToStep(price, tick === undefined ? FINEST_STEP : decimal(tick), direction === 1 ? 'down' : 'up');
}

/** Counts the attempts of a step: its retries, those that its `catch` leads to, and what a failure that is passed over leaves out. */
import { Decimal } from '../../../base/decimal.ts';
import { CATCH_RETRIES, type CheckedStep, type ErrorKind } from '../../checked.ts';
import { isVenueStep } from '../../steps/steps.ts';
import { endAnyTime, type Load, makeLoad, repeat, sequence } from './load.ts';

/** One attempt of a step: its calls, and what follows them until it is done. */
export interface Once {
  readonly calls: Load;
  readonly rest: Load;
}

/** The longest pause before an attempt of a step that says nothing about it, ms. */
const LONGEST_PAUSE_MS = 8000;
/**
 * Kinds after which an attempt of an order does not count: it was refused before it was sent, or for its rate. One without an
 * answer (`not_placed`) counts, because the limits count it while it is looked up.
 */
const UNCOUNTED: ReadonlySet<ErrorKind> = new Set(['rate_limited', 'transport', 'denied', 'stale_feed', 'assertion']);

/**
 * The attempts of a step. Of orders, and of what follows them, only attempts count that may come after one whose order is at the
 * venue.
 */
export function repeatAttempts(step: CheckedStep, { calls, rest }: Once): Load {
  const once = sequence([calls, rest]);
  const clauses = step.catch.filter(({ then }) => then === 'retry');
  const retries = step.retry === undefined || step.retry.on.length === 0 ? 0 : step.retry.max;
  const all = 1 + retries + (clauses.length > 0 ? CATCH_RETRIES : 0);
  if (all === 1) return once;
  const pauses = makeLoad({
    duration: { max: new Decimal((all - 1) * (step.retry?.maxDelay.ms ?? LONGEST_PAUSE_MS)) },
  });
  const follows = (kinds: readonly ErrorKind[] | 'any') =>
    kinds === 'any' || kinds.some((kind) => !UNCOUNTED.has(kind));
  const placing =
    1 +
    (step.retry !== undefined && follows(step.retry.on) ? retries : 0) +
    (clauses.some(({ on }) => follows(on)) ? CATCH_RETRIES : 0);
  const when = `${step.id ?? step.verb} is tried ${all} times`;
  const whole = repeat(once, { min: 1, max: all });
  const asked = repeat(calls, { min: 1, max: all });
  const followed = repeat(rest, { min: 1, max: isVenueStep(step) ? placing : all });
  const requests = sequence([asked, followed]);
  const places = isVenueStep(step) ? repeat(once, { min: 1, max: placing }) : whole;
  const figures = new Map(
    [...whole.figures].map(([figure, range]) => {
      const counted =
        figure.startsWith('requests ') || figure.startsWith('feed ') || figure === 'writes' || figure === 'duration'
          ? (requests.figures.get(figure) ?? range)
          : (places.figures.get(figure) ?? range);
      const most = counted.max.gt(once.figures.get(figure)?.max ?? 0);
      return [figure, most ? { ...counted, path: [...counted.path, when] } : counted] as const;
    }),
  );
  // An attempt that fails takes no certain time.
  const failed = repeat(endAnyTime(once), { min: 0, max: all - 1 });
  return sequence([{ ...sequence([failed, once]), steady: whole.steady, figures }, pauses]);
}

/** A step whose failure the run passes over takes no certain time, but for a pause: that ends early only by its `timeout`. */
export function endEarly(step: CheckedStep, load: Load): Load {
  const passes = step.catch.some(({ then }) => then === 'continue');
  return passes || (step.onTimeout !== undefined && step.verb !== 'wait') ? endAnyTime(load) : load;
}

/** Whether the steps after it may run although it failed. */
export function passesOver(step: CheckedStep): boolean {
  return step.onTimeout !== undefined || step.catch.some(({ then }) => then === 'continue');
}

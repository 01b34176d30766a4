/** A value of a plan that only the run will know: what it depends on, and an estimate where a feed or a fixture gives one. */

import type { Interval } from './intervals.ts';

/** The text of such a value in the parameters of a planned request. */
export const KNOWN_AFTER_RUN = '(known after run)';

export class Unknown {
  /** The expression, or a description. */
  readonly from: string;
  /** The value at current prices; not part of the plan's hash. */
  readonly about: string | undefined;
  /** Of a number: between which values it lies in every run. */
  readonly range: Interval | undefined;

  constructor(from: string, about?: string, range?: Interval) {
    this.from = from;
    this.about = about;
    this.range = range;
  }

  toString(): string {
    return KNOWN_AFTER_RUN;
  }
}

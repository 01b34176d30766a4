/**
 * Compares this machine's wall clock with clocks that others show: the venue's `Date` header, the store's server. A reading is kept
 * on the monotonic clock, so that a wall clock that is adjusted later shows without another one. Pure.
 */

/** An instant of this machine, on its monotonic clock that counts through sleep, ms. */
interface Asked {
  readonly fromMs: number;
  readonly untilMs: number;
}

export interface ClockDifference {
  readonly source: string;
  /** By how much this machine's wall clock is certainly ahead, whole ms, as times of requests are; negative where it is behind. */
  readonly aheadMs: number;
}

export class ClockAgreement {
  /** By source: between which figures the other clock is ahead of the monotonic one, ms. */
  private readonly offsets = new Map<string, { readonly leastMs: number; readonly mostMs: number }>();

  /** Notes that a clock showed `shownMs`, cut to whole multiples of `grainMs`, at some instant while it was asked. */
  note(source: string, { fromMs, untilMs }: Asked, shownMs: number, grainMs: number): void {
    this.offsets.set(source, { leastMs: shownMs - untilMs, mostMs: shownMs + grainMs - fromMs });
  }

  /** Whether any clock was read. */
  get isKnown(): boolean {
    return this.offsets.size > 0;
  }

  /** The largest certain difference; undefined where every reading allows that the clocks agree. */
  findDifference(wallMs: number, monotonicMs: number): ClockDifference | undefined {
    let worst: ClockDifference | undefined;
    for (const [source, { leastMs, mostMs }] of this.offsets) {
      const [least, most] = [wallMs - monotonicMs - mostMs, wallMs - monotonicMs - leastMs];
      // The monotonic clock has fractions.
      const aheadMs = Math.trunc(least > 0 ? least : Math.min(most, 0));
      if (aheadMs !== 0 && Math.abs(aheadMs) > Math.abs(worst?.aheadMs ?? 0)) worst = { source, aheadMs };
    }
    return worst;
  }
}

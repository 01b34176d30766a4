/**
 * A seeded geometric walk. Its position between ticks is an IEEE double that only + and * change, which give the same result on
 * every machine. The nearly normal draw is a sum of four uniform ones and needs no logarithm, whose result can differ.
 */
import type { Stream } from '../config/random.ts';

/** Past steps that a walk keeps at least; older ones are not read. */
const KEPT_STEPS = 4096;

export class Walk {
  readonly lastChange = Number.POSITIVE_INFINITY;
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

  /** Earlier steps are forgotten. */
  get oldest(): number {
    return this.first;
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

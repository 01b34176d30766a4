/**
 * The bars of one lane of steps: one for each time that a step began, until there are too many to draw; then neighbours are
 * merged, twice as many each time, so that a lane stays small however many rounds a loop has.
 */
import type { StepOutcome } from '../../journal/entry.ts';

export type BarOutcome = StepOutcome | 'left' | 'active';

export interface StepBar {
  readonly from: number;
  readonly until: number;
  /** A merged bar shows its worst outcome. */
  readonly outcome: BarOutcome;
  /** The number of rounds in it. */
  readonly count: number;
  /** The first of them: the entry it began with, and its path. */
  readonly seq: number;
  readonly path: string;
  readonly verb: string;
}

type Begun = Pick<StepBar, 'from' | 'seq' | 'path' | 'verb'>;

interface Bar extends Begun {
  until: number;
  /** Of those that ended. */
  outcome: BarOutcome | undefined;
  count: number;
  open: number;
}

export class StepBars {
  private readonly most: number;
  private bars: Bar[] = [];
  private perBar = 1;
  private begun = 0;

  constructor(most: number) {
    this.most = most;
  }

  /** How many began. */
  get count(): number {
    return this.begun;
  }

  /** Returns its place, by which it is ended. */
  begin({ from, seq, path, verb }: Begun): number {
    const place = this.begun;
    this.begun += 1;
    const bar = this.bars[Math.floor(place / this.perBar)];
    if (bar === undefined)
      this.bars.push({ from, seq, path, verb, until: from, outcome: undefined, count: 1, open: 1 });
    else {
      bar.count += 1;
      bar.open += 1;
      bar.until = Math.max(bar.until, from);
    }
    if (this.bars.length > this.most) this.mergePairs();
    return place;
  }

  end(place: number, until: number, outcome: BarOutcome): void {
    const bar = this.bars[Math.floor(place / this.perBar)];
    if (bar === undefined) return;
    bar.open -= 1;
    bar.until = Math.max(bar.until, until);
    bar.outcome = pickWorse(bar.outcome, outcome);
  }

  /** `open`: what those are taken for that have not ended, and `now` for their end. */
  list(now: number, open: BarOutcome): readonly StepBar[] {
    return this.bars.map((bar) => ({
      ...bar,
      until: bar.open > 0 ? Math.max(bar.until, now) : bar.until,
      outcome: bar.open > 0 ? pickWorse(bar.outcome, open) : (bar.outcome ?? open),
    }));
  }

  private mergePairs(): void {
    const merged: Bar[] = [];
    for (const [index, bar] of this.bars.entries()) {
      const last = merged.at(-1);
      if (last === undefined || index % 2 === 0) {
        merged.push(bar);
        continue;
      }
      last.until = Math.max(last.until, bar.until);
      last.count += bar.count;
      last.open += bar.open;
      if (bar.outcome !== undefined) last.outcome = pickWorse(last.outcome, bar.outcome);
    }
    this.bars = merged;
    this.perBar *= 2;
  }
}

const WEIGHT = { active: 5, halted: 4, failed: 3, succeeded: 2, left: 1, skipped: 0 } as const satisfies Record<
  BarOutcome,
  number
>;

function pickWorse(one: BarOutcome | undefined, other: BarOutcome): BarOutcome {
  return one === undefined || WEIGHT[other] > WEIGHT[one] ? other : one;
}

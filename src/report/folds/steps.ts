/**
 * Folds the steps of a run over time, one lane per step of the runbook: the rounds of a loop share the lane of the step they
 * repeat. A lane with very many rounds is merged, so that the page stays small however long the run is.
 */
import { PassingMap } from '../../base/passing-map.ts';
import { type Entry, type ErrorFact, readStepEnd, stripRounds } from '../../journal/entry.ts';
import { formatStepName } from '../format.ts';
import { type BarOutcome, type StepBar, StepBars } from '../results/step-bars.ts';

/** A lane keeps at most this many bars; neighbours are merged beyond it. */
const MOST_BARS = 1500;

/** Columns of equal length, one element per bar; times are ms since the run began. */
interface Bars {
  readonly from: readonly number[];
  readonly until: readonly number[];
  readonly outcome: readonly BarOutcome[];
  /** The number of rounds in a bar. */
  readonly count: readonly number[];
  /** The entry it began with. */
  readonly seq: readonly number[];
}

export interface StepLane {
  /** The step's path in the runbook, without the numbers of rounds. */
  readonly path: string;
  readonly label: string;
  readonly id?: string;
  readonly verb: string;
  /** The number of blocks around it. */
  readonly depth: number;
  /** How often it began or was skipped. */
  readonly count: number;
  readonly outcomes: Readonly<Record<BarOutcome, number>>;
  readonly retries: number;
  readonly totalMs: number;
  /** Of the last round that failed or halted. */
  readonly error?: ErrorFact;
  readonly bars: Bars;
}

/** A step that has begun and not ended. */
export interface ActiveStep {
  /** With the numbers of its rounds. */
  readonly path: string;
  readonly lane: string;
  readonly label: string;
  readonly verb: string;
  /** Epoch ms. */
  readonly since: number;
}

interface Lane {
  readonly path: string;
  readonly id: string | undefined;
  readonly verb: string;
  readonly bars: StepBars;
  /** Of the rounds that ended. */
  readonly outcomes: Record<BarOutcome, number>;
  totalMs: number;
  retries: number;
  error: ErrorFact | undefined;
}

/** A round under way. */
interface Round {
  readonly lane: Lane;
  readonly place: number;
  /** ms since the run began. */
  readonly from: number;
}

export class StepLaneFold {
  private readonly lanes = new Map<string, Lane>();
  private readonly open = new PassingMap<string, Round>();
  private startedAt = 0;

  apply(entry: Entry): void {
    switch (entry.type) {
      case 'run.started':
        this.startedAt = entry.data.startedAt;
        return;
      case 'step.started':
        this.begin(entry.step, entry.data, entry.at, entry.seq);
        return;
      case 'step.retried': {
        const lane = this.lanes.get(stripRounds(entry.step));
        if (lane !== undefined) lane.retries += 1;
        return;
      }
      case 'step.ended': {
        const { lane, place, from } = this.begin(entry.step, entry.data, entry.at, entry.seq);
        this.open.delete(entry.step);
        const until = entry.at - this.startedAt;
        const { outcome, error } = readStepEnd(entry.data);
        lane.bars.end(place, until, outcome);
        lane.outcomes[outcome] += 1;
        lane.totalMs += until - from;
        if (error !== undefined) lane.error = error;
        return;
      }
      default:
        return;
    }
  }

  /** `hasEnded`: steps that are still open were halted with the run. */
  listLanes(lastAt: number, hasEnded: boolean): readonly StepLane[] {
    const now = lastAt - this.startedAt;
    const open = new Map<Lane, number[]>();
    for (const { lane, from } of this.open.values()) open.set(lane, [...(open.get(lane) ?? []), from]);
    return [...this.lanes.values()].map((lane) => describeLane(lane, open.get(lane) ?? [], now, hasEnded));
  }

  listActive(): readonly ActiveStep[] {
    return [...this.open].map(([path, { lane, from }]) => ({
      path,
      lane: lane.path,
      label: formatStepName(path, lane.id),
      verb: lane.verb,
      since: from + this.startedAt,
    }));
  }

  private begin(
    path: string,
    { verb, id }: { readonly verb: string; readonly id?: string },
    at: number,
    seq: number,
  ): Round {
    const known = this.open.get(path);
    if (known !== undefined) return known;
    const key = stripRounds(path);
    const lane = this.lanes.get(key) ?? makeLane(key, id, verb);
    this.lanes.set(key, lane);
    const from = at - this.startedAt;
    const round = { lane, place: lane.bars.begin({ from, seq, path, verb }), from };
    this.open.set(path, round);
    return round;
  }
}

function makeLane(path: string, id: string | undefined, verb: string): Lane {
  const outcomes = { succeeded: 0, failed: 0, skipped: 0, halted: 0, left: 0, active: 0 };
  return { path, id, verb, bars: new StepBars(MOST_BARS), outcomes, totalMs: 0, retries: 0, error: undefined };
}

/** `open`: when the rounds began that have not ended. */
function describeLane(lane: Lane, open: readonly number[], now: number, hasEnded: boolean): StepLane {
  const { path, id, verb, bars, outcomes, totalMs, retries, error } = lane;
  const atNow = hasEnded ? 'halted' : 'active';
  return {
    path,
    label: formatStepName(path, id),
    ...(id === undefined ? {} : { id }),
    verb,
    depth: Math.max(0, path.split('/').length - 2),
    count: bars.count,
    outcomes: { ...outcomes, [atNow]: outcomes[atNow] + open.length },
    retries,
    totalMs: open.reduce((sum, from) => sum + now - from, totalMs),
    ...(error === undefined ? {} : { error }),
    bars: toColumns(bars.list(now, atNow)),
  };
}

function toColumns(bars: readonly StepBar[]): Bars {
  return {
    from: bars.map((bar) => bar.from),
    until: bars.map((bar) => bar.until),
    outcome: bars.map((bar) => bar.outcome),
    count: bars.map((bar) => bar.count),
    seq: bars.map((bar) => bar.seq),
  };
}

/**
 * Folds the steps of a run over time, one lane per step of the runbook: the rounds of a loop share the lane of the step they
 * repeat. A lane with very many rounds is merged, so that the page stays small however long the run is.
 */
import { type Entry, type ErrorFact, readStepEnd, type StepOutcome } from '../../journal/entry.ts';
import { formatStepName } from '../format.ts';

/** A lane keeps at most this many bars; neighbours are merged beyond it. */
const MOST_BARS = 1500;

type BarOutcome = StepOutcome | 'left' | 'active';

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

interface Bar {
  readonly from: number;
  until: number;
  outcome: BarOutcome;
  count: number;
  readonly seq: number;
}

interface Lane {
  readonly path: string;
  readonly id: string | undefined;
  readonly verb: string;
  readonly bars: Bar[];
  retries: number;
  error: ErrorFact | undefined;
}

export class StepLaneFold {
  private readonly lanes = new Map<string, Lane>();
  private readonly open = new Map<string, { readonly lane: Lane; readonly bar: Bar }>();
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
        const lane = this.lanes.get(toLanePath(entry.step));
        if (lane !== undefined) lane.retries += 1;
        return;
      }
      case 'step.ended': {
        const { lane, bar } = this.begin(entry.step, entry.data, entry.at, entry.seq);
        this.open.delete(entry.step);
        bar.until = entry.at - this.startedAt;
        const { outcome, error } = readStepEnd(entry.data);
        bar.outcome = outcome;
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
    return [...this.lanes.values()].map((lane) => describeLane(lane, now, hasEnded));
  }

  listActive(): readonly ActiveStep[] {
    return [...this.open].map(([path, { lane, bar }]) => ({
      path,
      lane: lane.path,
      label: formatStepName(path, lane.id),
      verb: lane.verb,
      since: bar.from + this.startedAt,
    }));
  }

  private begin(
    path: string,
    { verb, id }: { readonly verb: string; readonly id?: string },
    at: number,
    seq: number,
  ): { readonly lane: Lane; readonly bar: Bar } {
    const known = this.open.get(path);
    if (known !== undefined) return known;
    const key = toLanePath(path);
    const lane = this.lanes.get(key) ?? { path: key, id, verb, bars: [], retries: 0, error: undefined };
    this.lanes.set(key, lane);
    const from = at - this.startedAt;
    const bar: Bar = { from, until: from, outcome: 'active', count: 1, seq };
    lane.bars.push(bar);
    const begun = { lane, bar };
    this.open.set(path, begun);
    return begun;
  }
}

/** A path without the numbers of rounds and attempts, as the chart and the runbook name the step. */
export function toLanePath(path: string): string {
  return path.includes('[') || path.includes('~') ? path.replace(/\[\d+\]|~\d+/g, '') : path;
}

/** In one pass without copies: a loop of a week has a bar for each round. */
function describeLane(lane: Lane, now: number, hasEnded: boolean): StepLane {
  const outcomes = { succeeded: 0, failed: 0, skipped: 0, halted: 0, left: 0, active: 0 };
  let totalMs = 0;
  const perBar = Math.max(1, Math.ceil(lane.bars.length / MOST_BARS));
  const merged: Bar[] = [];
  for (const [index, bar] of lane.bars.entries()) {
    const { from, seq } = bar;
    const isOpen = bar.outcome === 'active';
    const outcome = isOpen && hasEnded ? 'halted' : bar.outcome;
    const until = isOpen ? now : bar.until;
    outcomes[outcome] += 1;
    totalMs += until - from;
    const group = merged.at(-1);
    if (group === undefined || index % perBar === 0) {
      merged.push({ from, until, outcome, count: 1, seq });
      continue;
    }
    group.until = Math.max(group.until, until);
    group.count += 1;
    if (WEIGHT[outcome] > WEIGHT[group.outcome]) group.outcome = outcome;
  }
  const { path, id, verb, retries, error } = lane;
  return {
    path,
    label: formatStepName(path, id),
    ...(id === undefined ? {} : { id }),
    verb,
    depth: Math.max(0, path.split('/').length - 2),
    count: lane.bars.length,
    outcomes,
    retries,
    totalMs,
    ...(error === undefined ? {} : { error }),
    bars: toColumns(merged),
  };
}

/** A merged bar shows its worst outcome. */
const WEIGHT = { active: 5, halted: 4, failed: 3, succeeded: 2, left: 1, skipped: 0 } as const satisfies Record<
  BarOutcome,
  number
>;

function toColumns(bars: readonly Bar[]): Bars {
  return {
    from: bars.map((bar) => bar.from),
    until: bars.map((bar) => bar.until),
    outcome: bars.map((bar) => bar.outcome),
    count: bars.map((bar) => bar.count),
    seq: bars.map((bar) => bar.seq),
  };
}

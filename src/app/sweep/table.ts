/** The table of a sweep: outcomes, percentiles of the figures of its runs, and its worst runs. Pure. */
import { type DecimalString, decimal } from '../../base/decimal.ts';
import type { RunOutcome } from '../../journal/entry.ts';
import type { RunFigures } from './one-run.ts';

export const PERCENTS = [5, 25, 50, 75, 95] as const;
type PercentName = `p${(typeof PERCENTS)[number]}`;
export type Percentiles<V = DecimalString | number> = Readonly<Record<PercentName, V>>;

const AMOUNTS = ['net', 'fees', 'slippage', 'maxDrawdown'] as const;
const SPANS = ['durationMs', 'unprotectedMs'] as const;
export type Amount = (typeof AMOUNTS)[number];
export type SpanFigure = (typeof SPANS)[number];

export interface FigureTable {
  readonly runs: number;
  readonly outcomes: Readonly<Partial<Record<RunOutcome, number>>>;
  /** A figure that no run has is absent. */
  readonly percentiles: Readonly<
    Partial<Record<Amount, Percentiles<DecimalString>> & Record<SpanFigure, Percentiles<number>>>
  >;
}

/** How many of the worst runs are shown. */
const WORST = 5;

export function makeFigureTable(runs: readonly RunFigures[]): FigureTable {
  const outcomes: Partial<Record<RunOutcome, number>> = {};
  for (const { outcome } of runs) outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
  const amounts = AMOUNTS.flatMap((name) => {
    const values = runs.flatMap((run) => run[name] ?? []).map((text) => ({ text, value: decimal(text) }));
    if (values.length === 0) return [];
    values.sort((a, b) => a.value.comparedTo(b.value));
    return [[name, pickPercentiles(values.map(({ text }) => text))] as const];
  });
  const spans = SPANS.map((name) => {
    const values = runs.map((run) => run[name]).sort((a, b) => a - b);
    return [name, pickPercentiles(values)] as const;
  });
  return { runs: runs.length, outcomes, percentiles: Object.fromEntries([...amounts, ...spans]) };
}

/** By nearest rank: each is the figure of a run. `ascending` is not empty. */
function pickPercentiles<V>(ascending: readonly V[]): Percentiles<V> {
  const pick = (percent: number) => ascending[Math.max(0, Math.ceil((percent / 100) * ascending.length) - 1)] as V;
  return Object.fromEntries(PERCENTS.map((percent) => [`p${percent}`, pick(percent)])) as unknown as Percentiles<V>;
}

/** The runs with the lowest net, the lowest first; of equal ones the first. */
export function listWorst<R extends Pick<RunFigures, 'net'>>(runs: readonly R[]): readonly R[] {
  return [...runs].sort((a, b) => decimal(a.net).comparedTo(decimal(b.net))).slice(0, WORST);
}

/** `runbook dry-run --sweep N`: the same runbook with many seeds and inputs, on all cores, as one table. */
import { EXIT, type ExitCode, UserError } from '../../app/errors.ts';
import { replaceText } from '../../app/files/files.ts';
import { formatInputs, type LoadedRunbook } from '../../app/files/load.ts';
import type { GridPoint } from '../../app/sweep/grid.ts';
import type { RunFigures } from '../../app/sweep/one-run.ts';
import { listSources, runAll, type SweepSetup } from '../../app/sweep/runs.ts';
import {
  type Amount,
  type FigureTable,
  listWorst,
  makeFigureTable,
  PERCENTS,
  type Percentiles,
  type SpanFigure,
} from '../../app/sweep/table.ts';
import { SystemClock } from '../../base/clock.ts';
import { formatCount, formatSpan, formatTable, formatWholeSeconds } from '../../base/format.ts';
import { makePrintable, quoteWord } from '../../base/printable.ts';
import type { RunOutcome } from '../../journal/entry.ts';
import { drawHistogram } from '../../report/drawing/histogram.ts';
import { formatMoney } from '../../report/format.ts';
import { readDrawingOption } from '../option-values.ts';
import type { Output } from '../terminal/output.ts';

export interface Sweep {
  readonly loaded: LoadedRunbook;
  readonly grid: readonly GridPoint[];
  readonly setup: Omit<SweepSetup, 'sources'>;
  /** Seeds of each combination. */
  readonly count: number;
  readonly firstSeed: number;
  /** The words of a call that shows one of the runs, without its inputs, its seed and `runbook`. */
  readonly call: readonly string[];
  /** Where the histogram is written. */
  readonly chart: string | undefined;
}

interface SweptRun extends RunFigures {
  readonly point: GridPoint;
}

interface SweepDocument extends FigureTable {
  readonly worst: readonly {
    readonly seed: number;
    readonly outcome: RunOutcome;
    readonly net: string;
    readonly command: string;
  }[];
  /** With several combinations of inputs: each. */
  readonly grid?: readonly (FigureTable & { readonly inputs: Readonly<Record<string, string>> })[];
}

/** More would take hours, and percentiles do not need them. */
const MOST_RUNS = 100_000;

export async function sweepRunbook(sweep: Sweep, terminal: Output): Promise<ExitCode> {
  const { loaded, grid, setup, count, firstSeed } = sweep;
  if (grid.length * count > MOST_RUNS)
    throw new UserError(`--sweep would make ${grid.length * count} runs; at most ${MOST_RUNS} are made`);
  const jobs = grid.flatMap((point) => {
    const inputs = formatInputs(point.inputs);
    return Array.from({ length: count }, (_each, index) => ({ point, inputs, seed: firstSeed + index }));
  });
  const figures = await runAll(
    { ...setup, sources: listSources(loaded) },
    jobs.map(({ inputs, seed }) => ({ inputs, seed })),
    { onDone: showProgress(jobs.length, terminal) },
  );
  terminal.endProgress();
  const runs = figures.map(
    (each, index): SweptRun => ({ ...each, point: (jobs[index] as (typeof jobs)[number]).point }),
  );
  if (sweep.chart !== undefined) {
    const title = `${loaded.runbook.name}: net of ${formatCount(runs.length, 'run')}`;
    replaceText(
      sweep.chart,
      drawHistogram(
        title,
        runs.map(({ net }) => net),
        readDrawingOption('--chart', sweep.chart),
      ),
      'chart',
    );
  }
  const document = makeDocument(sweep, runs);
  terminal.answer(document, () => formatSweep(sweep, document, runs, terminal));
  return EXIT.done;
}

const BAR_WIDTH = 30;

function showProgress(total: number, terminal: Output): (done: number) => void {
  const clock = new SystemClock();
  const since = clock.monotonic();
  return (done) => {
    const filled = Math.floor((done / total) * BAR_WIDTH);
    const left = ((clock.monotonic() - since) / done) * (total - done);
    const bar = `[${'#'.repeat(filled)}${'.'.repeat(BAR_WIDTH - filled)}]`;
    terminal.progress(`${bar} ${done} of ${formatCount(total, 'run')}, ${formatWholeSeconds(left)} left`);
  };
}

function makeDocument({ grid, call }: Sweep, runs: readonly SweptRun[]): SweepDocument {
  const worst = listWorst(runs).map(({ seed, outcome, net, point }) => {
    const inputs = point.pairs.flatMap((pair) => ['--input', pair]);
    const command = ['runbook', ...call, ...inputs, '--seed', String(seed)].map(quoteWord).join(' ');
    return { seed, outcome, net, command };
  });
  const tables = grid.map((point) => ({
    inputs: point.varied,
    ...makeFigureTable(runs.filter((run) => run.point === point)),
  }));
  return { ...makeFigureTable(runs), worst, ...(grid.length === 1 ? {} : { grid: tables }) };
}

function formatSweep(
  { loaded, grid, setup, count, firstSeed, chart }: Sweep,
  document: SweepDocument,
  runs: readonly SweptRun[],
  terminal: Output,
): string {
  const seeds = count === 1 ? `seed ${firstSeed}` : `seeds ${firstSeed} to ${firstSeed + count - 1}`;
  const combinations = grid.length === 1 ? '' : `, ${formatCount(grid.length, 'combination')} of inputs`;
  const from = new Date(setup.at).toISOString();
  const sections = [
    `${terminal.style('strong', loaded.runbook.name)}  ${formatCount(runs.length, 'run')}${combinations}, ${seeds}, from ${from}`,
    formatTable(listOutcomes(document, runs), [1, 2]).replace(/^/gm, '  '),
    formatTable([['', ...PERCENTS.map((percent) => `p${percent}`)], ...listFigures(document)], [1, 2, 3, 4, 5]),
    ...(document.grid === undefined ? [] : [formatGrid(document.grid)]),
    formatWorst(document, terminal),
    ...(chart === undefined ? [] : [`histogram of net: ${makePrintable(chart, 300)}`]),
  ];
  return sections.join('\n\n');
}

function listOutcomes({ outcomes }: FigureTable, runs: readonly SweptRun[]): readonly (readonly string[])[] {
  return (Object.entries(outcomes) as [RunOutcome, number][])
    .sort(([, a], [, b]) => b - a)
    .map(([outcome, number]) => {
      const reasons = new Map<string, number>();
      for (const run of runs)
        if (run.outcome === outcome && run.why !== undefined) reasons.set(run.why, (reasons.get(run.why) ?? 0) + 1);
      const why = [...reasons].sort(([, a], [, b]) => b - a).slice(0, 4);
      const share = `${Math.round((number / runs.length) * 1000) / 10} %`;
      return [
        outcome,
        String(number),
        share,
        why.map(([text, times]) => `${makePrintable(text, 60)} ${times}`).join(', '),
      ];
    });
}

const AMOUNT_ROWS: Readonly<Record<Amount, string>> = {
  net: 'net',
  fees: 'fees',
  slippage: 'slippage',
  maxDrawdown: 'worst drawdown',
};
const SPAN_ROWS: Readonly<Record<SpanFigure, string>> = { durationMs: 'duration', unprotectedMs: 'unprotected' };

function listFigures({ percentiles }: FigureTable): readonly (readonly string[])[] {
  const amounts = (Object.entries(AMOUNT_ROWS) as [Amount, string][]).map(([name, label]) => [
    label,
    ...listColumns(percentiles[name], formatMoney),
  ]);
  const spans = (Object.entries(SPAN_ROWS) as [SpanFigure, string][]).map(([name, label]) => [
    label,
    ...listColumns(percentiles[name], formatSpan),
  ]);
  return [...amounts, ...spans];
}

function listColumns<V>(percentiles: Percentiles<V> | undefined, format: (value: V) => string): readonly string[] {
  return PERCENTS.map((percent) => (percentiles === undefined ? '-' : format(percentiles[`p${percent}`])));
}

function formatGrid(grid: NonNullable<SweepDocument['grid']>): string {
  const names = Object.keys(grid[0]?.inputs ?? {});
  const head = [...names, 'succeeded', 'net p5', 'net p50', 'net p95', 'drawdown p95', 'slippage p50'];
  const rows = grid.map(({ inputs, runs, outcomes, percentiles }) => [
    ...names.map((name) => makePrintable(inputs[name] ?? '', 40)),
    `${Math.round(((outcomes.succeeded ?? 0) / runs) * 1000) / 10} %`,
    ...(['p5', 'p50', 'p95'] as const).map((each) => formatMoney(percentiles.net?.[each] ?? '0')),
    formatMoney(percentiles.maxDrawdown?.p95 ?? '0'),
    percentiles.slippage === undefined ? '-' : formatMoney(percentiles.slippage.p50),
  ]);
  return formatTable(
    [head, ...rows],
    head.map((_name, index) => index),
  );
}

function formatWorst({ worst }: SweepDocument, terminal: Output): string {
  const rows = worst.map(({ seed, outcome, net, command }) => [
    `seed ${seed}`,
    outcome,
    formatMoney(net),
    makePrintable(command, 2000),
  ]);
  return `${terminal.style('strong', 'lowest net')}\n${formatTable(rows, [2]).replace(/^/gm, '  ')}`;
}

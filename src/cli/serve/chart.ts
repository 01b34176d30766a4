/**
 * Draws the state chart of a run from the texts pinned in its journal, not from the current file. Without the optional layout
 * package the chart is a list. A chart is laid out once per definition.
 */

import { UserError } from '../../app/errors.ts';
import { readPinned } from '../../app/files/load.ts';
import { makeXstateChart, renderDotChart } from '../../engine/chart/chart.ts';
import type { EntryOf } from '../../journal/entry.ts';
import {
  type ChartDocument,
  listChartStates,
  makeDrawnChart,
  makeListedChart,
} from '../../report/page/chart-layout.ts';
import { drawSvg, type Graphviz, loadGraphviz } from '../terminal/svg.ts';

const charts = new Map<string, Promise<ChartDocument>>();
const MOST_CHARTS = 20;

export function drawRunChart(
  started: EntryOf<'run.started'>,
  load: () => Promise<Graphviz> = loadGraphviz,
): Promise<ChartDocument> {
  const key = started.data.sources.map(({ sha256 }) => sha256).join(' ');
  const chart = charts.get(key) ?? layOut(started, load);
  charts.delete(key);
  charts.set(key, chart);
  for (const oldest of [...charts.keys()].slice(0, -MOST_CHARTS)) charts.delete(oldest);
  return chart;
}

async function layOut(
  { data: { sources } }: EntryOf<'run.started'>,
  load: () => Promise<Graphviz>,
): Promise<ChartDocument> {
  if (sources.length === 0) return makeListedChart([], 'the journal holds no runbook');
  const runbook = readPinned(sources);
  if (runbook === undefined)
    return makeListedChart([], 'the recorded runbook does not pass the checks of this version');
  const states = listChartStates(makeXstateChart(runbook));
  try {
    return makeDrawnChart(await drawSvg(renderDotChart(runbook), load, 'json0'), states);
  } catch (error) {
    if (error instanceof UserError)
      return makeListedChart(
        states,
        'the optional package @hpcc-js/wasm-graphviz, which lays charts out, is not installed',
      );
    throw error;
  }
}

/** `runbook graph`: prints the state chart of a runbook on standard output. */

import { EXIT, type ExitCode } from '../../app/errors.ts';
import { loadRunbook } from '../../app/files/load.ts';
import { makeXstateChart, renderDotChart, renderMermaidChart } from '../../engine/chart/chart.ts';
import type { CheckedRunbook } from '../../runbook/checked.ts';
import type { Given } from '../actions/actions.ts';
import type { ChartFormat } from '../choices.ts';
import type { Invocation } from '../invocation.ts';
import { drawSvg } from '../terminal/svg.ts';

export async function showGraph(
  { file, format = 'mermaid' }: Given<'graph'>,
  { terminal }: Invocation,
): Promise<ExitCode> {
  const { runbook } = loadRunbook(file, terminal);
  if (format === 'xstate') {
    const machine = makeXstateChart(runbook);
    terminal.answer({ runbook: runbook.name, format, machine }, () => JSON.stringify(machine, null, 2));
    return EXIT.done;
  }
  const text = await drawChart(runbook, format);
  terminal.answer({ runbook: runbook.name, format, text }, () => text);
  return EXIT.done;
}

async function drawChart(runbook: CheckedRunbook, format: Exclude<ChartFormat, 'xstate'>): Promise<string> {
  switch (format) {
    case 'mermaid':
      return renderMermaidChart(runbook);
    case 'dot':
      return renderDotChart(runbook);
    case 'svg':
      return drawSvg(renderDotChart(runbook));
    default:
      return format satisfies never;
  }
}

/** Renders the state chart of a checked runbook as Mermaid, XState JSON or Graphviz. Pure; the chart's parts are in model.ts. */
import type { CheckedRunbook } from '../../runbook/checked.ts';
import { renderDot } from './dot.ts';
import { renderMermaid } from './mermaid.ts';
import { buildChart } from './phases.ts';
import { renderXState, type XStateChart } from './xstate.ts';

/** Renders a Mermaid `stateDiagram-v2`. */
export function renderMermaidChart(runbook: CheckedRunbook): string {
  return renderMermaid(buildChart(runbook));
}

/** Renders the configuration of an XState machine as JSON: `createMachine` accepts it, Stately's tools draw it. */
export function makeXstateChart(runbook: CheckedRunbook): XStateChart {
  const { name, about, source, sha256 } = runbook;
  return renderXState(buildChart(runbook), { name, about, file: source.file, sha256 });
}

/** Renders a digraph for Graphviz. */
export function renderDotChart(runbook: CheckedRunbook): string {
  return renderDot(buildChart(runbook), runbook.name);
}

/** Words of the reviewing verbs: known to the command line before anything behind them is loaded. */
import type { RowKind } from '../report/timeline/timeline.ts';

/** What a run can be exported as. */
export const EXPORT_FORMATS = ['jsonl', 'csv', 'html', 'otlp', 'cloudevents'] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

/** What a chart can be drawn as. */
export const CHART_FORMATS = ['mermaid', 'svg', 'xstate', 'dot'] as const;
export type ChartFormat = (typeof CHART_FORMATS)[number];

/** Kinds of rows in a timeline. */
export const ROW_KINDS = [
  'run',
  'step',
  'decision',
  'request',
  'answer',
  'order',
  'fill',
  'feed',
  'deadman',
  'person',
] as const satisfies readonly RowKind[];

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

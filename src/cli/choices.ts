/** Accepted words of several options, here so that the command line knows them before it loads any command. */
import type { RowKind } from '../report/timeline/timeline.ts';
import type { PnlKey } from '../report/trading/pnl.ts';

/** Formats of an exported run. */
export const EXPORT_FORMATS = ['jsonl', 'csv', 'html', 'otlp', 'cloudevents'] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

/** Formats of findings, for the programs that show them. */
export const REPORT_FORMATS = ['sarif', 'github', 'junit'] as const;
export type ReportFormat = (typeof REPORT_FORMATS)[number];

/** Keys of the sums of what was gained. */
export const PNL_KEYS = ['run', 'runbook', 'market', 'account', 'day'] as const satisfies readonly PnlKey[];

/** Formats of the verdicts of test files. */
export const TEST_FORMATS = ['junit'] as const;

/** Formats of a chart. */
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

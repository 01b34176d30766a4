/** The forms a run can be exported in: words of the command line, known before anything of the export is loaded. */
export const EXPORT_FORMATS = ['jsonl', 'csv', 'html', 'otlp', 'cloudevents'] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

export const CHART_FORMATS = ['mermaid', 'svg', 'xstate', 'dot'] as const;
export type ChartFormat = (typeof CHART_FORMATS)[number];

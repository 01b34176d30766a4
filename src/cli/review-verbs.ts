/** The rows of the verb table for what reviews: the audit of runs, and the chart of a runbook. */
import { CHART_FORMATS, EXPORT_FORMATS, ROW_KINDS } from './review-words.ts';
import { type VerbRow, verb } from './verb.ts';

const RUN = { doc: 'name of a run, an unambiguous part of it, or `last`', takes: 'text' } as const;

export const REVIEW_VERBS: readonly VerbRow[] = [
  verb({
    name: 'audit list',
    summary: 'list the runs, newest first',
    arguments: {},
    options: {
      runbook: { doc: 'only runs of this runbook', value: 'NAME' },
      limit: { doc: 'at most this many', value: 'N' },
    },
    example: 'audit list --limit 20',
    async run(_args, options, invocation) {
      return (await import('./audit-list.ts')).listRuns(options, invocation);
    },
  }),
  verb({
    name: 'audit show',
    summary: 'tell a run from first to last',
    arguments: { run: RUN },
    options: {
      order: { doc: 'only what concerns an order: its id, its client order id, or its step', value: 'ORDER' },
      step: { doc: 'only a step and what is inside it: its id or path', value: 'STEP' },
      kind: { doc: `only rows of these kinds: ${ROW_KINDS.join(', ')}`, value: 'KIND', takes: ROW_KINDS, many: true },
      since: { doc: 'from a time on, or from so long after the start', value: 'TIME' },
      depth: { doc: 'leave out what is deeper inside blocks than this', value: 'N' },
      why: { doc: 'how a step decided: expressions, what they read, what came out', value: 'STEP' },
      all: { doc: 'also reads and keep-alives that changed nothing' },
    },
    example: 'audit show last --order entry',
    async run({ run }, options, invocation) {
      return (await import('./audit-show.ts')).showRun(run, options, invocation);
    },
  }),
  verb({
    name: 'audit orders',
    summary: 'list the orders of a run with what became of them',
    arguments: { run: RUN },
    options: { history: { doc: 'with every move' } },
    example: 'audit orders last --history',
    async run({ run }, options, invocation) {
      return (await import('./audit-figures.ts')).showOrders(run, options, invocation);
    },
  }),
  verb({
    name: 'audit fills',
    summary: 'list what traded in a run, with fees and average prices',
    arguments: { run: RUN },
    options: {},
    example: 'audit fills last',
    async run({ run }, _options, invocation) {
      return (await import('./audit-figures.ts')).showFills(run, invocation);
    },
  }),
  verb({
    name: 'audit budget',
    summary: 'show where the tokens of a run went, over time',
    arguments: { run: RUN },
    options: {},
    example: 'audit budget last',
    async run({ run }, _options, invocation) {
      return (await import('./audit-figures.ts')).showBudget(run, invocation);
    },
  }),
  verb({
    name: 'audit verify',
    summary: 'check that journals are what was written',
    arguments: { run: { ...RUN, optional: true } },
    options: { key: { doc: 'public key in PEM form: anchors must be signed with it', value: 'FILE', takes: 'file' } },
    example: 'audit verify',
    async run({ run }, options, invocation) {
      return (await import('./audit-verify.ts')).verify(run, options, invocation);
    },
  }),
  verb({
    name: 'audit diff',
    summary: 'show what two runs decided differently, and what they had been told before that',
    arguments: { left: RUN, right: RUN },
    options: {},
    example: 'audit diff 20260105T080000123 last',
    async run({ left, right }, _options, invocation) {
      return (await import('./audit-diff.ts')).diff(left, right, invocation);
    },
  }),
  verb({
    name: 'audit stats',
    summary: 'count runs, outcomes, denials and tokens by runbook and day',
    arguments: {},
    options: { runbook: { doc: 'only runs of this runbook', value: 'NAME' } },
    example: 'audit stats',
    async run(_args, options, invocation) {
      return (await import('./audit-figures.ts')).showStats(options, invocation);
    },
  }),
  verb({
    name: 'audit export',
    summary: 'print a run in the form of another tool',
    arguments: { run: RUN },
    options: {
      format: { doc: 'the form', value: 'FORMAT', takes: EXPORT_FORMATS, required: true },
      table: { doc: 'for csv: timeline (the default), entries, steps, requests, orders or fills', value: 'TABLE' },
    },
    example: 'audit export last --format html > run.html',
    async run({ run }, options, invocation) {
      return (await import('./audit-export.ts')).exportRun(run, options, invocation);
    },
  }),
  verb({
    name: 'graph',
    summary: 'draw the state chart of a runbook',
    arguments: { file: { doc: 'runbook file', takes: 'file' } },
    options: { format: { doc: 'mermaid (the default), svg, xstate or dot', value: 'FORMAT', takes: CHART_FORMATS } },
    example: 'graph ladder.yaml --format mermaid',
    async run({ file }, { format }, invocation) {
      return (await import('./graph.ts')).graphFile(file, format, invocation);
    },
  }),
];

/** Rows of the command table for reviewing: the audit of runs, and the chart of a runbook. */
import { CHART_FORMATS, EXPORT_FORMATS, ROW_KINDS } from '../choices.ts';
import type { CommandTable } from '../command-row.ts';

const ARCHIVE = { doc: 'read this archive instead of the journals', value: 'FILE', takes: 'file' } as const;
const KEY = { doc: 'public key in PEM form: anchors must be signed with it', value: 'FILE', takes: 'file' } as const;
const RUN = { doc: 'name of a run, an unambiguous part of it, or `last`', takes: 'text' } as const;

export const REVIEW_COMMANDS = {
  'audit list': {
    summary: 'list the runs, newest first',
    arguments: {},
    options: {
      runbook: { doc: 'only runs of this runbook', value: 'NAME' },
      limit: { doc: 'at most this many', value: 'N' },
      archive: ARCHIVE,
    },
    example: 'audit list --limit 20',
  },
  'audit summary': {
    summary: "answer a reviewer's questions about a run on one screen",
    arguments: { run: RUN },
    options: { key: KEY, archive: ARCHIVE },
    example: 'audit summary last',
  },
  'audit show': {
    summary: 'show the timeline of a run',
    arguments: { run: RUN },
    options: {
      order: { doc: 'only what concerns an order: its id, its client order id, or its step', value: 'ORDER' },
      step: { doc: 'only a step and what is inside it: its id or path', value: 'STEP' },
      kind: { doc: `only rows of these kinds: ${ROW_KINDS.join(', ')}`, value: 'KIND', takes: ROW_KINDS, many: true },
      since: { doc: 'from this time on, or from this long after the start', value: 'TIME' },
      depth: { doc: 'hide rows nested deeper in blocks than this', value: 'N' },
      why: { doc: 'how a step decided: expressions, the values they read, the results', value: 'STEP' },
      entry: { doc: 'one raw entry, by the number that `audit summary` shows', value: 'N' },
      all: { doc: 'also reads and keep-alives that changed nothing' },
      archive: ARCHIVE,
    },
    example: 'audit show last --order entry',
  },
  'audit orders': {
    summary: 'list the orders of a run with their outcome',
    arguments: { run: RUN },
    options: { history: { doc: 'with every transition' }, archive: ARCHIVE },
    example: 'audit orders last --history',
  },
  'audit fills': {
    summary: 'list the fills of a run, with fees and average prices',
    arguments: { run: RUN },
    options: { archive: ARCHIVE },
    example: 'audit fills last',
  },
  'audit budget': {
    summary: 'show the tokens a run used over time',
    arguments: { run: RUN },
    options: { archive: ARCHIVE },
    example: 'audit budget last',
  },
  'audit verify': {
    summary: 'check that journals are unchanged since they were written',
    arguments: { run: { ...RUN, optional: true } },
    options: {
      key: KEY,
      anchors: { doc: 'a copy of the anchors that was kept elsewhere', value: 'FILE', takes: 'file', many: true },
      ledger: { doc: "compare the ledger's rows of runs too: folds each run anew, as `account rebuild` does" },
      archive: ARCHIVE,
    },
    example: 'audit verify',
  },
  'audit diff': {
    summary: 'show what two runs decided differently, and which different inputs came before that',
    arguments: { left: RUN, right: RUN },
    options: { archive: ARCHIVE },
    example: 'audit diff 20260105T080000123 last',
  },
  'audit stats': {
    summary: 'count runs, outcomes, denials and tokens by runbook and day',
    arguments: {},
    options: { runbook: { doc: 'only runs of this runbook', value: 'NAME' }, archive: ARCHIVE },
    example: 'audit stats',
  },
  'audit kills': {
    summary: 'list who engaged the kill switch and who released it, when and why',
    arguments: {},
    options: {
      profile: { doc: "only those of this profile's account, and of all accounts", value: 'FILE', takes: 'file' },
    },
    example: 'audit kills --profile main.yaml',
  },
  'audit schedule': {
    summary: 'say of every occurrence of a schedule: started, how late, skipped or missed, and why',
    arguments: {},
    options: {
      runbook: { doc: 'only those of this runbook', value: 'NAME' },
      from: { doc: 'only those due from this day or time on, ISO 8601', value: 'TIME' },
      to: { doc: 'only those due before this day or time', value: 'TIME' },
      limit: { doc: 'at most this many, the newest; 100 by default', value: 'N' },
    },
    example: 'audit schedule --runbook housekeeping',
  },
  'audit export': {
    summary: 'print a run in the format of another tool',
    arguments: { run: RUN },
    options: {
      format: { doc: 'output format', value: 'FORMAT', takes: EXPORT_FORMATS, required: true },
      table: { doc: 'for csv: timeline (the default), entries, steps, requests, orders or fills', value: 'TABLE' },
      archive: ARCHIVE,
    },
    example: 'audit export last --format html > run.html',
  },
  'audit reconcile': {
    summary: "compare the fills of a live run with the venue's own list",
    arguments: { run: RUN },
    options: { archive: ARCHIVE },
    example: 'audit reconcile last',
  },
  'audit replay': {
    summary: 'prove that the journal determines the decisions of a run, or show the first difference',
    arguments: { run: RUN },
    options: { archive: ARCHIVE },
    example: 'audit replay last',
  },
  'audit archive': {
    summary: 'move the runs of closed months into one compressed file per month',
    arguments: {},
    options: {
      month: { doc: 'only the runs that ended in this month, such as 2026-10 (UTC)', value: 'MONTH' },
      before: { doc: 'only those of months before this one; all closed months by default', value: 'MONTH' },
      to: {
        doc: "where the archives are written, by default the state folder's own `archive`",
        value: 'FOLDER',
        takes: 'directory',
      },
      keep: { doc: 'keep the runs in the journals as well' },
    },
    example: 'audit archive --before 2026-10',
  },
  graph: {
    summary: 'draw the state chart of a runbook',
    arguments: { file: { doc: 'runbook file', takes: 'file' } },
    options: { format: { doc: 'mermaid (the default), svg, xstate or dot', value: 'FORMAT', takes: CHART_FORMATS } },
    example: 'graph ladder.yaml --format mermaid',
  },
} as const satisfies CommandTable;

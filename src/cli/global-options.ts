/** Options of every command, the groups of commands, and commands of other tools: what is outside the command table. */
import type { Options } from './command-row.ts';

export const GLOBAL_OPTIONS = {
  json: { doc: 'print one JSON document on standard output, nothing else there' },
  quiet: { doc: 'no notes, no warnings, no progress' },
  'no-color': { doc: 'no colours (as NO_COLOR)' },
  state: { doc: 'state folder (default: .runbook, or RUNBOOK_STATE)', value: 'DIR', takes: 'directory' },
} as const satisfies Options;

/** Summaries of command groups by their first word. */
export const GROUPS: Readonly<Record<string, string>> = {
  audit: 'review what runs did',
  account: 'what an account holds over all its runs, and who answers for it',
};

/** The headings of `runbook --help`, with their commands. */
export const HEADINGS: Readonly<Record<string, readonly string[]>> = {
  'Write:': ['init', 'new', 'validate', 'explain', 'fmt', 'watch', 'graph', 'lsp'],
  'Rehearse:': ['plan', 'test', 'dry-run', 'paper', 'rehearse', 'sim', 'record'],
  'Trade:': ['doctor', 'run', 'resume', 'cancel', 'approve', 'reject', 'kill', 'release', 'schedule'],
  'Look back:': ['audit', 'account', 'replay'],
  'Keep:': ['backup', 'restore', 'completion'],
};

/** What a command of another tool is called here. */
export const FOREIGN_COMMANDS: Readonly<Record<string, string>> = {
  check: 'validate FILE',
  lint: 'validate FILE',
  format: 'fmt FILE',
  create: 'new NAME',
  simulate: 'dry-run FILE',
  backtest: 'dry-run FILE --prices CSV',
  start: 'run FILE --profile FILE',
  stop: 'cancel RUN`, or for everything `runbook kill',
  flatten: 'new flatten --from flatten`, then `runbook run flatten.yaml --profile FILE',
  status: 'audit list',
  list: 'audit list',
  ls: 'audit list',
  logs: 'audit show RUN',
  show: 'audit show RUN',
  positions: 'account ledger',
};

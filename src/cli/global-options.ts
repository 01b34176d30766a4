/** Options of every command, and the groups of commands: the parts of the command line outside the command table. */
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
};

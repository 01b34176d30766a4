/** What every verb understands, and the groups of verbs: the part of the command line that no row of the verb table owns. */
import type { Options } from './command-row.ts';

export const GLOBAL_OPTIONS = {
  json: { doc: 'print one JSON document on standard output, nothing else there' },
  quiet: { doc: 'no notes, no warnings, no progress' },
  'no-color': { doc: 'no colours (as NO_COLOR)' },
  state: { doc: 'state folder (default: .runbook, or RUNBOOK_STATE)', value: 'DIR', takes: 'directory' },
} as const satisfies Options;

/** The first word of verbs that have two, to its summary. */
export const GROUPS: Readonly<Record<string, string>> = {
  audit: 'review what runs did',
};

/** The rows of the verb table for schedules. */
import { type VerbRow, verb } from './verb.ts';

const FILES = { doc: 'runbook files, and folders of them', takes: 'file', many: true } as const;

export const SCHEDULE_VERBS: readonly VerbRow[] = [
  verb({
    name: 'schedule',
    summary: 'run what is due, until interrupted; takes runs of `runbook run` meanwhile',
    arguments: { files: FILES },
    options: {
      // Not required here: `schedule preview` would have to name it too.
      profile: { doc: 'profile of an account; may be given several times', value: 'FILE', takes: 'file', many: true },
      port: {
        doc: 'port on 127.0.0.1 of /healthz, /readyz and /metrics, 9464 by default; 0 takes a free one',
        value: 'N',
      },
      standby: { doc: 'wait for the account where another process holds it' },
      seats: {
        doc: 'accounts to act for at a time, where workers share a PostgreSQL store; all by default',
        value: 'N',
      },
    },
    example: 'schedule runbooks --profile main.yaml',
    async run({ files }, options, invocation) {
      return (await import('../../app/schedule/scheduler.ts')).runSchedules(files, options, invocation);
    },
  }),
  verb({
    name: 'schedule preview',
    summary: 'what would fire, with daylight-saving effects and collisions',
    arguments: { files: FILES },
    options: {
      next: { doc: 'how many occurrences, 20 by default', value: 'N' },
      from: { doc: 'from this time on, ISO 8601; now by default', value: 'TIME' },
      calendar: { doc: 'draw the month into a file: .svg or .html', value: 'FILE', takes: 'file' },
    },
    example: 'schedule preview runbooks --next 10 --from 2026-03-28T00:00:00Z',
    async run({ files }, options, invocation) {
      return (await import('../commands/schedule-preview.ts')).previewSchedules(files, options, invocation);
    },
  }),
];

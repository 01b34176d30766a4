/**
 * The verb table: every verb of the command line with its arguments, options and what calls it. `--help`, argument
 * checking, completion and the reference are read from here. A row loads its module when it is called, never before.
 */

import { EXIT } from '../../app/errors.ts';
import { SHELLS } from './completion-shells.ts';
import { REVIEW_VERBS } from './review-verbs.ts';
import { RUN_VERBS } from './run-verbs.ts';
import { SCHEDULE_VERBS } from './schedule-verbs.ts';
import { SERVE_VERBS } from './serve-verbs.ts';
import { TEST_VERBS } from './test-verbs.ts';
import { type VerbRow, verb } from './verb.ts';

export const VERBS: readonly VerbRow[] = [
  verb({
    name: 'validate',
    summary: 'check runbooks, offline',
    arguments: { files: { doc: 'runbook files', takes: 'file', many: true } },
    options: {},
    example: 'validate ladder.yaml',
    async run({ files }, _options, invocation) {
      return (await import('../commands/validate.ts')).validateFiles(files, invocation);
    },
  }),
  ...RUN_VERBS,
  ...SCHEDULE_VERBS,
  ...REVIEW_VERBS,
  ...SERVE_VERBS,
  ...TEST_VERBS,
  verb({
    name: 'record',
    summary: 'turn a recording (HAR 1.2) into a fixture, or one format of fixture into another',
    arguments: {},
    options: {
      from: { doc: 'recording: .har, .yaml, .jsonl', value: 'FILE', takes: 'file', required: true },
      to: { doc: 'fixture to write: .yaml, .jsonl, .har', value: 'FILE', takes: 'file', required: true },
    },
    example: 'record --from session.har --to session.yaml',
    async run(_args, { from, to }, invocation) {
      return (await import('../commands/record.ts')).convertRecording(from, to, invocation);
    },
  }),
  verb({
    name: 'new',
    summary: 'make a runbook to begin with',
    arguments: { name: { doc: 'name of the runbook; the file is NAME.yaml', takes: 'text' } },
    options: { from: { doc: 'copy an example instead of the smallest runbook', value: 'EXAMPLE' } },
    example: 'new my-entry --from bracket-entry',
    async run({ name }, { from }, invocation) {
      return (await import('../commands/new.ts')).newRunbook(name, from, invocation);
    },
  }),
  verb({
    name: 'completion',
    summary: 'print a completion script for a shell',
    arguments: { shell: { doc: 'the shell', takes: SHELLS } },
    options: {},
    example: 'completion bash',
    async run({ shell }, _options, { terminal }) {
      const { completionScript } = await import('../commands/completion.ts');
      const script = completionScript(SHELLS.find((each) => each === shell) ?? 'bash', VERBS);
      terminal.answer({ shell, script }, () => script);
      return EXIT.done;
    },
  }),
];

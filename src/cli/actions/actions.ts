/**
 * The command table: every command with its arguments and options. `--help`, argument checking, completion, the reference and the
 * types of what a command is given are made from it.
 */
import { SHELLS, TEST_FORMATS } from '../choices.ts';
import type { CommandRow, CommandTable, GivenFor } from '../command-row.ts';
import { ACCOUNT_COMMANDS } from './account.ts';
import { AUTHORING_COMMANDS } from './authoring.ts';
import { REVIEW_COMMANDS } from './review.ts';
import { RUN_COMMANDS } from './run.ts';
import { STORE_COMMANDS } from './store.ts';

const TEST_COMMANDS = {
  test: {
    summary: 'run runbook test files in virtual time',
    arguments: { files: { doc: 'test files, NAME.test.yaml', takes: 'file', many: true } },
    options: {
      explore: {
        doc: 'run stories of each case: answers lost or refused, orders that fill at any moment, prices that gap, crashes',
      },
      stories: { doc: 'how many stories of each file, 200 by default; with --explore', value: 'N' },
      'write-case': {
        doc: 'append a case to this test file for each violation; with --explore',
        value: 'FILE',
        takes: 'file',
      },
      format: { doc: 'print a report for another program', value: 'FORMAT', takes: TEST_FORMATS },
    },
    example: 'test bracket-entry.test.yaml',
  },
} as const satisfies CommandTable;

const SERVE_COMMANDS = {
  'audit serve': {
    summary: 'show the runs on a page in the browser, on 127.0.0.1 only',
    arguments: {},
    options: {
      port: { doc: 'port, 8787 by default; 0 takes a free one', value: 'N' },
      'allow-actions': { doc: 'let the page approve, reject, stop and kill, each with a typed confirmation' },
    },
    example: 'audit serve --port 8787',
  },
} as const satisfies CommandTable;

const FILES = { doc: 'runbook files, and folders of them', takes: 'file', many: true } as const;

const SCHEDULE_COMMANDS = {
  schedule: {
    summary: 'run what is due, until interrupted; accepts runs of `runbook run` meanwhile',
    arguments: { files: FILES },
    options: {
      // Not required here: commander would require it of `schedule preview` too.
      profile: { doc: 'profile of an account; may be given several times', value: 'FILE', takes: 'file', many: true },
      port: {
        doc: 'port on 127.0.0.1 of /healthz, /readyz and /metrics, 9464 by default; 0 takes a free one',
        value: 'N',
      },
      standby: { doc: 'wait for the account while another process holds it, or its journal is contradicted' },
      'max-accounts': {
        doc: 'maximum number of accounts to serve, where workers share a PostgreSQL store; all by default',
        value: 'N',
      },
    },
    example: 'schedule runbooks --profile main.yaml',
  },
  'schedule preview': {
    summary: 'list what would fire, with daylight-saving effects and collisions',
    arguments: { files: FILES },
    options: {
      next: { doc: 'how many occurrences, 20 by default', value: 'N' },
      from: { doc: 'start of the list, ISO 8601; now by default', value: 'TIME' },
      calendar: { doc: 'draw the month into a file: .svg or .html', value: 'FILE', takes: 'file' },
    },
    example: 'schedule preview runbooks --next 10 --from 2026-03-28T00:00:00Z',
  },
} as const satisfies CommandTable;

const TABLE = {
  ...AUTHORING_COMMANDS,
  ...RUN_COMMANDS,
  ...SCHEDULE_COMMANDS,
  ...ACCOUNT_COMMANDS,
  ...STORE_COMMANDS,
  ...REVIEW_COMMANDS,
  ...SERVE_COMMANDS,
  ...TEST_COMMANDS,
  record: {
    summary: 'convert a recording (HAR 1.2) into a fixture, or a fixture into another format',
    arguments: {},
    options: {
      from: { doc: 'recording: .har, .yaml, .jsonl', value: 'FILE', takes: 'file', required: true },
      to: { doc: 'fixture to write: .yaml, .jsonl, .har', value: 'FILE', takes: 'file', required: true },
    },
    example: 'record --from session.har --to session.yaml',
  },
  completion: {
    summary: 'print a completion script for a shell',
    arguments: { shell: { doc: 'the shell', takes: SHELLS } },
    options: {},
    example: 'completion bash',
  },
} as const satisfies CommandTable;

export type CommandName = keyof typeof TABLE;

/** What the command line gives a command: the arguments and options of its row. */
export type Given<N extends CommandName> = GivenFor<(typeof TABLE)[N]>;

export const COMMANDS: readonly CommandRow[] = Object.entries(TABLE).map(([name, row]) => ({ name, ...row }));

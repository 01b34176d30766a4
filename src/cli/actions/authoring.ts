/** The rows of the commands for writing runbooks: check them, explain what is found, begin new ones. */
import { REPORT_FORMATS } from '../choices.ts';
import type { CommandTable } from '../command-row.ts';

export const AUTHORING_COMMANDS = {
  validate: {
    summary: 'check runbooks, and the tests, simulator configurations, fixtures and profiles beside them, offline',
    arguments: { files: { doc: 'files, and folders of them', takes: 'file', many: true } },
    options: {
      format: { doc: 'write the findings for another program', value: 'FORMAT', takes: REPORT_FORMATS },
    },
    example: 'validate runbooks --format github',
  },
  explain: {
    summary:
      'say what a code, an alarm, an event of the deadman switch or the kind of an error means, and what to do about it',
    arguments: {
      code: {
        doc: 'the code, as a message shows it, such as unknown-key, StopKept or unprotected_position',
        takes: 'text',
      },
    },
    options: {},
    example: 'explain protect-under-deadman',
  },
  fmt: {
    summary: 'lay files out in block style; comments and meaning are kept',
    arguments: { files: { doc: 'files, and folders of them', takes: 'file', many: true } },
    options: { check: { doc: 'write nothing; exit 1 where something would change' } },
    example: 'fmt --check runbooks',
  },
  watch: {
    summary: 'validate, test and dry-run a runbook whenever a file beside it changes, until interrupted',
    arguments: { file: { doc: 'runbook', takes: 'file' } },
    options: {
      input: { doc: 'input of the dry-run', value: 'k=v', takes: 'text', many: true },
      simulator: { doc: 'simulated venue; by default NAME.sim.yaml beside it', value: 'FILE', takes: 'file' },
    },
    example: 'watch runbooks/first-entry.yaml',
  },
  lsp: {
    summary: 'serve editors: the language server, over standard input and output',
    arguments: {},
    options: { stdio: { doc: 'as editors pass it; there is no other way' } },
    example: 'lsp',
  },
  init: {
    summary: 'create a project: a runbook with its tests, a simulated venue and its profile, a pipeline',
    arguments: { folder: { doc: 'folder of the project', takes: 'directory' } },
    options: {},
    example: 'init strategies',
  },
  new: {
    summary: 'create a runbook to start from, with its tests, a simulated venue and its profile',
    arguments: {
      name: { doc: 'name of the runbook; the files are NAME.yaml, NAME.test.yaml and so on', takes: 'text' },
    },
    options: { from: { doc: 'copy a runbook that ships instead of the smallest one', value: 'EXAMPLE' } },
    example: 'new my-entry --from bracket-entry',
  },
} as const satisfies CommandTable;

/** The rows of the commands for writing runbooks: check them, explain what is found, begin new ones. */
import { REPORT_FORMATS } from '../choices.ts';
import { type CommandRow, command } from '../command-row.ts';

export const AUTHORING_COMMANDS: readonly CommandRow[] = [
  command({
    name: 'validate',
    summary: 'check runbooks, and the tests, simulator configurations, fixtures and profiles beside them, offline',
    arguments: { files: { doc: 'files, and folders of them', takes: 'file', many: true } },
    options: {
      format: { doc: 'write the findings for another program', value: 'FORMAT', takes: REPORT_FORMATS },
    },
    example: 'validate runbooks --format github',
    async run({ files }, { format }, invocation) {
      const chosen = REPORT_FORMATS.find((each) => each === format);
      return (await import('../authoring/validate.ts')).validateFiles(files, chosen, invocation);
    },
  }),
  command({
    name: 'explain',
    summary: 'say what the code of a diagnostic or a denial means',
    arguments: { code: { doc: 'the code, as a message shows it', takes: 'text' } },
    options: {},
    example: 'explain protect-under-deadman',
    async run({ code }, _options, invocation) {
      return (await import('../authoring/explain.ts')).printExplanation(code, invocation);
    },
  }),
  command({
    name: 'fmt',
    summary: 'lay files out in block style; comments and meaning are kept',
    arguments: { files: { doc: 'files, and folders of them', takes: 'file', many: true } },
    options: { check: { doc: 'write nothing; exit 1 where something would change' } },
    example: 'fmt --check runbooks',
    async run({ files }, { check }, invocation) {
      return (await import('../authoring/fmt.ts')).formatFiles(files, { check }, invocation);
    },
  }),
  command({
    name: 'new',
    summary: 'create a runbook to start from',
    arguments: { name: { doc: 'name of the runbook; the file is NAME.yaml', takes: 'text' } },
    options: { from: { doc: 'copy an example instead of the smallest runbook', value: 'EXAMPLE' } },
    example: 'new my-entry --from bracket-entry',
    async run({ name }, { from }, invocation) {
      return (await import('../authoring/new.ts')).createRunbook(name, from, invocation);
    },
  }),
];

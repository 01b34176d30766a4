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
    name: 'watch',
    summary: 'validate, test and dry-run a runbook whenever a file beside it changes, until interrupted',
    arguments: { file: { doc: 'runbook', takes: 'file' } },
    options: {
      input: { doc: 'input of the dry-run', value: 'k=v', takes: 'text', many: true },
      simulator: { doc: 'simulated venue; by default NAME.sim.yaml beside it', value: 'FILE', takes: 'file' },
    },
    example: 'watch runbooks/first-entry.yaml',
    async run({ file }, { input, simulator }, invocation) {
      return (await import('../authoring/watch.ts')).watchFile(file, { input, simulator }, invocation);
    },
  }),
  command({
    name: 'lsp',
    summary: 'serve editors: the language server, over standard input and output',
    arguments: {},
    options: { stdio: { doc: 'as editors pass it; there is no other way' } },
    example: 'lsp',
    async run() {
      return (await import('../authoring/lsp.ts')).serveLanguage();
    },
  }),
  command({
    name: 'init',
    summary: 'create a project: a runbook with its tests, a simulated venue and its profile, a pipeline',
    arguments: { folder: { doc: 'folder of the project', takes: 'directory' } },
    options: {},
    example: 'init strategies',
    async run({ folder }, _options, invocation) {
      return (await import('../authoring/init.ts')).createProject(folder, invocation);
    },
  }),
  command({
    name: 'new',
    summary: 'create a runbook to start from, with its tests, a simulated venue and its profile',
    arguments: {
      name: { doc: 'name of the runbook; the files are NAME.yaml, NAME.test.yaml and so on', takes: 'text' },
    },
    options: { from: { doc: 'copy a runbook that ships instead of the smallest one', value: 'EXAMPLE' } },
    example: 'new my-entry --from bracket-entry',
    async run({ name }, { from }, invocation) {
      return (await import('../authoring/new.ts')).createRunbook(name, from, invocation);
    },
  }),
];

/** The row of the verb table for runbook tests. */
import { type VerbRow, verb } from './verb.ts';

export const TEST_VERBS: readonly VerbRow[] = [
  verb({
    name: 'test',
    summary: 'run runbook test files in virtual time',
    arguments: { files: { doc: 'test files, NAME.test.yaml', takes: 'file', many: true } },
    options: {
      explore: {
        doc: 'each case again with every answer lost, refused, limited or part-filled, and the process killed',
      },
    },
    example: 'test bracket-entry.test.yaml',
    async run({ files }, { explore }, invocation) {
      return (await import('../commands/test.ts')).testFiles(files, { explore }, invocation);
    },
  }),
];

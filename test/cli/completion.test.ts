import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { COMMANDS } from '../../src/cli/actions/actions.ts';
import { SHELLS } from '../../src/cli/choices.ts';
import type { CommandRow } from '../../src/cli/command-row.ts';
import { makeCompletionScript } from '../../src/cli/commands/completion.ts';
import { folder } from './command.ts';

const row = (name: string, rest: Partial<CommandRow> = {}): CommandRow => ({
  name,
  summary: `it's ${name}`,
  arguments: {},
  options: {},
  example: name,
  ...rest,
});
const TABLE: readonly CommandRow[] = [
  row('run', {
    arguments: { file: { doc: 'runbook', takes: 'file' } },
    options: {
      profile: { doc: 'profile', value: 'FILE', takes: 'file' },
      mode: { doc: 'mode', value: 'M', takes: ['fast', 'slow'] },
      yes: { doc: 'no question' },
    },
  }),
  row('audit list'),
  row('audit export', { options: { format: { doc: 'format', value: 'F', takes: ['csv', 'html'] } } }),
];

describe('completion in bash', () => {
  const here = folder();
  here.write('ladder.yaml', '');
  here.write('script.bash', makeCompletionScript('bash', TABLE));

  /** The completions of bash for the last of these words. */
  function offered(...words: readonly string[]): string[] {
    const script =
      'source script.bash; shift 0; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _runbook; printf "%s\\n" "${COMPREPLY[@]}"';
    const { stdout, stderr } = spawnSync('bash', ['-c', script, 'bash', ...words], {
      cwd: here.path,
      encoding: 'utf8',
    });
    expect(stderr).toBe('');
    return stdout.split('\n').filter((line) => line !== '');
  }

  it.each([
    [
      ['runbook', ''],
      ['run', 'audit', 'help', '--json', '--quiet', '--no-color', '--state'],
    ],
    [['runbook', 'au'], ['audit']],
    [
      ['runbook', 'audit', ''],
      ['list', 'export'],
    ],
    [['runbook', '--json', 'audit', 'ex'], ['export']],
    [
      ['runbook', 'audit', 'export', '--format', ''],
      ['csv', 'html'],
    ],
    [['runbook', 'run', 'la'], ['ladder.yaml']],
    [['runbook', 'run', '--mode', 's'], ['slow']],
    [['runbook', 'run', '--p'], ['--profile']],
    [['runbook', 'run', '--profile', 'lad'], ['ladder.yaml']],
    [['runbook', 'help', 'r'], ['run']],
  ])('%j offers %j', (words, expected) => expect(offered(...words)).toEqual(expected));
});

describe('completion scripts', () => {
  it.each(SHELLS)('%s: names every command and option of the table', (shell) => {
    const script = makeCompletionScript(shell, COMMANDS);
    for (const { name, options } of COMMANDS) {
      for (const word of name.split(' ')) expect(script).toContain(word);
      for (const option of Object.keys(options))
        expect(script).toContain(shell === 'fish' ? `-l ${option}` : `--${option}`);
    }
  });

  it('quotes summaries', () => {
    expect(makeCompletionScript('fish', TABLE)).toContain("-d 'it\\'s run'");
  });
});

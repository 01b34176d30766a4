import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { EXIT } from '../../src/app/errors.ts';
import { COMMANDS } from '../../src/cli/actions/actions.ts';
import { folder } from './command.ts';

const GOOD = `runbook: good
dsl: 1
steps:
  - read_account: {}
`;
const BAD = `runbook: bad
dsl: 1
steps:
  - read_acount: {}
`;

describe('the command line', () => {
  const here = folder();

  it('lists every command in its help, and explains each', () => {
    const { exit, out, err } = here.run('--help');
    expect({ exit, err }).toEqual({ exit: EXIT.done, err: '' });
    for (const { name, summary, options } of COMMANDS) {
      expect(out).toContain(name.split(' ')[0]);
      const help = here.run(...name.split(' '), '--help');
      expect(help.exit).toBe(EXIT.done);
      expect(help.out.replace(/\s+/g, ' ')).toContain(summary);
      for (const option of Object.keys(options)) expect(help.out).toContain(`--${option}`);
    }
  });

  it('prints its version', () =>
    expect(here.run('--version')).toMatchObject({
      exit: EXIT.done,
      out: expect.stringMatching(/^\d+\.\d+\.\d+(-dev)?\n$/),
    }));

  it('prints help and version in JSON with --json', () => {
    const version = here.run('--version').out.trim();
    expect(JSON.parse(here.run('--version', '--json').out)).toEqual({ version });
    for (const words of [['help'], ['help', 'plan'], ['--help'], ['audit', 'show', '--help']]) {
      const { out, exit } = here.run(...words, '--json');
      expect([exit, JSON.parse(out)]).toEqual([EXIT.done, { help: here.run(...words).out }]);
    }
  });

  it('adds the diagnostics to the error of every command that loads a runbook, with --json', () => {
    here.write('bad.yaml', BAD);
    const { files } = JSON.parse(here.run('validate', '--json', 'bad.yaml').out);
    for (const verb of ['plan', 'dry-run']) {
      const { out, exit } = here.run(verb, 'bad.yaml', '--json');
      expect([exit, JSON.parse(out)]).toEqual([
        EXIT.failed,
        {
          error: { kind: 'invalid', message: 'bad.yaml is invalid: 1 error' },
          diagnostics: files[0].diagnostics,
        },
      ]);
    }
  });

  it('validates existing files, and reports missing ones', () => {
    here.write('bad.yaml', BAD);
    const ended = here.run('validate', 'missing.yaml', 'bad.yaml');
    expect(ended).toMatchObject({ exit: EXIT.usage, out: 'bad.yaml: invalid, 1 error\n' });
    const sentence = 'the runbook missing.yaml cannot be read: there is no such file or directory';
    expect(ended.err).toContain(`error: ${sentence}\n`);
    const error = { kind: 'configuration', message: sentence };
    expect(JSON.parse(here.run('validate', 'missing.yaml', 'bad.yaml', '--json').out)).toEqual({
      files: [
        { file: 'missing.yaml', ok: false, diagnostics: [], error },
        { file: 'bad.yaml', ok: false, diagnostics: [expect.objectContaining({ severity: 'error' })] },
      ],
      error,
    });
  });

  it.each([
    ['a read', 'read_tier: {}', 'cancelled', /^cancelled by fixture: .* GET \/profile {}; /],
    [
      'a write',
      'set_leverage: {market: BTC-USD, leverage: 4}',
      'transport',
      /^fixture: .* PUT \/account\/leverage .*exchange 2: leverage recorded 3, sent 4$/,
    ],
  ])(
    'says of a fixture that does not have %s where, and the step failed as the run did',
    (_name, step, kind, message) => {
      const write = (second: string) =>
        here.write('asks.yaml', `runbook: asks\ndsl: 1\nsteps:\n  - read_account: {}\n  - ${second}\n`);
      write('set_leverage: {market: BTC-USD, leverage: 3}');
      here.run('dry-run', 'asks.yaml', '--record', 'asks.fixture.yaml', '--seed', '1');
      write(step);
      const { out, exit } = here.run('dry-run', 'asks.yaml', '--fixtures', 'asks.fixture.yaml', '--json');
      const { outcome, error, steps } = JSON.parse(out);
      const verb = step.split(':')[0];
      expect([exit, outcome, error]).toEqual([
        EXIT.failed,
        'failed',
        { kind, message: expect.stringMatching(message), step: `steps/2:${verb}` },
      ]);
      expect(steps.map((each: { path: string; outcome: string }) => [each.path, each.outcome])).toEqual([
        ['steps/1:read_account', 'succeeded'],
        [`steps/2:${verb}`, 'failed'],
      ]);
      rmSync(join(here.path, 'asks.fixture.yaml'));
    },
  );

  it('lists every command under a heading, but for help', () => {
    const [, rest = ''] = here.run('--help').out.split('\nCommands:\n');
    expect(rest.match(/^ {2}\w+/gm)).toEqual(['  help']);
  });

  it.each([
    ['no verb', [], /Usage: runbook/],
    ['an unknown command', ['vaildate', 'x.yaml'], /unknown command 'vaildate'\n\(Did you mean validate\?\)/],
    [
      'a command of another tool',
      ['status', '--all', 'x'],
      /unknown command 'status'; it is `runbook audit list` here/,
    ],
    ['what a runbook does', ['flatten'], /`runbook new flatten --from flatten`.+`runbook run flatten\.yaml/],
    ['an unknown option', ['validate', '--strict', 'x.yaml'], /unknown option '--strict'/],
    ['a profile for a run that has one', ['resume', '--profile', 'p.yaml'], /unknown option '--profile'.+\n.+journal/],
    [
      'a profile for a run that is named',
      ['cancel', 'last', '--profile=p.yaml'],
      /unknown option '--profile'.+\n.+--state/,
    ],
    [
      'a profile for a check',
      ['validate', 'x.yaml', '--profile', 'p.yaml'],
      /unknown option '--profile'.+\n.+`runbook plan/,
    ],
    ['a missing argument', ['validate'], /missing required argument 'files'\n\(`runbook validate --help` shows/],
    ['a word that is no command', ['bogus'], /unknown command 'bogus'\n\(`runbook help` lists the commands\)/],
    ['a word that is no command of a group', ['audit', 'bogus'], /'bogus'\n\(`runbook audit --help` lists/],
    ['a missing option', ['record', '--from', 'a.har'], /required option '--to <FILE>' not specified/],
    ['a word that is none of the choices', ['completion', 'tcsh'], /Allowed choices are bash, zsh, fish/],
    ['one argument too many', ['new', 'a', 'b'], /too many arguments/],
  ])('refuses %s with exit 2 and nothing on standard output', (_name, args, message) => {
    const { exit, out, err } = here.run(...args);
    expect({ exit, out }).toEqual({ exit: EXIT.usage, out: '' });
    expect(err).toMatch(message);
    expect(err).not.toContain('    at ');
  });

  it('reports wrong usage in JSON with --json', () => {
    const { exit, out } = here.run('validate', '--json', '--strict');
    expect(exit).toBe(EXIT.usage);
    expect(JSON.parse(out)).toEqual({ error: { kind: 'usage', message: "unknown option '--strict'" } });
  });

  it('escapes typed text in its messages', () => {
    const { err } = here.run('\u001b[31mred\u009b\u202e');
    expect(err).not.toMatch(/[\u001b\u009b\u202e]/);
    expect(err).toContain('\\u001b[31mred');
  });
});

describe('validate', () => {
  const here = folder();
  here.write('good.yaml', GOOD);
  here.write('bad.yaml', BAD);

  it('prints the verdict of each file, and the position of each error', () => {
    expect(here.run('validate', 'good.yaml')).toEqual({ exit: EXIT.done, out: 'good.yaml: valid\n', err: '' });
    const { exit, out, err } = here.run('validate', 'good.yaml', 'bad.yaml');
    expect({ exit, out }).toEqual({ exit: EXIT.failed, out: 'good.yaml: valid\nbad.yaml: invalid, 1 error\n' });
    expect(err.split('\n').slice(0, 3)).toEqual([
      expect.stringMatching(/^bad\.yaml:4:5 error .*read_acount.* \[unknown-key\]$/),
      '   4 |   - read_acount: {}',
      '     |     ^^^^^^^^^^^',
    ]);
  });

  it('prints one JSON document and nothing else', () => {
    const { exit, out, err } = here.run('--json', 'validate', 'bad.yaml', 'good.yaml');
    expect({ exit, err }).toEqual({ exit: EXIT.failed, err: '' });
    expect(JSON.parse(out)).toEqual({
      files: [
        {
          file: 'bad.yaml',
          ok: false,
          diagnostics: [
            {
              severity: 'error',
              code: 'unknown-key',
              message: expect.any(String),
              hint: expect.stringContaining('read_account'),
              file: 'bad.yaml',
              line: 4,
              column: 5,
              endLine: 4,
              endColumn: 16,
            },
          ],
        },
        { file: 'good.yaml', ok: true, diagnostics: [] },
      ],
    });
  });

  it('lints schedules', () => {
    here.write(
      'never.yaml',
      `${GOOD}schedule: [{cron: '0 0 31 2 *', tz: UTC, misfire: {within: 1m, then: skip}, overlap: skip}]\n`,
    );
    const { exit, out } = here.run('validate', '--json', 'never.yaml');
    expect(exit).toBe(EXIT.failed);
    expect(JSON.parse(out).files[0].diagnostics.map((each: { code: string }) => each.code)).toEqual(['schedule-never']);
    rmSync(join(here.path, 'never.yaml'));
  });

  it('prints nothing about valid files with --quiet', () => {
    expect(here.run('validate', '--quiet', 'good.yaml')).toEqual({ exit: EXIT.done, out: '', err: '' });
    expect(here.run('validate', '--quiet', 'bad.yaml')).toMatchObject({
      exit: EXIT.failed,
      out: 'bad.yaml: invalid, 1 error\n',
    });
  });

  it('writes nothing', () => {
    expect(readdirSync(here.path).sort()).toEqual(['bad.yaml', 'good.yaml']);
  });

  it('uses colours only for a terminal or when requested', () => {
    expect(here.run('validate', 'bad.yaml').err).not.toContain('\u001b');
    expect(here.runWith({ env: { FORCE_COLOR: '1' } }, 'validate', 'bad.yaml').err).toContain('\u001b[31merror');
    expect(here.runWith({ env: { FORCE_COLOR: '1', NO_COLOR: '1' } }, 'validate', 'bad.yaml').err).not.toContain(
      '\u001b',
    );
    expect(here.runWith({ env: { FORCE_COLOR: '1' } }, '--no-color', 'validate', 'bad.yaml').err).not.toContain(
      '\u001b',
    );
  });

  it.each([
    ['missing.yaml', () => {}, 'there is no such file or directory'],
    ['folder', () => mkdirSync(join(here.path, 'folder'), { recursive: true }), 'the folder folder holds no runbook'],
    ['good.yaml/x', () => {}, 'a part of the path is not a directory'],
    ['/dev/zero', () => {}, 'is not a regular file'],
  ])('refuses to read %s with exit 2 and a sentence', (file, prepare, message) => {
    prepare();
    const { exit, out, err } = here.run('validate', file);
    expect({ exit, out }).toEqual({ exit: EXIT.usage, out: '' });
    expect(err).toMatch(/^error: the (?:runbook|folder) [^\n]+\n$/);
    expect(err).toContain(message);
    const json = here.run('validate', '--json', file);
    expect(JSON.parse(json.out)).toEqual({
      error: { kind: expect.any(String), message: expect.stringContaining(message) },
    });
  });

  it('reports the position of text that is not UTF-8', () => {
    here.write('latin.yaml', Buffer.from(`${GOOD}# caf\u00e9\n`, 'latin1'));
    const { exit, out } = here.run('validate', '--json', 'latin.yaml');
    const [file] = (JSON.parse(out) as { files: { diagnostics: object[] }[] }).files;
    const line = GOOD.split('\n').length;
    expect(exit).toBe(EXIT.failed);
    expect(file?.diagnostics).toMatchObject([{ code: 'yaml-control-character', line, column: 6, severity: 'error' }]);
    here.write('utf8.yaml', `${GOOD}# caf\u00e9\n`);
    expect(here.run('validate', 'utf8.yaml').exit).toBe(EXIT.done);
  });

  it('reports a missing permission', { tags: ['unprivileged'] }, () => {
    here.write('locked.yaml', GOOD);
    chmodSync(join(here.path, 'locked.yaml'), 0o000);
    expect(here.run('validate', 'locked.yaml').err).toContain('permission denied');
  });
});

describe('new', () => {
  const here = folder();

  it('creates a runbook that is valid without a warning, and never overwrites one', () => {
    expect(here.run('new', 'my-entry')).toEqual({
      exit: EXIT.done,
      out: expect.stringContaining('runbook validate my-entry.yaml'),
      err: '',
    });
    expect(here.run('validate', 'my-entry.yaml')).toEqual({ exit: EXIT.done, out: 'my-entry.yaml: valid\n', err: '' });
    const before = here.read('my-entry.yaml');
    expect(here.run('new', 'my-entry')).toMatchObject({
      exit: EXIT.usage,
      err: expect.stringContaining('exists already'),
    });
    expect(here.read('my-entry.yaml')).toBe(before);
  });

  it('names an existing schema for editors', () => {
    const schema = /^# yaml-language-server: \$schema=(.*)\n/.exec(here.read('my-entry.yaml'))?.[1] ?? '';
    expect(existsSync(join(here.path, schema))).toBe(true);
  });

  it('copies an example under the new name', () => {
    expect(here.run('new', 'mine', '--from', 'bracket-entry').exit).toBe(EXIT.done);
    expect(here.read('mine.yaml')).toMatch(/^runbook: mine$/m);
    expect(here.run('validate', 'mine.yaml').exit).toBe(EXIT.done);
  });

  it.each([
    [['new', '../escape'], 'a letter first; found ../escape'],
    [['new', 'x', '--from', 'brackt-entry'], 'did you mean bracket-entry?'],
  ])('refuses %j', (args, message) => {
    expect(here.run(...args)).toMatchObject({ exit: EXIT.usage, err: expect.stringContaining(message) });
    expect(readdirSync(here.path)).not.toContain('x.yaml');
  });
});

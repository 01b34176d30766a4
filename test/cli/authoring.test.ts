/** The commands for writing runbooks, as a person calls them. */
import { chmodSync, lstatSync, mkdirSync, readdirSync, statSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { EXIT } from '../../src/app/errors.ts';
import { COMMANDS } from '../../src/cli/actions/actions.ts';
import { folder } from './command.ts';

describe('explain', () => {
  const here = folder();

  it('prints meaning, example and what is accepted', () => {
    const { exit, out, err } = here.run('explain', 'cancel-all-not-explicit');
    expect({ exit, err }).toEqual({ exit: EXIT.done, err: '' });
    expect(out).toMatch(/^cancel-all-not-explicit {2}error\n/);
    expect(out).toContain('\n    cancel_all: {}\n');
    expect(out).toContain('cancel: {mine: MARKET}');
  });

  it('answers one document with --json', () => {
    const { exit, out } = here.run('explain', 'REFUSALS_EXCEEDED', '--json');
    expect([exit, JSON.parse(out)]).toEqual([
      EXIT.done,
      {
        code: 'REFUSALS_EXCEEDED',
        kind: 'denial',
        severity: 'denied',
        meaning: expect.any(String),
        example: expect.any(String),
        accepted: expect.any(String),
        endsRun: true,
      },
    ]);
  });

  it('names the nearest code for an unknown one, with exit 2', () => {
    const { exit, out } = here.run('explain', 'unkown-key', '--json');
    expect([exit, JSON.parse(out).error]).toEqual([
      EXIT.usage,
      { kind: 'usage', message: 'no code is called unkown-key; did you mean unknown-key?' },
    ]);
    const hostile = here.run('explain', '\u001b[31m');
    expect([hostile.exit, hostile.out]).toEqual([EXIT.usage, '']);
    expect(hostile.err).not.toContain('\u001b');
  });
});

describe('validate', () => {
  const here = folder();
  mkdirSync(join(here.path, 'project'));
  here.write('project/entry.yaml', 'runbook: entry\ndsl: 1\nsteps:\n  - read_acount: {}\n');
  here.write('project/venue.sim.yaml', 'faults: []\n');
  here.write('project/notes.txt', '');

  it('names the kind of every file of a folder, and those that it skipped', () => {
    const { exit, out } = here.run('validate', 'project');
    expect([exit, out]).toEqual([
      EXIT.failed,
      'project/entry.yaml: invalid, 1 error\nproject/venue.sim.yaml: valid simulator\nproject/notes.txt: skipped\n',
    ]);
    const json = JSON.parse(here.run('validate', 'project', '--json').out);
    expect(json).toMatchObject({
      files: [
        { file: 'project/entry.yaml', ok: false },
        { file: 'project/venue.sim.yaml', kind: 'simulator', ok: true },
      ],
      skipped: ['project/notes.txt'],
    });
  });

  it.each([
    ['sarif', /^\{"\$schema":.*"startLine":4.*\}\n$/],
    ['github', /^::error file=project\/entry\.yaml,line=4,.*,title=unknown-key::.*\n$/],
    ['junit', /^<\?xml [\s\S]*failures="1"/],
  ])('writes %s to standard output alone, with the exit code of the verdict', (format, shape) => {
    const { exit, out, err } = here.run('validate', 'project', '--format', format);
    expect([exit, err]).toEqual([EXIT.failed, '']);
    expect(out).toMatch(shape);
  });

  it('refuses --format beside --json, an unknown format and an empty folder, with exit 2', () => {
    mkdirSync(join(here.path, 'empty'));
    for (const words of [['project', '--format', 'sarif', '--json'], ['project', '--format', 'xml'], ['empty']])
      expect([words, here.run('validate', ...words).exit]).toEqual([words, EXIT.usage]);
  });
});

describe('fmt', () => {
  const here = folder();
  const ROUGH = '# why\r\nrunbook:   entry\r\ndsl: 1\r\nsteps:\r\n- read_account:   {}   # first\r\n';
  const DONE = '# why\r\nrunbook: entry\r\ndsl: 1\r\nsteps:\r\n  - read_account: {} # first\r\n';

  it('changes a file once, and keeps its line ends and permissions', () => {
    here.write('a.yaml', ROUGH);
    chmodSync(join(here.path, 'a.yaml'), 0o640);
    symlinkSync('a.yaml', join(here.path, 'link.yaml'));
    expect(here.run('fmt', '--check', 'a.yaml')).toEqual({ exit: EXIT.failed, out: 'a.yaml: would change\n', err: '' });
    expect(here.read('a.yaml')).toBe(ROUGH);
    expect(here.run('fmt', 'link.yaml')).toEqual({ exit: EXIT.done, out: 'link.yaml: changed\n', err: '' });
    expect(here.read('a.yaml')).toBe(DONE);
    expect(statSync(join(here.path, 'a.yaml')).mode & 0o777).toBe(0o640);
    expect(lstatSync(join(here.path, 'link.yaml')).isSymbolicLink()).toBe(true);
    expect(here.run('fmt', '--check', 'a.yaml')).toEqual({ exit: EXIT.done, out: '', err: '' });
    expect(readdirSync(here.path).sort()).toEqual(['a.yaml', 'link.yaml']);
  });

  it('leaves a file that is no YAML as it is, with exit 1, and recordings out of a folder', () => {
    mkdirSync(join(here.path, 'all'));
    here.write('all/b.yaml', ROUGH);
    here.write('all/broken.yaml', 'runbook: [1\n');
    here.write('all/fixture.yaml', 'fixture:   1\n');
    here.write('all/ci.yaml', 'jobs:   {}\n');
    const { exit, out } = here.run('fmt', 'all', '--json');
    expect([exit, JSON.parse(out).files]).toEqual([
      EXIT.failed,
      [
        { file: 'all/b.yaml', state: 'changed' },
        { file: 'all/broken.yaml', state: 'invalid' },
      ],
    ]);
    expect(['all/b.yaml', 'all/broken.yaml', 'all/fixture.yaml'].map(here.read)).toEqual([
      DONE,
      'runbook: [1\n',
      'fixture:   1\n',
    ]);
  });

  it('changes nothing where a name is mistyped, with exit 2', () => {
    here.write('c.yaml', ROUGH);
    for (const other of ['missing.yaml', 'notes.txt']) expect(here.run('fmt', 'c.yaml', other).exit).toBe(EXIT.usage);
    expect(here.read('c.yaml')).toBe(ROUGH);
  });
});

describe('init', () => {
  const here = folder();
  const init = here.run('init', 'desk', '--json');
  const files: readonly string[] = JSON.parse(init.out).files;
  const path = (name: string) => `desk/${name}`;

  it('creates a project that validates, is formatted, passes its tests and dry-runs', () => {
    expect([init.exit, init.err]).toEqual([EXIT.done, '']);
    const { files: checked, skipped } = JSON.parse(here.run('validate', 'desk', '--json').out);
    expect(
      checked.map((each: { file: string; kind?: string; ok: boolean; diagnostics: unknown[] }) => [
        each.file,
        each.kind ?? 'runbook',
        each.ok,
        each.diagnostics,
      ]),
    ).toEqual([
      ['desk/profiles/sim.yaml', 'profile', true, []],
      ['desk/runbooks/first-entry.sim.yaml', 'simulator', true, []],
      ['desk/runbooks/first-entry.test.yaml', 'test', true, []],
      ['desk/runbooks/first-entry.yaml', 'runbook', true, []],
    ]);
    expect(skipped).toEqual(files.filter((name) => name.startsWith('schemas/')).map(path));
    expect(here.run('fmt', '--check', 'desk')).toMatchObject({ exit: EXIT.done, out: '' });
    expect(here.run('test', path('runbooks/first-entry.test.yaml')).exit).toBe(EXIT.done);
    const dry = here.run(
      'dry-run',
      path('runbooks/first-entry.yaml'),
      '--simulator',
      path('runbooks/first-entry.sim.yaml'),
      '--json',
    );
    expect(JSON.parse(dry.out)).toMatchObject({
      outcome: 'succeeded',
      outputs: { filled: '0.001' },
      leaves: { ok: true },
    });
    expect(here.run('plan', path('runbooks/first-entry.yaml'), '--profile', path('profiles/sim.yaml')).exit).toBe(
      EXIT.done,
    );
  });

  it('names schemas inside the project alone, and calls only commands that exist in its pipeline', () => {
    for (const name of files.filter((each) => /^(?:runbooks|profiles)\//.test(each))) {
      const [, schema = ''] = /^# yaml-language-server: \$schema=(\.\S*)\n/.exec(here.read(path(name))) ?? [];
      expect(files).toContain(join(dirname(name), schema));
    }
    const calls = [...here.read(path('.github/workflows/runbooks.yml')).matchAll(/perp-runbook@\S+ (\S+)/g)];
    expect(calls.map(([, verb]) => verb)).toEqual(['validate', 'fmt', 'test', 'dry-run']);
    for (const [, verb = ''] of calls) expect(COMMANDS.map(({ name }) => name)).toContain(verb);
  });

  it('writes nothing where one of its files exists', () => {
    mkdirSync(join(here.path, 'other', 'profiles'), { recursive: true });
    here.write('other/profiles/sim.yaml', 'mine');
    expect(here.run('init', 'other')).toMatchObject({
      exit: EXIT.usage,
      err: expect.stringContaining('profiles/sim.yaml'),
    });
    expect(readdirSync(join(here.path, 'other'), { recursive: true }).sort()).toEqual([
      'profiles',
      'profiles/sim.yaml',
    ]);
    expect(here.read('other/profiles/sim.yaml')).toBe('mine');
  });

  // Below /proc a folder exists and takes no other.
  it.each(['/proc/x', '/dev/null/x'])('ends with a reason where the system takes no folder: %s', (place) => {
    expect(here.run('init', place)).toMatchObject({ exit: EXIT.usage, err: expect.stringContaining(place) });
    const { exit } = here.run('dry-run', path('runbooks/first-entry.yaml'), '--state', place);
    expect(exit).toBe(EXIT.usage);
  });
});

describe('a file of another kind', () => {
  const here = folder();
  here.run('init', '.');
  const book = 'runbooks/first-entry.yaml';
  const test = 'runbooks/first-entry.test.yaml';
  const profile = 'profiles/sim.yaml';
  it.each([
    [['dry-run', profile], 'profiles/sim.yaml is a profile, not a runbook'],
    [['plan', test], 'is a test file, not a runbook'],
    [['test', book], 'is a runbook, not a test file'],
    [['plan', book, '--profile', book], 'is a runbook, not a profile'],
    [['dry-run', book, '--fixtures', test], 'is a test file, not a recording'],
    [['dry-run', book, '--simulator', profile], 'is a profile, not a configuration of the simulated venue'],
  ])('is named in one line: %j', (args, said) => {
    const { exit, err } = here.run(...args);
    expect([exit, err.trim().split('\n')]).toEqual([EXIT.usage, [expect.stringContaining(said)]]);
  });
  it('with a key of another kind beside its own has its mistakes listed', () => {
    here.write('odd.yaml', 'runbook: odd\ndsl: 1\nprofile: main\nsteps: []\n');
    expect(here.run('dry-run', 'odd.yaml')).toMatchObject({
      exit: EXIT.failed,
      err: expect.stringContaining('profile'),
    });
  });
});

describe('new', () => {
  it('names the schema of the project it is in, and writes one where there is none', () => {
    const here = folder();
    const schemaOf = (name: string) => /\$schema=(\S+)\n/.exec(here.read(name))?.[1] ?? '';
    expect(JSON.parse(here.run('new', 'one', '--json').out)).toMatchObject({ schema: 'schemas/runbook.schema.json' });
    expect(schemaOf('one.yaml')).toBe('./schemas/runbook.schema.json');
    expect(JSON.parse(here.read('schemas/runbook.schema.json')).properties).toHaveProperty('steps');
    expect(JSON.parse(here.run('new', 'two', '--json').out)).toEqual({
      file: 'two.yaml',
      from: null,
      files: ['two.yaml', 'two.test.yaml', 'two.sim.yaml', 'two.profile.yaml'],
    });
    expect(schemaOf('two.yaml')).toBe('./schemas/runbook.schema.json');
  });
});

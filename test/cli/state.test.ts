import { chmodSync, existsSync, mkdirSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { reportCrash } from '../../src/app/crash-report.ts';
import { environmentOf } from '../../src/app/environment.ts';
import { stateFolder } from '../../src/app/state.ts';
import { requireOwnFolders } from '../../src/app/stores/location.ts';
import { folder } from './command.ts';

const NOTHING = environmentOf({});

describe('the state folder', () => {
  const here = folder();

  it('is named by --state, then RUNBOOK_STATE, else .runbook', () => {
    const named = environmentOf({ RUNBOOK_STATE: 'named' });
    expect(stateFolder(undefined, NOTHING, here.path)).toMatchObject({
      path: join(here.path, '.runbook'),
      shown: '.runbook',
    });
    expect(stateFolder(undefined, named, here.path).path).toBe(join(here.path, 'named'));
    expect(stateFolder('given', named, here.path).path).toBe(join(here.path, 'given'));
    expect(stateFolder('/elsewhere', named, here.path).shown).toBe('/elsewhere');
    expect(stateFolder('a\u001b[2J', named, here.path).shown).toBe('a\\u001b[2J');
    expect(stateFolder(undefined, environmentOf({ RUNBOOK_STATE: '' }), here.path).shown).toBe('.runbook');
  });

  it('is created for its owner alone, on first use', () => {
    const given = stateFolder('given/deep', NOTHING, here.path);
    expect(existsSync(given.path)).toBe(false);
    expect(given.file('a')).toBe(join(here.path, 'given/deep/a'));
    expect(statSync(given.path).mode & 0o777).toBe(0o700);
  });

  it.each([
    ['that others can write to', (path: string) => chmodSync(path, 0o770), 'can be written by others (mode 770)'],
    ['that is a link', (path: string) => symlinkSync(here.path, `${path}-link`), 'is a link'],
  ])('%s is refused', (_what, change, problem) => {
    const path = join(here.path, problem.slice(0, 6));
    mkdirSync(path);
    change(path);
    const named = problem.endsWith('link') ? `${path}-link` : path;
    expect(() => stateFolder(named, NOTHING, here.path).file('a')).toThrow(problem);
  });

  it('cannot be a file', () => {
    here.write('file', '');
    expect(() => stateFolder('file', NOTHING, here.path).file('a')).toThrow(/^the state folder file cannot be made/);
  });
});

describe('the other folders with leases and kill orders', () => {
  const here = folder();

  it.each([
    ['of a store of its own', 'store'],
    ['of the user', 'user/perp-runbook'],
  ])('%s are refused to a process that acts where others can write to them', (_whose, name) => {
    const path = join(here.path, name);
    mkdirSync(join(here.path, 'store'), { recursive: true });
    mkdirSync(path, { recursive: true });
    const environment = environmentOf({ XDG_STATE_HOME: join(here.path, 'user') });
    const require = () =>
      requireOwnFolders({ kind: 'sqlite', file: join(here.path, 'store', 'runbook.db') }, environment);
    chmodSync(path, 0o770);
    expect(require).toThrow(
      expect.objectContaining({
        exit: 2,
        message: expect.stringContaining('can be written by others (mode 770)'),
      }),
    );
    chmodSync(path, 0o750);
    require();
  });
});

describe('a crash', () => {
  const here = folder();
  const secret = 'a-token-to-be-hidden';
  const environment = environmentOf({ VENUE_TOKEN: secret, HARMLESS: 'word' });

  it('is reported in one sentence; its stack goes to a file, both without secrets', () => {
    const state = stateFolder(undefined, environment, here.path);
    const sentence = reportCrash(
      new Error(`lost ${secret} at\u001b[31m`),
      ['run', `--x=${secret}`],
      state,
      environment,
    );
    expect(sentence).toMatch(
      /^internal error.*: lost \[redacted\] at\\u001b\[31m; details are in \.runbook\/crash\.log$/,
    );
    const log = here.read('.runbook/crash.log');
    expect(log).toContain('runbook run --x=[redacted]\n');
    expect(log).toContain('state.test.ts');
    expect(log).not.toContain(secret);
    expect(statSync(join(here.path, '.runbook/crash.log')).mode & 0o777).toBe(0o600);
  });

  it('is reported even where nothing can be written', () => {
    here.write('blocked', '');
    const state = stateFolder('blocked', environment, here.path);
    expect(reportCrash('odd', [], state, environment)).toMatch(
      /^internal error.*: odd; the details could not be written$/,
    );
  });
});

describe('the environment', () => {
  it('knows which of its values are secret, and has no value for inherited names', () => {
    const environment = environmentOf({
      VENUE_JWT: 'a',
      api_key: 'b',
      DATABASE_URL: 'c',
      OPS_WEBHOOK: 'd',
      PATH: 'e',
      MY_SECRET: '',
    });
    expect(environment.secrets()).toEqual(['a', 'b', 'c', 'd']);
    expect([environment.variable('PATH'), environment.variable('MY_SECRET'), environment.variable('toString')]).toEqual(
      ['e', undefined, undefined],
    );
  });
});

/** Reviewing commands of a user who may read a state folder and not write it. */
import { spawnSync } from 'node:child_process';
import { chmodSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openSqliteStore } from '../../src/journal/stores/sqlite.ts';
import { BIN, type Ended, folder } from './command.ts';

/** As root, an unprivileged user; otherwise the modes of the files keep this one from writing. */
const OTHER = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
const RUNBOOK = 'runbook: one\ndsl: 1\nsteps:\n  - read_account: {}\n';
const REVIEWS = ['list', 'show last', 'verify', 'summary last', 'export last --format jsonl', 'schedule', 'kills'];

function listFiles(path: string): readonly string[] {
  return readdirSync(path).map((name) => `${name} ${statSync(join(path, name)).mtimeMs}`);
}

describe('an auditor without the right to write', { tags: ['linux', 'long'] }, () => {
  const here = folder();
  const audit = (...words: readonly string[]): Ended => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [BIN, 'audit', ...words, '--state', 'kept'], {
      ...OTHER,
      cwd: here.path,
      encoding: 'utf8',
      env: { HOME: '/nowhere' },
    });
    return { exit: status, out: stdout, err: stderr };
  };
  const lock = (mode: { readonly file: number; readonly folder: number }) => {
    chmodSync(here.path, 0o755);
    for (const name of readdirSync(join(here.path, 'kept'))) chmodSync(join(here.path, 'kept', name), mode.file);
    chmodSync(join(here.path, 'kept'), mode.folder);
  };

  it('reviews a store at rest and one in use, and leaves no trace', async () => {
    here.write('one.yaml', RUNBOOK);
    // In a process of its own, which has ended: its log is in the file.
    expect(here.runWith({}, 'dry-run', 'one.yaml', '--state', 'kept').exit).toBe(0);
    const store = join(here.path, 'kept', 'runbook.db');
    for (const inUse of [false, true]) {
      lock({ file: 0o600, folder: 0o700 });
      const writer = inUse ? await openSqliteStore(store) : undefined;
      await writer?.changeAccountRows('main', () => [{ name: 'a', text: 'written while it is read' }]);
      lock({ file: 0o444, folder: 0o555 });
      const before = listFiles(join(here.path, 'kept'));
      for (const words of REVIEWS) {
        const { exit, err } = audit(...words.split(' '));
        expect([words, inUse, exit, err]).toEqual([words, inUse, 0, '']);
      }
      expect(JSON.parse(audit('list', '--json').out)).toMatchObject({ runs: [{ runbook: 'one' }] });
      expect(listFiles(join(here.path, 'kept'))).toEqual(before);
      lock({ file: 0o600, folder: 0o700 });
      await writer?.close();
    }
  });
});

/** Runs the built command as a person would, in a folder of its own. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll } from 'vitest';
import { type Ended, runServed } from './command-client.js';

export type { Ended };

export const BIN = fileURLToPath(new URL('../../bin/runbook.js', import.meta.url));

export interface Folder {
  readonly path: string;
  /** Runs `runbook` with these arguments, in a process that serves one command after another. */
  run(...args: readonly string[]): Ended;
  /** Runs it in a process of its own. */
  runWith(options: { readonly env?: Readonly<Record<string, string>> }, ...args: readonly string[]): Ended;
  write(name: string, text: string | Uint8Array): string;
  read(name: string): string;
}

/** A folder that is removed after the test file. */
export function folder(): Folder {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'runbook-test-')));
  afterAll(() => rmSync(path, { recursive: true, force: true }));
  const runWith: Folder['runWith'] = ({ env = {} }, ...args) => {
    const { PATH, HOME } = process.env;
    const { status, stdout, stderr } = spawnSync(process.execPath, [BIN, ...args], {
      cwd: path,
      encoding: 'utf8',
      env: { ...(PATH === undefined ? {} : { PATH }), ...(HOME === undefined ? {} : { HOME }), ...env },
      timeout: 200_000,
    });
    return { exit: status, out: stdout, err: stderr };
  };
  return {
    path,
    runWith,
    run: (...words) => {
      const { PATH, HOME } = process.env;
      return runServed({ words, folder: path, environment: { PATH, HOME } });
    },
    write(name, text) {
      writeFileSync(join(path, name), text);
      return name;
    },
    read: (name) => readFileSync(join(path, name), 'utf8'),
  };
}

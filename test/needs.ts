/**
 * Names the needs of tests beside Node, each as a tag. `npm test` leaves out the tests that need much time or another program, and
 * `npm run test:ci` runs exactly those. A test that needs what this machine does not have is left out of both.
 */
import { existsSync } from 'node:fs';
import nodeModule from 'node:module';
import { delimiter, join } from 'node:path';

export interface Need {
  readonly name: string;
  /** Follows the number of tests: `12 need a PostgreSQL server`. */
  readonly description: string;
  /** Whether `npm test` has it here; `later`: it never does, and `npm run test:ci` must. */
  readonly here: boolean | 'later';
}

function isOnPath(program: string): boolean {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => existsSync(join(folder, program)));
}

export const NEEDS: readonly Need[] = [
  { name: 'long', description: 'take long', here: 'later' },
  { name: 'postgres', description: 'need a PostgreSQL server', here: 'later' },
  { name: 'chromium', description: 'need Chromium', here: 'later' },
  { name: 'sqlite3', description: 'need /usr/bin/sqlite3', here: existsSync('/usr/bin/sqlite3') },
  { name: 'python3', description: 'need python3', here: isOnPath('python3') },
  { name: 'ssh-keygen', description: 'need ssh-keygen', here: isOnPath('ssh-keygen') },
  { name: 'neovim', description: 'need Neovim', here: isOnPath('nvim') },
  { name: 'promtool', description: 'need promtool of Prometheus', here: isOnPath('promtool') },
  { name: 'full-device', description: 'need /dev/full', here: existsSync('/dev/full') },
  {
    name: 'terminal',
    description: 'need script of util-linux',
    here: process.platform === 'linux' && isOnPath('script'),
  },
  { name: 'linux', description: 'need Linux', here: process.platform === 'linux' },
  { name: 'unprivileged', description: 'need a user other than root', here: process.getuid?.() !== 0 },
  {
    name: 'kept-code',
    description: 'need a Node older than 22.1, for which the build keeps compiled code',
    here: !('enableCompileCache' in nodeModule),
  },
];

/** For tests that `npm run test:ci` chooses by another tag, such as `long`: whether this machine has what they need too. */
export function isHere(name: string): boolean {
  return NEEDS.some((need) => need.name === name && need.here === true);
}

/** The tests that `npm test` runs; the option --tags-filter takes its place. */
export const HERE = NEEDS.filter(({ here }) => here !== true).map(({ name }) => `!${name}`);

/** Programs whose reader has gone, as behind `| head`, or that have no standard streams at all: they end with their code, in silence. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { itFirst } from '../rows.ts';
import { BIN, folder } from './command.ts';

const here = folder();
here.write('one.yaml', 'runbook: one\ndsl: 1\nsteps:\n  - wait: 1s\n');

/** Runs it while no one reads the stream; what the other one says, and the exit code. */
async function runUnread(unread: 'stdout' | 'stderr', words: readonly string[]) {
  const child = spawn(process.execPath, words, { cwd: here.path, stdio: ['ignore', 'pipe', 'pipe'] });
  child[unread].destroy();
  let said = '';
  child[unread === 'stdout' ? 'stderr' : 'stdout'].setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const [exit] = await once(child, 'close');
  return { exit, said };
}

const COMMANDS: readonly (readonly [words: string, exit: number])[] = [
  ['--help', 0],
  ['dry-run one.yaml --json', 0],
  ['completion bash', 0],
  ['explain limit-out-of-range', 0],
  ['audit list', 0],
  ['audit show none --json', 2],
];

describe.concurrent('a command', () => {
  itFirst(2, COMMANDS)('that no one reads ends with its code: %s', async (text, exit) => {
    const words = text.split(' ');
    const { said, ...ended } = await runUnread('stdout', [BIN, ...words]);
    expect([ended.exit, said.includes('    at '), said.includes('EPIPE')]).toEqual([exit, false, false]);
    expect((await runUnread('stderr', [BIN, ...words])).exit).toBe(exit);
  });

  it('without standard streams does its work', () => {
    const shell = `exec "${process.execPath}" "${BIN}" dry-run one.yaml <&- >&- 2>&-`;
    const child = spawn('/bin/sh', ['-c', shell], { cwd: here.path, stdio: 'ignore' });
    return expect(once(child, 'close')).resolves.toEqual([0, null]);
  });
});

it('a program of the tests ends at once, with the code of a closed pipe', async () => {
  const ends = join(fileURLToPath(new URL('..', import.meta.url)), 'closed-pipe.js');
  const text = `import '${ends}'; setInterval(() => process.stdout.write('seed\\n'), 1);`;
  expect(await runUnread('stdout', ['--input-type=module', '-e', text])).toEqual({ exit: 141, said: '' });
});

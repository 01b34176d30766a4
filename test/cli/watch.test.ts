/** One round of `runbook watch`; its times are tested in test/app/watch.test.ts. */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { environmentOf } from '../../src/app/environment.ts';
import { EXIT } from '../../src/app/errors.ts';
import { stateFolder } from '../../src/app/state.ts';
import { runOnce } from '../../src/cli/authoring/watch.ts';
import { invocationAt } from '../../src/cli/invocation.ts';
import { Terminal } from '../../src/cli/terminal/terminal.ts';
import { folder } from './command.ts';

const RUNBOOK = 'runbook: one\ndsl: 1\nsteps:\n  - id: r\n    read_account: {}\noutputs: {equity: r.account_equity}\n';
const TEST = 'tests: one\ncases:\n  - name: reads\n    expect: {outcome: succeeded}\n';

describe('a round', () => {
  const here = folder();
  const round = async (files: Readonly<Record<string, string>>) => {
    const printed: string[] = [];
    const stream = { write: (text: string) => void printed.push(text) };
    const environment = environmentOf({});
    const terminal = new Terminal({ out: stream, err: stream, json: false, quiet: false, color: false, environment });
    for (const [name, text] of Object.entries(files)) here.write(name, text);
    const invocation = invocationAt(terminal, environment, stateFolder(undefined, environment, here.path));
    const exit = await runOnce({ file: join(here.path, 'one.yaml'), input: [], simulator: undefined }, invocation);
    return { exit, text: printed.join('') };
  };

  it('validates, tests and dry-runs', async () => {
    const { exit, text } = await round({ 'one.yaml': RUNBOOK, 'one.test.yaml': TEST });
    expect(exit).toBe(EXIT.done);
    expect(text).toMatch(/one\.yaml: valid[\s\S]*1 passed[\s\S]*succeeded/);
  });

  it('stops at what fails first, and goes on after any mistake', async () => {
    const broken = await round({ 'one.yaml': RUNBOOK.replace('read_account', 'read_acount') });
    expect([broken.exit, broken.text.includes('passed')]).toEqual([EXIT.failed, false]);
    const failing = await round({ 'one.yaml': RUNBOOK, 'one.test.yaml': TEST.replace('succeeded', 'failed') });
    expect([failing.exit, /1 failed/.test(failing.text), /succeeded after/.test(failing.text)]).toEqual([
      EXIT.failed,
      true,
      true,
    ]);
    const odd = await round({ 'one.test.yaml': TEST, 'one.sim.yaml': 'market: {}\n' });
    expect([odd.exit, /the simulator configuration/.test(odd.text)]).toEqual([EXIT.usage, true]);
  });
});

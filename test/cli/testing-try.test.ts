import { it } from 'vitest';
import { testFiles } from '../../src/cli/testing/run-tests.ts';
import { Terminal } from '../../src/cli/terminal.ts';
import { environmentOf } from '../../src/cli/environment.ts';
it('try', async () => {
  const environment = environmentOf({});
  const write = (t: string) => process.stdout.write(t);
  const terminal = new Terminal({ out: { write }, err: { write }, json: process.env['J'] === '1', quiet: false, color: false, environment });
  const exit = await testFiles((process.env['F'] ?? '').split(' '), { explore: process.env['X'] === '1' }, { terminal, environment, state: undefined as never });
  console.log('exit', exit);
}, 600000);

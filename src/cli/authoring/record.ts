/** `runbook record`: converts a recording from one format to another. `run --record` makes recordings. */

import { EXIT, type ExitCode } from '../../app/errors.ts';
import { chooseFormat, readFixtureFile, writeFixtureFile } from '../../app/files/fixture.ts';
import { formatCount } from '../../base/format.ts';
import { makePrintable } from '../../base/printable.ts';
import type { Given } from '../actions/actions.ts';
import type { Invocation } from '../invocation.ts';

export async function convertRecording({ from, to }: Given<'record'>, { terminal }: Invocation): Promise<ExitCode> {
  chooseFormat(to);
  const { fixture, notes } = readFixtureFile(from);
  writeFixtureFile(to, fixture);
  for (const note of notes) terminal.note(`${makePrintable(from, 300)}: ${note}`);
  const endpoints = [...new Set(fixture.exchanges.map(({ request }) => `${request.method} ${request.path}`))];
  terminal.answer(
    { from, to, exchanges: fixture.exchanges.length, endpoints, notes },
    () =>
      `${makePrintable(to, 300)}: ${formatCount(fixture.exchanges.length, 'exchange')} with ${endpoints.map((each) => makePrintable(each, 80)).join(', ')}`,
  );
  return EXIT.done;
}

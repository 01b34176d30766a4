/** `runbook new`: creates a runbook, either a minimal one or a copy of an example. */
import { existsSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { EXIT, type ExitCode, UserError } from '../../app/errors.ts';
import { readText, writeNewText } from '../../app/files/files.ts';
import { locateInPackage } from '../../app/project/package-files.ts';
import { ensureSchema } from '../../app/project/schema-line.ts';
import { makeFirstRunbook } from '../../app/project/template.ts';
import { makePrintable } from '../../base/printable.ts';
import { suggestSpelling } from '../../base/spelling.ts';
import type { Invocation } from '../invocation.ts';

const NAME = /^[a-z][a-z0-9-]{0,62}$/;

export async function createRunbook(
  name: string,
  from: string | undefined,
  { terminal }: Invocation,
): Promise<ExitCode> {
  if (!NAME.test(name)) {
    throw new UserError(
      `a runbook's name is lower-case letters, digits and dashes, at most 63, a letter first; found ${makePrintable(name, 100)}`,
    );
  }
  const file = `${name}.yaml`;
  const text = from === undefined ? makeFirstRunbook(name) : renameRunbook(readExample(from), name);
  if (existsSync(file)) throw new UserError(`${file} exists already; it was not changed`);
  const { line, created } = ensureSchema(file, 'runbook');
  writeNewText(file, line + text.replace(/^# yaml-language-server:.*\n/, ''), 'runbook');
  terminal.answer({ file, from: from ?? null, ...(created === undefined ? {} : { schema: created }) }, () =>
    [
      ...(created === undefined ? [] : [`${created}: created, for editors`]),
      `${file}: created. Next: runbook validate ${file}`,
    ].join('\n'),
  );
  return EXIT.done;
}

function readExample(from: string): string {
  const folder = locateInPackage('runbooks');
  const names = existsSync(folder)
    ? readdirSync(folder)
        .filter((file) => file.endsWith('.yaml') && !file.endsWith('.test.yaml'))
        .map((file) => basename(file, '.yaml'))
    : [];
  if (!names.includes(from)) {
    const meant = suggestSpelling(from, names);
    const hint = meant === undefined ? `there are ${names.sort().join(', ')}` : `did you mean ${meant}?`;
    throw new UserError(`no example is called ${makePrintable(from, 100)}; ${hint}`);
  }
  return readText(join(folder, `${from}.yaml`), 'example');
}

function renameRunbook(text: string, name: string): string {
  return text.replace(/^runbook:.*$/m, `runbook: ${name}`);
}

/** The runbooks that ship with the program, each with its tests and its simulated venue: what `runbook new --from` copies. */
import { existsSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { SourceText } from '../../base/diagnostic.ts';
import { makePrintable } from '../../base/printable.ts';
import { suggestSpelling } from '../../base/spelling.ts';
import { checkRunbook } from '../../runbook/check.ts';
import type { CheckedRunbook } from '../../runbook/checked.ts';
import { UserError } from '../errors.ts';
import { readText } from '../files/files.ts';
import { readTestFile } from '../testing/file/test-file.ts';
import { locateInPackage } from './package-files.ts';
import type { Starter } from './template.ts';

export interface Copied extends Starter {
  /** The texts of the runbooks that it calls, by name: they belong beside it. */
  readonly called: Readonly<Record<string, string>>;
  /** Inputs without a default, in the form of `--input`, as its first test gives them. */
  readonly inputs: readonly string[];
}

/** A runbook of the library under a name of its own. Throws a UserError, with the names that there are, for one that does not ship. */
export function copyShipped(from: string, name: string): Copied {
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
  const read = (file: string) => readText(join(folder, file), 'example').replace(SCHEMA_LINE, '');
  const runbook = read(`${from}.yaml`);
  const tests = read(`${from}.test.yaml`).replace(/^tests:.*$/m, `tests: ${name}`);
  const called: Record<string, string> = {};
  const { runbook: checked } = checkRunbook({ file: `${from}.yaml`, text: runbook }, (each) => {
    if (names.includes(each)) called[each] = read(`${each}.yaml`);
    return called[each] === undefined ? undefined : { file: `${each}.yaml`, text: called[each] };
  });
  return {
    runbook: runbook.replace(/^runbook:.*$/m, `runbook: ${name}`),
    tests,
    simulator: read(`fixtures/${from}.sim.yaml`),
    called,
    inputs: checked === undefined ? [] : listNeededInputs(checked, { file: `${name}.test.yaml`, text: tests }),
  };
}

function listNeededInputs({ inputs }: CheckedRunbook, tests: SourceText): readonly string[] {
  const given = readTestFile(tests, refuseFile).readable?.cases[0]?.inputs ?? {};
  const needed = inputs.filter(({ name, default: otherwise }) => otherwise === undefined && Object.hasOwn(given, name));
  return needed.map(({ name }) => `${name}=${given[name]?.text}`);
}

/** Tests that ship name no other file. */
function refuseFile(path: string): never {
  throw new UserError(`${makePrintable(path, 300)} is not read`);
}

const SCHEMA_LINE = /^# yaml-language-server:.*\n/;

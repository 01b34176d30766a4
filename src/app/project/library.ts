/** The runbooks that ship with the program, each with its tests and its simulated venue: what `runbook new --from` copies. */
import { existsSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { makePrintable } from '../../base/printable.ts';
import { suggestSpelling } from '../../base/spelling.ts';
import { checkRunbook } from '../../runbook/check.ts';
import { UserError } from '../errors.ts';
import { readText } from '../files/files.ts';
import { locateInPackage } from './package-files.ts';
import type { Starter } from './template.ts';

export interface Copied extends Starter {
  /** The texts of the runbooks that it calls, by name: they belong beside it. */
  readonly called: Readonly<Record<string, string>>;
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
  const called: Record<string, string> = {};
  checkRunbook({ file: `${from}.yaml`, text: runbook }, (each) => {
    if (names.includes(each)) called[each] = read(`${each}.yaml`);
    return called[each] === undefined ? undefined : { file: `${each}.yaml`, text: called[each] };
  });
  return {
    runbook: runbook.replace(/^runbook:.*$/m, `runbook: ${name}`),
    tests: read(`${from}.test.yaml`).replace(/^tests:.*$/m, `tests: ${name}`),
    simulator: read(`fixtures/${from}.sim.yaml`),
    called,
  };
}

const SCHEMA_LINE = /^# yaml-language-server:.*\n/;

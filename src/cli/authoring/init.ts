/** `runbook init`: creates the files of a project in a folder, all of them or none. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { EXIT, type ExitCode, UserError } from '../../app/errors.ts';
import { describeReason, readText, writeNewText } from '../../app/files/files.ts';
import { locateInPackage } from '../../app/project/package-files.ts';
import { makeProject, PROJECT_SCHEMAS } from '../../app/project/template.ts';
import { ENGINE_VERSION } from '../../app/version.ts';
import { formatList } from '../../base/format.ts';
import { makePrintable, quoteWord } from '../../base/printable.ts';
import { makeFolders } from '../../journal/folder.ts';
import type { Given } from '../actions/actions.ts';
import type { Invocation } from '../invocation.ts';

export async function createProject({ folder }: Given<'init'>, { terminal }: Invocation): Promise<ExitCode> {
  const schemas = PROJECT_SCHEMAS.map((name) => `schemas/${name}.schema.json`);
  const texts = {
    ...makeProject(ENGINE_VERSION),
    ...Object.fromEntries(schemas.map((path) => [path, readText(locateInPackage(path), 'schema')])),
  };
  const paths = Object.keys(texts).sort();
  const taken = paths.filter((path) => existsSync(join(folder, path)));
  if (taken.length > 0)
    throw new UserError(
      `${makePrintable(folder, 300)} has ${formatList(taken)} already; nothing was written, choose another folder`,
    );
  for (const path of paths) {
    makeFolder(dirname(join(folder, path)));
    writeNewText(join(folder, path), texts[path] ?? '', 'file');
  }
  terminal.answer({ folder, files: paths }, () =>
    [
      ...paths.map((path) => `${makePrintable(join(folder, path), 300)}: created`),
      'Next:',
      `  cd ${quoteWord(makePrintable(folder, 300))}`,
      '  runbook validate .',
      '  runbook test runbooks/first-entry.test.yaml',
      '  runbook dry-run runbooks/first-entry.yaml --simulator runbooks/first-entry.sim.yaml',
    ].join('\n'),
  );
  return EXIT.done;
}

function makeFolder(folder: string): void {
  try {
    makeFolders(folder, 0o777);
  } catch (error) {
    throw new UserError(`the folder ${makePrintable(folder, 300)} cannot be created: ${describeReason(error)}`);
  }
}

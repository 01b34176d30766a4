/** `runbook fmt`: lays files out anew, or with `--check` only says which would change. */
import { EXIT, type ExitCode, UserError } from '../../app/errors.ts';
import { readSource, rewriteText } from '../../app/files/files.ts';
import { detectKind } from '../../app/files/kinds.ts';
import { isFolder, listFolder } from '../../app/project/folder.ts';
import type { Diagnostic } from '../../base/diagnostic.ts';
import { makePrintable } from '../../base/printable.ts';
import { formatDocument } from '../../runbook/document/format.ts';
import type { Given } from '../actions/actions.ts';
import type { Invocation } from '../invocation.ts';

type State = 'unchanged' | 'changed' | 'invalid' | 'refused';

interface Verdict {
  readonly file: string;
  readonly state: State;
}

export async function formatFiles({ files: paths, check }: Given<'fmt'>, { terminal }: Invocation): Promise<ExitCode> {
  const files = paths.flatMap((path) => (isFolder(path) ? listFolder(path).filter(isAuthored) : [path]));
  // All files are read before one is written: a mistyped name changes nothing.
  const read = files.map((file) => readSource(requireYaml(file), 'file'));
  const findings: Diagnostic[] = [];
  const verdicts = read.map((source): Verdict => {
    const { file } = source;
    const done = formatDocument(source);
    if ('diagnostics' in done) {
      findings.push(...done.diagnostics);
      return { file, state: 'invalid' };
    }
    if ('refused' in done) {
      terminal.complain(`${makePrintable(file, 300)}: ${done.refused}; it was not changed`);
      return { file, state: 'refused' };
    }
    if (done.text === source.text) return { file, state: 'unchanged' };
    if (!check) rewriteText(file, done.text, 'file');
    return { file, state: 'changed' };
  });
  if (!terminal.json) terminal.diagnostics(findings);
  terminal.answer({ check, files: verdicts }, () =>
    verdicts
      .filter(({ state }) => state !== 'unchanged')
      .map(({ file, state }) => `${makePrintable(file, 300)}: ${check && state === 'changed' ? 'would change' : state}`)
      .join('\n'),
  );
  const failed = verdicts.some(
    ({ state }) => state === 'invalid' || state === 'refused' || (check && state === 'changed'),
  );
  return failed ? EXIT.failed : EXIT.done;
}

function requireYaml(file: string): string {
  if (/\.ya?ml$/i.test(file)) return file;
  throw new UserError(`${makePrintable(file, 300)} is not a YAML file by its name: it must end in .yaml or .yml`);
}

/** What people write; a recording is written by this program. */
function isAuthored(file: string): boolean {
  if (!/\.ya?ml$/i.test(file)) return false;
  const kind = detectKind(file, readSource(file, 'file').text);
  return kind !== undefined && kind !== 'fixture';
}

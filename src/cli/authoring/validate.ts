/** `runbook validate`: loads, checks and type-checks files and folders, offline, and prints what is found. */

import { EXIT, type ExitCode, UserError } from '../../app/errors.ts';
import { type CheckedFile, checkProject, type ProjectCheck } from '../../app/project/checks.ts';
import { type Diagnostic, placeDiagnostic, sortForReading } from '../../base/diagnostic.ts';
import { formatCount } from '../../base/format.ts';
import { makePrintable } from '../../base/printable.ts';
import type { Given } from '../actions/actions.ts';
import type { ReportFormat } from '../choices.ts';
import type { Invocation } from '../invocation.ts';
import type { Output } from '../terminal/output.ts';
import { standard } from '../terminal/streams.ts';

export async function validateFiles(
  { files: paths, format }: Given<'validate'>,
  { terminal }: Invocation,
): Promise<ExitCode> {
  if (format !== undefined && terminal.json)
    throw new UserError('--format and --json are two documents; choose one of them');
  const check = await checkProject(paths);
  const { files } = check;
  // A mistyped name is wrong usage, whatever the other files contain; they are still checked.
  const refused = files.flatMap((each) => (each.refused === undefined ? [] : [each.refused]));
  const [first] = refused;
  if (first !== undefined && files.length === 1 && format === undefined && check.skipped === undefined) throw first;
  if (format === undefined) terminal.answer(makeDocument(check, first), () => formatVerdicts(check, terminal));
  else standard.output.write(await formatReport(files, format));
  for (const { message } of refused) terminal.complain(message);
  if (first !== undefined) return first.exit;
  return files.some(({ diagnostics }) => diagnostics.some(isError)) ? EXIT.failed : EXIT.done;
}

async function formatReport(files: readonly CheckedFile[], format: ReportFormat): Promise<string> {
  switch (format) {
    case 'sarif':
      return (await import('../../app/project/sarif.ts')).formatSarif(files);
    case 'github':
      return (await import('../../app/project/annotations.ts')).formatAnnotations(files);
    case 'junit':
      return (await import('../../app/project/junit.ts')).formatJunit(files);
    default:
      return format satisfies never;
  }
}

function makeDocument({ files, skipped }: ProjectCheck, first: UserError | undefined): object {
  return {
    files: files.map(makeFileDocument),
    ...(skipped === undefined ? {} : { skipped }),
    ...(first === undefined ? {} : { error: makeErrorDocument(first) }),
  };
}

function makeErrorDocument({ kind, message }: UserError) {
  return { kind, message };
}

function makeFileDocument({ file, kind, diagnostics, refused }: CheckedFile) {
  return {
    file,
    ...(kind === 'runbook' ? {} : { kind }),
    ok: refused === undefined && !diagnostics.some(isError),
    diagnostics: sortForReading(diagnostics).map(placeDiagnostic),
    ...(refused === undefined ? {} : { error: makeErrorDocument(refused) }),
  };
}

function formatVerdicts({ files, skipped = [] }: ProjectCheck, terminal: Output): string {
  const lines: string[] = [];
  for (const { file, kind, diagnostics, refused } of files) {
    if (refused !== undefined) continue;
    terminal.diagnostics(diagnostics);
    const errors = diagnostics.filter(isError).length;
    const warnings = diagnostics.length - errors;
    const counts = [
      ...(errors === 0 ? [] : [formatCount(errors, 'error')]),
      ...(warnings === 0 ? [] : [formatCount(warnings, 'warning')]),
    ];
    const verdict = errors > 0 ? terminal.style('bad', 'invalid') : terminal.style('good', 'valid');
    const what = kind === 'runbook' ? '' : ` ${kind}`;
    if (errors > 0 || !terminal.quiet)
      lines.push(
        `${makePrintable(file, 300)}: ${verdict}${what}${counts.length === 0 ? '' : `, ${counts.join(', ')}`}`,
      );
  }
  if (!terminal.quiet)
    for (const file of skipped) lines.push(terminal.style('faint', `${makePrintable(file, 300)}: skipped`));
  return lines.join('\n');
}

function isError({ severity }: Diagnostic): boolean {
  return severity === 'error';
}

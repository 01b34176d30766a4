/** `runbook validate`: loads, checks and type-checks files, offline, and prints their errors. */

import { EXIT, type ExitCode, UserError } from '../../app/errors.ts';
import { readRunbook } from '../../app/files/runbook.ts';
import { SystemClock } from '../../base/clock.ts';
import { type Diagnostic, placeDiagnostic, type SourceText, sortForReading } from '../../base/diagnostic.ts';
import { formatCount } from '../../base/format.ts';
import { makePrintable } from '../../base/printable.ts';
import { checkRunbook, type ScheduleLint } from '../../runbook/check.ts';
import type { Invocation } from '../invocation.ts';
import type { Output } from '../terminal/output.ts';

export async function validateFiles(files: readonly string[], { terminal }: Invocation): Promise<ExitCode> {
  const read = files.map((file) => ({ file, read: catchUserError(() => readRunbook(file)) }));
  const sources = read.flatMap((each) => (each.read instanceof UserError ? [] : [each.read.source]));
  spareOptimizing(sources);
  const scheduleLint = await loadScheduleLint(sources);
  const checked = read.map(({ file, read: found }): CheckedFile => {
    const diagnostics =
      found instanceof UserError
        ? found
        : catchUserError(() => checkRunbook(found.source, found.load, { scheduleLint }).diagnostics);
    return diagnostics instanceof UserError
      ? { file, diagnostics: [], refused: diagnostics }
      : { file, diagnostics, refused: undefined };
  });
  // A mistyped name is wrong usage, whatever the other files contain; they are still checked.
  const refused = checked.flatMap((each) => (each.refused === undefined ? [] : [each.refused]));
  const [first] = refused;
  if (first !== undefined && files.length === 1) throw first;
  terminal.answer(
    { files: checked.map(makeFileDocument), ...(first === undefined ? {} : { error: makeErrorDocument(first) }) },
    () => formatVerdicts(checked, terminal),
  );
  for (const { message } of refused) terminal.complain(message);
  if (first !== undefined) return first.exit;
  return checked.some(({ diagnostics }) => diagnostics.some(isError)) ? EXIT.failed : EXIT.done;
}

function catchUserError<T>(work: () => T): T | UserError {
  try {
    return work();
  } catch (error) {
    if (error instanceof UserError) return error;
    throw error;
  }
}

function makeErrorDocument({ kind, message }: UserError) {
  return { kind, message };
}

/**
 * File sizes, in characters, at which a check ends before optimised code has paid for its compilation: by default the runtime
 * spends a third of the time of a thousand steps on it. Below this range it does not start; above it, it pays.
 */
const UNOPTIMIZED = { from: 16_384, to: 262_144 } as const;

function spareOptimizing(sources: readonly SourceText[]): void {
  const length = sources.reduce((sum, { text }) => sum + text.length, 0);
  if (length < UNOPTIMIZED.from || length > UNOPTIMIZED.to) return;
  process.getBuiltinModule('node:v8').setFlagsFromString('--no-opt');
}

/** The lint of schedules; calendars are loaded only where a text mentions one. */
async function loadScheduleLint(sources: readonly SourceText[]): Promise<ScheduleLint> {
  if (!sources.some(({ text }) => text.includes('schedule'))) return () => [];
  const { lintSchedule: scheduleDiagnostics } = await import('../../runbook/schedule/lints.ts');
  const nowMs = new SystemClock().now();
  return (runbook) => scheduleDiagnostics(runbook, nowMs);
}

interface CheckedFile {
  readonly file: string;
  readonly diagnostics: readonly Diagnostic[];
  /** Why the file could not be read. */
  readonly refused: UserError | undefined;
}

function makeFileDocument({ file, diagnostics, refused }: CheckedFile) {
  return {
    file,
    ok: refused === undefined && !diagnostics.some(isError),
    diagnostics: sortForReading(diagnostics).map(placeDiagnostic),
    ...(refused === undefined ? {} : { error: makeErrorDocument(refused) }),
  };
}

function formatVerdicts(checked: readonly CheckedFile[], terminal: Output): string {
  const lines: string[] = [];
  for (const { file, diagnostics, refused } of checked) {
    if (refused !== undefined) continue;
    terminal.diagnostics(diagnostics);
    const errors = diagnostics.filter(isError).length;
    const warnings = diagnostics.length - errors;
    const counts = [
      ...(errors === 0 ? [] : [formatCount(errors, 'error')]),
      ...(warnings === 0 ? [] : [formatCount(warnings, 'warning')]),
    ];
    const verdict = errors > 0 ? terminal.style('bad', 'invalid') : terminal.style('good', 'valid');
    if (errors > 0 || !terminal.quiet)
      lines.push(`${makePrintable(file, 300)}: ${verdict}${counts.length === 0 ? '' : `, ${counts.join(', ')}`}`);
  }
  return lines.join('\n');
}

function isError({ severity }: Diagnostic): boolean {
  return severity === 'error';
}

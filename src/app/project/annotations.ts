/** Writes findings as workflow commands, which GitHub shows beside the lines of a change. */
import { placeDiagnostic, sortForReading } from '../../base/diagnostic.ts';
import { makePrintable } from '../../base/printable.ts';
import type { CheckedFile } from './checks.ts';

/** A line for each finding; empty where nothing was found. */
export function formatAnnotations(files: readonly CheckedFile[]): string {
  return files
    .flatMap(({ file, diagnostics, refused }) => [
      ...(refused === undefined ? [] : [makeCommand('error', { file, title: refused.kind }, refused.message)]),
      ...sortForReading(diagnostics)
        .map(placeDiagnostic)
        .map(({ severity, code, message, hint, line, column, endLine, endColumn, ...found }) =>
          makeCommand(
            severity,
            {
              file: found.file,
              line,
              endLine,
              // Columns are for findings within a line.
              ...(line === endLine ? { col: column, endColumn: Math.max(column, endColumn - 1) } : {}),
              title: code,
            },
            hint === undefined ? message : `${message} — ${hint}`,
          ),
        ),
    ])
    .map((line) => `${line}\n`)
    .join('');
}

function makeCommand(
  severity: 'error' | 'warning',
  properties: Readonly<Record<string, string | number>>,
  message: string,
): string {
  const shown = Object.entries(properties).map(([name, value]) => `${name}=${escapeProperty(String(value))}`);
  return `::${severity} ${shown.join(',')}::${escapeData(makePrintable(message, 4000))}`;
}

/** A line break would end the command, and what follows it could be another one. */
function escapeData(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}

function escapeProperty(text: string): string {
  return makePrintable(escapeData(text), 4000).replaceAll(':', '%3A').replaceAll(',', '%2C');
}

/**
 * The table of codes a diagnostic can have, and the reference written from it. A code is a promise: programs and readers
 * search for it, so one that has been released keeps its meaning.
 */
import type { Diagnostic, SourceText, Span } from '../../base/diagnostic.ts';
import { CHECK_CODES, type CheckCode } from './check.ts';
import type { CodeRow } from './row.ts';
import { SCHEDULE_CODES } from './schedule.ts';
import { SYNTAX_CODES } from './syntax.ts';

export const CODES = { ...SYNTAX_CODES, ...CHECK_CODES, ...SCHEDULE_CODES } as const satisfies Record<string, CodeRow>;
export type Code = keyof typeof CODES;

/** A diagnostic of the checks; severity and, where the caller has none, the hint come from the table. */
export function finding(source: SourceText, span: Span, code: CheckCode, message: string, hint?: string): Diagnostic {
  const row = CHECK_CODES[code];
  return { severity: row.severity, code, message, hint: hint ?? row.fix, source, span };
}

/** The text of docs/reference/errors.md. */
export function errorReference(): string {
  const renderSection = (severity: CodeRow['severity'], title: string): string => {
    const rows = Object.entries(CODES as Record<string, CodeRow>).filter(([, row]) => row.severity === severity);
    return `## ${title}\n\n${rows.map(([code, row]) => renderEntry(code, row)).join('\n')}`;
  };
  return [
    '# Diagnostics\n',
    'Generated from the code table. An error keeps a runbook from running; a warning does not.\n',
    renderSection('error', 'Errors'),
    renderSection('warning', 'Warnings'),
  ].join('\n');
}

function renderEntry(code: string, row: CodeRow): string {
  return [
    `### ${code}\n`,
    `${toSentence(row.summary)} ${row.cause}\n`,
    '```yaml',
    row.example,
    '```\n',
    `${row.fix}\n`,
  ].join('\n');
}

function toSentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

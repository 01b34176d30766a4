/**
 * All codes that a diagnostic can have, and the reference page that is generated from them. Programs and readers search
 * for a code, so a released code keeps its meaning.
 */
import type { Diagnostic, SourceText, Span } from '../../base/diagnostic.ts';
import { toSentence } from '../../base/format.ts';
import { FILE_CODES } from './files.ts';
import { MEANING_CODES } from './meaning.ts';
import type { CodeRow } from './row.ts';
import { SCHEDULE_CODES } from './schedule.ts';
import { SHAPE_CODES } from './shape.ts';
import { SYNTAX_CODES } from './syntax.ts';

export const CODES = {
  ...SYNTAX_CODES,
  ...SHAPE_CODES,
  ...MEANING_CODES,
  ...SCHEDULE_CODES,
  ...FILE_CODES,
} as const satisfies Record<string, CodeRow>;
export type Code = keyof typeof CODES;
/** The codes of a file that is read and whose expressions compile. */
export type CheckCode = keyof typeof SHAPE_CODES | keyof typeof MEANING_CODES;

/** A diagnostic by its code. The table gives its severity, and its hint unless the caller gives one. */
export function makeFinding(source: SourceText, span: Span, code: Code, message: string, hint?: string): Diagnostic {
  const row = CODES[code];
  return { severity: row.severity, code, message, hint: hint ?? row.fix, source, span };
}

/** The text of docs/reference/errors.md. */
export function renderErrorReference(): string {
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

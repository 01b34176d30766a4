/**
 * Diagnostics: mistakes of an author as data, collected and printed later, never thrown. A diagnostic gives the place, what
 * was found, what would be accepted, and a hint. The codes are listed in `runbook/codes`.
 */

/** A range in a source text: UTF-16 offsets, end exclusive. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** A text with its name, so that a span can be turned into lines and columns. */
export interface SourceText {
  /** The path as the user gave it. */
  readonly file: string;
  readonly text: string;
}

export interface Diagnostic {
  readonly severity: 'error' | 'warning';
  /** Stable, kebab-case; a row of the code table. */
  readonly code: string;
  /** One sentence: what is wrong, the value found, what would be accepted. */
  readonly message: string;
  readonly hint?: string;
  readonly source: SourceText;
  readonly span: Span;
}

/** A diagnostic with lines and columns from 1, as `--json` prints it (interface.md, JSON). */
export interface PlacedDiagnostic {
  readonly severity: 'error' | 'warning';
  readonly code: string;
  readonly message: string;
  readonly hint?: string;
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly endLine: number;
  readonly endColumn: number;
}

/** Line and column, both from 1, of an offset. */
export function findPosition(text: string, offset: number): { line: number; column: number } {
  const end = Math.max(0, Math.min(offset, text.length));
  let line = 1;
  let lineStart = 0;
  for (let index = text.indexOf('\n'); index !== -1 && index < end; index = text.indexOf('\n', index + 1)) {
    line += 1;
    lineStart = index + 1;
  }
  // A byte order mark at the beginning does not count as a column.
  const mark = line === 1 && end > 0 && text.startsWith('\ufeff') ? 1 : 0;
  return { line, column: end - lineStart + 1 - mark };
}

export function placeDiagnostic(diagnostic: Diagnostic): PlacedDiagnostic {
  const { severity, code, message, hint, source, span } = diagnostic;
  const start = findPosition(source.text, span.start);
  const end = findPosition(source.text, Math.max(span.start, span.end));
  return {
    severity,
    code,
    message,
    ...(hint === undefined ? {} : { hint }),
    file: source.file,
    line: start.line,
    column: start.column,
    endLine: end.line,
    endColumn: end.column,
  };
}

/** Sorts by file in the order of first appearance, then by place; at one place errors come before warnings. */
export function sortForReading(diagnostics: readonly Diagnostic[]): Diagnostic[] {
  const files = [...new Set(diagnostics.map((each) => each.source.file))];
  return [...diagnostics].sort(
    (a, b) =>
      files.indexOf(a.source.file) - files.indexOf(b.source.file) ||
      a.span.start - b.span.start ||
      (a.severity === b.severity ? 0 : a.severity === 'error' ? -1 : 1),
  );
}

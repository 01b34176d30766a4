/** Makes a diagnostic from a row of the code table: its severity, and its hint where the caller has none. */
import type { Diagnostic, SourceText, Span } from '../../base/diagnostic.ts';
import { SYNTAX_CODES, type SyntaxCode } from './syntax.ts';

export function diagnose(source: SourceText, span: Span, code: SyntaxCode, message: string, hint?: string): Diagnostic {
  const row = SYNTAX_CODES[code];
  return { severity: row.severity, code, message, hint: hint ?? row.fix, source, span };
}

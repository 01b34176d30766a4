/** The fifth part of the code table: problems of the files beside a runbook, whose readers have no codes of their own. */
import type { Diagnostic, SourceText, Span } from '../../base/diagnostic.ts';
import { type CodeRow, error } from './row.ts';

export const FILE_CODES = {
  'fixture-invalid': error({
    summary: 'a fixture that cannot be used',
    cause: 'A dry-run with it would be refused.',
    example: 'fixture: 1\nrecorded_at: yesterday',
    fix: 'Correct what the message names, or record the fixture again: `runbook dry-run FILE --record FIXTURE`.',
  }),
  'simulator-invalid': error({
    summary: 'a configuration of the simulated venue that cannot be used',
    cause: 'A dry-run or `runbook sim` with it would be refused.',
    example: 'markets: {BTC-USD: {tick: "0"}}',
    fix: 'Compare with simulator.schema.json.',
  }),
} as const satisfies Record<string, CodeRow>;

export function makeFileFinding(
  source: SourceText,
  span: Span,
  code: keyof typeof FILE_CODES,
  message: string,
  hint?: string,
): Diagnostic {
  const { severity, fix } = FILE_CODES[code];
  return { severity, code, message, hint: hint ?? fix, source, span };
}

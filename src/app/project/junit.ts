/**
 * Writes findings as a JUnit report: a suite for each file, a failed case for each error. Warnings are in the output of the suite,
 * because a case has no state between passed and failed.
 */
import { type PlacedDiagnostic, placeDiagnostic, sortForReading } from '../../base/diagnostic.ts';
import { type JunitCase, type JunitSuite, writeJunit } from '../testing/junit.ts';
import type { CheckedFile } from './checks.ts';

export function formatJunit(files: readonly CheckedFile[]): string {
  return writeJunit('runbook validate', files.map(toSuite));
}

function toSuite({ file, kind, diagnostics, refused }: CheckedFile): JunitSuite {
  const placed = sortForReading(diagnostics).map(placeDiagnostic);
  const cases = [
    ...(refused === undefined
      ? []
      : [
          {
            name: 'read',
            problem: { kind: 'error' as const, type: refused.kind, message: refused.message, lines: [] },
          },
        ]),
    ...placed.filter(({ severity }) => severity === 'error').map(toCase),
  ];
  return {
    name: file,
    cases: cases.length === 0 ? [{ name: `valid ${kind}` }] : cases,
    output: placed.filter(({ severity }) => severity === 'warning').map(describe),
  };
}

function toCase(finding: PlacedDiagnostic): JunitCase {
  const { code, line, column, message } = finding;
  return {
    name: `${code} ${line}:${column}`,
    problem: { kind: 'failure', type: code, message, lines: [describe(finding)] },
  };
}

function describe({ file, line, column, severity, message, code, hint }: PlacedDiagnostic): string {
  return `${file}:${line}:${column} ${severity} ${message} [${code}]${hint === undefined ? '' : ` hint: ${hint}`}`;
}

/**
 * Writes findings as a JUnit report: a suite for each file, a failed case for each error. Warnings are in the output of the suite,
 * because a case has no state between passed and failed.
 */
import { type PlacedDiagnostic, placeDiagnostic, sortForReading } from '../../base/diagnostic.ts';
import { escapeXml } from '../../base/xml.ts';
import type { CheckedFile } from './checks.ts';

export function formatJunit(files: readonly CheckedFile[]): string {
  const suites = files.map(formatSuite);
  const sum = (which: 'tests' | 'failures' | 'errors') => suites.reduce((total, suite) => total + suite[which], 0);
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="runbook validate" tests="${sum('tests')}" failures="${sum('failures')}" errors="${sum('errors')}">`,
    ...suites.map(({ text }) => text),
    '</testsuites>\n',
  ].join('\n');
}

interface Suite {
  readonly tests: number;
  readonly failures: number;
  readonly errors: number;
  readonly text: string;
}

function formatSuite({ file, kind, diagnostics, refused }: CheckedFile): Suite {
  const placed = sortForReading(diagnostics).map(placeDiagnostic);
  const failures = placed.filter(({ severity }) => severity === 'error');
  const warnings = placed.filter(({ severity }) => severity === 'warning');
  const name = escapeXml(file);
  const cases = [
    ...(refused === undefined
      ? []
      : [
          `    <testcase classname="${name}" name="read"><error type="${escapeXml(refused.kind)}" message="${escapeXml(refused.message)}"/></testcase>`,
        ]),
    ...failures.map(
      (each) =>
        `    <testcase classname="${name}" name="${escapeXml(`${each.code} ${each.line}:${each.column}`)}"><failure type="${escapeXml(each.code)}" message="${escapeXml(each.message)}">${escapeXml(describe(each))}</failure></testcase>`,
    ),
  ];
  const all = cases.length === 0 ? [`    <testcase classname="${name}" name="valid ${kind}"/>`] : cases;
  const counts = { tests: all.length, failures: failures.length, errors: refused === undefined ? 0 : 1 };
  const output =
    warnings.length === 0
      ? []
      : [`    <system-out>${warnings.map(describe).map(escapeXml).join('&#10;')}</system-out>`];
  return {
    ...counts,
    text: [
      `  <testsuite name="${name}" tests="${counts.tests}" failures="${counts.failures}" errors="${counts.errors}">`,
      ...all,
      ...output,
      '  </testsuite>',
    ].join('\n'),
  };
}

function describe({ file, line, column, severity, message, code, hint }: PlacedDiagnostic): string {
  return `${file}:${line}:${column} ${severity} ${message} [${code}]${hint === undefined ? '' : ` hint: ${hint}`}`;
}

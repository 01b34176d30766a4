/** Writes the verdicts of test files as a JUnit report: a suite for each file, a test for each case. */
import { escapeXml } from '../../base/xml.ts';
import type { CaseVerdict, FileVerdict } from './verdict.ts';

export function formatJunit(files: readonly FileVerdict[]): string {
  const cases = files.flatMap((file) => file.cases);
  const failed = cases.filter(({ ok }) => !ok).length;
  const broken = files.filter(isBroken).length;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="runbook test" tests="${cases.length + broken}" failures="${failed}" errors="${broken}" time="${formatSeconds(cases)}">`,
    ...files.map(formatSuite),
    '</testsuites>\n',
  ].join('\n');
}

function isBroken({ diagnostics, error }: FileVerdict): boolean {
  return diagnostics !== undefined || error !== undefined;
}

function formatSuite(verdict: FileVerdict): string {
  const { file, cases, diagnostics = [], error } = verdict;
  const name = escapeXml(file);
  const failed = cases.filter(({ ok }) => !ok).length;
  const problems = [
    ...diagnostics.map(({ line, column, message, code }) => `${file}:${line}:${column} ${message} [${code}]`),
    ...(error === undefined ? [] : [error]),
  ];
  const broken = isBroken(verdict)
    ? [
        `    <testcase classname="${name}" name="read"><error message="${escapeXml(problems[0] ?? 'invalid')}">${escapeXml(problems.join('; '))}</error></testcase>`,
      ]
    : [];
  return [
    `  <testsuite name="${name}" tests="${cases.length + broken.length}" failures="${failed}" errors="${broken.length}" time="${formatSeconds(cases)}">`,
    ...cases.map((each) => formatCase(name, each)),
    ...broken,
    '  </testsuite>',
  ].join('\n');
}

function formatCase(classname: string, verdict: CaseVerdict): string {
  const begin = `    <testcase classname="${classname}" name="${escapeXml(verdict.name)}" time="${formatSeconds([verdict])}"`;
  if (verdict.ok) return `${begin}/>`;
  const problems = [
    ...verdict.failures.map(
      ({ file, line, expectation, expected, found }) =>
        `${file}:${line} ${expectation}: expected ${expected}, found ${found}`,
    ),
    ...(verdict.explored?.violations ?? []).map(({ variation, problem }) => `explored: ${variation}: ${problem}`),
  ];
  return `${begin}><failure message="${escapeXml(problems[0] ?? verdict.outcome)}">${problems.map(escapeXml).join('&#10;')}</failure></testcase>`;
}

/** Virtual time, in seconds. */
function formatSeconds(cases: readonly CaseVerdict[]): string {
  return (cases.reduce((sum, { elapsedMs }) => sum + elapsedMs, 0) / 1000).toFixed(3);
}

/** Writes a JUnit report: a suite for each file, a test case for each case or finding. */
import { escapeXml } from '../../base/printable.ts';
import type { CaseVerdict, FileVerdict } from './verdict.ts';

export interface JunitCase {
  readonly name: string;
  /** How long it took. */
  readonly ms?: number;
  /** `error`: it could not be tried. */
  readonly problem?: {
    readonly kind: 'failure' | 'error';
    readonly type?: string;
    readonly message: string;
    readonly lines: readonly string[];
  };
}

export interface JunitSuite {
  /** The file. */
  readonly name: string;
  readonly cases: readonly JunitCase[];
  /** What is neither passed nor failed. */
  readonly output?: readonly string[];
}

export function writeJunit(name: string, suites: readonly JunitSuite[]): string {
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="${name}"${countCases(suites.flatMap(({ cases }) => cases))}>`,
    ...suites.flatMap(writeSuite),
    '</testsuites>\n',
  ].join('\n');
}

function writeSuite({ name, cases, output = [] }: JunitSuite): readonly string[] {
  return [
    `  <testsuite name="${escapeXml(name)}"${countCases(cases)}>`,
    ...cases.map((each) => writeCase(name, each)),
    ...(output.length === 0 ? [] : [`    <system-out>${writeLines(output)}</system-out>`]),
    '  </testsuite>',
  ];
}

function writeCase(classname: string, { name, ms, problem }: JunitCase): string {
  const begin = `    <testcase classname="${escapeXml(classname)}" name="${escapeXml(name)}"${ms === undefined ? '' : writeTime(ms)}`;
  if (problem === undefined) return `${begin}/>`;
  const { kind, type, message, lines } = problem;
  const given = type === undefined ? '' : ` type="${escapeXml(type)}"`;
  return `${begin}><${kind}${given} message="${escapeXml(message)}">${writeLines(lines)}</${kind}></testcase>`;
}

function countCases(cases: readonly JunitCase[]): string {
  const count = (kind: 'failure' | 'error') => cases.filter(({ problem }) => problem?.kind === kind).length;
  const timed = cases.flatMap(({ ms }) => ms ?? []);
  const time = timed.length === 0 ? '' : writeTime(timed.reduce((sum, ms) => sum + ms, 0));
  return ` tests="${cases.length}" failures="${count('failure')}" errors="${count('error')}"${time}`;
}

function writeLines(lines: readonly string[]): string {
  return lines.map(escapeXml).join('&#10;');
}

/** In seconds. */
function writeTime(ms: number): string {
  return ` time="${(ms / 1000).toFixed(3)}"`;
}

/** The verdicts of test files; times are virtual. */
export function formatJunit(files: readonly FileVerdict[]): string {
  return writeJunit(
    'runbook test',
    files.map((file) => ({ name: file.file, cases: [...file.cases.map(toCase), ...listBroken(file)] })),
  );
}

function toCase({ name, ok, outcome, elapsedMs, failures, explored }: CaseVerdict): JunitCase {
  if (ok) return { name, ms: elapsedMs };
  const lines = [
    ...failures.map(
      ({ file, line, expectation, expected, found }) =>
        `${file}:${line} ${expectation}: expected ${expected}, found ${found}`,
    ),
    ...(explored?.violations ?? []).map(({ variation, problem }) => `explored: ${variation}: ${problem}`),
  ];
  return { name, ms: elapsedMs, problem: { kind: 'failure', message: lines[0] ?? outcome, lines } };
}

/** A file that cannot be read is an error of its own. */
function listBroken({ file, diagnostics, error }: FileVerdict): readonly JunitCase[] {
  if (diagnostics === undefined && error === undefined) return [];
  const lines = [
    ...(diagnostics ?? []).map(({ line, column, message, code }) => `${file}:${line}:${column} ${message} [${code}]`),
    ...(error === undefined ? [] : [error]),
  ];
  return [{ name: 'read', problem: { kind: 'error', message: lines[0] ?? 'invalid', lines } }];
}

/** `runbook test`: reads test files, executes their cases in virtual time, and prints which expectations hold. */
import { EXIT, type ExitCode } from '../../app/errors.ts';
import type { LoadedRunbook } from '../../app/files/load.ts';
import { runCase } from '../../app/testing/case-run.ts';
import { type Failure, findFailures, makeFailure, measureElapsed } from '../../app/testing/expectations.ts';
import { type Exploration, exploreCase } from '../../app/testing/exploration.ts';
import type { NamedCase } from '../../app/testing/file/runbook-names.ts';
import type { TestFile } from '../../app/testing/file/test-case.ts';
import { type ReadyTests, readTests } from '../../app/testing/tests.ts';
import { SystemClock } from '../../base/clock.ts';
import {
  type Diagnostic,
  findPosition,
  type PlacedDiagnostic,
  placeDiagnostic,
  sortForReading,
} from '../../base/diagnostic.ts';
import { formatCount, formatSpan, pluralize } from '../../base/format.ts';
import { makePrintable } from '../../base/printable.ts';
import type { RunOutcome } from '../../journal/entry.ts';
import type { Invocation } from '../invocation.ts';
import type { Output } from '../terminal/output.ts';

/** A case as `--json` prints it. */
export interface CaseVerdict {
  readonly name: string;
  readonly line: number;
  readonly ok: boolean;
  readonly outcome: RunOutcome;
  /** Virtual time from start to end, ms. */
  readonly elapsedMs: number;
  readonly failures: readonly Failure[];
  /** Lines of rules that answered nothing; often the reason of a failed case. */
  readonly unusedRules: readonly number[];
  readonly explored?: Exploration;
}

export interface FileVerdict {
  readonly file: string;
  readonly runbook?: string;
  readonly ok: boolean;
  readonly cases: readonly CaseVerdict[];
  /** Problems of the test file itself. */
  readonly diagnostics?: readonly PlacedDiagnostic[];
  /** Why the runbook could not be tested. */
  readonly error?: string;
}

export async function testFiles(
  files: readonly string[],
  { explore }: { readonly explore: boolean },
  { terminal }: Invocation,
): Promise<ExitCode> {
  const clock = new SystemClock();
  const startedAt = clock.monotonic();
  // All files are read before a case runs: a mistyped name is wrong usage, whatever the other files contain.
  const read = files.map((file) => readFile(file, terminal));
  const verdicts: FileVerdict[] = [];
  for (const each of read) {
    const verdict = 'verdict' in each ? each.verdict : await runTestFile(each, explore, terminal);
    verdicts.push(verdict);
    if (!terminal.json) printFile(verdict, terminal);
  }
  terminal.endProgress();
  const cases = verdicts.flatMap((each) => each.cases);
  const failed = cases.filter(({ ok }) => !ok).length;
  const document = { files: verdicts, passed: cases.length - failed, failed };
  terminal.answer(document, () => formatTotals(cases.length - failed, failed, clock.monotonic() - startedAt, terminal));
  if (verdicts.some(({ diagnostics }) => diagnostics !== undefined)) return EXIT.usage;
  return verdicts.every(({ ok }) => ok) ? EXIT.done : EXIT.failed;
}

function readFile(path: string, terminal: Output): ReadyTests | { readonly verdict: FileVerdict } {
  const read = readTests(path, terminal);
  switch (read.kind) {
    case 'ready':
      return read;
    case 'invalid':
      return { verdict: reportInvalid(path, read.diagnostics, terminal) };
    case 'runbook-invalid':
      return { verdict: { file: path, runbook: read.runbook, ok: false, cases: [], error: read.message } };
    default:
      return read satisfies never;
  }
}

function reportInvalid(file: string, diagnostics: readonly Diagnostic[], terminal: Output): FileVerdict {
  terminal.diagnostics(diagnostics);
  return { file, ok: false, cases: [], diagnostics: sortForReading(diagnostics).map(placeDiagnostic) };
}

async function runTestFile(
  { path, file, loaded, cases }: ReadyTests,
  explore: boolean,
  terminal: Output,
): Promise<FileVerdict> {
  const verdicts: CaseVerdict[] = [];
  for (const [index, each] of cases.entries()) {
    terminal.progress(`${path}: ${index + 1} of ${cases.length}, ${each.test.name}`);
    verdicts.push(await runTestCase(file, loaded, each, index, explore));
  }
  return { file: path, runbook: file.runbook, ok: verdicts.every(({ ok }) => ok), cases: verdicts };
}

async function runTestCase(
  { source }: TestFile,
  loaded: LoadedRunbook,
  { test, inputs }: NamedCase,
  index: number,
  explore: boolean,
): Promise<CaseVerdict> {
  const options = { loaded, test, inputs, run: `test-${loaded.runbook.name.slice(0, 40)}-${index + 1}` };
  const result = await runCase(options);
  const { report, problem, venue } = result;
  const failures = [
    ...(problem === undefined ? [] : [makeFailure(source, test.span, 'run', 'that the case can be executed', problem)]),
    ...(problem === undefined
      ? findFailures(test.expect, { entries: result.entries, report, sent: venue.sent }, source)
      : []),
  ];
  const explored = explore && failures.length === 0 ? await exploreCase(options, result) : undefined;
  return {
    name: test.name,
    line: findPosition(source.text, test.span.start).line,
    ok: failures.length === 0 && (explored === undefined || explored.violations.length === 0),
    outcome: report.outcome,
    elapsedMs: measureElapsed(report),
    failures,
    unusedRules: venue.listUnusedRules().map(({ span }) => findPosition(source.text, span.start).line),
    ...(explored === undefined ? {} : { explored }),
  };
}

function printFile(verdict: FileVerdict, terminal: Output): void {
  const { file, ok, cases, diagnostics, error } = verdict;
  if (terminal.quiet && ok) return;
  const lines = [terminal.style('strong', makePrintable(file, 300))];
  if (diagnostics !== undefined)
    lines.push(`  ${terminal.style('bad', 'invalid')}, ${formatCount(diagnostics.length, 'error')}`);
  if (error !== undefined) lines.push(`  ${terminal.style('bad', error)}`);
  for (const each of cases) if (!terminal.quiet || !each.ok) lines.push(...formatCase(each, terminal));
  terminal.print(lines.join('\n'));
}

function formatCase(
  { name, ok, outcome, elapsedMs: ms, failures, unusedRules, explored }: CaseVerdict,
  terminal: Output,
): readonly string[] {
  const mark = ok ? terminal.style('good', '✓') : terminal.style('bad', '✗');
  const variations = explored === undefined ? '' : `, ${formatCount(explored.variations, 'variation')}`;
  const lines = [
    `  ${mark} ${makePrintable(name, 200)}  ${terminal.style('faint', `${outcome} after ${formatSpan(ms)}${variations}`)}`,
  ];
  for (const { expectation, expected, found, file, line } of failures) {
    lines.push(
      `      ${terminal.style('place', `${makePrintable(file, 300)}:${line}`)} ${terminal.style('bad', expectation)}`,
    );
    lines.push(`        expected  ${expected}`, `        found     ${found}`);
  }
  for (const { variation, problem } of explored?.violations ?? []) {
    lines.push(
      `      ${terminal.style('bad', 'explored')}: ${makePrintable(variation, 300)}`,
      `        ${makePrintable(problem, 1000)}`,
    );
  }
  if (failures.length > 0 && unusedRules.length > 0) {
    const rules = `${pluralize(unusedRules.length, 'rule')} in line ${unusedRules.join(', ')}`;
    lines.push(terminal.style('faint', `      note: the ${rules} answered nothing`));
  }
  return lines;
}

function formatTotals(passed: number, failed: number, tookMs: number, terminal: Output): string {
  const parts = [failed > 0 ? terminal.style('bad', `${failed} failed`) : '', `${passed} passed`].filter(
    (each) => each !== '',
  );
  return terminal.quiet && failed === 0 ? '' : `${parts.join(', ')} in ${formatSpan(tookMs)}`;
}

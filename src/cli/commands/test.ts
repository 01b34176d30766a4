/** `runbook test`: executes the cases of test files in virtual time, and prints which expectations hold. */
import { EXIT, type ExitCode, UserError } from '../../app/errors.ts';
import { readSource } from '../../app/files/files.ts';
import { refuseOtherKind } from '../../app/files/kinds.ts';
import { type ReadyTests, readTests } from '../../app/testing/tests.ts';
import { type CaseVerdict, type FileVerdict, judgeAll } from '../../app/testing/verdict.ts';
import { writeCases } from '../../app/testing/written-case.ts';
import { SystemClock } from '../../base/clock.ts';
import { type Diagnostic, placeDiagnostic, sortForReading } from '../../base/diagnostic.ts';
import { formatCount, formatSpan, pluralize } from '../../base/format.ts';
import { makePrintable } from '../../base/printable.ts';
import { formatMoney } from '../../report/format.ts';
import type { Given } from '../actions/actions.ts';
import type { Invocation } from '../invocation.ts';
import { readWholeOption } from '../option-values.ts';
import type { Output } from '../terminal/output.ts';
import { standard } from '../terminal/streams.ts';

/** Enough to meet each kind of story, in a few seconds. */
const DEFAULT_STORIES = 200;

export async function testFiles(
  { files, explore = false, stories, writeCase, format }: Pick<Given<'test'>, 'files'> & Partial<Given<'test'>>,
  { terminal }: Invocation,
): Promise<ExitCode> {
  const clock = new SystemClock();
  const startedAt = clock.monotonic();
  if (!explore && (stories ?? writeCase) !== undefined)
    throw new UserError('--stories and --write-case are about the stories of --explore, which is missing');
  const count = stories === undefined ? DEFAULT_STORIES : readWholeOption('--stories', stories);
  if (writeCase !== undefined && files.length > 1)
    throw new UserError('--write-case takes the violations of one test file; name one');
  // All files are read before a case runs: a mistyped name is wrong usage, whatever the other files contain.
  const read = files.map((file) => readFile(file, terminal));
  const ready = read.flatMap((each): ReadyTests[] => ('verdict' in each ? [] : [each]));
  const judged = await judgeAll(ready, {
    ...(explore ? { stories: count } : {}),
    onDone: (done, total, what) =>
      terminal.progress(`${done} of ${formatCount(total, what, what === 'case' ? 'cases' : 'stories')}`),
  });
  terminal.endProgress();
  const [only] = ready;
  const found = judged[0]?.violations ?? [];
  const written = writeCase === undefined || only === undefined ? [] : writeCases(writeCase, only, found);
  const verdicts = read.map((each): FileVerdict => {
    if ('verdict' in each) return each.verdict;
    const { verdicts: cases = [], unusedRules = [] } = judged[ready.indexOf(each)] ?? {};
    return {
      file: each.path,
      runbook: each.file.runbook,
      ok: cases.every(({ ok }) => ok),
      cases,
      ...(unusedRules.length === 0 ? {} : { unusedRules }),
    };
  });
  const cases = verdicts.flatMap((each) => each.cases);
  const failed = cases.filter(({ ok }) => !ok).length;
  if (written.length > 0)
    terminal.note(`${makePrintable(writeCase ?? '', 300)}: ${formatCount(written.length, 'case')} written`);
  if (format === 'junit') {
    const { formatJunit } = await import('../../app/testing/junit.ts');
    standard.output.write(formatJunit(verdicts));
  } else {
    for (const verdict of verdicts) if (!terminal.json) printFile(verdict, terminal);
    const document = {
      files: verdicts,
      passed: cases.length - failed,
      failed,
      ...(writeCase === undefined ? {} : { written }),
    };
    terminal.answer(document, () =>
      formatTotals(cases.length - failed, failed, clock.monotonic() - startedAt, terminal),
    );
  }
  if (verdicts.some(({ diagnostics }) => diagnostics !== undefined)) return EXIT.usage;
  return verdicts.every(({ ok }) => ok) ? EXIT.done : EXIT.failed;
}

function readFile(path: string, terminal: Output): ReadyTests | { readonly verdict: FileVerdict } {
  const source = readSource(path, 'test file');
  const read = readTests(source, terminal);
  if (read.kind === 'invalid') refuseOtherKind(source, 'test');
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

function printFile(verdict: FileVerdict, terminal: Output): void {
  const { file, ok, cases, diagnostics, error, unusedRules = [] } = verdict;
  if (terminal.quiet && ok) return;
  const lines = [terminal.style('strong', makePrintable(file, 300))];
  if (diagnostics !== undefined)
    lines.push(`  ${terminal.style('bad', 'invalid')}, ${formatCount(diagnostics.length, 'error')}`);
  if (error !== undefined) lines.push(`  ${terminal.style('bad', error)}`);
  for (const each of cases) if (!terminal.quiet || !each.ok) lines.push(...formatCase(each, terminal));
  // A failed case says it itself.
  const noted = cases.flatMap((each) => (each.ok ? [] : each.unusedRules));
  const idle = unusedRules.filter((line) => !noted.includes(line));
  if (idle.length > 0)
    lines.push(`  ${terminal.style('warning', 'warning')}: ${formatRules(idle)} answered nothing in any case`);
  terminal.print(lines.join('\n'));
}

function formatCase(
  { name, ok, outcome, elapsedMs: ms, failures, money, unusedRules, explored }: CaseVerdict,
  terminal: Output,
): readonly string[] {
  const mark = ok ? terminal.style('good', '✓') : terminal.style('bad', '✗');
  const stories = explored === undefined ? '' : `, ${formatCount(explored.variations, 'story', 'stories')}`;
  const lines = [
    `  ${mark} ${makePrintable(name, 200)}  ${terminal.style('faint', `${outcome} after ${formatSpan(ms)}${stories}${formatFound(money)}`)}`,
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
    lines.push(terminal.style('faint', `      note: ${formatRules(unusedRules)} answered nothing`));
  }
  return lines;
}

function formatRules(lines: readonly number[]): string {
  return `the ${pluralize(lines.length, 'rule')} in line ${lines.join(', ')}`;
}

/** `, position BTC-USD 0, realized 12.30`: what the case has expectations of. */
function formatFound({ position = {}, ...sums }: NonNullable<CaseVerdict['money']> = {}): string {
  const held = Object.entries(position).map(([market, size]) => `position ${makePrintable(market, 40)} ${size}`);
  const amounts = Object.entries(sums).map(([name, amount]) => `${name} ${formatMoney(amount)}`);
  return [...held, ...amounts].map((each) => `, ${each}`).join('');
}

function formatTotals(passed: number, failed: number, tookMs: number, terminal: Output): string {
  const parts = [failed > 0 ? terminal.style('bad', `${failed} failed`) : '', `${passed} passed`].filter(
    (each) => each !== '',
  );
  return terminal.quiet && failed === 0 ? '' : `${parts.join(', ')} in ${formatSpan(tookMs)}`;
}

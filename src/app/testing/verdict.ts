/** Executes the cases of test files and judges them, on one thread or on many. */
import { findPosition, type PlacedDiagnostic } from '../../base/diagnostic.ts';
import { formatSpan } from '../../base/format.ts';
import type { RunOutcome } from '../../journal/entry.ts';
import { readSource } from '../files/files.ts';
import { SILENT } from '../voice.ts';
import { workAll } from '../worker-pool.ts';
import { runCase } from './case-run.ts';
import { type Failure, findFailures, makeFailure, measureElapsed } from './expectations.ts';
import { type Exploration, exploreCase } from './exploration.ts';
import type { NamedCase } from './file/runbook-names.ts';
import { listAskedMoney, type MoneyFound } from './money.ts';
import { type ReadyTests, readTests } from './tests.ts';

/** A case as `--json` prints it. */
export interface CaseVerdict {
  readonly name: string;
  readonly line: number;
  readonly ok: boolean;
  readonly outcome: RunOutcome;
  /** Virtual time from start to end, ms. */
  readonly elapsedMs: number;
  readonly failures: readonly Failure[];
  /** Position and money, where the case has expectations of them. */
  readonly money?: MoneyFound;
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

/** Executes a case and judges it. */
export async function judgeCase(
  { file: { source }, loaded, cases }: ReadyTests,
  index: number,
  explore: boolean,
): Promise<CaseVerdict> {
  const { test, inputs, always } = cases[index] as NamedCase;
  const options = { loaded, test, inputs, always, run: `test-${loaded.runbook.name.slice(0, 40)}-${index + 1}` };
  const result = await runCase(options);
  const { report, problem, venue } = result;
  const failures = [
    ...(problem === undefined ? [] : [makeFailure(source, test.span, 'run', 'that the case can be executed', problem)]),
    ...(problem === undefined
      ? findFailures(test.expect, { entries: result.entries, report, sent: venue.sent }, source)
      : []),
  ];
  for (const { expr, span, afterMs } of result.broken)
    failures.push(makeFailure(source, span, 'always', expr.text.trim(), `not so after ${formatSpan(afterMs)}`));
  const explored = explore && failures.length === 0 ? await exploreCase(options, result) : undefined;
  return {
    name: test.name,
    line: findPosition(source.text, test.span.start).line,
    ok: failures.length === 0 && (explored === undefined || explored.violations.length === 0),
    outcome: report.outcome,
    elapsedMs: measureElapsed(report),
    failures,
    ...listAskedMoney(test.expect, report),
    unusedRules: venue.listUnusedRules().map(({ span }) => findPosition(source.text, span.start).line),
    ...(explored === undefined ? {} : { explored }),
  };
}

/** A case of a file that another thread reads again. */
export interface CaseJob {
  readonly path: string;
  readonly index: number;
}

/** Below this number of cases a thread takes longer to begin than to run them. */
const FEWEST_FOR_THREADS = 8;

/** The verdicts of all cases of the files, in their order. */
export async function judgeAll(
  files: readonly ReadyTests[],
  { explore, threads, onDone }: { readonly explore: boolean; readonly threads?: number; onDone?(done: number): void },
): Promise<readonly CaseVerdict[]> {
  const known = new Map(files.map((file) => [file.path, file]));
  const jobs = files.flatMap(({ path, cases }) => cases.map((_case, index): CaseJob => ({ path, index })));
  const few = !explore && jobs.length < FEWEST_FOR_THREADS ? { threads: 1 } : {};
  return workAll({
    task: 'cases',
    setup: { explore },
    jobs,
    here: (setup: { readonly explore: boolean }) => makeJudge(setup.explore, known),
    ...(threads === undefined ? few : { threads }),
    ...(onDone === undefined ? {} : { onDone }),
  });
}

export function prepareCases({ explore }: { readonly explore: boolean }): (job: CaseJob) => Promise<CaseVerdict> {
  return makeJudge(explore, new Map());
}

function makeJudge(explore: boolean, known: Map<string, ReadyTests>): (job: CaseJob) => Promise<CaseVerdict> {
  return async ({ path, index }) => {
    let file = known.get(path);
    if (file === undefined) {
      const read = readTests(readSource(path, 'test file'), SILENT);
      if (read.kind !== 'ready') throw new Error(`${path} changed while it was tested`);
      file = read;
      known.set(path, file);
    }
    return judgeCase(file, index, explore);
  };
}

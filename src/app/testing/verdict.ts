/** Executes the cases of test files and judges them, on one thread or on many. */
import { findPosition, type PlacedDiagnostic } from '../../base/diagnostic.ts';
import { formatSpan } from '../../base/format.ts';
import type { RunOutcome } from '../../journal/entry.ts';
import { readSource } from '../files/files.ts';
import { SILENT } from '../voice.ts';
import { workAll } from '../worker-pool.ts';
import { runCase } from './case-run.ts';
import { type Failure, findFailures, makeFailure, measureElapsed } from './expectations.ts';
import {
  type Exploration,
  type FoundViolation,
  findShortest,
  nameRun,
  runStory,
  type StoryEnd,
  toViolation,
} from './exploration.ts';
import type { NamedCase } from './file/runbook-names.ts';
import { listAskedMoney, type MoneyFound } from './money.ts';
import { findUnsound } from './soundness.ts';
import { drawStories, type Explored, type Story, type Target } from './story.ts';
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
  /** Where the stories of a passed case were run. */
  readonly explored?: Exploration;
}

export interface FileVerdict {
  readonly file: string;
  readonly runbook?: string;
  readonly ok: boolean;
  readonly cases: readonly CaseVerdict[];
  /** Lines of rules that answered nothing in any case that has them; absent where there are none. */
  readonly unusedRules?: readonly number[];
  /** Problems of the test file itself. */
  readonly diagnostics?: readonly PlacedDiagnostic[];
  /** Why the runbook could not be tested. */
  readonly error?: string;
}

/** Executes a case and judges it. */
async function judgeCase({ file: { source }, loaded, cases }: ReadyTests, index: number): Promise<CaseAnswer> {
  const { test, inputs, always } = cases[index] as NamedCase;
  const result = await runCase({ loaded, test, inputs, always, run: nameRun(loaded.runbook.name, index) });
  const { report, problem, venue, entries } = result;
  const failures = [
    ...(problem === undefined ? [] : [makeFailure(source, test.span, 'run', 'that the case can be executed', problem)]),
    ...(problem === undefined ? findFailures(test.expect, { entries, report, sent: venue.sent }, source) : []),
  ];
  for (const { expr, span, afterMs } of result.broken)
    failures.push(makeFailure(source, span, 'always', expr.text.trim(), `not so after ${formatSpan(afterMs)}`));
  const { sound } = test.expect;
  if (sound !== undefined)
    for (const found of findUnsound(test, loaded.runbook.leaves.position, result))
      failures.push(makeFailure(source, sound.span, 'sound', 'a run that is sound', found));
  const unused = venue.listUnusedRules().map(({ span }) => span.start);
  const verdict = {
    name: test.name,
    line: findPosition(source.text, test.span.start).line,
    ok: failures.length === 0,
    outcome: report.outcome,
    elapsedMs: measureElapsed(report),
    failures,
    ...listAskedMoney(test.expect, report),
    unusedRules: unused.map((start) => findPosition(source.text, start).line),
  };
  const sent = venue.sent.map(({ name, number, params, type }) => ({ name, number, params, type }));
  return { verdict, unused, sent };
}

interface CaseAnswer {
  readonly verdict: CaseVerdict;
  /** Where each rule begins that answered nothing: several may be in one line. */
  readonly unused: readonly number[];
  readonly sent: readonly Target[];
}

/** A case of a file that another thread reads again, or a story of it. */
export interface CaseJob {
  readonly path: string;
  readonly index: number;
  readonly story?: Story;
}

type JobAnswer = CaseAnswer | StoryEnd;

/** Below this number of cases a thread takes longer to begin than to run them. */
const FEWEST_FOR_THREADS = 8;

export interface JudgeOptions {
  /** Number of stories of each file that are run; none by default. */
  readonly stories?: number;
  readonly threads?: number;
  onDone?(done: number, total: number, what: 'case' | 'story'): void;
}

export interface Judged {
  /** In the order of the cases. */
  readonly verdicts: readonly CaseVerdict[];
  /** Lines of rules that answered nothing in any case that has them. */
  readonly unusedRules: readonly number[];
  /** What the stories of the file violate. */
  readonly violations: readonly FoundViolation[];
}

/** Judges all cases of each file, and the stories of those that pass. */
export async function judgeAll(files: readonly ReadyTests[], options: JudgeOptions): Promise<readonly Judged[]> {
  const { stories = 0, threads, onDone } = options;
  const known = new Map(files.map((file) => [file.path, file]));
  const work = (jobs: readonly CaseJob[], what: 'case' | 'story') =>
    workAll({
      task: 'cases',
      setup: {},
      jobs,
      here: () => makeJudge(known),
      ...(jobs.length < FEWEST_FOR_THREADS ? { threads: 1 } : threads === undefined ? {} : { threads }),
      onDone: (done) => onDone?.(done, jobs.length, what),
    });
  const jobs = files.map(({ path, cases }) => cases.map((_case, index): CaseJob => ({ path, index })));
  const answers = (await work(jobs.flat(), 'case')) as readonly CaseAnswer[];
  const judged = splitAs(jobs, answers);
  const drawn = files.map(({ path, cases }, at) =>
    drawStories(listPassed(cases, judged[at] as readonly CaseAnswer[]), stories).map(({ id, story }) => ({
      path,
      index: Number(id),
      story,
    })),
  );
  const ends = splitAs(drawn, (await work(drawn.flat(), 'story')) as readonly StoryEnd[]);
  return Promise.all(
    files.map(async (file, at) => {
      const ended = judged[at] as readonly CaseAnswer[];
      const verdicts = ended.map(({ verdict }) => verdict);
      const unusedRules = listUnusedRules(file, ended);
      if (stories === 0) return { verdicts, unusedRules, violations: [] };
      const told = (drawn[at] ?? []).map((each, place) => ({ ...each, end: ends[at]?.[place] as StoryEnd }));
      const violations = await findShortest(told, (index, story) => runStory(file, index, story));
      const explored = verdicts.map((verdict, index): CaseVerdict => {
        const own = violations.filter((each) => each.index === index).map((each) => toViolation(each));
        const variations = told.filter((each) => each.index === index).length;
        return verdict.ok ? { ...verdict, ok: own.length === 0, explored: { variations, violations: own } } : verdict;
      });
      return { verdicts: explored, unusedRules, violations };
    }),
  );
}

/** A rule of `defaults` is one of several cases, and does its work where it answers in one of them. */
function listUnusedRules(
  { file: { source, cases } }: Pick<ReadyTests, 'file'>,
  answers: readonly CaseAnswer[],
): readonly number[] {
  const starts = cases.map(({ rules }) => rules.map(({ span }) => span.start));
  const used = new Set(
    starts.flatMap((each, index) => each.filter((start) => !answers[index]?.unused.includes(start))),
  );
  const lines = starts.flat().flatMap((start) => (used.has(start) ? [] : findPosition(source.text, start).line));
  return [...new Set(lines)].sort((a, b) => a - b);
}

function listPassed(cases: readonly NamedCase[], answers: readonly CaseAnswer[]): readonly Explored[] {
  return cases.flatMap(({ test }, index) => {
    const { verdict, sent } = answers[index] as CaseAnswer;
    return verdict.ok ? [{ id: String(index), test, sent }] : [];
  });
}

/** A list in parts as long as those of another. */
function splitAs<T>(parts: readonly (readonly unknown[])[], list: readonly T[]): readonly (readonly T[])[] {
  let next = 0;
  return parts.map(({ length }) => {
    next += length;
    return list.slice(next - length, next);
  });
}

export function prepareCases(): (job: CaseJob) => Promise<JobAnswer> {
  return makeJudge(new Map());
}

function makeJudge(known: Map<string, ReadyTests>): (job: CaseJob) => Promise<JobAnswer> {
  return async ({ path, index, story }) => {
    let file = known.get(path);
    if (file === undefined) {
      const read = readTests(readSource(path, 'test file'), SILENT);
      if (read.kind !== 'ready') throw new Error(`${path} changed while it was tested`);
      file = read;
      known.set(path, file);
    }
    return story === undefined ? judgeCase(file, index) : runStory(file, index, story);
  };
}

/** Checks that the names in a test file exist in the runbook it tests: an expectation with a misspelt name could never hold, or never fail. */
import type { Diagnostic, Span } from '../../../base/diagnostic.ts';
import { pluralize } from '../../../base/format.ts';
import { makePrintable } from '../../../base/printable.ts';
import { hintMeant, suggestSpelling } from '../../../base/spelling.ts';
import { listTicks } from '../../../gateway/simulator/config/config.ts';
import { SIMULATED_PRICE } from '../../../gateway/simulator/simulator.ts';
import { stripRounds } from '../../../journal/entry.ts';
import { readInputs } from '../../../runbook/check/inputs.ts';
import type { CheckedRunbook, CheckedStep } from '../../../runbook/checked.ts';
import { type CheckCode, makeFinding } from '../../../runbook/codes/codes.ts';
import { compileExpression } from '../../../runbook/expression/expression.ts';
import { makeRecordType } from '../../../runbook/functions/records.ts';
import { listRunbooks, listSteps } from '../../../runbook/steps/walk.ts';
import type { Expr, Value } from '../../../runbook/values.ts';
import { listMarkets } from '../../plan.ts';
import type { TestCase, TestFile } from './test-case.ts';

export interface NamedCase {
  readonly test: TestCase;
  readonly inputs: Readonly<Record<string, Value>>;
  /** What must hold at every instant. */
  readonly always: readonly Invariant[];
}

export interface Invariant {
  readonly expr: Expr<boolean>;
  readonly span: Span;
}

/** The cases with their inputs, or what is wrong with them. */
export function readCases(
  file: TestFile,
  runbook: CheckedRunbook,
): { readonly cases: readonly NamedCase[]; readonly diagnostics: readonly Diagnostic[] } {
  const diagnostics: Diagnostic[] = [];
  const known = listNames(runbook);
  let inputsRead = true;
  const cases = file.cases.map((test) => {
    diagnostics.push(...checkNames(file, test, known));
    const read = readCaseInputs(file, test, runbook);
    diagnostics.push(...read.diagnostics);
    inputsRead &&= read.diagnostics.length === 0;
    const always = readAlways(file, test, runbook);
    diagnostics.push(...always.diagnostics);
    return { test, inputs: read.values, always: always.invariants };
  });
  // Without its inputs a run has no plan.
  if (inputsRead) diagnostics.push(...checkMarkets(file, cases, runbook));
  const distinct = new Map(diagnostics.map((each) => [`${each.span.start} ${each.message}`, each]));
  return { cases, diagnostics: [...distinct.values()] };
}

/** Compiles what must hold at every instant: expressions over the inputs and the position of the run. */
function readAlways(
  file: TestFile,
  test: TestCase,
  runbook: CheckedRunbook,
): { readonly invariants: readonly Invariant[]; readonly diagnostics: readonly Diagnostic[] } {
  const fields = Object.fromEntries(runbook.inputs.map(({ name, type }) => [name, type]));
  const env = { roots: new Map([['inputs', makeRecordType('inputs', fields)]]), present: new Set<string>() };
  const compiled = test.always.map((node) => ({
    node,
    ...compileExpression(node, file.source, env, { kind: 'boolean' }),
  }));
  return {
    invariants: compiled.flatMap(({ expr, node }) =>
      expr === undefined ? [] : [{ expr: expr as Expr<boolean>, span: node.span }],
    ),
    diagnostics: compiled.flatMap(({ diagnostics }) => diagnostics),
  };
}

function readCaseInputs(
  file: TestFile,
  test: TestCase,
  runbook: CheckedRunbook,
): { values: Readonly<Record<string, Value>>; diagnostics: readonly Diagnostic[] } {
  const declared = new Set(runbook.inputs.map(({ name }) => name));
  const diagnostics: Diagnostic[] = [];
  const texts: Record<string, string> = {};
  for (const [name, { text, keySpan }] of Object.entries(test.inputs)) {
    if (declared.has(name)) texts[name] = text;
    else
      diagnostics.push(
        reportUnknown(file, {
          name,
          span: keySpan,
          code: 'unknown-input',
          text: `${runbook.name} has no input`,
          known: [...declared],
        }),
      );
  }
  const read = readInputs(runbook, texts);
  if ('values' in read) return { values: read.values, diagnostics };
  for (const problem of read.problems) {
    const [, name = '', missing] = /^input ([A-Za-z0-9_]+)(:| \()/.exec(problem) ?? [];
    const code: CheckCode = missing === ' (' ? 'missing-input' : 'invalid-text';
    diagnostics.push(makeFinding(file.source, test.inputs[name]?.span ?? test.span, code, makePrintable(problem, 400)));
  }
  return { values: {}, diagnostics };
}

/** A name in a test file, and which the runbook has of its kind; `text` is the message before the name. */
interface Naming {
  readonly name: string;
  readonly span: Span;
  readonly code: CheckCode;
  readonly text: string;
  readonly known: readonly string[];
}

function checkNames(file: TestFile, test: TestCase, known: KnownNames): Diagnostic[] {
  const { steps, outputs = [] } = test.expect;
  const { runbook } = file;
  const { ids, outputs: declared, feeds, questions } = known;
  const namings: readonly Naming[] = [
    ...(steps?.value ?? []).map(({ word }) => ({
      name: word,
      span: steps?.span ?? test.span,
      code: 'unknown-step' as const,
      text: `no step of ${runbook} has the id`,
      known: ids,
    })),
    ...outputs.map(({ value: { name }, span }) => ({
      name,
      span,
      code: 'unknown-key' as const,
      text: `${runbook} has no output`,
      known: declared,
    })),
    ...Object.entries(test.feeds).map(([name, { keySpan: span }]) => ({
      name,
      span,
      code: 'unknown-key' as const,
      text: `${runbook} has no feed`,
      known: feeds,
    })),
    ...Object.entries(test.approvals).flatMap(([name, { keySpan: span }]) =>
      name === '*' || questions.some((question) => isQuestion(question, name))
        ? []
        : [
            {
              name,
              span,
              code: 'unknown-step' as const,
              text: `no approve step of ${runbook} is`,
              known: questions.map(({ id, path }) => id ?? path),
            },
          ],
    ),
  ];
  return namings.filter((each) => !each.known.includes(each.name)).map((each) => reportUnknown(file, each));
}

/** Whether a step is meant by its id or its path; the path of a called runbook's step begins with that of the call. */
function isQuestion({ id, path }: CheckedStep, name: string): boolean {
  const named = stripRounds(name);
  return named === id || path === named || path.endsWith(`/${named}`) || named.endsWith(`/${path}`);
}

/**
 * The markets in which no case of the file can hold anything: what is expected there holds, whatever happens. An expectation of
 * `defaults` may be about a market of other cases. A plan takes as long as a few cases, and most runbooks take their market from
 * an input, so inputs are asked first.
 */
function checkMarkets(
  file: TestFile,
  cases: readonly Omit<NamedCase, 'always'>[],
  runbook: CheckedRunbook,
): readonly Diagnostic[] {
  const expected = cases.flatMap(({ test }) => test.expect.position ?? []);
  const known = new Set<string>();
  const open = new Set(expected.map(({ value: { market } }) => market));
  const find = (market: string) => {
    known.add(market);
    open.delete(market);
  };
  const asked = cases.map(({ test, inputs }) => ({ inputs, simulated: Object.keys(listTicks(test.simulator)) }));
  for (const { inputs, simulated } of asked) {
    const given = new Set(Object.values(inputs).flat());
    for (const market of simulated) if (given.has(market)) find(market);
  }
  const planned = new Set<string>();
  for (const { inputs, simulated } of asked) {
    const key = JSON.stringify([inputs, simulated]);
    if (open.size === 0 || planned.has(key)) continue;
    planned.add(key);
    for (const market of listMarkets(runbook, inputs, simulated).possible) find(market);
  }
  return expected
    .filter(({ value: { market } }) => open.has(market))
    .map(({ value: { market: name }, span }) =>
      reportUnknown(file, {
        name,
        span,
        code: 'unknown-key',
        text: `${file.runbook} does not trade`,
        known: [...known],
      }),
    );
}

function reportUnknown(file: TestFile, { name, span, code, text, known }: Naming): Diagnostic {
  const list =
    known.length === 0 ? 'There are none.' : `There ${pluralize(known.length, 'is', 'are')} ${known.join(', ')}.`;
  const message = `${text} "${makePrintable(name, 60)}"`;
  return makeFinding(file.source, span, code, message, hintMeant(suggestSpelling(name, known)) ?? list);
}

/** The names of a runbook that its tests may use. */
interface KnownNames {
  readonly ids: readonly string[];
  readonly outputs: readonly string[];
  readonly feeds: readonly string[];
  /** The steps that wait for an answer. */
  readonly questions: readonly CheckedStep[];
}

/** Those of called runbooks are among the steps and the feeds: they run and are read as well. Limits read the price of a market. */
function listNames(runbook: CheckedRunbook): KnownNames {
  const steps = listSteps(runbook);
  const feeds = listRunbooks(runbook).flatMap((each) => each.feeds.map(({ name }) => name));
  return {
    ids: [...new Set(steps.flatMap(({ id }) => id ?? []))],
    outputs: runbook.outputs.map(({ name }) => name),
    feeds: [...new Set([...feeds, SIMULATED_PRICE])],
    questions: steps.filter(({ verb }) => verb === 'approve'),
  };
}

/** Checks that the names in a test file exist in the runbook it tests: an expectation with a misspelt name could never hold, or never fail. */
import type { Diagnostic, Span } from '../../../base/diagnostic.ts';
import { makePrintable } from '../../../base/printable.ts';
import { suggestSpelling } from '../../../base/spelling.ts';
import { readInputs } from '../../../runbook/check/inputs.ts';
import type { CheckedRunbook } from '../../../runbook/checked.ts';
import { type CheckCode, makeFinding } from '../../../runbook/codes/codes.ts';
import { compileExpression } from '../../../runbook/expression/expression.ts';
import { makeRecordType } from '../../../runbook/functions/records.ts';
import { listSteps } from '../../../runbook/steps/walk.ts';
import type { Expr, Value } from '../../../runbook/values.ts';
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
  const known = { ids: listStepIds(runbook), outputs: runbook.outputs.map(({ name }) => name) };
  const cases = file.cases.map((test) => {
    diagnostics.push(...checkNames(file, test, known));
    const read = readCaseInputs(file, test, runbook);
    diagnostics.push(...read.diagnostics);
    const always = readAlways(file, test, runbook);
    diagnostics.push(...always.diagnostics);
    return { test, inputs: read.values, always: always.invariants };
  });
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
        reportUnknown(file, { span: keySpan, code: 'unknown-input', text: `${runbook.name} has no input` }, name, [
          ...declared,
        ]),
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

function checkNames(
  file: TestFile,
  test: TestCase,
  known: { readonly ids: readonly string[]; readonly outputs: readonly string[] },
): Diagnostic[] {
  const { steps, outputs = [] } = test.expect;
  const ids = (steps?.value ?? []).flatMap(({ word }) =>
    steps === undefined || known.ids.includes(word)
      ? []
      : [
          reportUnknown(
            file,
            { span: steps.span, code: 'unknown-step', text: `no step of ${file.runbook} has the id` },
            word,
            known.ids,
          ),
        ],
  );
  const names = outputs.flatMap(({ value: { name }, span }) =>
    known.outputs.includes(name)
      ? []
      : [
          reportUnknown(
            file,
            { span, code: 'unknown-key', text: `${file.runbook} has no output` },
            name,
            known.outputs,
          ),
        ],
  );
  return [...ids, ...names];
}

/** Reports an unknown name; `text` is the message before the name. */
function reportUnknown(
  file: TestFile,
  { span, code, text }: { readonly span: Diagnostic['span']; readonly code: CheckCode; readonly text: string },
  word: string,
  known: readonly string[],
): Diagnostic {
  const meant = suggestSpelling(word, known);
  const list = known.length === 0 ? 'There are none.' : `There are ${known.join(', ')}.`;
  const message = `${text} "${makePrintable(word, 60)}"`;
  return makeFinding(file.source, span, code, message, meant === undefined ? list : `Did you mean ${meant}?`);
}

/** Ids of all steps, including called runbooks: their steps run as well. */
function listStepIds(runbook: CheckedRunbook): readonly string[] {
  return [...new Set(listSteps(runbook).flatMap(({ id }) => id ?? []))];
}

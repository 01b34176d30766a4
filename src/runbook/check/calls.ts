/** Checks calls of other runbooks: the callee exists, is valid and gets the inputs it needs. The step's id yields its outputs. */

import type { Span } from '../../base/diagnostic.ts';
import { formatCount } from '../../base/format.ts';
import type { CheckedRunbook } from '../checked.ts';
import type { CheckCode } from '../codes/codes.ts';
import { listEntries, type Node } from '../document/nodes.ts';
import { FAULTY } from '../expression/compiler.ts';
import { makeRecordType } from '../functions/records.ts';
import { addsRisk } from '../steps/risk.ts';
import type { Expr } from '../values.ts';
import type { Built, Site } from './built-step.ts';
import type { Checking } from './checking.ts';
import { FieldReader, getFieldsShape } from './field-reader.ts';
import { describeUnknownInput, findViolation } from './inputs.ts';

/** Finds the called runbook and compiles the inputs given to it. */
export function checkCall(checking: Checking, node: Node, { nameSpan }: Site): Built<'call'> {
  const fields = new FieldReader(checking, node, getFieldsShape('call'));
  const at = fields.find('runbook');
  const name = fields.readWord('runbook');
  const given = fields.find('with');
  if (at === undefined || name === undefined) return { args: { runbook: '', with: {} }, yields: FAULTY.type };
  const callee = checking.findCallee(name);
  if (callee.kind === 'checked') {
    checking.calls.set(name, callee.runbook);
    if (checking.cleanup !== undefined && addsRisk(callee.runbook))
      checking.report(nameSpan, 'risk-in-cleanup', `${name} can add risk, and ${checking.cleanup} may only reduce it`);
    const record = makeRecordType(
      `outputs of ${name}`,
      Object.fromEntries(callee.runbook.outputs.map((output) => [output.name, output.value.type])),
    );
    return {
      args: { runbook: name, with: readGivenInputs(checking, callee.runbook, name, given, nameSpan) },
      yields: record,
    };
  }
  if (callee.kind === 'missing')
    checking.report(at, 'unknown-runbook', `there is no ${name}.yaml beside ${checking.source.file}`);
  else if (callee.kind === 'cycle')
    checking.report(at, 'call-cycle', `runbooks call each other in a circle: ${callee.path.join(' → ')}`);
  else if (callee.errors.every((each) => each.code === ('call-cycle' satisfies CheckCode)))
    checking.report(at, 'call-cycle', callee.errors[0]?.message ?? '');
  else
    checking.report(
      at,
      'called-runbook-invalid',
      `${name} has ${formatCount(callee.errors.length, 'error')}; the first: ${callee.errors[0]?.message ?? ''}`,
    );
  for (const { value } of listEntries(given)) checking.compiler.compile(value, 'any');
  return { args: { runbook: name, with: {} }, yields: FAULTY.type };
}

function readGivenInputs(
  checking: Checking,
  callee: CheckedRunbook,
  name: string,
  given: Node | undefined,
  nameSpan: Span,
): Readonly<Record<string, Expr>> {
  const known = callee.inputs.map((input) => input.name);
  const values: [string, Expr][] = [];
  for (const { key, keySpan, value } of listEntries(given)) {
    const input = callee.inputs.find((each) => each.name === key);
    if (input === undefined) checking.report(keySpan, 'unknown-input', describeUnknownInput(key, known, name));
    const expr = checking.compiler.compile(value, input?.type ?? 'any');
    const constant = checking.compiler.evaluateConstant(expr);
    const problem = input === undefined || constant === undefined ? undefined : findViolation(input, constant);
    if (problem !== undefined) checking.report(value, problem.code, problem.message);
    values.push([key, expr]);
  }
  for (const input of callee.inputs)
    if (input.default === undefined && !values.some(([key]) => key === input.name))
      checking.report(nameSpan, 'missing-input', `${name} needs its input ${input.name} (${input.typeText})`);
  return Object.fromEntries(values);
}

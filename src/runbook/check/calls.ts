/** Calls of other runbooks: the callee must be there, be sound, and be given what it needs; its outputs are what the id names. */
import type { Span } from '../../base/diagnostic.ts';
import { formatCount } from '../../base/format.ts';
import type { CheckedRunbook } from '../checked.ts';
import type { CheckCode } from '../codes/check.ts';
import type { MapNode, Node } from '../document/nodes.ts';
import { FAULTY } from '../expression/compiler.ts';
import { recordType } from '../functions/records.ts';
import type { Expr } from '../values.ts';
import type { Built, Site } from './built-step.ts';
import type { Checking } from './checking.ts';
import { fieldsOf, Reader } from './field-reader.ts';
import { unknownInput, violation } from './inputs.ts';
import { addsRisk } from './risk.ts';

/** Finds the runbook called, and reads what it is given. */
export function call(checking: Checking, node: Node, { verb }: Site): Built<'call'> {
  const fields = new Reader(checking, node, fieldsOf('call'));
  const at = fields.at('runbook');
  const name = fields.word('runbook');
  const given = fields.at('with');
  if (at === undefined || name === undefined) return { args: { runbook: '', with: {} }, yields: FAULTY.type };
  const callee = checking.callee(name);
  if (callee.kind === 'checked') {
    checking.calls.set(name, callee.runbook);
    if (checking.cleanup !== undefined && addsRisk(callee.runbook))
      checking.report(verb, 'risk-in-cleanup', `${name} can add risk, and ${checking.cleanup} may only reduce it`);
    const record = recordType(
      `outputs of ${name}`,
      Object.fromEntries(callee.runbook.outputs.map((output) => [output.name, output.value.type])),
    );
    return { args: { runbook: name, with: givenInputs(checking, callee.runbook, name, given, verb) }, yields: record };
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
  for (const { value } of entriesOf(given)) checking.compiler.value(value, 'any');
  return { args: { runbook: name, with: {} }, yields: FAULTY.type };
}

function givenInputs(
  checking: Checking,
  callee: CheckedRunbook,
  name: string,
  given: Node | undefined,
  verb: Span,
): Readonly<Record<string, Expr>> {
  const known = callee.inputs.map((input) => input.name);
  const values: [string, Expr][] = [];
  for (const { key, keySpan, value } of entriesOf(given)) {
    const input = callee.inputs.find((each) => each.name === key);
    if (input === undefined) checking.report(keySpan, 'unknown-input', unknownInput(key, known, name));
    const expr = checking.compiler.value(value, input?.type ?? 'any');
    const constant = checking.compiler.constant(expr);
    const problem = input === undefined || constant === undefined ? undefined : violation(input, constant);
    if (problem !== undefined) checking.report(value, problem.code, problem.message);
    values.push([key, expr]);
  }
  for (const input of callee.inputs)
    if (input.default === undefined && !values.some(([key]) => key === input.name))
      checking.report(verb, 'missing-input', `${name} needs its input ${input.name} (${input.typeText})`);
  return Object.fromEntries(values);
}

function entriesOf(node: Node | undefined): MapNode['entries'] {
  return node?.kind === 'map' ? node.entries : [];
}

/** `runbook plan`: prints what a run would send; sends nothing. */

import { EXIT, type ExitCode } from '../../app/errors.ts';
import { readFixtureFile } from '../../app/files/fixture.ts';
import { inputValues, loadRunbook } from '../../app/files/load.ts';
import { readProfileFile } from '../../app/files/profile.ts';
import { makePlanDocument, noteUnchecked, planFor, type Worst } from '../../app/plan.ts';
import { formatCount } from '../../base/format.ts';
import { makePrintable } from '../../base/printable.ts';
import type { Plan, PlannedRequest } from '../../engine/plan/plan.ts';
import { computeWorstCase } from '../../runbook/bounds.ts';
import type { CheckedRunbook } from '../../runbook/checked.ts';
import { Time, toJson, type Value } from '../../runbook/values.ts';
import { type EndpointName, getEndpoint } from '../../venue/catalogue.ts';
import { getCost, SIMULATED_PROFILE } from '../../venue/profile/profile.ts';
import type { Invocation } from '../invocation.ts';
import type { Output } from '../terminal/output.ts';

export interface PlanOptions {
  readonly input: readonly string[];
  readonly inputs: string | undefined;
  readonly profile: string | undefined;
  readonly fixtures: string | undefined;
}

export async function planFile(file: string, options: PlanOptions, { terminal }: Invocation): Promise<ExitCode> {
  const loaded = loadRunbook(file, terminal);
  const fixture = options.fixtures === undefined ? undefined : readFixtureFile(options.fixtures).fixture;
  const profile = options.profile === undefined ? undefined : readProfileFile(options.profile, terminal);
  const inputs = inputValues(loaded.runbook, { pairs: options.input, file: options.inputs, recorded: fixture?.inputs });
  if (profile !== undefined) noteUnchecked(profile, terminal);
  const plan = planFor(loaded.runbook, inputs, { profile, fixture, now: fixture?.startMs ?? Date.now() });
  const worst = computeWorstCase(loaded.runbook, (name) => getCost(profile ?? SIMULATED_PROFILE, name), inputs);
  terminal.answer(makePlanDocument(plan, worst), () => formatPlan(loaded.runbook, inputs, plan, worst, terminal));
  return EXIT.done;
}

/** Formats the plan for people. */
export function formatPlan(
  runbook: CheckedRunbook,
  inputs: Readonly<Record<string, Value>>,
  plan: Plan,
  worst: Worst,
  terminal: Output,
): string {
  const given = Object.entries(inputs).map(([name, value]) => `${name}=${formatValue(value)}`);
  const lines = [
    `${terminal.style('strong', `plan ${runbook.name}`)}  ${makePrintable(given.join(' '), 400)}`,
    `worst case ${formatCount(worst.tokensPerMinute, 'token')} a minute of 1200, ${worst.orders === 'unbounded' ? 'unbounded orders' : formatCount(worst.orders, 'order')}${worst.notional === undefined ? '' : `, notional ${worst.notional}`}`,
    terminal.style('faint', 'steady load; not counted: reads that confirm an order or a cancel'),
    '',
  ];
  let number = 0;
  let denied = 0;
  let condition: string | undefined;
  for (const row of plan.rows) {
    if (row.when !== condition) {
      condition = row.when;
      if (condition !== undefined) lines.push(terminal.style('faint', `     if ${makePrintable(condition, 200)}`));
    }
    if (row.kind === 'note') {
      lines.push(`     ${makePrintable(row.text, 300)}`);
      continue;
    }
    number += 1;
    const body = Object.keys(row.params).length === 0 ? '' : ` ${makePrintable(formatBody(row), 600)}`;
    lines.push(
      `${String(number).padStart(3)}  ${row.method.padEnd(6)} ${row.path}${body}   ${terminal.style('faint', `${row.tokens}`)}`,
    );
    const more = [
      row.times === undefined ? '' : row.times,
      row.undo === undefined ? '' : `undo: ${row.undo}`,
      row.limits === undefined ? '' : row.limits,
    ].filter((each) => each !== '');
    if (more.length > 0) lines.push(terminal.style('faint', `       ${makePrintable(more.join('   '), 300)}`));
    if (row.denied === undefined) continue;
    denied += 1;
    lines.push(terminal.style('bad', `       would be denied: ${makePrintable(row.denied.message, 400)}`));
  }
  if (denied > 0) lines.push('', terminal.style('bad', `${formatCount(denied, 'request')} would be denied`));
  lines.push('', `plan hash ${plan.hash}`);
  return lines.join('\n');
}

function formatValue(value: Value): string {
  if (value instanceof Time) return String(toJson(value));
  const json = toJson(value);
  return typeof json === 'string' ? json : JSON.stringify(json);
}

/** The body in wire form: numbers bare, texts quoted. */
function formatBody(row: PlannedRequest): string {
  const { parameters } = getEndpoint(`${row.method} ${row.path}` as EndpointName);
  const fields = Object.entries(row.params).map(([name, text]) => {
    const type = parameters[name]?.type;
    const bare =
      (type === 'decimal' || type === 'integer' || type === 'timestamp' || type === 'boolean') &&
      /^(-?\d+(\.\d+)?|true|false)$/.test(text);
    return `${JSON.stringify(name)}:${bare ? text : JSON.stringify(text)}`;
  });
  return `{${fields.join(',')}}`;
}

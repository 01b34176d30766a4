/** `runbook plan`: prints what a run would send; sends nothing. */

import { isDeepStrictEqual } from 'node:util';
import { EXIT, type ExitCode } from '../../app/errors.ts';
import { readFixtureFile } from '../../app/files/fixture.ts';
import { inputValues, loadRunbook } from '../../app/files/load.ts';
import { readProfileFile } from '../../app/files/profile.ts';
import { makePlanDocument, noteUnchecked, planFor } from '../../app/plan.ts';
import { Decimal } from '../../base/decimal.ts';
import { formatCount } from '../../base/format.ts';
import { makePrintable } from '../../base/printable.ts';
import type { CheckedRunbook } from '../../runbook/checked.ts';
import { writeRatio } from '../../runbook/expression/literals.ts';
import type { LimitVerdict, Plan, PlannedRequest, PlanRow, PlanSection } from '../../runbook/plan/plan.ts';
import { LOST_ANSWER } from '../../runbook/steps/confirming.ts';
import { Time, toJson, type Value } from '../../runbook/values.ts';
import { type EndpointName, getEndpoint } from '../../venue/catalogue.ts';
import type { Given } from '../actions/actions.ts';
import type { Invocation } from '../invocation.ts';
import type { Output } from '../terminal/output.ts';

export async function planFile(options: Given<'plan'>, { terminal }: Invocation): Promise<ExitCode> {
  const fixture = options.fixtures === undefined ? undefined : readFixtureFile(options.fixtures).fixture;
  const profile = options.profile === undefined ? undefined : readProfileFile(options.profile, terminal);
  const loaded = loadRunbook(options.file, terminal, profile);
  const inputs = inputValues(loaded.runbook, { pairs: options.input, file: options.inputs, recorded: fixture?.inputs });
  if (profile !== undefined) noteUnchecked(profile, terminal);
  const plan = planFor(loaded.runbook, inputs, { profile, fixture, now: fixture?.startMs ?? Date.now() });
  terminal.answer(makePlanDocument(plan), () => formatPlan(loaded.runbook, inputs, plan, terminal));
  return EXIT.done;
}

/** The terms of an order: what they depend on is shown also where nothing says what they would be now. */
const TERMS: ReadonlySet<string> = new Set(['price', 'trigger_price', 'size', 'side']);

/** As it can be given again. */
function formatInput({ inputs }: CheckedRunbook, name: string, value: Value): string {
  const declared = inputs.find((input) => input.name === name);
  const ratio = value instanceof Decimal && declared !== undefined ? writeRatio(declared.typeText, value) : undefined;
  return ratio ?? formatValue(value);
}

/** Formats the plan for people. */
export function formatPlan(
  runbook: CheckedRunbook,
  inputs: Readonly<Record<string, Value>>,
  plan: Plan,
  terminal: Output,
): string {
  const given = Object.entries(inputs).map(([name, value]) => `${name}=${formatInput(runbook, name, value)}`);
  const listing = new Listing(terminal);
  const { rows, sections, hash } = plan;
  return [
    `${terminal.style('strong', `plan ${runbook.name}`)}  ${makePrintable(given.join(' '), 400)}`,
    ...formatBounds(plan),
    '',
    ...listing.list(rows),
    ...sections.filter(isShown).flatMap(({ when, kind, rows: listed, limits }) => [
      '',
      terminal.style('strong', makePrintable(when, 200)),
      // The look-ups are the same after every order that is placed; --json has each.
      ...(kind === 'doubt'
        ? [
            terminal.style(
              'faint',
              '     look-ups until its fate is known, then a cancel where no record shows it in time',
            ),
          ]
        : listing.list(listed)),
      ...formatLimits(limits.filter((limit) => !plan.limits.some((each) => isDeepStrictEqual(each, limit)))).map(
        (line) => terminal.style('bad', `     ${line}`),
      ),
    ]),
    ...(listing.denied > 0
      ? ['', terminal.style('bad', `${formatCount(listing.denied, 'request')} would be denied`)]
      : []),
    '',
    `plan hash ${hash}`,
  ].join('\n');
}

/** Of the sections about lost answers, those after an order is placed; in the others an order is only read by another name. */
function isShown({ kind, rows }: PlanSection): boolean {
  return kind === 'failure' || rows.some((row) => row.kind === 'request' && row.when === LOST_ANSWER);
}

/** The bounds that hold for every run, with and without failures. */
function formatBounds({ bounds, pathTokensPerMinute, limits }: Plan): readonly string[] {
  const { orders, notional, exposure, tokensPerMinute } = bounds;
  const most = [
    orders.max === undefined ? 'no bound on orders' : `at most ${formatCount(orders.max, 'order')}`,
    notional.max === undefined ? 'no bound on their notional' : `notional ${notional.max}`,
    ...Object.entries(exposure).map(([market, { max }]) => {
      const where = market === '' ? 'a market that only the run will know' : makePrintable(market, 60);
      return max === undefined ? `no bound on the position in ${where}` : `${where} position worth ${max}`;
    }),
  ];
  const path = [...new Set([...(orders.path ?? []), ...(notional.path ?? [])])];
  return [
    `${most.join(', ')}${path.length === 0 ? '' : makePrintable(` (${path.join('; ')})`, 300)}`,
    `at most ${formatCount(pathTokensPerMinute, 'token')} in a minute without failures, ${tokensPerMinute.max ?? 'any number'} with them`,
    ...formatLimits(limits),
  ];
}

function formatLimits(limits: readonly LimitVerdict[]): readonly string[] {
  return limits.flatMap(({ limit, verdict, value, atLeast, max }) =>
    verdict === 'exceeded'
      ? [`${limit} may deny requests: up to ${value ?? 'any number'} of ${max}`]
      : atLeast === true
        ? [`${limit} may deny requests where the market is above the price of a short: at least ${value} of ${max}`]
        : [],
  );
}

/** Numbers requests through all parts of a plan, and counts those that would be denied. */
class Listing {
  denied = 0;
  private number = 0;
  private readonly terminal: Output;

  constructor(terminal: Output) {
    this.terminal = terminal;
  }

  list(rows: readonly PlanRow[]): readonly string[] {
    let condition: string | undefined;
    return rows.flatMap((row) => {
      if (row.kind === 'request' && row.beside === true) return [this.formatBeside(row, condition)];
      const lines: string[] = [];
      if (row.when !== condition) {
        condition = row.when;
        if (condition !== undefined)
          lines.push(this.terminal.style('faint', `     if ${makePrintable(condition, 200)}`));
      }
      return [...lines, ...(row.kind === 'note' ? [`     ${makePrintable(row.text, 300)}`] : this.formatRequest(row))];
    });
  }

  /** One line for a read or a heartbeat beside what the author wrote; its own condition alone. */
  private formatBeside({ method, path, when, times, tokens }: PlannedRequest, condition: string | undefined): string {
    const own =
      condition !== undefined && when?.startsWith(`${condition} && `) ? when.slice(condition.length + 4) : when;
    const words = [own === undefined || own === condition ? '' : `if ${own}`, times ?? ''].filter(
      (each) => each !== '',
    );
    return this.terminal.style(
      'faint',
      `     + ${method} ${path}   ${makePrintable(words.join(', '), 200)}   ${tokens}`,
    );
  }

  private formatRequest(row: PlannedRequest): readonly string[] {
    const { terminal } = this;
    this.number += 1;
    const body = Object.keys(row.params).length === 0 ? '' : ` ${makePrintable(formatBody(row), 600)}`;
    const more = [
      row.times ?? '',
      row.undo === undefined ? '' : `undo: ${row.undo}`,
      row.limits ?? '',
      ...Object.entries(row.unknown ?? {}).flatMap(([name, { from, about }]) =>
        about !== undefined ? [`${name} = ${from}, about ${about}`] : TERMS.has(name) ? [`${name} = ${from}`] : [],
      ),
    ].filter((each) => each !== '');
    if (row.denied !== undefined) this.denied += 1;
    return [
      `${String(this.number).padStart(3)}  ${row.method.padEnd(6)} ${row.path}${body}   ${terminal.style('faint', `${row.tokens}`)}`,
      ...(more.length > 0 ? [terminal.style('faint', `       ${makePrintable(more.join('   '), 300)}`)] : []),
      ...(row.denied === undefined
        ? []
        : [terminal.style('bad', `       would be denied: ${makePrintable(row.denied.message, 400)}`)]),
    ];
  }
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

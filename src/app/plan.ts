/** `runbook plan`: what a run would send, printed or as a document. */
import { VirtualClock } from '../base/clock.ts';
import { printable } from '../base/printable.ts';
import { type Plan, type PlannedRequest, planRun } from '../engine/plan/plan.ts';
import type { Fixture } from '../gateway/fixture/fixture.ts';
import { Simulator } from '../gateway/simulator/simulator.ts';
import { worstCase } from '../runbook/bounds.ts';
import type { CheckedRunbook } from '../runbook/checked.ts';
import { Time, type Value, valueJson } from '../runbook/values.ts';
import { type EndpointName, endpoint } from '../venue/catalogue.ts';
import type { MarketRules } from '../venue/port.ts';
import { costOf, type Profile, SIMULATED_PROFILE } from '../venue/profile/profile.ts';
import { readAnswer } from '../venue/wire/answer.ts';
import type { Invocation } from './context.ts';
import { EXIT, type ExitCode } from './errors.ts';
import { readFixtureFile } from './files/fixture.ts';
import { inputValues, loadRunbook } from './files/load.ts';
import { readProfileFile } from './files/profile.ts';
import type { Output } from './voice.ts';

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
  const worst = worstCase(loaded.runbook, (name) => costOf(profile ?? SIMULATED_PROFILE, name), inputs);
  terminal.answer(planDocument(plan, worst), () => printPlan(loaded.runbook, inputs, plan, worst, terminal));
  return EXIT.done;
}

/** Said before orders go that nothing here can check: a venue may round them, or refuse them one by one. */
export function noteUnchecked({ markets }: Profile, terminal: Pick<Output, 'note'>): void {
  if (Object.keys(markets).length === 0)
    terminal.note(
      'warning: the profile names no markets, so prices and sizes are not checked against ticks and lots; add `markets` to it',
    );
}

export type Worst = ReturnType<typeof worstCase>;

/** A plan against a profile, a fixture or the simulated venue's markets, whichever is given. */
export function planFor(
  runbook: CheckedRunbook,
  inputs: Readonly<Record<string, Value>>,
  context: { readonly profile?: Profile | undefined; readonly fixture?: Fixture | undefined; readonly now: number },
): Plan {
  const { profile, fixture, now } = context;
  const used = profile ?? SIMULATED_PROFILE;
  const markets: Readonly<Record<string, MarketRules>> =
    profile?.markets ?? fixture?.markets ?? new Simulator({}, new VirtualClock(0), 1).markets;
  return planRun({
    runbook,
    inputs,
    now,
    market: (id) => (Object.hasOwn(markets, id) ? markets[id] : undefined),
    markets: Object.keys(markets),
    feed: (name, key) =>
      fixture?.feeds.find((feed) => feed.name === name && (feed.key === key || key === undefined))?.value,
    read: (name) => (fixture === undefined ? undefined : recordedResult(fixture, name, used)),
    costOf: (name) => costOf(used, name),
    limits: profile?.limits,
    deployment: profile === undefined ? '' : `${profile.baseUrl} ${profile.account}`,
  });
}

/** What the first recorded exchange of a read gave. */
function recordedResult(fixture: Fixture, name: EndpointName, profile: Profile): unknown {
  const { method, path } = endpoint(name);
  const exchange = fixture.exchanges.find(({ request }) => request.method === method && request.path === path);
  if (exchange?.reply.kind !== 'answer') return undefined;
  const verdict = readAnswer(name, exchange.reply, profile);
  return verdict.kind === 'confirmed' ? verdict.result : undefined;
}

/** The JSON of interface.md: requests and the worst case. */
export function planDocument(plan: Plan, worst: Worst) {
  const requests = plan.rows
    .filter((row): row is PlannedRequest => row.kind === 'request')
    .map(({ kind: _kind, ...row }) => row);
  return {
    hash: plan.hash,
    requests,
    worstCase: {
      tokensPerMinute: worst.tokensPerMinute,
      orders: worst.orders,
      ...(worst.notional === undefined ? {} : { notional: worst.notional }),
    },
  };
}

export function printPlan(
  runbook: CheckedRunbook,
  inputs: Readonly<Record<string, Value>>,
  plan: Plan,
  worst: Worst,
  terminal: Output,
): string {
  const given = Object.entries(inputs).map(([name, value]) => `${name}=${shown(value)}`);
  const lines = [
    `${terminal.style('strong', `plan ${runbook.name}`)}  ${printable(given.join(' '), 400)}`,
    `worst case ${worst.tokensPerMinute} tokens a minute of 1200, ${worst.orders} orders${worst.notional === undefined ? '' : `, notional ${worst.notional}`}`,
    terminal.style('faint', 'steady load; reads that confirm an order or a cancel come on top, and are not listed'),
    '',
  ];
  let number = 0;
  let denied = 0;
  let condition: string | undefined;
  for (const row of plan.rows) {
    if (row.when !== condition) {
      condition = row.when;
      if (condition !== undefined) lines.push(terminal.style('faint', `     if ${printable(condition, 200)}`));
    }
    if (row.kind === 'note') {
      lines.push(`     ${printable(row.text, 300)}`);
      continue;
    }
    number += 1;
    const body = Object.keys(row.params).length === 0 ? '' : ` ${printable(bodyText(row), 600)}`;
    lines.push(
      `${String(number).padStart(3)}  ${row.method.padEnd(6)} ${row.path}${body}   ${terminal.style('faint', `${row.tokens}`)}`,
    );
    const more = [
      row.times === undefined ? '' : row.times,
      row.undo === undefined ? '' : `undo: ${row.undo}`,
      row.limits === undefined ? '' : row.limits,
    ].filter((each) => each !== '');
    if (more.length > 0) lines.push(terminal.style('faint', `       ${printable(more.join('   '), 300)}`));
    if (row.denied === undefined) continue;
    denied += 1;
    lines.push(terminal.style('bad', `       would be denied: ${printable(row.denied.message, 400)}`));
  }
  if (denied > 0)
    lines.push('', terminal.style('bad', `${denied} ${denied === 1 ? 'request' : 'requests'} would be denied`));
  lines.push('', `plan hash ${plan.hash}`);
  return lines.join('\n');
}

function shown(value: Value): string {
  if (value instanceof Time) return String(valueJson(value));
  const json = valueJson(value);
  return typeof json === 'string' ? json : JSON.stringify(json);
}

/** The body as it would go on the wire: numbers bare, texts quoted. */
function bodyText(row: PlannedRequest): string {
  const { parameters } = endpoint(`${row.method} ${row.path}` as EndpointName);
  const fields = Object.entries(row.params).map(([name, text]) => {
    const type = parameters[name]?.type;
    const bare =
      (type === 'decimal' || type === 'integer' || type === 'timestamp' || type === 'boolean') &&
      /^(-?\d+(\.\d+)?|true|false)$/.test(text);
    return `${JSON.stringify(name)}:${bare ? text : JSON.stringify(text)}`;
  });
  return `{${fields.join(',')}}`;
}

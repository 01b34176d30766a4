/** `runbook audit show --why`: shows how a step decided: its expressions, the values they read, the results, and its requests. */

import { EXIT, type ExitCode } from '../../app/errors.ts';
import { isIteration, isOwn, isWithin, makeNoStepError } from '../../app/stores/find-step.ts';
import { formatList } from '../../base/format.ts';
import type { Entry, EntryOf, Json, JsonObject } from '../../journal/entry.ts';
import { readEntries } from '../../journal/reading.ts';
import type { JournalReader, RunRow } from '../../journal/store.ts';
import { ApprovalFold, type ApprovalRow } from '../../report/folds/approvals.ts';
import { formatIsoTime, formatJson, formatText, pickRead } from '../../report/format.ts';
import type { Output, Style } from '../terminal/output.ts';
import { OUTCOME_STYLE } from './list.ts';

/** Entry types that show how a step decided. */
const DECISIVE_TYPES = [
  'step.decided',
  'step.ended',
  'call.checked',
  'call.intended',
  'approval.asked',
  'operator.acted',
] as const satisfies readonly Entry['type'][];
type DecisiveEntry = EntryOf<(typeof DECISIVE_TYPES)[number]> & Entry;
interface Found {
  readonly entry: DecisiveEntry;
  /** The step it belongs to. */
  readonly step: string;
}

function describePlace({ seq, at, step }: Pick<Entry, 'seq' | 'at' | 'step'>) {
  return { sequence: seq, at: formatIsoTime(at), step };
}

export async function explainStep(
  store: JournalReader,
  run: RunRow,
  named: string,
  terminal: Output,
): Promise<ExitCode> {
  const steps = new Set<string>();
  const approvals = new ApprovalFold();
  const own: Found[] = [];
  const within: Found[] = [];
  for await (const entry of readEntries(store, run.run)) {
    approvals.apply(entry);
    if (entry.step !== '') steps.add(entry.step);
    // A person's answer belongs to the step it answers.
    const step = entry.type === 'operator.acted' ? approvals.answeredBy(entry.seq) : entry.step;
    if (!isDecisive(entry) || step === undefined) continue;
    if (isOwn(step, named)) own.push({ entry, step });
    else if (isIteration(named) && isWithin(step, named)) within.push({ entry, step });
  }
  // An iteration decides nothing itself: the steps inside it do.
  const found = own.length > 0 ? own : within;
  if (found.length === 0) throw makeNoStepError(named, run.run, steps);
  const entries = found.map(({ entry }) => entry);
  const decisions = entries.filter((entry) => entry.type === 'step.decided');
  const document = {
    run: run.run,
    step: named,
    decisions: decisions.map(({ data, ...entry }) => ({
      ...describePlace(entry),
      what: data.what,
      expression: data.expression,
      inputs: pickRead(data.expression, data.inputs),
      value: data.value,
    })),
    calls: entries
      .filter((entry) => entry.type === 'call.intended')
      .map(({ data: { endpoint, params }, ...entry }) => ({ ...describePlace(entry), endpoint, params })),
    ends: entries
      .filter((entry) => entry.type === 'step.ended')
      .map(({ data: { outcome, error }, ...entry }) => ({
        ...describePlace(entry),
        outcome,
        ...(error === undefined ? {} : { error: { kind: error.kind, message: error.message } }),
      })),
  };
  const asked = approvals.approvals().filter(({ seq }) => entries.some((entry) => entry.seq === seq));
  const questions = asked.length === 0 ? {} : { approvals: asked.map(makeApprovalDocument) };
  terminal.answer({ ...document, ...questions }, () =>
    found.map((each) => explainEntry(each, asked, terminal)).join('\n'),
  );
  return EXIT.done;
}

function makeApprovalDocument({ seq, step, ask, by, askedAt, until, plan, answer }: ApprovalRow) {
  return {
    sequence: seq,
    at: formatIsoTime(askedAt),
    step,
    ask,
    asks: by,
    until: formatIsoTime(until),
    plan,
    ...(answer === undefined ? {} : { answer: { ...answer, at: formatIsoTime(answer.at) } }),
  };
}

function isDecisive(entry: Entry): entry is DecisiveEntry {
  const types: readonly Entry['type'][] = DECISIVE_TYPES;
  return types.includes(entry.type);
}

function explainEntry({ entry, step }: Found, approvals: readonly ApprovalRow[], terminal: Output): string {
  const when = terminal.style('faint', `${formatIsoTime(entry.at)}  ${formatText(step)}`);
  switch (entry.type) {
    case 'step.decided': {
      const { what, expression, inputs, value } = entry.data;
      const style: Style = value === true ? 'good' : value === false ? 'warning' : 'place';
      return [
        `${when}\n  ${formatText(what)} ${terminal.style('place', formatText(expression))} is ${terminal.style(style, formatJson(value))}`,
        ...formatValues(pickRead(expression, inputs), terminal),
      ].join('\n');
    }
    case 'call.intended':
      return [
        `${when}\n  asks the venue: ${terminal.style('strong', formatText(entry.data.endpoint))}`,
        ...formatValues(entry.data.params, terminal),
      ].join('\n');
    case 'call.checked':
      return [`${when}\n  within the limits`, ...formatValues(entry.data.limits, terminal)].join('\n');
    case 'step.ended': {
      const { outcome, error } = entry.data;
      const why = error === undefined ? '' : `: ${formatText(error.kind)}: ${formatText(error.message)}`;
      return `${when}\n  ${terminal.style(OUTCOME_STYLE[outcome] ?? 'faint', outcome)}${why}`;
    }
    case 'approval.asked': {
      const { ask, by, until } = entry.data;
      return `${when}\n  asks ${formatText(formatList(by, 'or'))}: ${terminal.style('place', formatText(ask))}, until ${formatIsoTime(until)}${formatPlan(entry.data.plan)}`;
    }
    case 'operator.acted': {
      const { command, by, reason } = entry.data;
      const plan = approvals.find(({ answer, step: asked }) => asked === step && answer?.at === entry.at)?.plan ?? '';
      const style: Style = command === 'approve' ? 'good' : 'bad';
      return `${when}\n  ${terminal.style(style, formatText(command))} by ${terminal.style('strong', formatText(by))}${reason === undefined ? '' : `: ${formatText(reason)}`}${formatPlan(plan)}`;
    }
    default:
      return entry satisfies never;
  }
}

function formatPlan(plan: string): string {
  return plan === '' ? '' : `, for plan ${formatText(plan)}`;
}

function formatValues(fields: JsonObject, terminal: Output): readonly string[] {
  return Object.entries(fields).map(
    ([name, value]: [string, Json]) => `    ${terminal.style('faint', formatText(name))} = ${formatJson(value)}`,
  );
}

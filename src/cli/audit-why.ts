/** `runbook audit show --why`: how a step decided: its expressions, what they read, what came out, and what it asked of the venue. */
import type { EntryOf, Json, JsonObject } from '../journal/entry.ts';
import type { JournalReader, RunRow } from '../journal/store.ts';
import { isoTime } from '../report/run.ts';
import { jsonText, readBy, shown } from '../report/wording.ts';
import { OUTCOME_STYLE } from './audit-list.ts';
import { EXIT, type ExitCode } from './exit.ts';
import { entriesOf } from './journal-file.ts';
import { isOwn, noStep } from './step-names.ts';
import type { Style, Terminal } from './terminal.ts';

export async function explainStep(
  store: JournalReader,
  run: RunRow,
  named: string,
  terminal: Terminal,
): Promise<ExitCode> {
  const steps = new Set<string>();
  const found: (
    | EntryOf<'step.decided'>
    | EntryOf<'step.ended'>
    | EntryOf<'call.checked'>
    | EntryOf<'call.intended'>
  )[] = [];
  for await (const entry of entriesOf(store, run.run)) {
    if (entry.step !== '') steps.add(entry.step);
    const tells =
      entry.type === 'step.decided' ||
      entry.type === 'step.ended' ||
      entry.type === 'call.checked' ||
      entry.type === 'call.intended';
    if (tells && isOwn(entry.step, named)) found.push(entry);
  }
  if (found.length === 0) throw noStep(named, run.run, steps);
  const decisions = found.filter((entry) => entry.type === 'step.decided');
  const document = {
    run: run.run,
    step: named,
    decisions: decisions.map(({ seq, at, step, data }) => ({
      sequence: seq,
      at: isoTime(at),
      step,
      what: data.what,
      expression: data.expression,
      inputs: readBy(data.expression, data.inputs),
      value: data.value,
    })),
    calls: found.flatMap((entry) =>
      entry.type === 'call.intended'
        ? [
            {
              sequence: entry.seq,
              at: isoTime(entry.at),
              step: entry.step,
              endpoint: entry.data.endpoint,
              params: entry.data.params,
            },
          ]
        : [],
    ),
    ends: found.flatMap((entry) =>
      entry.type === 'step.ended'
        ? [
            {
              sequence: entry.seq,
              at: isoTime(entry.at),
              step: entry.step,
              outcome: entry.data.outcome,
              ...(entry.data.error === undefined
                ? {}
                : { error: { kind: entry.data.error.kind, message: entry.data.error.message } }),
            },
          ]
        : [],
    ),
  };
  terminal.answer(document, () => found.map((entry) => explained(entry, terminal)).join('\n'));
  return EXIT.done;
}

function explained(
  entry: EntryOf<'step.decided'> | EntryOf<'step.ended'> | EntryOf<'call.checked'> | EntryOf<'call.intended'>,
  terminal: Terminal,
): string {
  const when = terminal.style('faint', `${isoTime(entry.at)}  ${shown(entry.step)}`);
  switch (entry.type) {
    case 'step.decided': {
      const { what, expression, inputs, value } = entry.data;
      const style: Style = value === true ? 'good' : value === false ? 'warning' : 'place';
      return [
        `${when}\n  ${shown(what)} ${terminal.style('place', shown(expression))} is ${terminal.style(style, jsonText(value))}`,
        ...values(readBy(expression, inputs), terminal),
      ].join('\n');
    }
    case 'call.intended':
      return [
        `${when}\n  asks the venue: ${terminal.style('strong', shown(entry.data.endpoint))}`,
        ...values(entry.data.params, terminal),
      ].join('\n');
    case 'call.checked':
      return [`${when}\n  within the limits`, ...values(entry.data.limits, terminal)].join('\n');
    case 'step.ended': {
      const { outcome, error } = entry.data;
      const why = error === undefined ? '' : `: ${shown(error.kind)}: ${shown(error.message)}`;
      return `${when}\n  ${terminal.style(OUTCOME_STYLE[outcome] ?? 'faint', outcome)}${why}`;
    }
    default:
      return entry satisfies never;
  }
}

function values(fields: JsonObject, terminal: Terminal): readonly string[] {
  return Object.entries(fields).map(
    ([name, value]: [string, Json]) => `    ${terminal.style('faint', shown(name))} = ${jsonText(value)}`,
  );
}

/**
 * Checks the schedule block of a runbook: zones, cron expressions, windows and inputs. schedule/schedule.ts computes when the
 * slots are due, schedule/collisions.ts which of them collide.
 */
import { omitUndefined } from '../../base/json.ts';
import { loadCroner, loadLuxon } from '../calendar.ts';
import type { InputDeclaration, ScheduleDeclaration } from '../checked.ts';
import type { MapNode, Node } from '../document/nodes.ts';
import { readLiteral } from '../expression/expression.ts';
import { Duration, type Value } from '../values.ts';
import type { Checking } from './checking.ts';
import { getScalarText, readLiteralDuration, readLiteralTime } from './declarations.ts';
import { describeUnknownInput, findViolation, formatValue } from './inputs.ts';

/** A minute covers a busy engine; an engine that was down for longer needs a misfire policy chosen by the author. */
const DEFAULT_MISFIRE = { within: new Duration(60_000), then: 'run_once' } as const;

/** Each decision is written to disk first; anything more frequent belongs in one run with a loop. */
const SHORTEST_EVERY_MS = 1_000;

export function checkSchedule(
  checking: Checking,
  node: Node | undefined,
  inputs: readonly InputDeclaration[],
  runbook: string,
): readonly ScheduleDeclaration[] {
  if (node === undefined || checking.compiler.isFaulty(node)) return [];
  const entries = node.kind === 'list' ? node.items : [node];
  return entries.flatMap((entry, index) =>
    entry.kind === 'map' && !checking.compiler.isFaulty(entry)
      ? [checkSlot(checking, entry, String(index), inputs, runbook)].flatMap((each) => each ?? [])
      : [],
  );
}

function checkSlot(
  checking: Checking,
  node: MapNode,
  name: string,
  inputs: readonly InputDeclaration[],
  runbook: string,
): ScheduleDeclaration | undefined {
  const from = readLiteralTime(checking, node.get('from'));
  const to = readLiteralTime(checking, node.get('to'));
  if (from !== undefined && to !== undefined && from.us >= to.us)
    checking.report(
      node.get('to') ?? node,
      'schedule-window',
      `to ${formatValue(to)} is not after from ${formatValue(from)}`,
    );
  const zone = checkZone(checking, node.get('tz'));
  const when = readWhen(checking, node, zone);
  const values = readInputValues(checking, node, inputs, runbook);
  const jitter = readLiteralDuration(checking, node.get('jitter'));
  const misfire = node.get('misfire');
  const within = misfire?.kind === 'map' ? readLiteralDuration(checking, misfire.get('within')) : undefined;
  const then = misfire?.kind === 'map' ? getScalarText(misfire.get('then')) : undefined;
  const overlap = getScalarText(node.get('overlap'));
  const dst = node.get('dst');
  const readRule = (key: string): string | undefined => (dst?.kind === 'map' ? getScalarText(dst.get(key)) : undefined);
  if (when === undefined) return undefined;
  return {
    slot: name,
    when,
    misfire:
      misfire === undefined
        ? DEFAULT_MISFIRE
        : { within: within ?? DEFAULT_MISFIRE.within, then: then === 'skip' || then === 'run_all' ? then : 'run_once' },
    overlap: overlap === 'queue' || overlap === 'replace' ? overlap : 'skip',
    dst: {
      gap: readRule('gap') === 'skip' ? 'skip' : 'next_valid',
      overlap: readRule('overlap') === 'both' ? 'both' : 'first',
    },
    inputs: values,
    span: node.span,
    ...omitUndefined({
      jitter,
      from,
      to,
      paper: getScalarText(node.get('paper')) === 'true' ? (true as const) : undefined,
    }),
  };
}

function readWhen(
  checking: Checking,
  node: MapNode,
  zone: string | undefined,
): ScheduleDeclaration['when'] | undefined {
  const cron = node.get('cron');
  if (cron !== undefined) {
    const text = getScalarText(cron) ?? '';
    return !checking.compiler.isFaulty(cron) && checkCron(checking, cron, text) && zone !== undefined
      ? { kind: 'cron', cron: text, tz: zone }
      : undefined;
  }
  const every = node.get('every');
  if (every !== undefined) {
    const length = readLiteralDuration(checking, every);
    if (length !== undefined && length.ms <= 0)
      checking.report(every, 'duration-not-positive', `every must be longer than 0s, found ${formatValue(length)}`);
    else if (length !== undefined && length.ms < SHORTEST_EVERY_MS)
      checking.report(every, 'schedule-every', `every must be at least 1s, found ${formatValue(length)}`);
    return length && { kind: 'every', every: length };
  }
  const at = readLiteralTime(checking, node.get('at'));
  return at && { kind: 'at', at, ...omitUndefined({ tz: zone }) };
}

/** Start of the search for a matching date: in a leap year, so that 29 February is found. */
const SEARCHED_FROM = new Date(Date.UTC(2024, 0, 1));

function checkCron(checking: Checking, at: Node, text: string): boolean {
  if (text.trim().split(/\s+/).length !== 5) {
    checking.report(
      at,
      'schedule-cron',
      `a cron expression has five fields (minute, hour, day, month, weekday), found ${JSON.stringify(text)}`,
      text.trim().split(/\s+/).length === 6 ? 'Leave the seconds out.' : 'Write all five, such as "30 21 * * 1-5".',
    );
    return false;
  }
  try {
    const pattern = new (loadCroner().Cron)(text, { timezone: 'UTC', mode: '5-part' });
    if (pattern.nextRun(SEARCHED_FROM) !== null) return true;
    checking.report(at, 'schedule-never', `no date fits ${JSON.stringify(text)}: the schedule never fires`);
  } catch (error) {
    checking.report(
      at,
      'schedule-cron',
      `${JSON.stringify(text)} is not a cron expression: ${(error as Error).message.replace(/^CronPattern: /, '')}`,
    );
  }
  return false;
}

function checkZone(checking: Checking, at: Node | undefined): string | undefined {
  if (at?.kind !== 'scalar' || checking.compiler.isFaulty(at)) return undefined;
  // Offsets and abbreviations have no daylight-saving time; a zone of the database has a slash, or is UTC.
  if (loadLuxon().IANAZone.isValidZone(at.text) && (at.text.includes('/') || at.text === 'UTC')) return at.text;
  const meant = suggestZone(at.text);
  checking.report(
    at,
    'schedule-zone',
    `${JSON.stringify(at.text)} is not a zone of the IANA database`,
    meant && `Did you mean ${meant}?`,
  );
  return undefined;
}

/** The zone of a city that is written alone, `New York`. */
function suggestZone(text: string): string | undefined {
  const city = text.trim().toLowerCase().replaceAll(/\s+/g, '_');
  return Intl.supportedValuesOf('timeZone').find((zone) => zone.toLowerCase().endsWith(`/${city}`));
}

function readInputValues(
  checking: Checking,
  node: MapNode,
  inputs: readonly InputDeclaration[],
  runbook: string,
): Readonly<Record<string, Value>> {
  const given = node.get('inputs');
  const values: Record<string, Value> = Object.create(null);
  for (const { key, keySpan, value } of given?.kind === 'map' ? given.entries : []) {
    const input = inputs.find((each) => each.name === key);
    if (input === undefined) {
      if (!checking.names.unknown.has(`inputs.${key}`))
        checking.report(
          keySpan,
          'unknown-input',
          describeUnknownInput(
            key,
            inputs.map((each) => each.name),
            runbook,
          ),
        );
      continue;
    }
    if (checking.compiler.isFaulty(value)) continue;
    const { value: read, diagnostics } = readLiteral(input.type, input.typeText, value, checking.source);
    checking.add(diagnostics);
    const problem = read === undefined ? undefined : findViolation(input, read);
    if (problem !== undefined) checking.report(value, problem.code, problem.message);
    if (read !== undefined) values[key] = read;
  }
  for (const input of inputs)
    if (!checking.defaulted.has(input.name) && (given?.kind !== 'map' || given.get(input.name) === undefined))
      checking.report(
        (node.entry('inputs') ?? node.entries[0])?.keySpan ?? node,
        'missing-input',
        `the schedule gives no value to the input ${input.name} (${input.typeText}), which has no default`,
      );
  return values;
}

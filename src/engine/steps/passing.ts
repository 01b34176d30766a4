/**
 * Lets a loop of a resumed run go on behind rounds that the record holds and that decided nothing new, without executing them. What
 * such rounds leave in the engine is what the last of them leaves: its readings, which the rounds behind it ask for again, and from the
 * record the newest reading of each feed and the values of variables. The rounds behind are executed and compared with the record.
 * Where any of this is not certain, no round is passed over.
 */
import { isSameJson } from '../../base/json.ts';
import type { PassedRounds } from '../../journal/rounds/passed-rounds.ts';
import { parseValueJson } from '../../runbook/check/inputs.ts';
import type { CheckedRunbook, CheckedStep, StepName, StepOf } from '../../runbook/checked.ts';
import { STEPS } from '../../runbook/steps/steps.ts';
import { walkSteps } from '../../runbook/steps/walk.ts';
import { toJson, type Value } from '../../runbook/values.ts';
import type { StepExecution } from './execution.ts';

/** Beside the readings: what these steps do is over with the round. */
const OVER_WITH_THE_ROUND: ReadonlySet<string> = new Set<StepName>([
  'if',
  'switch',
  'let',
  'set',
  'assert',
  'wait',
  'for_each',
  'repeat',
]);

/** Whether the rounds of a loop may be passed over, by its path and the verbs of the steps that they executed. */
export function mayPassRounds(
  { steps }: CheckedRunbook,
  { step: loop, verbs }: Pick<PassedRounds, 'step' | 'verbs'>,
): boolean {
  const path = loop.replace(/\[\d+\]/g, '');
  for (const step of walkSteps(steps)) if (step.path === path) return isPlainLoop(step) && [...verbs].every(isPlain);
  return false;
}

/** The rounds to be passed over where the record has them next; undefined where this round is executed. */
export function passRounds(execution: StepExecution<StepOf<'repeat'>>, round: number): PassedRounds | undefined {
  const { log, heartbeat, setup } = execution.run;
  const passed = log.passing?.find(execution.path, round);
  if (passed === undefined || !mayPassRounds(setup.runbook, passed)) return undefined;
  if (log.tracker.unfinished().some(({ snapshot }) => snapshot.state !== 'open')) return undefined;
  if (log.tracker.countsReadings) return undefined;
  const values = readVariables(setup.runbook, passed.variables);
  if (values === undefined) return undefined;
  if (!heartbeat.passOver(passed.heartbeats, () => log.passing?.move(passed) === true)) return undefined;
  for (const [name, value] of values) execution.frame.globals.values.set(name, value);
  for (const reading of passed.feeds) execution.run.feeds.remember(reading);
  return passed;
}

/** Variables from their values in the record; undefined where one cannot be read from it, such as an order. */
function readVariables(
  { vars }: CheckedRunbook,
  recorded: PassedRounds['variables'],
): ReadonlyMap<string, Value> | undefined {
  const types = new Map(vars.map(({ name, type }) => [name, type]));
  const values = new Map<string, Value>();
  for (const [name, json] of recorded) {
    const type = types.get(name);
    const value = type === undefined ? undefined : parseValueJson(type, json);
    if (value === undefined || !isSameJson(toJson(value), json)) return undefined;
    values.set(name, value);
  }
  return values;
}

/** A loop of a fixed pause whose own conditions wait for nothing. */
function isPlainLoop(step: CheckedStep): boolean {
  return step.verb === 'repeat' && step.args.every !== undefined && step.feeds.length === 0;
}

/** Of the readings not that of the switch: its lines look like those of heartbeats. */
function isPlain(verb: string): boolean {
  if (OVER_WITH_THE_ROUND.has(verb)) return true;
  if (verb === 'read_deadman') return false;
  const row = Object.hasOwn(STEPS, verb) ? STEPS[verb as StepName] : undefined;
  return row?.group === 'venue' && row.retry === 'read';
}

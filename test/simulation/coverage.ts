/**
 * Says which things that a drawn world can meet have been met, and which aim (drawn-world.ts) a search should choose next: the more
 * of what an aim is for was never met, the more of its seeds are run.
 */
import { MODIFIERS } from '../../src/runbook/shape/grammar.ts';
import { getStepRow, STEP_NAMES } from '../../src/runbook/steps/steps.ts';
import { DENIALS } from '../../src/venue/limits/denials.ts';
import { ORDER_STATES } from '../../src/venue/order/states.ts';
import { ORDER_EVENT_TYPES, TRANSITIONS } from '../../src/venue/order/transitions.ts';
import { AIM_NAMES, AIMS, type AimName } from './drawn-world.ts';
import type { Mix } from './mix.ts';

/** What is to be met, by the names of a mix, in groups for the report. */
const WANTED: Readonly<Record<string, readonly string[]>> = {
  'rows of the order table': ORDER_EVENT_TYPES.map((event) => `event ${event}`),
  // A cell that is the caller's mistake cannot be met.
  'cells of the order table': ORDER_EVENT_TYPES.flatMap((event) =>
    ORDER_STATES.filter((state) => TRANSITIONS[event][state] !== 'X').map((state) => `row ${event} ${state}`),
  ),
  // The bounds of the request, or the step, refuse it before a limit is asked.
  'denial codes': Object.keys(DENIALS)
    .filter((code) => !['LEVERAGE_NOT_WHOLE', 'AMEND_TARGET_UNKNOWN'].includes(code))
    .map((code) => `denied ${code}`),
  // Its endpoint is declared by a profile.
  'ends of steps': STEP_NAMES.filter((name) => name !== 'request' && name !== 'fail').flatMap((name) =>
    ['succeeded', ...(getStepRow(name).group === 'venue' ? ['failed'] : [])].map((end) => `verb ${name} ${end}`),
  ),
  'modifiers and blocks': [
    ...Object.keys(MODIFIERS).filter((name) => !['id', 'note', 'because'].includes(name)),
    'on_error',
    'finally',
  ].map((name) => `modifier ${name}`),
  'ends of runs': [
    ...['succeeded', 'failed', 'stopped', 'halted'].map((outcome) => `run ${outcome}`),
    ...['none', 'protected', 'open'].flatMap((leaves) => [`left ${leaves} ok`, `left ${leaves} more`]),
  ].filter((name) => name !== 'left open more'),
};

interface Coverage {
  readonly name: string;
  readonly of: number;
  readonly met: number;
  readonly never: readonly string[];
}

export function measureCoverage(mix: Mix): readonly Coverage[] {
  return Object.entries(WANTED).map(([name, wanted]) => {
    const never = wanted.filter((each) => mix[each] === undefined);
    return { name, of: wanted.length, met: wanted.length - never.length, never };
  });
}

/** A line for each group, with what was never met. */
export function describeCoverage(mix: Mix): readonly string[] {
  return measureCoverage(mix).map(({ name, of, met, never }) => {
    return `${name}: ${met} of ${of} met${never.length === 0 ? '' : `; never met: ${listShortly(never)}`}`;
  });
}

/** `AMEND draft open, CANCEL draft`: each name without that of its kind, and what they begin with once. */
function listShortly(names: readonly string[]): string {
  const byFirst = new Map<string, string[]>();
  for (const name of names) {
    const [, first = '', ...rest] = name.split(' ');
    byFirst.set(first, [...(byFirst.get(first) ?? []), ...rest]);
  }
  return [...byFirst].map((words) => words.flat().join(' ')).join(', ');
}

/** How many seeds of each aim a portion should have, in proportion to what it could still meet. */
export function weighAims(mix: Mix): Readonly<Record<AimName, number>> {
  const never = Object.values(WANTED)
    .flat()
    .filter((name) => mix[name] === undefined);
  const weigh = (aim: AimName) => 3 + never.filter((name) => AIMS[aim].meets.test(name)).length;
  return Object.fromEntries(AIM_NAMES.map((aim) => [aim, weigh(aim)])) as Record<AimName, number>;
}

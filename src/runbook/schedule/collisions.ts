/**
 * Finds slots that are due at the same instant under the same concurrency key, within a runbook and across runbooks. Compares
 * nominal instants only: the length of a run is not known in advance.
 */
import type { CheckedRunbook, ScheduleDeclaration } from '../checked.ts';
import { EvaluationFailure, NotKnown, type Scope, type Value } from '../values.ts';
import { type Occurrence, walkOccurrences } from './schedule.ts';

/** A slot with its runbook and concurrency key: one row of the scheduler's timetable. */
export interface ScheduledSlot {
  readonly runbook: string;
  readonly declaration: ScheduleDeclaration;
  /** Absent if runs of the runbook have no key, or a key that is not known before they start. */
  readonly concurrency?: { readonly key: string; readonly onBusy: 'queue' | 'skip' | 'fail' };
}

type KeyedRunbook = Pick<CheckedRunbook, 'name' | 'inputs' | 'schedule' | 'concurrency'>;

/** The slots of a runbook with their evaluated concurrency keys. */
export function listScheduledSlots(runbook: KeyedRunbook): readonly ScheduledSlot[] {
  return runbook.schedule.map((declaration) => {
    const concurrency = evaluateConcurrency(runbook, getSlotInputs(runbook, declaration), declaration);
    return { runbook: runbook.name, declaration, ...(concurrency && { concurrency }) };
  });
}

/** The inputs of a slot's runs: the defaults, overridden by the values of the schedule. */
export function getSlotInputs(
  { inputs }: Pick<CheckedRunbook, 'inputs'>,
  declaration: ScheduleDeclaration,
): Readonly<Record<string, Value>> {
  const values: Record<string, Value> = Object.create(null);
  for (const input of inputs) values[input.name] = input.default;
  return Object.assign(values, declaration.inputs);
}

/**
 * The key of a run with these inputs; undefined if it depends on more than the inputs. A run on paper has a key of its own: a
 * live run never waits for one.
 */
export function evaluateConcurrency(
  { concurrency }: Pick<CheckedRunbook, 'concurrency'>,
  inputs: Readonly<Record<string, Value>>,
  { paper }: Pick<ScheduleDeclaration, 'paper'> = {},
): ScheduledSlot['concurrency'] {
  if (concurrency === undefined || concurrency.key.reads.some((root) => root !== 'inputs')) return undefined;
  const scope: Scope = { get: (root) => (root === 'inputs' ? inputs : undefined), rules: () => undefined };
  try {
    const key = concurrency.key.evaluate(scope);
    return { key: paper ? `${key} on paper` : key, onBusy: concurrency.onBusy };
  } catch (error) {
    if (error instanceof EvaluationFailure || error instanceof NotKnown) return undefined;
    throw error;
  }
}

export interface Collision {
  /** In the order of the slots given. */
  readonly first: ScheduledSlot;
  readonly second: ScheduledSlot;
  readonly key: string;
  /** Their first common instant in the range. */
  readonly occurrence: Occurrence;
}

/** The most occurrences compared for a pair: two dense schedules over a year would take seconds, and have met long before. */
const MOST_COMPARED = 20_000;

/** Every pair of slots that collides in the range, with the first collision. */
export function findCollisions(
  slots: readonly ScheduledSlot[],
  range: { readonly fromMs: number; readonly toMs: number },
): readonly Collision[] {
  return slots.flatMap((second, index) =>
    slots.slice(0, index).flatMap((first) => {
      const key = first.concurrency?.key;
      if (key === undefined || key !== second.concurrency?.key) return [];
      const occurrence = findFirstMeeting(first.declaration, second.declaration, range);
      return occurrence === undefined ? [] : [{ first, second, key, occurrence }];
    }),
  );
}

function findFirstMeeting(
  first: ScheduleDeclaration,
  second: ScheduleDeclaration,
  { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
): Occurrence | undefined {
  const one = walkOccurrences(first, fromMs, toMs);
  const other = walkOccurrences(second, fromMs, toMs);
  let a = one.next().value;
  let b = other.next().value;
  for (let compared = 0; a && b && compared < MOST_COMPARED; compared += 1) {
    if (a.nominalMs === b.nominalMs) return b;
    if (a.nominalMs < b.nominalMs) a = one.next().value;
    else b = other.next().value;
  }
  return undefined;
}

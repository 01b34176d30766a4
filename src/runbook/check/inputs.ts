/**
 * Compares values for a runbook's inputs with their declarations: defaults and schedules during the check, `--input` and the
 * caller's `with` before a run. Reports every problem.
 */

import { Decimal, parseDecimal } from '../../base/decimal.ts';
import { isRecord } from '../../base/json.ts';
import { suggestSpelling } from '../../base/spelling.ts';
import type { CheckedRunbook, InputDeclaration } from '../checked.ts';
import { readInputText } from '../expression/expression.ts';
import { type Reading, readDuration, readTime, writeRatio } from '../expression/literals.ts';
import { requireBoundedValue } from '../functions/evaluation.ts';
import { Duration, durationText, EvaluationFailure, formatTime, Time, type Value, type ValueType } from '../values.ts';

type InputValues = { readonly values: Readonly<Record<string, Value>> } | { readonly problems: readonly string[] };

/** Reads `--input` texts with the declared types and fills in defaults. Reports all wrong, unknown and missing inputs. */
export function readInputs(runbook: CheckedRunbook, given: Readonly<Record<string, string>>): InputValues {
  const problems: string[] = [];
  const values: Record<string, Value> = Object.create(null);
  const declared = new Map(runbook.inputs.map((input) => [input.name, input]));
  for (const [name, text] of Object.entries(given)) {
    const input = declared.get(name);
    if (input === undefined) {
      problems.push(describeUnknownInput(name, [...declared.keys()], runbook.name));
      continue;
    }
    const read = readInputText(input.type, input.typeText, text);
    if ('problem' in read) {
      problems.push(`input ${name}: ${read.problem}${read.hint === undefined ? '' : `. ${read.hint}`}`);
      continue;
    }
    const excess = findExcess(read.value);
    if (excess !== undefined) {
      problems.push(`input ${name}: ${excess}`);
      continue;
    }
    const refused = findViolation(input, read.value);
    if (refused === undefined) values[name] = read.value;
    else problems.push(`input ${refused.message}`);
  }
  for (const input of runbook.inputs) {
    if (Object.hasOwn(given, input.name)) continue;
    if (input.default !== undefined) values[input.name] = input.default;
    else problems.push(`input ${input.name} (${input.typeText}) is missing: it has no default`);
  }
  return problems.length > 0 ? { problems } : { values };
}

/** Why a value is too large for any evaluation. */
function findExcess(value: Value): string | undefined {
  try {
    requireBoundedValue(value, '');
    return undefined;
  } catch (error) {
    if (error instanceof EvaluationFailure) return error.message;
    throw error;
  }
}

/** Why a declaration refuses a value of its type; undefined if it accepts the value. */
export function findViolation(
  input: Pick<InputDeclaration, 'name' | 'typeText' | 'min' | 'max' | 'enum'>,
  value: Value,
): { readonly code: 'input-out-of-range' | 'input-not-in-enum'; readonly message: string } | undefined {
  const write = (each: Value) =>
    (each instanceof Decimal ? writeRatio(input.typeText, each) : undefined) ?? formatValue(each);
  for (const each of Array.isArray(value) ? (value as readonly Value[]) : [value]) {
    const found = write(each);
    if (input.min !== undefined && (compareValues(each, input.min) ?? 0) < 0)
      return {
        code: 'input-out-of-range',
        message: `${input.name} must be at least ${write(input.min)}, found ${found}`,
      };
    if (input.max !== undefined && (compareValues(each, input.max) ?? 0) > 0)
      return {
        code: 'input-out-of-range',
        message: `${input.name} must be at most ${write(input.max)}, found ${found}`,
      };
    if (input.enum !== undefined && !input.enum.some((member) => isSame(member, each)))
      return {
        code: 'input-not-in-enum',
        message: `${input.name} must be one of ${input.enum.map(write).join(', ')}, found ${found}`,
      };
  }
  return undefined;
}

export function describeUnknownInput(name: string, known: readonly string[], runbook: string): string {
  const meant = suggestSpelling(name, known);
  const list = known.length === 0 ? 'it has none' : `it has ${known.join(', ')}`;
  return `${runbook} has no input ${JSON.stringify(name)}${meant === undefined ? `; ${list}` : `; did you mean ${meant}?`}`;
}

/** The type of a bound or of an enum's member: for a list, the type of its items. */
export function getElementType(type: ValueType): ValueType {
  return type.kind === 'list' ? getElementType(type.of) : type;
}

/** Whether values of a type are ordered, so that `min` and `max` apply. */
export function isOrdered(type: ValueType): boolean {
  return type.kind === 'decimal' || type.kind === 'duration' || type.kind === 'time';
}

/** Below zero, zero or above zero if `left` is less than, equal to or greater than `right`; undefined if they are not ordered. */
export function compareValues(left: Value, right: Value): number | undefined {
  if (Decimal.isDecimal(left) && Decimal.isDecimal(right)) return (left as Decimal).comparedTo(right as Decimal);
  if (left instanceof Duration && right instanceof Duration) return left.ms - right.ms;
  if (left instanceof Time && right instanceof Time) return left.us - right.us;
  return undefined;
}

function isSame(left: Value, right: Value): boolean {
  return compareValues(left, right) === 0 || left === right;
}

export function formatValue(value: Value): string {
  if (Decimal.isDecimal(value)) return (value as Decimal).toFixed();
  if (value instanceof Duration) return durationText(value);
  if (value instanceof Time) return formatTime(value);
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}

/**
 * Reads a value from its JSON in a journal or a fixture, with the declared type: the inverse of `valueJson`. Ratios are
 * stored as ratios, also for pct and bps. Undefined for JSON that does not fit the type.
 */
export function parseValueJson(type: ValueType, json: unknown): Value {
  switch (type.kind) {
    case 'decimal':
      return typeof json === 'string' ? parseDecimal(json) : undefined;
    case 'boolean':
      return typeof json === 'boolean' ? json : undefined;
    case 'text':
      return typeof json === 'string' ? json : undefined;
    case 'duration':
      return typeof json === 'string' ? unwrapReading(readDuration(json)) : undefined;
    case 'time':
      return typeof json === 'string' ? unwrapReading(readTime(json)) : undefined;
    case 'optional':
      return json === null ? undefined : parseValueJson(type.of, json);
    case 'list':
      return Array.isArray(json) ? json.map((each) => parseValueJson(type.of, each)) : undefined;
    case 'map':
      return isRecord(json)
        ? new Map(Object.entries(json).map(([key, each]) => [key, parseValueJson(type.of, each)]))
        : undefined;
    case 'record':
      return undefined;
    default:
      return type satisfies never;
  }
}

function unwrapReading<T extends Value>(reading: Reading<T>): T | undefined {
  return 'value' in reading ? reading.value : undefined;
}

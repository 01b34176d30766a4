/** Formats the title of a step for a chart, and its arguments as the author wrote them. */

import { Decimal, formatDecimal } from '../../base/decimal.ts';
import type { CheckedStep } from '../../runbook/checked.ts';
import { describeSubject } from '../../runbook/steps/steps.ts';
import { Duration, durationText, formatTime, Time } from '../../runbook/values.ts';

export type ChartJson = string | number | boolean | readonly ChartJson[] | { readonly [key: string]: ChartJson };

/** Long enough to recognise an expression, short enough for a box. */
const LONGEST_TITLE = 70;

export function formatStepTitle(step: CheckedStep): string {
  const main = clip(describeSubject(step), LONGEST_TITLE);
  const title = main === '' ? step.verb : `${step.verb} ${main}`;
  return step.id === undefined ? title : `${step.id}: ${title}`;
}

/** A text as one line of at most so many characters. */
export function clip(text: string, longest: number): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length <= longest ? line : `${line.slice(0, longest - 1)}…`;
}

/** Formats arguments: expressions as their text, literals as they are. Lists of steps are left out, because they are drawn. */
export function formatArguments(args: object): { readonly [key: string]: ChartJson } {
  return Object.fromEntries(
    Object.entries(args).flatMap(([name, value]): [string, ChartJson][] => {
      const text = formatArgument(value);
      return text === undefined ? [] : [[name, text]];
    }),
  );
}

function formatArgument(value: unknown): ChartJson | undefined {
  if (typeof value === 'string' || typeof value === 'boolean' || typeof value === 'number') return value;
  if (value instanceof Duration) return durationText(value);
  if (value instanceof Time) return formatTime(value);
  if (Decimal.isDecimal(value)) return formatDecimal(value as Decimal);
  if (typeof value !== 'object' || value === null) return undefined;
  if ('evaluate' in value && 'text' in value) return String(value.text);
  // A named expression of `let` and `set`; a step.
  if (Array.isArray(value)) return formatList(value);
  return formatArguments(value);
}

function formatList(list: readonly unknown[]): ChartJson | undefined {
  const named = list.filter(
    (each): each is { readonly name: string; readonly value: object } =>
      typeof each === 'object' && each !== null && 'name' in each && 'value' in each,
  );
  if (named.length > 0) return Object.fromEntries(named.map(({ name, value }) => [name, formatArgument(value) ?? '']));
  if (list.some((each) => typeof each === 'object' && each !== null && ('verb' in each || 'do' in each)))
    return undefined;
  return list.flatMap((each) => formatArgument(each) ?? []);
}

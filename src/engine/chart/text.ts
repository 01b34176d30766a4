/** Formats the title of a step for a chart, and its arguments as the author wrote them. */

import { Decimal, formatDecimal } from '../../base/decimal.ts';
import type { CheckedStep } from '../../runbook/checked.ts';
import { Duration, durationText, formatTime, Time } from '../../runbook/values.ts';

export type ChartJson = string | number | boolean | readonly ChartJson[] | { readonly [key: string]: ChartJson };

/** Long enough to recognise an expression, short enough for a box. */
const LONGEST = 70;

export function formatStepTitle(step: CheckedStep): string {
  const main = clip(formatMainArgument(step));
  const title = main === '' ? step.verb : `${step.verb} ${main}`;
  return step.id === undefined ? title : `${step.id}: ${title}`;
}

function formatMainArgument(step: CheckedStep): string {
  switch (step.verb) {
    case 'place':
      return `${step.args.type} ${step.args.side.text}`;
    case 'protect':
      return [
        ...(step.args.stopLoss === undefined ? [] : ['stop_loss']),
        ...(step.args.takeProfit === undefined ? [] : ['take_profit']),
      ].join(' and ');
    case 'amend':
    case 'refresh':
      return step.args.order.text;
    case 'cancel':
      return step.args.kind === 'order'
        ? step.args.order.text
        : step.args.kind === 'mine'
          ? `mine in ${step.args.market.text}`
          : step.args.ids.text;
    case 'set_leverage':
      return `${step.args.leverage.text} in ${step.args.market.text}`;
    case 'assert':
      return step.args.condition.text;
    case 'wait':
      return step.args.kind === 'for' ? step.args.for.text : `until ${step.args.until.text}`;
    case 'wait_for':
      return step.args.kind === 'order'
        ? `${step.args.order.text} ${step.args.is} within ${step.args.within.text}`
        : `${step.args.until.text} within ${step.args.within.text}`;
    case 'let':
    case 'set':
      return step.args.names.map(({ name }) => name).join(', ');
    case 'for_each':
      return `${step.args.each} in ${step.args.in.text}`;
    case 'repeat':
      return [
        ...(step.args.every === undefined ? [] : [`every ${step.args.every.text}`]),
        ...(step.args.for === undefined ? [] : [`for ${step.args.for.text}`]),
      ].join(' ');
    case 'parallel':
      return step.args.kind === 'each' ? `each ${step.args.each}` : `join ${step.args.join}`;
    case 'call':
      return step.args.runbook;
    case 'request':
      return step.args.name;
    case 'approve':
      return `by ${step.args.by.join(' or ')} within ${step.args.within.text}`;
    case 'notify':
      return step.args.to;
    case 'stop':
      return step.args.outcome;
    default:
      return '';
  }
}

function clip(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length <= LONGEST ? line : `${line.slice(0, LONGEST - 1)}…`;
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

/**
 * Writes names, values and records of a run inside a line: short, printable, and in spans with a role instead of a colour.
 * Spans of time, counts and tables are written by base/format.ts.
 */

import { Decimal, type DecimalString, decimal, roundToStep } from '../base/decimal.ts';
import { isRecord } from '../base/json.ts';
import { makePrintable } from '../base/printable.ts';
import type { ErrorFact, Json, JsonObject } from '../journal/entry.ts';
import { isFraction } from '../venue/limits/case.ts';

/** What a piece of text is. The view that prints it decides how it looks. */
export type Role = 'plain' | 'muted' | 'name' | 'value' | 'good' | 'bad' | 'doubt';

export interface Span {
  readonly role: Role;
  readonly text: string;
}

const spanOf =
  (role: Role) =>
  (text: string): Span => ({ role, text });
export const plain = spanOf('plain');
export const muted = spanOf('muted');
export const name = spanOf('name');
export const value = spanOf('value');
export const good = spanOf('good');
export const bad = spanOf('bad');
export const doubt = spanOf('doubt');

/** Characters that fit in a line; the journal has the whole text. */
const LONGEST = 200;
export const formatText = (text: string) => makePrintable(text, LONGEST);

export function formatError({ kind, message }: ErrorFact): string {
  return `${formatText(kind)}: ${formatText(message)}`;
}

/** The step's id, or the last part of its path without the position: `assert` of `steps/2:assert`. */
export function formatStepName(path: string, id: string | undefined): string {
  const last = path.split('/').at(-1) ?? path;
  const iteration = path.slice(0, path.length - last.length).match(/\[\d+\](?=[^[]*$)/)?.[0] ?? '';
  return formatText(`${id ?? last.replace(/^\d+:/, '')}${iteration}`);
}

/** Name and verb; once if they are the same. */
export function formatStepTitle(
  path: string,
  { id, verb }: { readonly id?: string; readonly verb: string },
): readonly Span[] {
  const title = formatStepName(path, id);
  return title === verb ? [name(title)] : [name(title), plain(`: ${formatText(verb)}`)];
}

/** The values an expression read; of a record only the fields that the expression names, such as `inputs.side`. */
export function pickRead(expression: string, inputs: JsonObject): JsonObject {
  const read = Object.entries(inputs).flatMap(([root, each]): [string, Json][] => {
    if (typeof each !== 'object' || each === null || Array.isArray(each)) return [[root, each]];
    const fields = Object.entries(each).map(([field, inner]): [string, Json] => [`${root}.${field}`, inner]);
    const named = fields.filter(([path]) => expression.includes(path));
    return named.length === 0 ? [[root, each]] : named;
  });
  return Object.fromEntries(read);
}

export function formatJson(json: Json): string {
  return formatText(typeof json === 'string' ? json : JSON.stringify(json));
}

export function formatPairs(object: JsonObject): string {
  return formatText(
    Object.entries(object)
      .map(([key, each]) => `${key}=${typeof each === 'string' ? each : JSON.stringify(each)}`)
      .join(' '),
  );
}

/** The fields of a record that matter most; a record has up to twenty. */
const KEY_FIELDS = [
  'id',
  'market_id',
  'order_type',
  'type',
  'side',
  'status',
  'price',
  'size',
  'total_filled_size',
  'filled',
  'avg_price',
  'fee',
  'reason',
  'account_equity',
  'withdrawable_balance',
  'health',
  'timeout',
] as const;

/** A result in a line: one record by its key fields, a list by its length. */
export function summarizeResult(result: Json): string {
  if (Array.isArray(result)) {
    const [first] = result as readonly Json[];
    if (first === undefined) return 'nothing';
    return result.length === 1 ? summarizeResult(first) : `${result.length} items`;
  }
  if (typeof result !== 'object' || result === null) return formatJson(result);
  const record = result as JsonObject;
  const main = pickFields(record, KEY_FIELDS);
  if (main !== undefined) return formatPairs(main);
  // Several records by name, from a step that places more than one order: the fields that distinguish them.
  const several = Object.entries(record).flatMap(([name, each]) => {
    const inner = isRecord(each) ? pickFields(each, KEY_FIELDS_OF_SEVERAL) : undefined;
    return inner === undefined ? [] : [`${formatText(name)}: ${formatPairs(inner)}`];
  });
  return several.length === 0 ? formatPairs(record) : several.slice(0, 6).join('; ');
}

const KEY_FIELDS_OF_SEVERAL = ['id', 'side', 'status', 'price', 'size', 'filled'] as const;

function pickFields(record: JsonObject, fields: readonly string[]): JsonObject | undefined {
  const present = fields.filter(
    (field) => Object.hasOwn(record, field) && record[field] !== '' && record[field] !== null,
  );
  return present.length === 0 ? undefined : Object.fromEntries(present.map((field) => [field, record[field] as Json]));
}

/** `0.25 BTC-USD`, or `1 of the position in BTC-USD`. */
export function formatAmount(order: { readonly type: string; readonly size: string; readonly market: string }): string {
  if (!isFraction(order.type)) return `${order.size} ${formatText(order.market)}`;
  // A third has sixty digits.
  const part = order.size.length > 8 ? `${order.size.slice(0, 6)}…` : order.size;
  return `${part} of the position in ${formatText(order.market)}`;
}

/** ` USD` for `BTC-USD`, to append to an amount; empty if the market names no quote currency. */
export function formatQuoteCurrency(market: string): string {
  const dash = market.lastIndexOf('-');
  return dash < 0 ? '' : ` ${formatText(market.slice(dash + 1))}`;
}

/** Epoch ms as ISO 8601 in UTC. */
export function formatIsoTime(ms: number): string {
  return new Date(ms).toISOString();
}

/** An amount of quote currency, rounded for reading: to cents, below a cent to two digits. */
export function formatMoney(amount: DecimalString): string {
  const value = decimal(amount);
  if (value.isZero() || value.abs().gte('0.01')) return roundToStep(value, decimal('0.01'), 'nearest').toFixed(2);
  return value.toSignificantDigits(2).toFixed();
}

/** An average price rounded for reading where no price of its market is known: it may have 18 places. */
export function formatAverage(price: DecimalString): string {
  return decimal(price).toSignificantDigits(8).toFixed();
}

/** The most places of prices of a market, which lie on its tick; undefined without prices. */
export function countPlaces(prices: readonly DecimalString[]): number | undefined {
  return prices.reduce<number | undefined>(
    (most, each) => Math.max(most ?? 0, decimal(each).decimalPlaces()),
    undefined,
  );
}

/** A price rounded for reading to the places of others of its market. */
export function formatPrice(price: DecimalString, places: number | undefined): string {
  return places === undefined ? price : decimal(price).toFixed(places, Decimal.ROUND_HALF_UP);
}

/**
 * Writes names, values and records of a run inside a line: short, printable, and in spans with a role instead of a colour.
 * Spans of time, counts and tables are written by base/format.ts.
 */
import { printable } from '../base/printable.ts';
import type { ErrorFact, Json, JsonObject } from '../journal/entry.ts';

/** What a piece of text is; how it looks is up to whoever prints it. */
export type Role = 'plain' | 'muted' | 'name' | 'value' | 'good' | 'bad' | 'doubt';

export interface Span {
  readonly role: Role;
  readonly text: string;
}

const span =
  (role: Role) =>
  (text: string): Span => ({ role, text });
export const plain = span('plain');
export const muted = span('muted');
export const name = span('name');
export const value = span('value');
export const good = span('good');
export const bad = span('bad');
export const doubt = span('doubt');

/** Short enough for a line; a whole text is in the journal. */
const LONGEST = 200;
export const shown = (text: string) => printable(text, LONGEST);

export function errorText({ kind, message }: ErrorFact): string {
  return `${shown(kind)}: ${shown(message)}`;
}

/** The id, else the last part of the path without its position: `assert` of `steps/2:assert`. */
export function stepName(path: string, id: string | undefined): string {
  const last = path.split('/').at(-1) ?? path;
  const iteration = path.slice(0, path.length - last.length).match(/\[\d+\](?=[^[]*$)/)?.[0] ?? '';
  return shown(`${id ?? last.replace(/^\d+:/, '')}${iteration}`);
}

/** Name and verb, once where they are the same. */
export function stepTitle(
  path: string,
  { id, verb }: { readonly id?: string; readonly verb: string },
): readonly Span[] {
  const title = stepName(path, id);
  return title === verb ? [name(title)] : [name(title), plain(`: ${shown(verb)}`)];
}

/** What an expression was decided from: of a record only the fields that the expression names, as `inputs.side`. */
export function readBy(expression: string, inputs: JsonObject): JsonObject {
  const read = Object.entries(inputs).flatMap(([root, each]): [string, Json][] => {
    if (typeof each !== 'object' || each === null || Array.isArray(each)) return [[root, each]];
    const fields = Object.entries(each).map(([field, inner]): [string, Json] => [`${root}.${field}`, inner]);
    const named = fields.filter(([path]) => expression.includes(path));
    return named.length === 0 ? [[root, each]] : named;
  });
  return Object.fromEntries(read);
}

export function jsonText(json: Json): string {
  return shown(typeof json === 'string' ? json : JSON.stringify(json));
}

export function pairs(object: JsonObject): string {
  return shown(
    Object.entries(object)
      .map(([key, each]) => `${key}=${typeof each === 'string' ? each : JSON.stringify(each)}`)
      .join(' '),
  );
}

/** The fields of a record that a reader looks for first; a record has up to twenty. */
const TELLING = [
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

/** A result in a line: one record by its telling fields, a list by its length. */
export function summary(result: Json): string {
  if (Array.isArray(result)) {
    const [first] = result as readonly Json[];
    if (first === undefined) return 'nothing';
    return result.length === 1 ? summary(first) : `${result.length} of them`;
  }
  if (typeof result !== 'object' || result === null) return jsonText(result);
  const record = result as JsonObject;
  const telling = tellingFields(record, TELLING);
  if (telling !== undefined) return pairs(telling);
  // Several records by name, as a step gives that places more than one order: of each what tells it from the others.
  const several = Object.entries(record).flatMap(([name, each]) => {
    const inner = isRecord(each) ? tellingFields(each, TELLING_OF_SEVERAL) : undefined;
    return inner === undefined ? [] : [`${shown(name)}: ${pairs(inner)}`];
  });
  return several.length === 0 ? pairs(record) : several.slice(0, 6).join('; ');
}

const TELLING_OF_SEVERAL = ['id', 'side', 'status', 'price', 'size', 'filled'] as const;

function tellingFields(record: JsonObject, fields: readonly string[]): JsonObject | undefined {
  const telling = fields.filter(
    (field) => Object.hasOwn(record, field) && record[field] !== '' && record[field] !== null,
  );
  return telling.length === 0 ? undefined : Object.fromEntries(telling.map((field) => [field, record[field] as Json]));
}

function isRecord(json: Json): json is JsonObject {
  return typeof json === 'object' && json !== null && !Array.isArray(json);
}

/** A stop-loss or take-profit that was not triggered has no size yet, only its part of the position. */
export function isPartOfPosition({ type, filled }: { readonly type: string; readonly filled: string }): boolean {
  return (type === 'stop_loss' || type === 'take_profit') && filled === '0';
}

/** `0.25 BTC-USD`, or `1 of the position in BTC-USD`. */
export function amountText(order: {
  readonly type: string;
  readonly size: string;
  readonly filled: string;
  readonly market: string;
}): string {
  return `${order.size}${isPartOfPosition(order) ? ' of the position in' : ''} ${shown(order.market)}`;
}

/** ` USD` of `BTC-USD`, to stand behind an amount; nothing where a market names no quote currency. */
export function quoteOf(market: string): string {
  const at = market.lastIndexOf('-');
  return at < 0 ? '' : ` ${shown(market.slice(at + 1))}`;
}

/** Epoch ms as ISO 8601 in UTC. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

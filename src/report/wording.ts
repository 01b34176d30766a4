/**
 * How names, values and lengths of time read inside a line of the timeline: short, printable, and with a role instead of a
 * colour. It knows no entry and no order of events.
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

export function tokensText(tokens: number): string {
  return `${tokens} token${tokens === 1 ? '' : 's'}`;
}

export function isoText(ms: number): string {
  return new Date(ms).toISOString();
}

/** `+1:02:03.456`: hours and minutes only where there are any. */
export function offsetText(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  const seconds = ((ms - minutes * 60_000) / 1000).toFixed(3);
  if (minutes === 0) return `+${seconds}`;
  const hours = Math.floor(minutes / 60);
  const clock = `${String(minutes % 60).padStart(hours === 0 ? 1 : 2, '0')}:${seconds.padStart(6, '0')}`;
  return hours === 0 ? `+${clock}` : `+${hours}:${clock}`;
}

/** `80 ms`, `1.2 s`, `4 h 2 min`: the two largest units. */
export function spanText(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${Number((ms / 1000).toFixed(3))} s`;
  const units = [
    ['d', 86_400_000],
    ['h', 3_600_000],
    ['min', 60_000],
    ['s', 1000],
  ] as const;
  const first = units.findIndex(([, size]) => ms >= size);
  let rest = ms;
  const parts: string[] = [];
  for (const [unit, size] of units.slice(first, first + 2)) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0) parts.push(`${count} ${unit}`);
  }
  return parts.join(' ');
}

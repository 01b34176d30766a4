/**
 * Reads literals by their declared type: defaults, bounds, enums, schedule inputs and `--input`, and the literals of fields
 * that may also hold an expression. Evaluates nothing.
 */
import { isLosslessNumber, parse } from 'lossless-json';
import { type Decimal, parseAuthoredDecimal } from '../../base/decimal.ts';
import type { Diagnostic, SourceText, Span } from '../../base/diagnostic.ts';
import { writeDuration } from '../../base/duration.ts';
import { shorten } from '../../base/printable.ts';
import { loadLuxon } from '../calendar.ts';
import { makeFinding } from '../codes/codes.ts';
import type { SyntaxCode } from '../codes/syntax.ts';
import { formatCodePoint, toOrdinary } from '../document/characters.ts';
import { FORBIDDEN_KEYS, type Node } from '../document/nodes.ts';
import { describeNonMember, isMarket } from '../functions/term.ts';
import { getElementWord } from '../functions/type-words.ts';
import { formatType } from '../functions/typing.ts';
import { Duration, LONGEST_DURATION_MS, Time, type Value, type ValueType } from '../values.ts';

/** The value of a text, or the reason why it has none. */
export type Reading<T extends Value = Value> =
  | { readonly value: T }
  | { readonly code: SyntaxCode; readonly problem: string; readonly hint?: string };

interface LiteralReading {
  readonly value: Value | undefined;
  readonly diagnostics: readonly Diagnostic[];
}

/** Reads a literal node as a value of `type`; `typeText` is the declared word, which distinguishes `bps` from `number`. */
export function readLiteral(type: ValueType, typeText: string, node: Node, source: SourceText): LiteralReading {
  const diagnostics: Diagnostic[] = [];
  const value = readNode(type, typeText, node, source, diagnostics);
  return { value: diagnostics.length > 0 ? undefined : value, diagnostics };
}

/** Reads the text of `--input name=text`; lists and maps are JSON, with exact numbers. */
export function readInputText(
  type: ValueType,
  typeText: string,
  text: string,
): { readonly value: Value } | { readonly problem: string; readonly hint?: string } {
  if (type.kind !== 'list' && type.kind !== 'map') return readScalar(type, typeText, text);
  let json: unknown;
  try {
    json = parse(text);
  } catch {
    return {
      problem: `${typeText} is written as JSON, such as ${type.kind === 'list' ? '["BTC-USD"]' : '{"BTC-USD": 1}'}, found ${quote(text)}`,
    };
  }
  return readJson(type, typeText, json);
}

/** Reads one scalar's text as a value of `type`. */
export function readScalar(type: ValueType, typeText: string, text: string): Reading {
  switch (type.kind) {
    case 'decimal':
      return readNumber(type, typeText, text);
    case 'boolean':
      return text === 'true' || text === 'false'
        ? { value: text === 'true' }
        : { ...refuseForm(typeText, text, 'true or false'), ...withHint(suggestBoolean(text)) };
    case 'text':
      return readText(type, text);
    case 'duration':
      return readDuration(text);
    case 'time':
      return readTime(text);
    case 'optional':
      return readScalar(type.of, typeText, text);
    case 'list':
    case 'map':
    case 'record':
      return refuseForm(typeText, text, `a ${type.kind}`);
    default:
      return type satisfies never;
  }
}

const UNITS_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const DURATION_LITERAL = /^(?:\d{1,15}(?:ms|s|m|h|d))+$/;
const ISO_DURATION =
  /^P(?=[\dT])(?:\d{1,9}W)?(?:\d{1,9}D)?(?:T(?=\d)(?:\d{1,9}H)?(?:\d{1,9}M)?(?:\d{1,9}(?:[.,]\d{1,3})?S)?)?$/;

/** `30s`, `1h30m` (each unit once, larger before smaller), or ISO 8601 without years and months, whose length varies. */
export function readDuration(text: string): Reading<Duration> {
  const refusal = {
    code: 'duration-form',
    problem: `a duration is needed, such as 250ms, 30s, 10m, 4h, 7d, 1h30m or PT10M, found ${quote(text)}`,
    ...withHint(suggestDuration(text)),
  } as const;
  let ms = 0;
  if (DURATION_LITERAL.test(text)) {
    let last = Number.POSITIVE_INFINITY;
    for (const [, count, unit] of text.matchAll(/(\d+)(ms|s|m|h|d)/g)) {
      const size = UNITS_MS[unit as string] as number;
      if (size >= last) return refusal;
      last = size;
      ms += Number(count) * size;
    }
  } else if (ISO_DURATION.test(text)) {
    ms = loadLuxon().Duration.fromISO(text).toMillis();
  } else return refusal;
  // Centuries are a typing mistake; the bound also keeps sums of times exact.
  return Number.isSafeInteger(ms) && ms <= LONGEST_DURATION_MS ? { value: new Duration(ms) } : refusal;
}

/** Suggests the spelling of a duration such as `10 min`, `1.5h`, `2 Hours`, or a number without a unit. */
function suggestDuration(text: string): string | undefined {
  const plain = text.trim().toLowerCase();
  if (/^\d{1,9}$/.test(plain)) return `Write its unit: ${plain}s, or ${plain}m.`;
  const found = /^(\d{1,9}(?:\.\d{1,3})?)\s*(ms|millis?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?)$/.exec(
    plain,
  );
  if (found === null) return undefined;
  const [, count = '', word = ''] = found;
  const unit = /^(?:ms|milli)/.test(word) ? 'ms' : word.charAt(0);
  const ms = Number(count) * (UNITS_MS[unit] ?? Number.NaN);
  if (ms > LONGEST_DURATION_MS) return `The longest duration is ${writeDuration(LONGEST_DURATION_MS)}.`;
  return Number.isSafeInteger(ms) && ms > 0 ? `Did you mean ${writeDuration(ms)}?` : undefined;
}

export function looksLikeDuration(text: string): boolean {
  return DURATION_LITERAL.test(text) || ISO_DURATION.test(text);
}

/** No zone is further from UTC than fourteen hours: `+30:00` is a typing mistake, and would be another day. */
const TIME_LITERAL = /^(\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d)?)(?:\.(\d{1,6}))?(Z|[+-](?:(?:0\d|1[0-3]):[0-5]\d|14:00))$/;

/** ISO 8601 with an offset; up to six digits of a second. Without an offset it is refused: there is no default zone. */
export function readTime(text: string): Reading<Time> {
  const refusal = {
    code: 'time-form',
    problem: `a time is ISO 8601 with its offset, such as 2026-01-05T08:00:00Z, found ${quote(text)}`,
    ...withHint(suggestTime(text)),
  } as const;
  const parts = TIME_LITERAL.exec(text);
  if (parts === null) return refusal;
  const [, whole, fraction = '', offset] = parts;
  const at = loadLuxon().DateTime.fromISO(`${whole}${offset}`, { setZone: true });
  if (!at.isValid) return refusal;
  const us = at.toMillis() * 1000 + Number(fraction.padEnd(6, '0'));
  // Microseconds are exact until the year 2255.
  return Number.isSafeInteger(us) ? { value: new Time(us) } : refusal;
}

/** Suggests the spelling of a time without its offset, or says that it does not exist. */
function suggestTime(text: string): string | undefined {
  if (TIME_LITERAL.test(text)) return 'There is no such day or hour.';
  if (looksLikeTimeOfDay(text))
    return `Write its day too: 2026-01-05T${text.replace(/^(\d):/, '0$1:')}Z for UTC, or with its offset.`;
  const [, day, hour = '00:00:00'] = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d)?))?$/.exec(text) ?? [];
  return day && `Write ${day}T${hour}Z for UTC, or with its offset: ${day}T${hour}+01:00.`;
}

function withHint(hint: string | undefined): { readonly hint?: string } {
  return hint === undefined ? {} : { hint };
}

export function looksLikeTime(text: string): boolean {
  return /^\d{4}-\d\d-\d\d(?:$|[T ])/.test(text);
}

/** `16:55`, which has no day. */
export function looksLikeTimeOfDay(text: string): boolean {
  return /^\d\d?:\d\d(?::\d\d)?$/.test(text);
}

const RATIO_LITERAL = /^(-?\d+(?:\.\d+)?)\s?(%|bps)$/;

/** `3%` or `25bps`; undefined for a text that is neither. */
export function readRatio(text: string): Decimal | undefined {
  const [, digits, unit] = RATIO_LITERAL.exec(text) ?? [];
  return digits === undefined ? undefined : parseAuthoredDecimal(digits)?.div(unit === '%' ? 100 : 10_000);
}

export function looksLikeRatio(text: string): boolean {
  return RATIO_LITERAL.test(text);
}

/** Writes a ratio as it is declared and given, `2%` or `5bps`: 0.02 for a `pct`, typed again, is a hundredth of it. Undefined of other types. */
export function writeRatio(typeText: string, value: Decimal): string | undefined {
  if (typeText === 'pct') return `${value.times(100).toFixed()}%`;
  return typeText === 'bps' ? `${value.times(10_000).toFixed()}bps` : undefined;
}

function readNumber(type: Extract<ValueType, { kind: 'decimal' }>, typeText: string, text: string): Reading {
  if (looksLikeRatio(text)) {
    const ratio = readRatio(text);
    if (type.unit !== 'number' || type.integer === true)
      return { code: 'ratio-not-here', problem: `${typeText} is not a ratio, found ${quote(text)}` };
    return ratio === undefined ? refuseForm(typeText, text, 'a plain decimal') : { value: ratio };
  }
  const value = parseAuthoredDecimal(text);
  if (value === undefined)
    return {
      ...refuseForm(typeText, text, 'a plain decimal of at most 36 digits, 18 after the point'),
      ...withHint(suggestAlone(text)),
    };
  if (type.integer === true && !value.isInteger())
    return { code: 'not-integer', problem: `${typeText} is a whole number, found ${quote(text)}` };
  return { value: typeText === 'pct' ? value.div(100) : typeText === 'bps' ? value.div(10_000) : value };
}

/** Suggests the number alone for one with a unit or a currency sign: `0.1 BTC`, `$64000`. */
function suggestAlone(text: string): string | undefined {
  const number = /^[^\w.-]?(-?\d+(?:\.\d+)?)\s?[A-Z]{3,5}$|^[$€£](-?\d+(?:\.\d+)?)$/i.exec(text.trim());
  const plain = number?.[1] ?? number?.[2];
  return plain && `Write ${plain}: the type says its unit.`;
}

function readText(type: Extract<ValueType, { kind: 'text' }>, text: string): Reading {
  if (type.of !== undefined && !type.of.includes(text)) {
    const { message, hint } = describeNonMember([text], type.of);
    return { code: 'not-a-member', problem: message, ...withHint(hint ?? suggestExpression(text)) };
  }
  if (type.market === true && !isMarket(text))
    return {
      code: 'market-form',
      problem: `a market id is <BASE>-<QUOTE>, found ${quote(text)}`,
      ...withHint(suggestExpression(text) ?? suggestMarket(text)),
    };
  return { value: text };
}

/** Suggests `${…}` for a text that looks like an expression, such as `inputs.side`. */
function suggestExpression(text: string): string | undefined {
  return /^(?:[a-z_]\w*|[A-Za-z_]\w*(?:\.\w+)+)(?:\(.*\))?$/.test(text) && !/^(?:btc|eth|sol)/.test(text)
    ? `For an expression, write \${…}: "\${${text}}".`
    : undefined;
}

function suggestMarket(text: string): string | undefined {
  const plain = [...text.trim().toUpperCase()].map((each) => toOrdinary(each) ?? each).join('');
  const [, base, quote] = /^([A-Z0-9]{2,10}?)[-/_: ]?(USD[TC]?|EUR)$/.exec(plain) ?? [];
  if (base !== undefined) return `Did you mean ${base}-${quote}?`;
  const foreign = [...text].findIndex((each) => each > '\u007f');
  return foreign === -1
    ? undefined
    : `${[...text][foreign]} is ${formatCodePoint([...text][foreign] ?? '', 0)}, a character that market ids do not contain.`;
}

function suggestBoolean(text: string): string | undefined {
  if (/^(?:true|yes|on|y)$/i.test(text)) return 'Write true.';
  return /^(?:false|no|off|n)$/i.test(text) ? 'Write false.' : undefined;
}

function refuseForm(typeText: string, text: string, wanted: string): Reading<never> {
  return { code: 'literal-form', problem: `${typeText} is ${wanted}, found ${quote(text)}` };
}

function quote(text: string): string {
  return JSON.stringify(shorten(text));
}

function readNode(
  type: ValueType,
  typeText: string,
  node: Node,
  source: SourceText,
  found: Diagnostic[],
): Value | undefined {
  const refuse = (code: SyntaxCode, span: Span, message: string, hint?: string): undefined => {
    found.push(makeFinding(source, span, code, message, hint));
    return undefined;
  };
  if (type.kind === 'list') {
    if (node.kind !== 'list')
      return refuse(
        'literal-form',
        node.span,
        `${typeText} is a list, found a ${node.kind === 'map' ? 'map' : 'single value'}`,
        node.kind === 'scalar' ? `Put it in a list: [${node.text.slice(0, 60)}].` : undefined,
      );
    return node.items.map((item) => readNode(type.of, getElementWord(typeText), item, source, found));
  }
  if (type.kind === 'map') {
    if (node.kind !== 'map')
      return refuse(
        'literal-form',
        node.span,
        `${typeText} is a map, found a ${node.kind === 'list' ? 'list' : 'single value'}`,
      );
    return new Map(
      node.entries.map(({ key, value }) => [key, readNode(type.of, getElementWord(typeText), value, source, found)]),
    );
  }
  if (node.kind !== 'scalar')
    return refuse('literal-form', node.span, `${typeText} is a single value, found a ${node.kind}`);
  if (node.text.includes('${'))
    return refuse(
      'literal-form',
      node.span,
      `a literal ${formatType(type)} is needed here, found an expression`,
      'This field takes no expressions: write the value.',
    );
  const reading = readScalar(type, typeText, node.text);
  return 'value' in reading ? reading.value : refuse(reading.code, node.span, reading.problem, reading.hint);
}

function readJson(
  type: ValueType,
  typeText: string,
  json: unknown,
): { readonly value: Value } | { readonly problem: string } {
  if (type.kind === 'list') {
    if (!Array.isArray(json)) return { problem: `${typeText} is a JSON list` };
    const items = json.map((each: unknown) => readJson(type.of, getElementWord(typeText), each));
    const problem = items.find((each) => 'problem' in each);
    return problem ?? { value: items.map((each) => (each as { value: Value }).value) };
  }
  if (type.kind === 'map') {
    if (json === null || typeof json !== 'object' || Array.isArray(json) || isLosslessNumber(json))
      return { problem: `${typeText} is a JSON object` };
    const forbidden = Object.keys(json).find((key) => FORBIDDEN_KEYS.has(key));
    if (forbidden !== undefined) return { problem: `${typeText} cannot have the key ${forbidden}` };
    const entries = Object.entries(json).map(
      ([key, each]) => [key, readJson(type.of, getElementWord(typeText), each)] as const,
    );
    const problem = entries.map(([, each]) => each).find((each) => 'problem' in each);
    return problem ?? { value: new Map(entries.map(([key, each]) => [key, (each as { value: Value }).value])) };
  }
  if (isLosslessNumber(json)) return readScalar(type, typeText, json.value);
  if (typeof json === 'string' || typeof json === 'boolean') return readScalar(type, typeText, String(json));
  return {
    problem: `${typeText} is a single value, found ${json === null ? 'null' : Array.isArray(json) ? 'a list' : 'an object'}`,
  };
}

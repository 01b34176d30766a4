/**
 * Encodes requests and reads JSON: parameters in the order of the catalogue, each as its exact literal, and the exact bytes of
 * body and query. A decimal is a JSON number written digit for digit, never through a JavaScript number and never with an
 * exponent. It checks no bounds (`bounds.ts`), signs nothing and sends nothing.
 */
import { hash } from 'node:crypto';
import { isLosslessNumber, LosslessNumber, parse } from 'lossless-json';
import { parseDecimal } from '../../base/decimal.ts';
import { type EndpointName, getEndpoint, type Parameter } from '../catalogue.ts';
import type { Profile } from '../profile/profile.ts';

/** A request as it is sent: parameters in wire order; a decimal is its exact literal, marked as a number. */
export interface WireRequest {
  /** A catalogue name, or `GET /path` for a request that the profile declares. */
  readonly endpoint: EndpointName | `GET ${string}`;
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Path below the base URL, without query. */
  readonly path: string;
  /** `number`: the text is a JSON number literal; `text`: a JSON string; `boolean`. */
  readonly params: Readonly<Record<string, WireValue>>;
  /** Where the parameters are sent. */
  readonly placement: 'query' | 'body';
}
export interface WireValue {
  readonly as: 'text' | 'number' | 'boolean';
  readonly text: string;
}

/** The settings of a profile that decide the form of a request. */
type WireSettings = Pick<Profile, 'encoding' | 'positionOrders'>;

/** Builds the request of a call whose parameters `requestProblems` accepted. Throws a TypeError for others: an internal error. */
export function toWireRequest(name: EndpointName, params: object, settings: WireSettings): WireRequest {
  const row = getEndpoint(name);
  const given = params as Readonly<Record<string, unknown>>;
  const wire: Record<string, WireValue> = {};
  for (const key in row.parameters) {
    const value = given[key];
    if (value !== undefined) wire[key] = toWireValue(key, row.parameters[key] as Parameter, value);
  }
  const spelled = row.action === 'place' ? spellPositionOrder(wire, settings) : wire;
  return { endpoint: name, method: row.method, path: row.path, params: spelled, placement: settings.encoding[name] };
}

function toWireValue(key: string, parameter: Parameter, value: unknown): WireValue {
  switch (parameter.type) {
    case 'decimal':
      if (typeof value !== 'string' || parseDecimal(value) === undefined) break;
      return { as: 'number', text: value };
    case 'integer':
    case 'timestamp':
      if (!Number.isSafeInteger(value)) break;
      return { as: 'number', text: String(value) };
    case 'boolean':
      if (typeof value !== 'boolean') break;
      return { as: 'boolean', text: String(value) };
    case 'market':
    case 'order_id':
    case 'client_order_id':
    case 'text':
    case 'enum':
      if (typeof value !== 'string') break;
      return { as: 'text', text: value };
    default:
      return parameter satisfies never;
  }
  throw new TypeError(`${key} cannot be sent as ${parameter.type}: found ${typeof value}`);
}

/** Spells position orders as this deployment does (assumption `positionOrders`). */
function spellPositionOrder(
  wire: Readonly<Record<string, WireValue>>,
  { positionOrders }: WireSettings,
): Record<string, WireValue> {
  const type = wire['type']?.text;
  if (type !== 'stop_loss' && type !== 'take_profit') return { ...wire };
  return Object.fromEntries(
    Object.entries(wire).map(([key, value]) => {
      if (key === 'size') return [positionOrders.sizeField, value];
      return [key, key === 'type' ? { ...value, text: positionOrders.types[type] } : value];
    }),
  );
}

/**
 * The exact text of the body. Where the parameters are in the query, every method but GET still has an empty JSON object as its
 * body; a GET has no body. Throws where the text does not read back as the request.
 */
export function encodeBody(request: WireRequest): string {
  if (request.placement === 'query') return request.method === 'GET' ? '' : '{}';
  const members = Object.entries(request.params).map(([key, value]) => `${JSON.stringify(key)}:${jsonLiteral(value)}`);
  const text = `{${members.join(',')}}`;
  verifyBody(text, request.params);
  return text;
}

/** The exact text of the query without the question mark; empty where the parameters are in the body. */
export function encodeQuery(request: WireRequest): string {
  if (request.placement === 'body') return '';
  let query = '';
  for (const key of Object.keys(request.params)) {
    const { text } = request.params[key] as WireValue;
    query += `${query === '' ? '' : '&'}${encodeText(key)}=${encodeText(text)}`;
  }
  return query;
}

/** Most texts have nothing to encode, which is found out in a fraction of the time. */
function encodeText(text: string): string {
  return UNRESERVED.test(text) ? text : encodeURIComponent(text);
}

const UNRESERVED = /^[\w.!~*'()-]*$/;

/** SHA-256, in hex, of the exact bytes that carry the parameters. All attempts of one intent must have the same digest. */
export function computeDigest(request: WireRequest): string {
  const bytes = request.placement === 'body' ? encodeBody(request) : encodeQuery(request);
  const known = DIGESTS.find((each) => each.bytes === bytes);
  if (known !== undefined) return known.digest;
  const digest = hash('sha256', bytes, 'hex');
  DIGESTS.unshift({ bytes, digest });
  if (DIGESTS.length > DIGESTS_KEPT) DIGESTS.pop();
  return digest;
}

/** The newest digests: a loop asks the same again and again. */
const DIGESTS: { readonly bytes: string; readonly digest: string }[] = [];
const DIGESTS_KEPT = 4;

/** A value as its JSON literal. */
export function jsonLiteral(value: WireValue): string {
  return value.as === 'text' ? JSON.stringify(value.text) : value.text;
}

/** Reads the body back and compares it: a wrong digit in a price costs more than a request that is not sent. */
function verifyBody(text: string, params: Readonly<Record<string, WireValue>>): void {
  const read = parse(text) as Readonly<Record<string, unknown>>;
  const keys = Object.keys(params);
  const same =
    Object.keys(read).length === keys.length && keys.every((key) => isSame(read[key], params[key] as WireValue));
  if (!same) throw new Error('the encoded body does not read back as the request');
}

function isSame(read: unknown, { as, text }: WireValue): boolean {
  if (as === 'text') return read === text;
  if (as === 'boolean') return typeof read === 'boolean' && String(read) === text;
  return isLosslessNumber(read) && read.value === text && parseDecimal(text) !== undefined;
}

/** Limits on a JSON text from outside. */
export interface JsonLimits {
  /** UTF-16 units. */
  readonly maxLength: number;
  readonly maxDepth: number;
  /** Values in all, members and items. */
  readonly maxValues: number;
}

/** A page has at most 1000 rows of some twenty fields; three times that is generous. */
const ANSWER_LIMITS: JsonLimits = { maxLength: 8 * 1024 * 1024, maxDepth: 16, maxValues: 100_000 };

export type JsonReading = { readonly value: unknown; readonly problem?: undefined } | { readonly problem: string };

/**
 * Reads one JSON document: every number is a `LosslessNumber` with the exact text that came. Size and depth are checked before
 * anything is parsed. An object that has a key twice is refused, because two readers could see two values. `__proto__` is a
 * key like any other. Never throws.
 */
export function readJson(text: string, limits: JsonLimits = ANSWER_LIMITS): JsonReading {
  if (text.length > limits.maxLength)
    return { problem: `${text.length} characters; at most ${limits.maxLength} are read` };
  const measured = measure(text);
  if (measured.depth > limits.maxDepth) return { problem: `nested more than ${limits.maxDepth} levels deep` };
  if (measured.members + measured.items > limits.maxValues) return { problem: `more than ${limits.maxValues} values` };
  const document: unknown[] = [];
  try {
    document.push(measured.whole ? JSON.parse(text) : parse(text));
  } catch (error) {
    return { problem: error instanceof SyntaxError ? 'not JSON' : 'not readable' };
  }
  // The parsers accept a repeated key (one of them only with equal values): then fewer members come out than went in.
  return settleMembers(document) === measured.members
    ? { value: document[0] }
    : { problem: 'an object names a key twice' };
}

/** JavaScript holds every whole number of this many digits exactly; of those with one digit more, the ones that begin below 9. */
const EXACT_DIGITS = 15;

/**
 * Measures a text that may or may not be JSON: depth, number of members and items, and whether all numbers are whole and short,
 * so that the runtime's own parser, which is several times as fast, keeps them exactly. One pass, no recursion.
 */
function measure(text: string): { depth: number; members: number; items: number; whole: boolean } {
  let depth = 0;
  let deepest = 0;
  let members = 0;
  let items = 0;
  let digits = 0;
  let whole = true;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    digits = unit >= 0x30 && unit <= 0x39 ? digits + 1 : 0;
    if (digits > EXACT_DIGITS && (digits > EXACT_DIGITS + 1 || text[index - EXACT_DIGITS] === '9')) whole = false;
    switch (unit) {
      case 0x22: // "
        for (index += 1; index < text.length && text.charCodeAt(index) !== 0x22; index += 1)
          if (text.charCodeAt(index) === 0x5c) index += 1;
        break;
      case 0x5b: // [
      case 0x7b: // {
        depth += 1;
        deepest = Math.max(deepest, depth);
        break;
      case 0x5d:
      case 0x7d:
        depth -= 1;
        break;
      case 0x3a: // :
        members += 1;
        break;
      case 0x2c: // ,
        items += 1;
        break;
      case 0x2b: // +
      case 0x2d: // -
      case 0x2e: // .
      case 0x45: // E
        whole = false;
        break;
      case 0x65: // e, which also ends the words true and false
        if (text.charCodeAt(index - 1) >= 0x30 && text.charCodeAt(index - 1) <= 0x39) whole = false;
        break;
      default:
    }
  }
  return { depth: deepest, members, items, whole };
}

/** Counts the members of all objects, and replaces each JavaScript number by a `LosslessNumber`. */
function settleMembers(value: unknown): number {
  if (value === null || typeof value !== 'object' || isLosslessNumber(value)) return 0;
  const holder = value as Record<string, unknown>;
  const keys = Object.keys(holder);
  let members = Array.isArray(value) ? 0 : keys.length;
  for (const key of keys) {
    const each = holder[key];
    if (typeof each === 'number') holder[key] = new LosslessNumber(String(each));
    else members += settleMembers(each);
  }
  return members;
}

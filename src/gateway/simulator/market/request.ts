/**
 * Reads a request as the venue does, and defines its refusals. Parameters are read by the types of the endpoint table: a decimal
 * is a plain JSON number literal and stays the text that was sent, an integer is whole, an enumeration has its values. orders.ts
 * and terms.ts check combinations of parameters.
 */
import { isLosslessNumber, parse } from 'lossless-json';
import { parseDecimal } from '../../../base/decimal.ts';
import { type EndpointName, getEndpoint, type Parameter, type Params } from '../../../venue/catalogue.ts';
import type { WireValue } from '../../transport.ts';
import type { SurprisesConfig } from '../config/settings.ts';

/** A request over HTTP, before anything is read. Header names in lower case. */
export interface HttpRequest {
  readonly method: string;
  /** Without query. */
  readonly path: string;
  /** Without the question mark. */
  readonly query: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface VenueRequest {
  /** Method and path: the name of the endpoint, where the venue has it. */
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly params: Readonly<Record<string, WireValue>>;
  /** Where the parameters were sent: in a query every value is text, in a body a number must be a number. */
  readonly placement: 'query' | 'body';
  readonly headers: Readonly<Record<string, string>>;
  /** Set if the body could not be read: the request still costs tokens and is answered at its time. */
  readonly unreadable?: VenueError;
}

/** A refusal of the venue: a code, a sentence, and the HTTP status if statuses are by kind. */
export class VenueError extends Error {
  readonly code: string;
  readonly status: number;
  constructor(code: string, text: string, status = 400) {
    super(text);
    this.name = 'VenueError';
    this.code = code;
    this.status = status;
  }
}

export function nameRequest({ method, path }: Pick<HttpRequest, 'method' | 'path'>): string {
  return `${method} ${path}`;
}

/** Reads query and body. Throws a VenueError if the body is not a JSON object of plain values. */
export function readHttp(request: HttpRequest): VenueRequest {
  const params: Record<string, WireValue> = Object.create(null) as Record<string, WireValue>;
  for (const [name, text] of new URLSearchParams(request.query)) params[name] = { as: 'text', text };
  const fromBody = readBody(request.body);
  for (const [name, value] of fromBody) params[name] = value;
  return {
    name: nameRequest(request),
    method: request.method,
    path: request.path,
    params,
    placement: fromBody.length > 0 ? 'body' : 'query',
    headers: request.headers,
  };
}

function readBody(body: string): [string, WireValue][] {
  if (body.trim() === '') return [];
  let parsed: unknown;
  try {
    parsed = parse(body);
  } catch {
    throw new VenueError('INVALID_JSON', 'the body is not JSON');
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
    throw new VenueError('INVALID_JSON', 'the body is not an object');
  return Object.entries(parsed).map(([name, value]) => [name, toWireValue(name, value)]);
}

function toWireValue(name: string, value: unknown): WireValue {
  if (isLosslessNumber(value)) return { as: 'number', text: value.value };
  if (typeof value === 'string') return { as: 'text', text: value };
  if (typeof value === 'boolean') return { as: 'boolean', text: String(value) };
  throw new VenueError('INVALID_PARAMETER', `${name} must be a text, a number or a boolean`);
}

type Bounds = Readonly<Record<string, { readonly max?: number }>>;

/** Reads the parameters of an endpoint by its row of the table; `bounds` are those of this account. Throws a VenueError. */
export function readParams<E extends EndpointName>(
  name: E,
  request: VenueRequest,
  surprises: SurprisesConfig,
  bounds: Bounds = {},
): Params<E> {
  const rows = getEndpoint(name).parameters;
  const given = name === 'POST /orders' ? normalizeNames(request.params, surprises) : request.params;
  const values: Record<string, unknown> = {};
  const how = { strict: request.placement === 'body', bounds, surprises };
  for (const key of Object.keys(given)) {
    const row = Object.hasOwn(rows, key) ? rows[key] : undefined;
    if (row !== undefined) values[key] = readValue(key, given[key] as WireValue, row, how);
    else if (surprises.unknownParameters === 'refuse')
      throw new VenueError('INVALID_PARAMETER', `${name} has no parameter "${key}"`);
  }
  for (const key of Object.keys(rows))
    if (rows[key]?.required && values[key] === undefined)
      throw new VenueError('MISSING_PARAMETER', `${key} is required`);
  return values as unknown as Params<E>;
}

/** Replaces the spellings that some deployments use for position orders by the usual ones. */
function normalizeNames(params: VenueRequest['params'], surprises: SurprisesConfig): Record<string, WireValue> {
  const given = { ...params };
  const { positionSizeField: field, positionTypeSuffix: suffix } = surprises;
  const position = /^(stop_loss|take_profit)/.test(given['type']?.text ?? '');
  if (!position) return given;
  const type = given['type'] as WireValue;
  if (suffix !== '' && type.text.endsWith(suffix))
    given['type'] = { ...type, text: type.text.slice(0, -suffix.length) };
  if (field !== 'size') {
    const { size: _, ...rest } = given;
    const fraction = given[field];
    delete rest[field];
    return fraction === undefined ? rest : { ...rest, size: fraction };
  }
  return given;
}

function readValue(
  name: string,
  value: WireValue,
  row: Parameter,
  { strict, bounds, surprises }: { strict: boolean; bounds: Bounds; surprises: SurprisesConfig },
): unknown {
  const refuse = (wanted: string): never => {
    throw new VenueError('INVALID_PARAMETER', `${name} must be ${wanted}, found ${value.text.slice(0, 60)}`);
  };
  const isNumber = row.type === 'decimal' || row.type === 'integer' || row.type === 'timestamp';
  if (strict && isNumber !== (value.as === 'number'))
    return refuse(isNumber ? 'a JSON number' : `a JSON ${row.type === 'boolean' ? 'boolean' : 'string'}`);
  switch (row.type) {
    case 'decimal': {
      const number = parseDecimal(value.text) ?? refuse('a plain decimal');
      return number.greaterThan(0) ? value.text : refuse('above 0');
    }
    case 'integer':
    case 'timestamp': {
      const number = /^(0|-?[1-9]\d*)$/.test(value.text) ? Number(value.text) : Number.NaN;
      const least = row.type === 'integer' ? (row.min ?? Number.MIN_SAFE_INTEGER) : 0;
      const most = bounds[name]?.max ?? (row.type === 'integer' ? row.max : undefined) ?? Number.MAX_SAFE_INTEGER;
      return Number.isSafeInteger(number) && number >= least && number <= most
        ? number
        : refuse(`an integer from ${least} to ${most}`);
    }
    case 'boolean':
      return value.text === 'true' || (value.text === 'false' ? false : refuse('true or false'));
    case 'enum':
      // A deployment that shows another status for stops accepts it as a filter too.
      return row.values.includes(value.text) || (name === 'status' && value.text === surprises.stopStatus)
        ? value.text
        : refuse(`one of ${row.values.join(', ')}`);
    case 'market':
      return /^[A-Za-z0-9]+-[A-Za-z0-9]+$/.test(value.text) ? value.text : refuse('a market id, <BASE>-<QUOTE>');
    case 'order_id':
      return /^[A-Za-z0-9]+-[A-Za-z0-9]+@\d+$/.test(value.text)
        ? value.text
        : refuse('an order id, <market_id>@<number>');
    case 'client_order_id':
      return /^[A-Za-z0-9_-]{0,50}$/.test(value.text) ? value.text : refuse('at most 50 characters of [A-Za-z0-9_-]');
    case 'text':
      return value.text;
    default:
      return row satisfies never;
  }
}

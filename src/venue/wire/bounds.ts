/**
 * Checks the parameters of a call against every bound and cross-rule of venue-api.md, and says what is wrong. It looks at one
 * request alone: ticks, limits and budgets are checked elsewhere. It corrects nothing.
 */
import { decimal, parseDecimal } from '../../base/decimal.ts';
import { makePrintable } from '../../base/printable.ts';
import { suggestSpelling } from '../../base/spelling.ts';
import { type EndpointName, getEndpoint, type Parameter } from '../catalogue.ts';
import { isClientOrderId, isMarketId, isOrderId, readMarketOfId } from '../forms.ts';
import type { Profile } from '../profile/profile.ts';

/** The settings of a profile that change a bound; without them the document's bounds hold. */
type RequestSettings = Pick<Profile, 'maxLeverage' | 'marketOrderPrice'>;

type Given = Readonly<Record<string, unknown>>;

/** Digits of the longest decimal that is sent: an author writes at most 36, computed values have some more. */
const LONGEST_DECIMAL = 80;

/** The problems of a call's parameters; empty when there are none. Decimals are plain literals, never JavaScript numbers. */
export function findRequestProblems(name: EndpointName, params: Given, settings?: RequestSettings): readonly string[] {
  const rows = getEndpoint(name).parameters;
  const unknown: string[] = [];
  const missing: string[] = [];
  const ill: string[] = [];
  for (const key of Object.keys(params)) {
    const value = params[key];
    const row = Object.hasOwn(rows, key) ? rows[key] : undefined;
    if (value === undefined) continue;
    if (row === undefined) unknown.push(describeUnknownParameter(name, key, Object.keys(rows)));
    else if (!fits(key, value, row, settings))
      ill.push(`${key} must be ${describeAccepted(key, row, settings)}, found ${formatFound(value, row)}`);
  }
  for (const key of Object.keys(rows))
    if (rows[key]?.required && params[key] === undefined) missing.push(`${key} is required for ${name}`);
  const problems = [...unknown, ...missing, ...ill];
  // Rules about several parameters only make sense when each parameter is valid by itself.
  return problems.length > 0 ? problems : findCrossProblems(name, params, settings);
}

function describeUnknownParameter(name: EndpointName, key: string, known: readonly string[]): string {
  const meant = suggestSpelling(key, known);
  return `${name} has no parameter ${makePrintable(key, 60)}${meant === undefined ? '' : `; did you mean ${meant}?`}`;
}

function fits(key: string, value: unknown, row: Parameter, settings: RequestSettings | undefined): boolean {
  switch (row.type) {
    case 'decimal': {
      const number = typeof value === 'string' ? parseDecimal(value, LONGEST_DECIMAL) : undefined;
      return number?.greaterThan(0) === true;
    }
    case 'integer':
      return (
        Number.isSafeInteger(value) &&
        (value as number) >= (row.min ?? Number.MIN_SAFE_INTEGER) &&
        (value as number) <= getMaximum(key, row, settings)
      );
    case 'timestamp':
      return Number.isSafeInteger(value) && (value as number) >= 0;
    case 'boolean':
      return typeof value === 'boolean';
    case 'enum':
      return typeof value === 'string' && row.values.includes(value);
    case 'market':
      return typeof value === 'string' && isMarketId(value);
    case 'order_id':
      return typeof value === 'string' && isOrderId(value);
    case 'client_order_id':
      return typeof value === 'string' && isClientOrderId(value);
    case 'text':
      return typeof value === 'string';
    default:
      return row satisfies never;
  }
}

/** Some accounts may set more than the documented leverage (assumption `maxLeverage`). */
function getMaximum(
  key: string,
  row: Extract<Parameter, { type: 'integer' }>,
  settings: RequestSettings | undefined,
): number {
  if (key === 'leverage' && settings !== undefined) return settings.maxLeverage;
  return row.max ?? Number.MAX_SAFE_INTEGER;
}

function describeAccepted(key: string, row: Parameter, settings: RequestSettings | undefined): string {
  switch (row.type) {
    case 'decimal':
      return 'a plain decimal above 0';
    case 'integer': {
      const max = getMaximum(key, row, settings);
      return max === Number.MAX_SAFE_INTEGER
        ? `an integer of at least ${row.min ?? 0}`
        : `an integer from ${row.min ?? 0} to ${max}`;
    }
    case 'timestamp':
      return 'a whole number of microseconds since the epoch';
    case 'boolean':
      return 'true or false';
    case 'enum':
      return `one of ${row.values.join(', ')}`;
    case 'market':
      return 'a market id, <BASE>-<QUOTE>';
    case 'order_id':
      return 'an order id, <market_id>@<number>';
    case 'client_order_id':
      return '1 to 50 characters of [A-Za-z0-9_-]';
    case 'text':
      return 'a text';
    default:
      return row satisfies never;
  }
}

function formatFound(value: unknown, row: Parameter | undefined): string {
  if (row?.secret === true) return 'something else (not shown)';
  if (typeof value === 'string') return makePrintable(value === '' ? 'an empty text' : value, 80);
  if (typeof value === 'number' || typeof value === 'boolean')
    return row?.type === 'decimal' ? `the ${typeof value} ${value}` : String(value);
  return value === null ? 'nothing' : `a ${Array.isArray(value) ? 'list' : typeof value}`;
}

function findCrossProblems(
  name: EndpointName,
  params: Given,
  settings: RequestSettings | undefined,
): readonly string[] {
  const { action, parameters } = getEndpoint(name);
  const problems = [checkMarketOfOrder(params), checkTimes(params)];
  const named = params['client_order_id'] !== undefined && parameters['client_order_id'] !== undefined;
  if (named && parameters['market_id']?.required === false && params['market_id'] === undefined)
    problems.push('client_order_id needs market_id beside it (venue-api.md, Versioning: since 13 December 2024)');
  if (action === 'place') problems.push(...findPlacementProblems(params, settings));
  if (action === 'cancel' && params['order_id'] === undefined && params['client_order_id'] === undefined)
    problems.push(`order_id or client_order_id is required for ${name}`);
  return problems.filter((problem) => problem !== undefined);
}

function checkMarketOfOrder({ order_id: order, market_id: market }: Given): string | undefined {
  if (typeof order !== 'string' || market === undefined || readMarketOfId(order) === market) return undefined;
  return `order_id ${makePrintable(order, 80)} belongs to another market than market_id ${makePrintable(String(market), 80)}`;
}

function checkTimes({ start_time: start, end_time: end }: Given): string | undefined {
  if (typeof start !== 'number' || typeof end !== 'number' || start <= end) return undefined;
  return `start_time ${start} is after end_time ${end}`;
}

type OrderRule = {
  readonly price: 'required' | 'optional';
  readonly trigger: 'required' | 'none';
  readonly fraction?: true;
};

/** The three parameter tables of POST /orders (venue-api.md, Orders). */
const ORDER_RULES: Readonly<Record<string, OrderRule>> = {
  limit: { price: 'required', trigger: 'none' },
  market: { price: 'optional', trigger: 'none' },
  stop_limit: { price: 'required', trigger: 'required' },
  stop_market: { price: 'optional', trigger: 'required' },
  stop_loss: { price: 'required', trigger: 'required', fraction: true },
  take_profit: { price: 'required', trigger: 'required', fraction: true },
};

function findPlacementProblems(params: Given, settings: RequestSettings | undefined): string[] {
  const type = String(params['type']);
  const rule = ORDER_RULES[type];
  if (rule === undefined) return [];
  const priced = type === 'market' && settings?.marketOrderPrice === 'required' ? 'required' : rule.price;
  const problems: string[] = [];
  if (priced === 'required' && params['price'] === undefined)
    problems.push(`price is required for an order of type ${type}`);
  if (rule.trigger === 'required' && params['trigger_price'] === undefined)
    problems.push(`trigger_price is required for an order of type ${type}`);
  if (rule.trigger === 'none' && params['trigger_price'] !== undefined)
    problems.push(`an order of type ${type} has no trigger_price`);
  if (rule.fraction === true && decimal(String(params['size'])).greaterThan(1)) {
    problems.push(
      `size of a ${type} is a fraction of the position and must be at most 1, found ${String(params['size'])}`,
    );
  }
  return problems;
}
